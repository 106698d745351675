"""The example testers: against stand-ins for the kernel and for testpmd, and where it is installed testpmd itself."""

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from brimful.measurers.command import CommandMeasurer
from support import ROOT, InvalidTrialError, MeasureError


def example(name):
    specification = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_examples_are_short():
    for path in (ROOT / "examples").glob("*.py"):
        assert len(path.read_text().splitlines()) <= 160


class Kernel:
    """The files of pktgen and of two interfaces; the device between them forwards 1000 frames a trial."""

    def __init__(self, directory):
        self.proc, self.net = directory / "pktgen", directory / "net"
        for interface in ("eth1", "eth2"):
            (self.net / interface / "statistics").mkdir(parents=True)
            (self.net / interface / "carrier").write_text("1\n")
            (self.net / interface / "statistics/rx_packets").write_text("5\n")
        self.proc.mkdir()
        (self.proc / "pgctrl").touch()
        self.settings, self.foreign, self.lag_us, self.errors, self.result = {}, 0, 0, 0, "OK"
        self.log = []

    def tell(self, name, *commands):
        for command in commands:
            self.log.append((name, command))
            key, _, value = command.partition(" ")
            if name == "eth1":
                self.settings[key] = value
            if (name, command) == ("pgctrl", "start"):
                self._run()

    def _run(self):
        count, rate = int(self.settings["count"]), int(self.settings["ratep"])
        microseconds = round(count / rate * 1e6) + self.lag_us
        (self.proc / "eth1").write_text(
            f"Params: count {count}  min_pkt_size: 60  max_pkt_size: 60\nCurrent:\n"
            f"     pkts-sofar: {count}  errors: {self.errors}\n"
            f"Result: {self.result}: {microseconds}(c1+d2) usec, {count} (60byte,0frags)\n"
            "  1pps 1Mb/sec (1bps) errors: 0\n"
        )
        received = 5 + min(count, 1000) + self.foreign
        (self.net / "eth2/statistics/rx_packets").write_text(f"{received}\n")


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    stand_in = Kernel(tmp_path)
    pktgen = example("pktgen")
    pktgen.PKTGEN, pktgen.INTERFACES, pktgen.SETTLE_S = stand_in.proc, stand_in.net, 0
    pktgen.tell = stand_in.tell
    stand_in.ask = lambda load, duration_s: pktgen.answer(
        {"op": "measure", "id": 3, "load": load, "duration_s": duration_s}, ["eth1", "eth2", "02:00:00:00:00:01"]
    )
    return stand_in


def test_pktgen_counts(kernel):
    assert kernel.ask(10_000.0, 0.5) == {"id": 3, "sent": 5000, "lost": 4000}
    assert kernel.settings["dst_mac"] == "02:00:00:00:00:01"
    assert kernel.settings["pkt_size"] == "60"
    assert kernel.log[:2] == [("kpktgend_0", "rem_device_all"), ("kpktgend_0", "add_device eth1")]


@pytest.mark.parametrize(
    ("fault", "value", "reason"),
    [
        ("lag_us", 20_000, "sent for 0.120 s instead of 0.1 s"),
        ("lag_us", -20_000, "sent for 0.080 s"),
        ("errors", 3, "with 3 errors"),
        ("result", "Idle", "did not finish"),
        ("foreign", 30, "1030 frames were received, 1000 sent"),
    ],
)
def test_pktgen_says_why_a_trial_is_invalid(kernel, fault, value, reason):
    setattr(kernel, fault, value)
    assert reason in kernel.ask(10_000.0, 0.1)["invalid"]


def test_pktgen_needs_a_carrier_and_the_module(kernel):
    (kernel.net / "eth2/carrier").write_text("0\n")
    assert kernel.ask(10_000.0, 0.1)["invalid"] == "eth2 has no carrier"
    (kernel.proc / "pgctrl").unlink()
    assert "modprobe pktgen" in kernel.ask(10_000.0, 0.1)["error"]


@pytest.mark.skipif(Path("/proc/net/pktgen").exists(), reason="this kernel has pktgen")
def test_pktgen_without_the_module_as_a_program():
    measurer = CommandMeasurer([sys.executable, str(ROOT / "examples/pktgen.py"), "a", "b", "02:00:00:00:00:01"])
    with pytest.raises(MeasureError, match="run `modprobe pktgen` as root"):
        measurer.describe()
    measurer.close()


