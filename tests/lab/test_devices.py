"""The devices that are programs: frames pass them, they end with their lab, and their absence is told in one line."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from brimful.cli.lab import lab as command
from brimful.errors import MeasureError, UsageError
from brimful.lab import Device, catalogue, devices, health, links, losses, open_lab, openvswitch, programs, state
from brimful.lab.namespaces import Process
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.tester import LabMeasurer
from click.testing import CliRunner
from lab_support import FRAMES, PYTHON, cross, open_if_installed, wait_until

PROGRAMS = {
    "xdp": ["brimful-forwarder"],
    "ovs": ["ovsdb-server", "ovs-vswitchd"],
    "testpmd": ["dpdk-testpmd"],
    "switch": ["brimful-switchd"],
}


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize(
    "device",
    ["xdp", "xdp,work=2000", "ovs", "ovs,back_end=afxdp", "testpmd", "testpmd,mode=mac", "switch", "switch,threads=2"],
)
def test_frames_cross_once_each_and_nothing_else_does(own_interfaces, device, ip):
    with open_if_installed(device, ip=ip) as lab:
        before = lab.counters()
        assert cross(lab, ip) == {port: {"in_order": True, "hops": [64]} for port in ("ta", "tb")}
        after = lab.counters()
    for port in ("ta", "tb", "da", "db"):
        for way in ("rx_packets", "tx_packets"):
            assert after[port][way] - before[port][way] == FRAMES, (port, way)
    assert losses(before, after) == {}


FLOOD = """
import socket, sys
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("ta", 0))
frame = bytes.fromhex("02626600001b" + "02626600001a" + "0800") + bytes(46)
for number in range(int(sys.argv[1])):
    port.send(frame)
