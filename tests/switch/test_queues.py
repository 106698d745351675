"""`brimful-switchd` on interfaces with several receive queues, which its threads share among them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from brimful.lab.switch import FORWARDING, find_switch

QUEUES = 3


def join(lab, near, far):
    queues = ["numtxqueues", str(QUEUES), "numrxqueues", str(QUEUES)]
    command = ["ip", "link", "add", near, *queues, "type", "veth", "peer", "name", far, *queues]
    subprocess.run(lab.command(command), check=True)
    for name in (near, far):
        subprocess.run(lab.command(["ip", "link", "set", name, "up"]), check=True)


# Of veth, the kernel tells generic programs the queue before: of three, the first has the frames of two.
@pytest.mark.parametrize("back_end", ["packet", "packet-blocks", "xdp-native", "xdp-generic", "fastest"])
def test_flows_keep_their_order_over_all_queues(lab, tmp_path, back_end):
    rules = tmp_path / "rules.flows"
    rules.write_text(FORWARDING)
    join(lab, "na", "fa")
    join(lab, "nb", "fb")
    options = ["--port=1=fa", "--port=2=fb", f"--back-end={back_end}", f"--threads={QUEUES}", f"--tables={rules}"]
    with subprocess.Popen(lab.command([find_switch(), *options]), stdout=subprocess.PIPE, text=True) as switch:
        try:
            assert switch.stdout.readline() == "ready: switch\n"
            flows = [sys.executable, "-I", str(Path(__file__).with_name("flows.py")), "na", "nb"]
            done = subprocess.run(lab.command(flows), capture_output=True, text=True, timeout=60, check=True)
        finally:
            switch.terminate()
        assert switch.wait(timeout=20) == 0
    assert json.loads(done.stdout) == {"lost": 0, "flows that came out of order": 0}