STATISTICS = """
  ######################## NIC statistics for port 0  ########################
  RX-packets: {back}   RX-missed: {missed}          RX-bytes:  0
  RX-errors: 0
  RX-nombuf:  0
  TX-packets: {sent}   TX-errors: 0          TX-bytes:  0

  Throughput (since last show)
  Rx-pps:            0          Rx-bps:            0
  ############################################################################

  ######################## NIC statistics for port 1  ########################
  RX-packets: {sent}      RX-missed: 0          RX-bytes:  0
  RX-errors: 0
  RX-nombuf:  0
  TX-packets: {sent}      TX-errors: 0          TX-bytes:  0
  ############################################################################
"""


@pytest.fixture
def testpmd(tmp_path, monkeypatch):
    """A testpmd that echoes what is typed, and prints these statistics."""

    def testpmd(*, limit="", **counts):
        program = tmp_path / "dpdk-testpmd"
        tmp_path.joinpath("statistics").write_text(STATISTICS.format(**counts))
        program.write_text(
            "#!/bin/sh\nprintf 'EAL: something\\ntestpmd> '\nwhile read -r command; do\n"
            f'echo "$command" >>{tmp_path}/typed\ncase $command in\n'
            f"'show port stats all') cat {tmp_path}/statistics ;;\n*' rate '*) echo '{limit}' ;;\nquit) exit ;;\nesac\n"
            "printf 'testpmd> '\ndone\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return CommandMeasurer([sys.executable, str(ROOT / "examples/testpmd.py"), "-l", "0", "--", "--nb-cores=1"])

    return testpmd


def test_testpmd_counts_both_directions(tmp_path, testpmd):
    measurer = testpmd(sent=1000, back=900, missed=0)
    assert measurer.describe().conversion_factor == 2
    output = measurer.measure(100_000.0, 0.01)
    measurer.close()
    assert (output.sent, output.lost) == (2000, 100)
    assert [way["lost"] for way in output.directions] == [0, 100]
    typed = (tmp_path / "typed").read_text().splitlines()
    assert typed[:2] == ["set port 0 queue 0 rate 67", "set port 1 queue 0 rate 67"]
    assert typed[2:10] == [
        "clear port stats all",
        *("set fwd flowgen", "start", "stop"),
        *("set fwd rxonly", "start", "stop"),
        "show port stats all",
    ]


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({"sent": 970, "back": 970, "missed": 0}, "port 0 sent 970 frames where 1000 were due"),
        ({"sent": 1000, "back": 990, "missed": 10}, "port 0 lost 10 frames itself"),
    ],
)
def test_testpmd_says_why_a_trial_is_invalid(testpmd, counts, reason):
    measurer = testpmd(**counts)
    with pytest.raises(InvalidTrialError, match=reason):
        measurer.measure(100_000.0, 0.01)
    measurer.close()


def test_testpmd_that_is_not_there(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    measurer = CommandMeasurer([sys.executable, str(ROOT / "examples/testpmd.py")])
    with pytest.raises(MeasureError, match="install the Debian package dpdk-dev"):
        measurer.describe()
    measurer.close()


@pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="dpdk-testpmd is not installed (Debian: dpdk-dev)")
@pytest.mark.skipif(os.geteuid() != 0, reason="dpdk-testpmd wants root")
def test_the_real_testpmd_on_ports_in_memory(monkeypatch):
    module = example("testpmd")
    memory = f"--no-huge -m 256 --no-pci --no-telemetry --file-prefix=brimful{os.getpid()} -l 0,1"
    testpmd = module.Testpmd(f"{memory} --vdev net_ring0 --vdev net_ring1 -- --total-num-mbufs=8192".split())
    try:
        with pytest.raises(module.CannotMeasureError, match="port 0 cannot limit its rate to 67 Mb/s"):
            module.measure(testpmd, 1e5, 0.1)
        monkeypatch.setattr(module, "limit_rate", lambda *_: None)
        with pytest.raises(module.SpoiledError) as caught:
            module.measure(testpmd, 1.0, 0.1)
    finally:
        testpmd.close()
    # Unpaced it sends as fast as it can; that its counters were read shows in the complaint.
    sent = re.fullmatch(r"port 0 sent (\d+) frames where 0 were due", str(caught.value))
    assert sent is not None
    assert int(sent[1]) > 1000