"""


@pytest.mark.parametrize("frame_size", [1519, 9216])
@pytest.mark.parametrize("device", ["wire", "bridge", "router", "ovs", "testpmd", "switch", "crossbar"])
def test_long_frames_come_through(own_interfaces, device, frame_size):
    arguments = [f"--frame-size={frame_size}"]
    with open_if_installed(device):
        pass  # or the test is skipped
    with contextlib.closing(LabMeasurer(device, arguments, ip=4, timeout_s=30.0)) as measurer:
        assert measurer.describe().device["mtu"] == frame_size - 18
        try:
            found = measurer.measure(200.0, 0.2).directions
        except InvalidTrialError as error:  # the machine is busy, but the frames were sent
            found = error.reply["directions"]
    for direction in found:
        assert direction["sent"] > 0
        assert direction["lost"] == 0, direction


@pytest.mark.parametrize(
    ("arguments", "mtu"),
    [([], 1500), (["--frame-size=imix"], 1500), (["--vlan=5", "--frame-size=1522"], 1504)],
)
def test_links_take_longer_frames_only_where_those_are_sent(own_interfaces, arguments, mtu):
    with contextlib.closing(LabMeasurer("bridge", arguments, ip=4, timeout_s=30.0)) as measurer:
        assert measurer.describe().device["mtu"] == mtu


@pytest.mark.parametrize(
    ("device", "arguments", "message"),
    [
        ("router", ["--vlan=5"], "lab:router has no VLAN interfaces"),
        ("router,work=0", ["--vlan=5"], "lab:router has no VLAN interfaces"),
        ("bridge", ["--nope"], "'--nope'"),
        ("bridge", ["--frame-size=9217"], "give --frame-size 9216"),
    ],
)
def test_frames_that_a_lab_cannot_take_are_refused_before_it_is_made(state_directory, device, arguments, message):
    with pytest.raises(UsageError, match=message):
        LabMeasurer(device, arguments, ip=4, timeout_s=30.0)
    assert not state_directory.exists()


def test_xdp_says_how_long_frames_may_be(own_interfaces):
    with pytest.raises(UsageError, match="at most 3524 bytes"):
        open_lab("xdp", mtu=3507)
    open_if_installed("xdp", mtu=3506).close()


@pytest.mark.parametrize("device", ["ovs", "testpmd"])
def test_what_a_program_does_not_take_in_time_is_lost_in_the_device(own_interfaces, device):
    sent = 20_000
    with open_if_installed(device) as lab:
        before, victim = lab.counters(), lab._programs.running[-1].process.pid
        os.kill(victim, signal.SIGSTOP)
        try:
            subprocess.run(lab.command([*PYTHON, "-c", FLOOD, str(sent)]), check=True)
        finally:
            os.kill(victim, signal.SIGCONT)
        assert cross(lab)["ta"]["in_order"]
        after = lab.counters()

    def moved(port, counter):
        return after[port][counter] - before[port][counter]

    assert moved("ta", "tx_packets") == moved("da", "rx_packets") == sent + FRAMES
    # What waited in the queue came out in front of the frames that crossed.
    assert FRAMES < moved("db", "tx_packets") == moved("tb", "rx_packets") < sent
    assert losses(before, after) == {}


@pytest.mark.parametrize("device", PROGRAMS)
def test_closing_leaves_no_process_and_no_file(own_interfaces, state_directory, device):
    with open_if_installed(device) as lab:
        running = [program.process for program in lab._programs.running]
        assert [program.name for program in lab._programs.running] == PROGRAMS[device]
        assert all(process.is_alive() for process in running)
        assert len(list(state_directory.iterdir())) == 2
        assert lab.failure() is None
    assert not any(process.is_alive() for process in running)
    assert list(state_directory.iterdir()) == []


OWNER = """
import json, sys
from brimful.lab import open_lab
lab = open_lab(sys.argv[1])
print(json.dumps([[program.process.pid, program.process.start] for program in lab._programs.running]), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("device", PROGRAMS)
def test_the_programs_of_a_killed_owner_end_and_leave_no_file_of_theirs(own_interfaces, state_directory, device):
    open_if_installed(device).close()
    owner = subprocess.Popen([sys.executable, "-c", OWNER, device], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with owner:
        running = [Process(*numbers) for numbers in json.loads(owner.stdout.readline())]
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(process.is_alive() for process in running), "the programs ended")
    (entry,) = state.read_all()
    wait_until(lambda: entry.life is state.Life.STALE, "the keepers ended")
    assert list(state_directory.iterdir()) == [state_directory / f"{entry.lab_id}.json"]


@pytest.mark.parametrize("device", PROGRAMS)
def test_a_kept_device_goes_on_until_it_is_cleaned(own_interfaces, state_directory, device):
    lab = open_if_installed(device)
    lab_id, running = lab.id, [program.process for program in lab._programs.running]
    lab.keep()
    try:
        lab.close()
        assert all(process.is_alive() for process in running)
        assert health.find_obstacle(lab_tester(lab_id), ip=4, mtu=1500, ways=lab._ways) is None
    finally:
        state.clean_one(lab_id)
    assert not any(process.is_alive() for process in running)
    assert list(state_directory.iterdir()) == []


def lab_tester(lab_id):
    (entry,) = (entry for entry in state.read_all() if entry.lab_id == lab_id)
    return entry.namespaces[0]


def test_a_program_dies_with_a_killed_keeper(own_interfaces):
    with open_if_installed("xdp") as lab:
        (program,) = lab._programs.running
        os.kill(lab._keepers[-1].namespace.keeper.pid, signal.SIGKILL)
        wait_until(lambda: not program.process.is_alive(), "the forwarder ended")
        assert lab.failure() is not None


def hide(monkeypatch, *names):
    """Let programs be missing."""
    find = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name in names else find(name, path=path))


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("xdp", "lab:xdp needs the program brimful-forwarder, which comes with brimful: reinstall brimful"),
        ("ovs", "lab:ovs needs the program ovs-vswitchd: install the Debian package openvswitch-switch"),
        ("testpmd", "lab:testpmd needs the program dpdk-testpmd: install the Debian package dpdk-dev"),
    ],
)
def test_a_missing_program_is_named_before_anything_is_made(state_directory, monkeypatch, tmp_path, device, message):
    hide(monkeypatch, *PROGRAMS[device])
    monkeypatch.setattr(programs.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(MeasureError, match=f"^{message}$"):
        open_lab(device)
    assert not state_directory.exists()


def test_open_vswitch_says_at_once_that_it_cannot_make_a_tap_interface(state_directory, monkeypatch, tmp_path):
    monkeypatch.setattr(openvswitch, "find_tools", dict)
    monkeypatch.setattr(openvswitch, "_TAP", str(tmp_path / "tun"))
    message = rf"lab:ovs needs {tmp_path}/tun, which cannot be opened (No such file or directory): `modprobe tun`"
    with pytest.raises(MeasureError, match=f"^{re.escape(message)}$"):
        open_lab("ovs")
    assert not state_directory.exists()


def test_a_program_that_ends_at_once_is_quoted(own_interfaces):
    with open_lab("bridge", work=0) as lab:
        started = programs.Programs(lab._keepers[1].namespace, lab._keepers, devices.device_cpus())
        words = ["sh", "-c", "echo one; echo dud: two >&2; echo dud: three; exit 3"]
        dud = started.start("dud", words, programs.Ending.INPUT)
        with pytest.raises(MeasureError, match=r"^dud has ended; it said: two / three$"):
            dud.wait_for("ready")


@pytest.mark.parametrize("device", ["xdp", "ovs"])
def test_a_trial_in_which_the_device_ends_is_invalid_and_the_next_is_none(own_interfaces, monkeypatch, device):
    open_if_installed(device).close()
    measurer = LabMeasurer(device, ["--max-stall=1s"], ip=4, timeout_s=20)
    try:
        measurer.describe()
        victim, measure = measurer._lab._programs.running[-1], measurer._tester.measure

        def measure_without_device(*arguments, **options):
            os.kill(victim.process.pid, signal.SIGKILL)
            wait_until(lambda: not victim.process.is_alive(), "the device ended")
            return measure(*arguments, **options)

        monkeypatch.setattr(measurer._tester, "measure", measure_without_device)
        expected = f"^the device no longer works: {victim.name} has ended"
        with pytest.raises(InvalidTrialError, match=expected):
            measurer.measure(200.0, 0.1)
        with pytest.raises(MeasureError, match=expected) as raised:
            measurer.measure(200.0, 0.1)
        assert not isinstance(raised.value, InvalidTrialError)
    finally:
        measurer.close()


def test_a_device_that_forwards_nothing_is_not_handed_over(own_interfaces, state_directory, monkeypatch):
    # Without NAPI at the other end of a veth, all that XDP redirects into it is dropped.
    switch_on = links.switch_on

    def leave_off(namespace, offload, interfaces):
        if tuple(interfaces) != ("qa", "qb"):
            switch_on(namespace, offload, interfaces)

    with open_if_installed("xdp") as lab:
        if lab.describe()["attachment"] != "native":
            pytest.skip("this kernel runs no XDP program in the driver of a veth")
    monkeypatch.setattr(links, "switch_on", leave_off)
    monkeypatch.setattr(health, "_PATIENCE_S", 0.5)
    with pytest.raises(MeasureError, match=r"^lab:xdp does not work: no frame came through from ta to tb within 0.5 s"):
        open_lab("xdp")
    assert list(state_directory.iterdir()) == []


def test_without_an_input_stage_xdp_is_attached_behind_the_driver(own_interfaces, monkeypatch):
    monkeypatch.setattr(devices, "find_classifier", lambda device: None)
    with open_if_installed("xdp") as lab:
        assert lab.describe()["attachment"] == "generic"
        cross(lab)


def test_check_tells_of_every_device(own_interfaces, monkeypatch):
    hide(monkeypatch, "ovs-vswitchd")
    result = CliRunner().invoke(command, ["check", "--json"], catch_exceptions=False)
    found = {row["device"]: row for row in map(json.loads, result.stdout.splitlines())}
    assert list(found) == [*(device.value for device in Device if device is not Device.PROGRAM), "disk"]
    assert found["bridge"]["works"]
    assert found["ovs"] == {
        "device": "ovs",
        "works": False,
        "reason": "lab:ovs needs the program ovs-vswitchd: install the Debian package openvswitch-switch",
    }
    lines = CliRunner().invoke(command, ["check"], catch_exceptions=False).stdout.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("ovs")] == [["ovs", "no"]]


def test_every_device_has_a_row():
    assert list(catalogue.DEVICES) == list(Device)
