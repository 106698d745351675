"""Devices that drop all frames of one size: that is measured, and not taken for a cut cable."""

import contextlib
import json
import shlex
import sys

import pytest
from brimful.errors import MeasureError
from brimful.lab import health, open_lab
from brimful.measurers import tester
from brimful.measurers.base import InvalidTrialError, Settings
from brimful.measurers.tester import LabMeasurer, PortsMeasurer
from brimful.throughput.manager import SearchRequest, run_search
from support import brimful, goal

FORWARDER = """
import select, socket, sys
ports = []
for name in sys.argv[1:3]:
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    port.bind((name, 0))
    ports.append(port)
least, most = map(int, sys.argv[3:5])
while True:
    for port in select.select(ports, [], [])[0]:
        frame, address = port.recvfrom(65536)
        if address[2] != socket.PACKET_OUTGOING and least <= len(frame) + 4 <= most:
            ports[1 - ports.index(port)].send(frame)
"""
pytestmark = pytest.mark.usefixtures("own_interfaces")


def program(tmp_path, least=0, most=9000):
    """The command of a device that forwards frames from a size to another."""
    (tmp_path / "forwarder.py").write_text(FORWARDER)
    return f"{shlex.join([sys.executable, '-I', '-S', str(tmp_path / 'forwarder.py')])} {{a}} {{b}} {least} {most}"


def lost(measurer):
    """Whether all frames of a trial are lost, or none is."""
    try:
        found = measurer.measure(200.0, 0.2).directions
    except InvalidTrialError as error:  # the machine is busy, but the frames were sent
        found = error.reply["directions"]
    (state,) = {(one["lost"] == one["sent"], one["lost"] > 0) for one in found}
    assert state in ((True, True), (False, False)), found
    return state[0]


@pytest.mark.parametrize(("limits", "size", "passes"), [((0, 1517), 1518, 64), ((65, 9000), 64, 68)])
def test_a_size_that_a_device_drops_is_measured_and_another_passes(tmp_path, limits, size, passes):
    run = program(tmp_path, *limits)
    arguments = [f"--frame-size={size}"]
    with contextlib.closing(LabMeasurer("program", arguments, ip=4, timeout_s=30.0, run=run)) as measurer:
        assert lost(measurer)
        assert measurer.passing_size() == passes
        assert lost(measurer)
    with open_lab("program", run=run) as lab:
        command = lab.command([tester.tester_program(), *lab.tester_arguments()])
        with contextlib.closing(PortsMeasurer(command, Settings(timeout_s=30.0, tester_arguments=arguments))) as ports:
            assert lost(ports)
            assert ports.passing_size() == passes
            assert lost(ports)


def test_a_device_that_drops_all_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(health, "_PATIENCE_S", 0.5)
    with pytest.raises(MeasureError, match=r"no frame came through from ta to tb within 0.5 s"):
        open_lab("program", run=program(tmp_path, 0, 0))
    with open_lab("wire") as lab:
        lab.tester.run(["ip", "link", "set", "tb", "down"])
        command = lab.command([tester.tester_program(), *lab.tester_arguments()])
        with contextlib.closing(PortsMeasurer(command, Settings(timeout_s=30.0))) as ports:
            assert ports.passing_size() is None


def test_a_search_at_that_size_finds_no_throughput_and_says_why(tmp_path):
    run = program(tmp_path, 0, 1517)
    goals = [goal(trial=0.1, duration_sum=0.1, exceed=0, width=0.2)]
    for size, most in (("256", 200.0), ("1518", None)):
        arguments = [f"--frame-size={size}"]
        request = SearchRequest(
            measurer="lab:program",
            goals=goals,
            strategy="straddle",
            max_load=200.0,
            calibrate=False,
            traffic={"arguments": arguments},
        )
        with contextlib.closing(LabMeasurer("program", arguments, ip=4, timeout_s=30.0, run=run)) as measurer:
            outcome = run_search(request, measurer, out=tmp_path / size)
        (found,) = outcome.result.goal_results
        assert (outcome.result.end.reason, found.lower_bound) == ("done", most)
    said = next(one.text for one in outcome.warnings if one.code == "nothing-passes")
    assert said.startswith("no frame of this size passes: nothing that ta sends arrives at tb, neither at ")


@pytest.mark.slow
def test_a_suite_measures_the_other_sizes(tmp_path):
    device = f"lab:program,run={program(tmp_path, 0, 1517)}"
    options = ("--quick", "--sizes", "64,1518", "--tests", "throughput,latency", "--max-load", "1kpps")
    done = brimful("rfc2544", "-m", device, *options, "--out", "s", "--json", cwd=tmp_path, check=0)
    found = {(one["size"], one["test"]): one for one in json.loads(done.stdout)["tests"]}
    assert found["64", "throughput"]["value"] > 0
    assert found["1518", "throughput"]["value"] == 0
    assert found["1518", "latency"]["text"] == "no frame of this size passes"
    assert {one["end"] for one in found.values()} == {"done"}
