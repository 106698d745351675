"""The suite of RFC 2544 with a tester of one's own, which is told the frame size."""

import sys

from brimful.records import read_run
from brimful.report.suite.results import results_of
from brimful.report.suite.values import main_value
from support import brimful

TESTER = """
import json, sys
capacity = 1e9 / 8 / (int(sys.argv[1]) + 20)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "describe":
        reply = {"max_load": 2 * capacity}
    else:
        frames = [round(rate * asked["duration_s"]) for rate in (asked["load"], capacity)]
        reply = {"id": asked["id"], "sent": frames[0], "lost": max(0, frames[0] - frames[1])}
    print(json.dumps(reply), flush=True)
"""


def test_it_measures_each_size(tmp_path):
    (tmp_path / "tester.py").write_text(TESTER)
    options = ("--quick", "--sizes", "64,512", "--tests", "throughput,loss", "--out", "s")
    refused = brimful("rfc2544", "-m", f"cmd:{sys.executable} tester.py 64", *options, cwd=tmp_path, check=2)
    assert "write {size} where the frame size belongs" in refused.stderr
    brimful("rfc2544", "-m", f"cmd:{sys.executable} tester.py {{size}}", *options, cwd=tmp_path)
    found = {one.size: main_value(one) for one in results_of(read_run(tmp_path / "s")) if one.test == "throughput"}
    for size, value in found.items():
        capacity = 1e9 / 8 / (int(size) + 20)
        assert 0.99 * capacity <= value <= capacity
    assert list(found) == ["64", "512"]
