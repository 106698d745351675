"""An application of os-ken: a firewall whose rules come over HTTP, in the words of `os_ken.lib.ofctl_v1_3`.

POST /rules with {"priority", "match", "allow"} adds one, DELETE /rules takes all out; what no rule allows is dropped, ARP
passes. GET /flows gives the entries with their counts.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, set_ev_cls
from os_ken.lib import ofctl_v1_3
from os_ken.ofproto import ofproto_v1_3

ARP_PRIORITY = 0xFFFF


class Firewall(OSKenApp):
    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.path = None
        server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["HTTP_PORT"])), self.handler())
        threading.Thread(target=server.serve_forever, daemon=True).start()

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def begin(self, event):
        self.path = event.msg.datapath
        self.clear()

    def clear(self):
        ofctl_v1_3.mod_flow_entry(self.path, {"table_id": 0}, self.path.ofproto.OFPFC_DELETE)
        self.rule({"priority": ARP_PRIORITY, "match": {"eth_type": 0x0806}, "allow": True})

    def rule(self, rule):
        actions = [{"type": "OUTPUT", "port": "FLOOD"}] if rule["allow"] else []
        entry = {"priority": rule["priority"], "match": rule["match"], "actions": actions}
        ofctl_v1_3.mod_flow_entry(self.path, entry, self.path.ofproto.OFPFC_ADD)

    def handler(application):  # noqa: N805 - the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802 - the name is the library's
                application.rule(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(b"{}")

            def do_DELETE(self):  # noqa: N802 - the name is the library's
                application.clear()
                self.answer(b"{}")

            def do_GET(self):  # noqa: N802 - the name is the library's
                self.answer(json.dumps(application.path is not None).encode())

            def answer(self, body):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

        return Handler
