"""Every command of the README and the how-tos is run as it stands, in a world that has what the pages speak of.

The world is a network namespace with ports `eth1` to `eth4`, cabled in pairs, a private `/run`, and a private `/dev` in
which the disks of the pages are loop devices on files. Searches and delay runs begin there and are interrupted at their
first trial: how they go on is what other tests are about.
"""

import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import ROOT
from test_documents import README, blocks

PAGES = [README, *sorted((ROOT / "docs" / "how-to").glob("*.md")), *sorted((ROOT / "docs" / "start").glob("*.md"))]
SET_UP = """
set -e
mount -t tmpfs none /run
mount -t tmpfs none /var/lib
mkdir /run/openvswitch
mkdir /run/dev
mount --rbind /dev /run/dev
mount -t tmpfs none /dev
for device in /run/dev/*; do ln -s $device /dev/; done
while [ $# -gt 0 ]; do ln -s /run$1 $2; shift 2; done
for pair in "eth1 eth2" "eth3 eth4"; do set -- $pair; ip link add $1 type veth peer name $2; done
for port in lo eth1 eth2 eth3 eth4; do ip link set $port up; done
ip address add 198.18.0.2/32 dev lo
echo ready
exec sleep 900
"""
DISKS = ("/dev/nvme0n1", "/dev/sdb")
"""What the pages call disks: symbolic links, as those by their serial numbers are."""
DISK_BYTES = 64 << 20
ELSEWHERE = {
    r"^make |^pip install|^tools/setup|^\.venv/bin/pip": "sets a machine up; tests/test_wheel.py installs a wheel",
    r"^\./t-rex|trex:": "needs a TRex server: tests/testers/test_trex.py has one that stands in",
    r"iocost apply|^sudo ": "changes a device or the kernel: tests/iocost/test_device.py",
    r"^gcloud": "needs an account",
    r"--max-load (14.88Mpps|10Gbps)": "needs ports of 10 Gbit/s: tests/burst/test_burst_run.py",
    r"--wire own-delay": "needs a whole run before it: tests/delay/test_delay_command.py",
    r"cmd:bench/tester|--variant old='ssh": "needs builds of its own: tests/paired/test_how_to_compare.py",
    r"clean 3f09ab|switchd \.\.\.": "has a name that stands for another",
}
"""Commands that are not run as they stand: why, and what runs the like of them."""
BY_ANOTHER_TEST = {
    r"--assert .* of runs/base": "tests/suites/test_rfc2544.py",
    r"lab:program": "tests/lab/test_how_to_your_forwarder.py",
    r"^brimful bisect ": "tests/bisection/test_bisect_command.py",
    r"--port 1=s1|in_port=s1": "tests/switch/test_how_to_mininet.py",
    r"^brimful trend |--label version=": "tests/trend/test_how_to_trend.py",
    r"--shard |^brimful merge ": "tests/campaign/test_how_to_shards.py",
    r"^brimful-switchd check /etc/": "tests/packages/test_deb_installed.py",
    r"--store s3://": "tests/discards/test_buckets.py",
    r"--engine spark|spark-cluster$": "tests/discards/test_spark_cluster.py",
    r"^brimful tester check ": "tests/cards/test_tester_check.py",
    r"^curl |discards (ingest|tests|report|affected) --store|^iperf3 --client": "tests/discards/test_how_to_snmp.py",
}
"""Commands that another test runs in whole, with stand-ins for devices and servers."""
FINITE = (
    r"^eval |^brimful (runs|report|explain|compare (?!-m )|lab (check|run|up|list|clean))"
    r"|^brimful (iocost (export|tune|measure .*--dry-run)|(search|compare) -m (sim:|@))"
    r"|^brimful-switchd check"
)
"""Commands that come to their end soon."""


