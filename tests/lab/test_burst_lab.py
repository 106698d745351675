"""Bursts and resets in a real lab: a bridge whose queue is known, and one that goes down for a known time."""

import json

import pytest
from brimful.lab.devices import QUEUE_FRAMES
from support import brimful

pytestmark = pytest.mark.usefixtures("own_interfaces")

# Whatever else the machine does, a trial at these loads is worth something here.
LENIENT = ("--tester-option", "--max-stall=100ms", "--on-invalid", "retry:200", "--no-calibrate", "--json", "--quiet")
# It forwards about 10 kpps, so that a burst lasts for a tenth of a second: a stall of the machine is short beside it.
SLOW = "lab:bridge,work=100000"


@pytest.mark.timeout(120)
def test_the_burst_fills_the_queue_of_a_bridge(tmp_path):
    options = ("--throughput", "8kpps", "--max-load", "40kpps", "--direction", "uni", "--tests", "1")
    lengths = ("--longest", "32000", "--step", "500", "--rest", "1s")
    command = ("search", "-m", SLOW, "--find", "burst", *options, *lengths, *LENIENT, "--out", "one")
    facts = json.loads(brimful(*command, cwd=tmp_path, check=0).stdout)
    (test,) = facts["tests"]
    # Of four frames that come one leaves at most. On a busy machine frames are lost before they reach the queue, too.
    assert QUEUE_FRAMES / 4 <= test["frames"] <= 4 * QUEUE_FRAMES
    assert test["lossy"] == test["frames"] + 500
    assert facts["result"]["corrected_buffer_s"] < facts["result"]["implied_buffer_s"]
    brimful("verify", "one", cwd=tmp_path, check=0)


def test_a_bridge_that_goes_down_is_away_as_long(tmp_path):
    reset = "ip link set br0 down && sleep 0.3 && ip link set br0 up"
    options = ("--throughput", "1kpps", "--overload", "4s", "--tests", "1", "--reset-command", reset)
    command = ("search", "-m", "lab:bridge", "--find", "recovery", *options, *LENIENT, "--out", "one")
    (one,) = json.loads(brimful(*command, cwd=tmp_path, check=0).stdout)["recoveries"]
    assert 0.25 <= one["low_s"] <= one["high_s"]
    brimful("verify", "one", cwd=tmp_path, check=0)
