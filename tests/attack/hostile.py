"""A tester that does what none should: the first argument says what. It answers as the protocol asks otherwise."""

import json
import os
import signal
import sys
import time
from pathlib import Path

CASE = sys.argv[1] if __name__ == "__main__" else ""
DESCRIPTIONS = {
    "factor-nan": '{"conversion_factor": NaN}',
    "factor-infinite": '{"conversion_factor": Infinity}',
    "factor-1e999": '{"conversion_factor": 1e999}',
    "factor-zero": '{"conversion_factor": 0}',
    "factor-negative": '{"conversion_factor": -2}',
    "factor-overflows": '{"conversion_factor": 1e308}',
    "max-load-nan": '{"max_load": NaN}',
    "max-load-negative": '{"max_load": -5}',
    "max-load-infinite": '{"max_load": 1e400}',
    "min-duration-negative": '{"min_duration_s": -1}',
    "description-deep": '{"traffic": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}",
    "description-nested": '{"traffic": ' + '{"a":' * 800 + "1" + "}" * 800 + "}",
    "name-surrogate": '{"name": "\\ud800"}',
    "name-list": '{"name": [1]}',
    "description-list": "[]",
    "description-binary": "\x00\x01",
    "description-empty": "",
}
REPLIES = {
    "deep": '{"id": ID, "sent": 1, "lost": 0, "extra": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "nested": '{"id": ID, "sent": 1, "lost": 0, "extra": ' + "[" * 500 + "]" * 500 + "}",
    "surrogate": '{"id": ID, "sent": 1, "lost": 0, "note": "\\udfff"}',
    "surrogate-key": '{"id": ID, "sent": 1, "lost": 0, "\\ud800": 1}',
    "sent-nan": '{"id": ID, "sent": NaN, "lost": 0}',
    "sent-large": '{"id": ID, "sent": 1e300, "lost": 0}',
    "lost-large": '{"id": ID, "sent": 1, "lost": 99999999999999999999}',
    "lost-more": '{"id": ID, "sent": 1, "lost": 2}',
    "counts-true": '{"id": ID, "sent": true, "lost": false}',
    "stopped-unasked": '{"id": ID, "sent": 5, "lost": 5, "intended": 1000, "stopped_early": true}',
    "direction-more": '{"id": ID, "sent": 9, "lost": 0, "directions": [{"sent": 1, "lost": 2}]}',
    "direction-number": '{"id": ID, "sent": 9, "lost": 0, "directions": [7]}',
    "direction-text": '{"id": ID, "sent": 9, "lost": 0, "directions": [{"sent": "all", "lost": 0}]}',
    "effective-zero": '{"id": ID, "sent": 9, "lost": 0, "effective_duration_s": 0}',
    "warnings-text": '{"id": ID, "sent": 9, "lost": 0, "warnings": "bad"}',
    "wrong-id": '{"id": 77, "sent": 9, "lost": 0}',
    "no-json": "sent 9 lost 0",
    "half": '{"id": ID, "sent": ',
    "error-list": '{"id": ID, "error": ["\\u001b[2J", "x"]}',
    "silent-end": None,
}


def answer(request):
    if request["op"] == "describe":
        return DESCRIPTIONS.get(CASE, '{"max_load": 1000, "conversion_factor": 1}')
    identity = str(request["id"])
    if CASE in REPLIES:
        return REPLIES[CASE] and REPLIES[CASE].replace("ID", identity)
    sent = round(request["load"] * request["duration_s"])
    if CASE == "noisy-stderr":
        os.write(2, b"x" * (64 << 20))
    if CASE == "long-invalid":
        return json.dumps({"id": request["id"], "invalid": "i" * (1 << 20), "hint": "h" * (1 << 20)})
    if CASE == "escapes":
        return json.dumps({"id": request["id"], "invalid": "\x1b]0;owned\x07", "hint": "\x9b31m"})
    if CASE == "slow":
        time.sleep(request["duration_s"])
    return json.dumps({"id": request["id"], "sent": sent, "lost": max(0, sent - 5)})


def serve():
    if CASE == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path("tester.pid").write_text(str(os.getpid()))
    for line in sys.stdin:
        request = json.loads(line)
        if CASE == "deaf" and request["op"] == "measure":
            Path("measuring").touch()
            while True:
                time.sleep(1)
        reply = answer(request)
        if reply is None:
            return
        sys.stdout.write(reply + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