def commands():
    """Every command that a page shows in a block, but for sessions, which are repeated elsewhere; with its page."""
    for path in PAGES:
        for text in blocks(path, "sh") + blocks(path, ""):
            if text.startswith("$ "):
                continue
            for line in text.replace("\\\n", " ").splitlines():
                if re.match(
                    r"(brimful|brimful-switchd|sudo|make|pip|\./|curl|iperf3|eval|tools/|\.venv/|gcloud) ?", line
                ):
                    yield path.name, re.split(r"\s{2,}#", line)[0].strip()


COMMANDS = list(dict.fromkeys(command for _, command in commands()))
HERE = [c for c in COMMANDS if not any(re.search(pattern, c) for pattern in [*ELSEWHERE, *BY_ANOTHER_TEST])]
ENDING = [command for command in HERE if re.match(FINITE, command)]
BEGUN = [
    command
    for command in HERE
    if re.match(r"brimful (search|delay|rfc2544|rfc2889|compare -m) ", command) and command not in ENDING
]
# What is there from the beginning is replaced last.
BEGUN.sort(key=lambda command: "--out found" in command)
FIRST_OF_ITS_KIND = {}
"""The first of the commands that measure the same kind of thing; the others are slow, and it is their quick twin."""
for command in BEGUN:
    subject = re.sub(r"[^a-z].*", "", command.partition("-m ")[2])
    FIRST_OF_ITS_KIND.setdefault((command.split()[1], subject, "--find" in command, "--sizes" in command), command)
MEASURED = [c for c in HERE if c.startswith("brimful iocost measure ") and c not in ENDING]
SERVERS = [c for c in HERE if c not in ENDING and re.search(r"^brimful-switchd |^iperf3 -s|snoop --controller", c)]
ASKED_OF_A_SWITCH = [command for command in HERE if command.startswith("brimful switch ") and command not in SERVERS]
LISTENING, ESTABLISHED = "0A", "01"
"""States of sockets, as /proc/net/tcp names them."""
RELAY = """
import socket, threading
def copy(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)
listener = socket.socket(socket.AF_UNIX)
listener.bind("/run/openvswitch/br0.mgmt")
listener.listen()
while True:
    near, far = listener.accept()[0], socket.create_connection(("127.0.0.1", 6634))
    for pair in ((near, far), (far, near)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""
"""Stands in for the management socket of Open vSwitch; brimful's switch answers behind it."""


def may_make_namespaces():
    made = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True)
    return made.returncode == 0


needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or not may_make_namespaces(), reason="network namespaces need root"
)


