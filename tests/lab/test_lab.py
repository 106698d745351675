import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import brimful.lab
import pytest
from brimful.errors import UsageError
from brimful.lab import Device, Input, devices, losses, open_lab, state
from brimful.lab.devices import _queue_is_safe
from brimful.lab.namespaces import Process
from brimful.lab.programs import find_own_program
from lab_support import CROSS, FRAMES, PYTHON, TB, cross, open_if_installed, wait_until


def namespace_of(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def all_namespaces() -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add(str((process / "ns/net").readlink()))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(("device", "ip"), [("wire", 4), ("bridge", 4), ("bridge", 6), ("router", 4), ("router", 6)])
def test_frames_cross_both_ways_and_nothing_else_does(own_interfaces, device, ip):
    with open_lab(device, ip=ip) as lab:
        before = lab.counters()
        hops = [63] if device == "router" else [64]
        assert cross(lab, ip) == {"ta": {"in_order": True, "hops": hops}, "tb": {"in_order": True, "hops": hops}}
        after = lab.counters()
    for port in ("ta", "tb"):
        assert after[port]["rx_packets"] - before[port]["rx_packets"] == FRAMES
        assert after[port]["tx_packets"] - before[port]["tx_packets"] == FRAMES
    assert losses(before, after) == {}


@pytest.mark.parametrize("device", ["wire,ports=4", "bridge,ports=5", "switch,ports=8", "ovs,ports=4"])
def test_a_lab_has_as_many_ports_as_were_asked_for_and_frames_pass_from_each(own_interfaces, device):
    count = int(device[-1])
    with open_if_installed(device) as lab:
        expected = [f"t{side}" for side in "abcdefgh"[:count]]
        assert (list(lab.ports), len(set(lab.macs))) == (expected, count)
        assert lab.describe()["tester_ports"] == expected
        counters = lab.counters()
        # What is sent before the lab is handed over goes out of each port and arrives at each.
        assert all(counters[port]["tx_packets"] > 0 < counters[port]["rx_packets"] for port in expected)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [(["find_classifier"], {Input.THREAD, Input.INLINE}), (["find_classifier", "threads"], {Input.INLINE})],
)
def test_a_kernel_with_less_still_gives_a_lab_that_says_so(own_interfaces, monkeypatch, missing, expected):
    if "threads" in missing:
        monkeypatch.setattr(devices.links, "give_threads", lambda device, ports: False)
    monkeypatch.setattr(devices, "find_classifier", lambda device: None)
    for device in ("bridge", "router"):
        with open_lab(device) as lab:
            assert lab.input in expected
            assert lab.describe()["input"] == lab.input.value
            cross(lab)


FLOOD = """
import socket, sys
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("ta", 0))
frame = bytes.fromhex(sys.argv[2].replace(":", "") + "02626600001a" + "88b5") + bytes(46)
for number in range(int(sys.argv[1])):
    port.send(frame)
"""


@pytest.mark.parametrize("device", ["bridge,work=10000", "xdp,work=20000"])
def test_an_overloaded_device_drops_and_every_frame_is_accounted_for(own_interfaces, device):
    with open_if_installed(device) as lab:
        if lab.input is not Input.QUEUE:
            pytest.skip(f"this kernel gives the device no queue of its own, only input {lab.input.value}")
        before, sent = lab.counters(), 0
        # How fast this machine sends and forwards is unknown: flood until it spills.
        while not losses(before, lab.counters()) and sent < 2_000_000:
            # An error of `send` would end the program: the sender must not learn of the loss.
            subprocess.run(lab.command([*PYTHON, "-c", FLOOD, "50000", TB]), check=True)
            sent += 50000

        def accounted() -> bool:
            after = lab.counters()
            arrived = after["tb"]["rx_packets"] - before["tb"]["rx_packets"]
            return arrived + sum(losses(before, after).values()) == sent

        wait_until(accounted, "every frame either arrived or was counted as dropped")
        lost = losses(before, lab.counters())
    assert set(lost) <= {"qa.queue_dropped", "qa.tx_dropped"}
    assert sum(lost.values()) > 0


