"""Answers of an application over HTTP."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(port, answers):
    """Answer GET, POST and DELETE as given: a function each, of what came as JSON, that returns what is answered."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            length = int(self.headers.get("Content-Length", 0))
            given = json.loads(self.rfile.read(length)) if length else None
            body = json.dumps(answers[self.command](given)).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = answer

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