class World:
    """Where commands are run."""

    def __init__(self, process, directory):
        self._enter = ["nsenter", f"--target={process.pid}", "--net", "--mount", f"--wd={directory}"]
        (directory / "runtime").mkdir(mode=0o700)
        self._environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            # Labs of others are not to be ended by `brimful lab clean --all`.
            "XDG_RUNTIME_DIR": str(directory / "runtime"),
        }
        self.directory = directory

    def start(self, command):
        words = shlex.split(command, comments=True)
        if command.startswith("eval "):
            words = ["bash", "-ec", command]
        return subprocess.Popen(
            [*self._enter, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            env=self._environment,
            cwd=self.directory,
        )

    def interrupt(self, command, pattern):
        """Interrupt a command once it prints a pattern; give its exit code and what it printed before and after."""
        with self.start(command) as process:
            try:
                before = read_until(process, pattern)
                process.send_signal(signal.SIGINT)
                after, _ = process.communicate(timeout=60)
            finally:
                process.kill()
        return process.returncode, before, after

    def finish(self, command):
        with self.start(command) as process:
            output, _ = process.communicate(timeout=100)
        return process.returncode, output


@pytest.fixture(scope="module")
def disks(tmp_path_factory):
    """Loop devices with random data, by what the pages call them; none where none can be made."""
    found = {}
    for name in DISKS:
        file = tmp_path_factory.mktemp("disk") / "data"
        file.write_bytes(os.urandom(DISK_BYTES))
        made = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True, check=False)
        if made.returncode == 0:
            found[name] = made.stdout.strip()
    yield found
    for device in found.values():
        subprocess.run(["losetup", "--detach", device], check=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory, disks):
    directory = tmp_path_factory.mktemp("world")
    rules = "priority=5,in_port=1,actions=output:2\npriority=5,in_port=2,actions=output:1\n"
    (directory / "rules.flows").write_text(rules)
    page = (ROOT / "docs" / "how-to" / "switch.md").read_text()
    spec = re.search(r"`spec` holds a line such as\s+`([^`]+)`", page)[1]
    (directory / "spec").write_text(f"{spec}\n")
    toml = next(text for text in blocks(ROOT / "docs" / "how-to" / "command-line.md", "toml"))
    (directory / "brimful.toml").write_text(toml)
    required = next(iter(blocks(ROOT / "docs" / "how-to" / "rfc2544.md", "toml")))
    (directory / "requirements.toml").write_text(required)
    shutil.copy(ROOT / "examples" / "switch" / "switch.toml", directory)
    shutil.copy(ROOT / "tests" / "schema_1" / "device" / "run.jsonl", directory / "result.jsonl")
    (directory / "my-tester").write_text('#!/bin/sh\nip link show "$2" && ip link show "$4"\n')
    (directory / "my-tester").chmod(0o755)
    for run in ("RUN", "OLD", "NEW"):
        shutil.copytree(ROOT / "tests" / "schema_1" / "device", directory / "runs" / run)
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: nothing to make certificates with")
    certificate = "req -x509 -newkey rsa:2048 -nodes -subj /CN=switch -keyout switch.key -out switch.pem"
    subprocess.run(["openssl", *certificate.split()], cwd=directory, check=True, capture_output=True)
    shutil.copy(directory / "switch.pem", directory / "ca.pem")
    (directory / "found").mkdir()
    shutil.copy(ROOT / "schemas" / "examples" / "regular.jsonl", directory / "found" / "run.jsonl")
    links = [word for name, device in disks.items() for word in (device, name)]
    process = subprocess.Popen(
        ["unshare", "--net", "--mount", "--propagation=private", "sh", "-c", SET_UP, "sh", *links],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield World(process, directory)
    finally:
        process.kill()
        process.communicate()


def read_until(process, pattern, seconds=60):
    """What a process prints until it matches."""
    seen, end_s = "", time.monotonic() + seconds
    while not re.search(pattern, seen):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end_s - time.monotonic()))
        # Not by lines: those that came together would wait in a buffer that select knows nothing of.
        read = os.read(process.stdout.fileno(), 65536).decode(errors="replace") if ready else ""
        assert read, f"{process.args}: no {pattern!r} in:\n{seen}"
        seen += read
    return seen