def test_two_labs_at_once_do_not_collide(own_interfaces):
    with open_lab("bridge") as first, open_lab("bridge") as second:
        assert first.id != second.id
        assert namespace_of(first.tester.keeper.pid) != namespace_of(second.tester.keeper.pid)
        idle = second.counters()
        cross(first)
        assert second.counters() == idle
        cross(second)


def test_closing_leaves_nothing(own_interfaces, state_directory):
    with open_lab("router") as lab:
        keepers = [keeper.namespace for keeper in lab._keepers]
        spaces = {namespace_of(namespace.keeper.pid) for namespace in keepers}
        assert len(list(state_directory.iterdir())) == 1
    assert not any(namespace.keeper.is_alive() for namespace in keepers)
    assert not spaces & all_namespaces()
    assert list(state_directory.iterdir()) == []
    lab.close()


OWNER = """
import json, sys
from brimful.lab import open_lab
lab = open_lab("bridge")
print(json.dumps([keeper.namespace.keeper.pid for keeper in lab._keepers]), flush=True)
sys.stdin.read()
"""


def test_a_killed_owner_leaves_no_namespace_and_no_process(own_interfaces):
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    with owner:
        pids = json.loads(owner.stdout.readline())
        spaces = {namespace_of(pid) for pid in pids}
        assert spaces <= all_namespaces()
        (entry,) = state.read_all()
        assert entry.life is state.Life.ALIVE
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: not spaces & all_namespaces(), "the namespaces are gone")
    assert entry.life is state.Life.STALE
    assert [gone.lab_id for gone in state.clean_stale()] == [entry.lab_id]
    assert state.read_all() == []


def test_the_next_lab_forgets_those_of_killed_owners_only(own_interfaces, state_directory):
    with subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        (killed,) = state.read_all()
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: killed.life is state.Life.STALE, "the keepers ended")
    of_the_living = dataclasses.replace(killed, lab_id="abcdef", owner=Process.find(os.getpid()))
    state.save(of_the_living)
    (state_directory / "torn.json").write_text("{")
    with open_lab("wire") as lab:
        left = {path.stem for path in state_directory.glob("*.json")}
        assert left == {of_the_living.lab_id, lab.id, "torn"}


def test_a_failure_while_building_leaves_nothing(own_interfaces, monkeypatch):
    namespaces = []

    def fail(device, place, options):
        namespaces.extend([place.tester, place.device])
        raise KeyboardInterrupt

    monkeypatch.setattr(brimful.lab.catalogue, "build", fail)
    with pytest.raises(KeyboardInterrupt):
        open_lab("bridge")
    assert len(namespaces) == 2
    assert not any(namespace.keeper.is_alive() for namespace in namespaces)
    assert state.read_all() == []


def own_cpus(device):
    return [word for cpu in devices.tester_cpus(device) for word in ("--cpu", str(cpu))]


@pytest.mark.parametrize(
    ("cpus", "on_a_wire", "beside_a_device", "left"),
    [
        ({5}, (), (), [5]),
        ({1, 3}, (1, 3), (1,), [3]),
        ({2, 0, 4}, (0, 2), (0, 2), [4]),
        ({0, 1, 2, 3}, (0, 1), (0, 1), [2, 3]),
    ],
)
def test_a_device_gets_a_cpu_before_the_tester_gets_a_second(monkeypatch, cpus, on_a_wire, beside_a_device, left):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: cpus)
    assert devices.tester_cpus(Device.WIRE) == on_a_wire
    assert devices.tester_cpus(Device.ROUTER) == beside_a_device
    assert devices.device_cpus() == left


