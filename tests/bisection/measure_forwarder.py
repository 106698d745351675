"""A measurer of a forwarder that is only read: its WORK says what it forwards. usage: measure_forwarder.py FILE"""

import json
import os
import random
import re
import sys
from pathlib import Path


def replies(file):
    draw = random.Random(os.getpid())
    instance = 1 + draw.gauss(0, 0.002)
    for line in sys.stdin:
        request = json.loads(line)
        work = int(re.search(r"^#define WORK (\d+)", Path(file).read_text(), re.MULTILINE)[1])
        capacity = 2e9 / work * instance
        if request["op"] == "describe":
            yield {"name": "read", "overload": 2 * capacity}
            continue
        sent = round(request["load"] * request["duration_s"])
        received = round(capacity * (1 + draw.gauss(0, 0.01)) * request["duration_s"])
        yield {"id": request["id"], "sent": sent, "lost": max(0, sent - received)}


if __name__ == "__main__":
    for reply in replies(sys.argv[1]):
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