def wait_for_socket(process, state, seconds=60):
    """Wait until a process is in its namespace and a TCP socket there is in a state, or it has ended."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):  # of a process that has just ended
            inside = Path(f"/proc/{process.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
            tables = [Path(f"/proc/{process.pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
            sockets = [line.split() for table in tables for line in table.splitlines()[1:]]
            if inside and any(fields[3] == state for fields in sockets):
                return
        time.sleep(0.05)


def test_every_command_is_run_here_or_elsewhere():
    assert len(COMMANDS) > 50
    assert sorted([*ENDING, *BEGUN, *MEASURED, *SERVERS, *ASKED_OF_A_SWITCH]) == sorted(HERE)
    assert len(HERE) > 50
    for pattern, reason in [*ELSEWHERE.items(), *BY_ANOTHER_TEST.items()]:
        assert any(re.search(pattern, command) for command in COMMANDS), pattern
        assert all((ROOT / path).exists() for path in re.findall(r"tests/[\w/]+\.py", reason)), reason


@contextlib.contextmanager
def searched(world, measurer):
    """Have a short search of a measurer be the latest run, in the place of `runs/RUN`."""
    run, away = world.directory / "runs" / "RUN", world.directory / "runs" / "AWAY"
    run.rename(away)
    try:
        goal = "--goal loss=90%,trial=200ms,width=50% --min-load 500iops --max-load 1kiops"
        short = f"{goal} --no-calibrate --on-invalid retry:50 --quiet --out runs/RUN"
        code, output = world.finish(f"brimful search -m {measurer} {short}")
        # 1: even the greatest load that it may try is done.
        assert code in (0, 1), output
        yield
    finally:
        shutil.rmtree(run, ignore_errors=True)
        away.rename(run)


def skip_without(disks, command):
    for name in DISKS:
        if name in command and name not in disks:
            pytest.skip(f"no loop device can be {name}")


@needs_namespaces
@pytest.mark.timeout(200)
@pytest.mark.parametrize("command", ENDING)
def test_a_command_comes_to_its_end(world, command):
    if command.startswith(("brimful runs", "brimful report", "brimful explain")):
        code, output = world.finish("brimful search -m sim:sharp --preset quick --quiet")
        assert code == 0, output
    code, output = world.finish(command)
    assert code == 0, output


@needs_namespaces
@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=[] if c in FIRST_OF_ITS_KIND.values() else [pytest.mark.slow]) for c in BEGUN],
)
def test_a_run_begins_and_can_be_interrupted(world, disks, command):
    skip_without(disks, command)
    if "--out found" in command:
        shutil.rmtree(world.directory / "found")
    with contextlib.ExitStack() as stack:
        if "--of latest" in command:
            stack.enter_context(searched(world, shlex.split(command)[3]))
        if "iperf3:" in command:
            far_end = stack.enter_context(world.start("iperf3 -s"))
            stack.callback(far_end.kill)
            wait_for_socket(far_end, LISTENING)
        code, before, after = world.interrupt(command, r"\b(trial|round|test) +\d|warm-up")
    # A search that was interrupted has a result, if an irregular one.
    has_result = command.startswith("brimful search") and "--find" not in command
    assert code == (1 if has_result else 130), before + after
    assert "--find recovery" in command or "--resume" in after


@needs_namespaces
@pytest.mark.timeout(200)
@pytest.mark.parametrize("command", MEASURED)
def test_a_disk_is_measured_until_interrupted(world, disks, command):
    skip_without(disks, command)
    code, before, after = world.interrupt(command, r"step 2 of")
    assert code == 130, before + after


@needs_namespaces
@pytest.mark.timeout(200)
@pytest.mark.parametrize("command", SERVERS)
def test_a_server_runs_until_it_is_told_to_end(world, command):
    is_switch = command.startswith("brimful-switchd ")
    process = world.start(command)
    if is_switch:
        time.sleep(0.5)
    else:
        wait_for_socket(process, LISTENING)
    assert process.poll() is None, process.stdout.read()
    process.send_signal(signal.SIGTERM if is_switch else signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == (0 if is_switch else 1 if command.startswith("iperf3") else 130), output


@needs_namespaces
@pytest.mark.timeout(200)
def test_a_running_switch_answers(world):
    options = "--tables rules.flows --control /run/s.sock --controller ptcp:6634"
    relay = None
    switch = world.start(f"brimful-switchd --port 1=eth1 --port 2=eth2 {options}")
    try:
        for _ in range(100):
            if world.finish("brimful switch status --control /run/s.sock")[0] == 0:
                break
            time.sleep(0.1)
        relay = world.start(shlex.join([sys.executable, "-c", RELAY]))
        while world.finish("test -S /run/openvswitch/br0.mgmt")[0] != 0:
            assert relay.poll() is None, relay.stdout.read()
            time.sleep(0.1)
        for command in ASKED_OF_A_SWITCH:
            if command.endswith(" monitor"):
                watching = world.start(command)
                wait_for_socket(watching, ESTABLISHED)
                assert watching.poll() is None, watching.stdout.read()
                watching.send_signal(signal.SIGINT)
                watching.communicate(timeout=30)
                continue
            code, output = world.finish(command)
            assert code == 0, f"{command}: {output}"
    finally:
        if relay is not None:
            relay.kill()
            relay.communicate()
        switch.send_signal(signal.SIGTERM)
        switch.communicate(timeout=30)