@pytest.mark.skipif(os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2, reason="needs root and two CPUs")
def test_the_device_runs_on_other_cpus_than_the_tester():
    before = devices._receiving_threads(["pa", "pb"])
    with open_lab("bridge") as lab:
        threads = devices._receiving_threads(["pa", "pb"]) - before
        if lab.input is not Input.QUEUE:
            pytest.skip("the device has no threads of its own on this kernel")
        assert len(threads) == 2
        reserved = devices.tester_cpus(Device.BRIDGE)
        assert all(os.sched_getaffinity(thread).isdisjoint(reserved) for thread in threads)


def test_tester_arguments(own_interfaces):
    with open_lab("bridge") as lab:
        assert lab.tester_arguments() == ["--port", "ta", "--port", "tb", *own_cpus(Device.BRIDGE)]
    with open_lab("wire") as lab:
        assert lab.tester_arguments() == ["--port", "ta", "--port", "tb", *own_cpus(Device.WIRE)]
        assert lab.tester_arguments(cpus=[7]) == ["--port", "ta", "--port", "tb", "--cpu", "7"]
    with open_lab("router", ip=6) as lab:
        assert " ".join(lab.tester_arguments()) == (
            f"--port ta --port tb {' '.join([*own_cpus(Device.ROUTER), ''])}"
            "--next-hop-mac 02:62:66:00:00:0a --next-hop-mac 02:62:66:00:00:0b --ip 6 "
            "--source-ip 2001:2::2 --destination-ip 2001:2:0:8000::2 "
            "--source-ip 2001:2:0:8000::2 --destination-ip 2001:2::2"
        )
        assert json.loads(json.dumps(lab.describe()))["device"] == "router"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"device": "hub"},
            "there is no device 'hub': use one of bridge, router, xdp, ovs, testpmd, switch, program, crossbar, wire",
        ),
        ({"device": Device.ROUTER, "ip": 5}, "ip is 5: use 4 or 6"),
        ({"device": "bridge", "mtu": 9217}, "mtu is 9217: use 1500 to 9216"),
        ({"device": "bridge", "work": 100001}, "work is 100001: use 0 to 100000"),
        ({"device": "bridge,work=-1"}, "work is -1: use 0 to 100000"),
        ({"device": "xdp,work=100001"}, "work is 100001: use 0 to 100000"),
        ({"device": "testpmd,mode=macswap"}, "mode is macswap: use one of io, mac"),
        ({"device": "ovs,back_end=dpdk"}, "back_end is dpdk: use one of system, afxdp"),
        ({"device": "bridge,ports=1"}, "ports is 1: use 2 to 16"),
        ({"device": "bridge,ports=17"}, "ports is 17: use 2 to 16"),
        ({"device": "router,ports=4"}, "device router has no option 'ports': use work"),
        ({"device": "wire,ports=3"}, "lab:wire joins its ports in pairs: ports=3 leaves one over, give an even number"),
        ({"device": "router,rules=3"}, "device router has no option 'rules': use work"),
        ({"device": "wire,work=3"}, "device wire has no option 'work': use ports"),
        ({"device": "bridge,work"}, "device bridge: 'work' is not key=value, or its key is there twice"),
        (
            {"device": "bridge,work=3", "work": 4},
            "device bridge: 'work=3' is not key=value, or its key is there twice",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(UsageError, match=f"^{message}$"):
        open_lab(**arguments)


@pytest.mark.parametrize(
    ("release", "safe"),
    [("6.1.0-18-amd64", False), ("6.17.9", False), ("6.18.44-x", True), ("7.0-rc1", True), ("strange", False)],
)
def test_the_queue_is_only_used_with_kernels_that_restart_it(release, safe):
    assert _queue_is_safe(release) is safe


def lab_of_nobody(device: str) -> dict:
    """Make a lab as a user without any privilege, send frames through it, and say what came of it."""
    if os.geteuid() != 0:
        pytest.skip("the other tests already run without root")
    python = shutil.which("python3", path="/usr/bin:/bin")
    nobody = [shutil.which("setpriv") or "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    if python is None:
        pytest.skip("there is no /usr/bin/python3 that another user may run")
    with tempfile.TemporaryDirectory() as place:
        # A copy, because the source and the virtual environment may be in a directory that only root may enter.
        source = Path(brimful.lab.__file__).parent
        shutil.copytree(source, Path(place) / "brimful/lab", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(source.parent / "errors.py", Path(place) / "brimful/errors.py")
        for program in (CROSS, find_own_program("brimful-forwarder")):
            if program is not None:
                shutil.copy(program, place)
        runtime = Path(place) / "runtime"
        runtime.mkdir()
        os.chown(runtime, 65534, 65534)
        Path(place).chmod(0o755)
        environment = {"PYTHONPATH": place, "XDG_RUNTIME_DIR": str(runtime), "PATH": f"/usr/bin:/bin:{place}"}
        program = [*nobody, python, "-c", ROOTLESS, place, device]
        done = subprocess.run(program, env=environment, capture_output=True, text=True)
        left = [path.name for path in (runtime / "brimful").glob("*")]
    assert done.returncode == 0, done.stderr
    assert left == []
    result = json.loads(done.stdout)
    if "refused" in result:
        pytest.skip(result["refused"])
    return result


ROOTLESS = """
import json, subprocess, sys
from brimful.errors import MeasureError
from brimful.lab import catalogue, open_lab, permitted
place, device = sys.argv[1:]
try:
    refused = permitted()
    catalogue.check_needs(device)
except MeasureError as error:
    refused = str(error)
if refused is not None:
    print(json.dumps({"refused": refused}))
    raise SystemExit
try:
    opened = open_lab(device)
except MeasureError as error:
    print(json.dumps({"error": str(error)}))
    raise SystemExit
with opened as lab:
    next_hops = lab.router_macs or ("02:62:66:00:00:1b", "02:62:66:00:00:1a")
    program = [sys.executable, place + "/cross.py", "50", "4", *next_hops]
    found = json.loads(subprocess.run(lab.command(program), check=True, stdout=subprocess.PIPE).stdout)
    description = lab.describe()
print(json.dumps({"found": found, "description": description}))
"""


@pytest.mark.parametrize(("device", "hops"), [("router", [63]), ("ovs", [64]), ("testpmd", [64])])
def test_a_user_without_root_gets_the_same_lab(own_interfaces, device, hops):
    result = lab_of_nobody(device)
    good = {"in_order": True, "hops": hops}
    assert result["found"] == {"ta": good, "tb": good}
    assert result["description"]["privilege"] == "user namespace"


BRIDGE_BY_HAND = (
    "ip link add br0 type bridge; for port in {a} {b}; do ip link set $port master br0; done; ip link set br0 up"
)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("device", ["bridge", "testpmd", f"program,run={BRIDGE_BY_HAND}"])
def test_root_without_the_right_to_make_namespaces_uses_a_user_namespace(own_interfaces, device):
    open_if_installed(device).close()
    bound = [shutil.which("setpriv") or "setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all", "--"]
    text = (
        "from brimful.lab import open_lab, permitted\n"
        "with open_lab(sys.argv[1]) as lab: print(permitted(), lab.describe()['privilege'])"
    )
    possible = subprocess.run([*bound, "unshare", "--user", "--map-root-user", "--net", "true"], capture_output=True)
    if possible.returncode != 0:
        pytest.skip(f"no user namespace without CAP_SYS_ADMIN: {possible.stderr.decode().strip()}")
    done = subprocess.run([*bound, sys.executable, "-c", f"import sys; {text}", device], capture_output=True, text=True)
    assert done.stdout == "None user namespace\n", done.stderr


def test_a_device_works_as_hard_without_root(own_interfaces):
    found = lab_of_nobody("bridge")["description"]["work"]
    with open_lab("bridge") as lab:
        assert found == lab.describe()["work"]


def test_a_user_without_root_is_told_that_xdp_needs_it(own_interfaces):
    assert lab_of_nobody("xdp")["error"] == (
        "brimful-forwarder has ended; it said: no permission to attach an XDP program to `pa`: "
        "run as root of the machine, with CAP_BPF and CAP_NET_ADMIN"
    )
