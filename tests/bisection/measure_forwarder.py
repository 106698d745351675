"""A measurer of a forwarder that is only read: its WORK says what it forwards. usage: measure_forwarder.py FILE"""

import json
import os
import random
import re
import sys
from pathlib import Path

work = int(re.search(r"^WORK = (\d+)", Path(sys.argv[1]).read_text(), re.MULTILINE)[1])
draw = random.Random(os.getpid())
capacity = 2e8 / work * (1 + draw.gauss(0, 0.002))
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "describe":
        reply = {"name": "read", "overload": 2 * capacity}
    else:
        sent = round(request["load"] * request["duration_s"])
        received = round(capacity * (1 + draw.gauss(0, 0.01)) * request["duration_s"])
        reply = {"id": request["id"], "sent": sent, "lost": max(0, sent - received)}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
