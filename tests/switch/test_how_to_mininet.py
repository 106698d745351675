"""The page on Mininet, block by block: hosts by hand, Mininet where it is installed, and an os-ken application."""

import contextlib
import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from brimful.lab.switch import find_switch
from support import ROOT, permitted
from test_documents import blocks

PAGE = ROOT / "docs" / "how-to" / "mininet.md"
CONTROLLERS = ROOT / "docs" / "how-to" / "controllers.md"
CLIENTS = Path(__file__).parent / "clients"
OS_KEN = ROOT / "build" / "controllers" / "bin" / "python"
SET_UP = "mount -t tmpfs none /run && mkdir /run/netns && ip link set lo up && echo ready && exec sleep 300"
PATIENCE_S = 30


class World:
    """A network namespace with a private /run, so that named namespaces are its own."""

    def __init__(self, holder, directory):
        self.directory = directory
        self._enter = ["nsenter", f"--target={holder.pid}", "--net", "--mount", f"--wd={directory}", "bash", "-ec"]
        paths = f"{Path(find_switch()).parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": paths}

    def run(self, text, **options):
        return subprocess.run(
            [*self._enter, text],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env=self._environment,
            cwd=self.directory,
            **options,
        )

    @contextlib.contextmanager
    def started(self, text, until=""):
        """Run something as long as the context lasts, from when it prints a pattern on."""
        process = subprocess.Popen(
            # The shell ends with what it has started.
            [*self._enter, re.sub(r"(\n|^)(?=[^\n]*\n?\Z)", r"\1exec ", text)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            cwd=self.directory,
        )
        with process:
            try:
                read_until(process, until)
                yield process
            finally:
                process.terminate()


def read_until(process, pattern):
    seen, end_s = "", time.monotonic() + PATIENCE_S
    while not re.search(pattern, seen):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end_s - time.monotonic()))
        read = os.read(process.stdout.fileno(), 65536).decode(errors="replace") if ready else ""
        assert read, f"{process.args}: no {pattern!r} in:\n{seen}"
        seen += read


@pytest.fixture
def world(tmp_path):
    if os.geteuid() != 0 or permitted() is not None:
        pytest.skip("network namespaces with names need root")
    command = ["unshare", "--net", "--mount", "--propagation=private", "sh", "-c", SET_UP]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "ready\n"
            yield World(holder, tmp_path)
        finally:
            holder.kill()


def test_two_hosts_by_hand_reach_each_other(world):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed: it is in the Debian package curl")
    hosts, switch, server, client, asked = blocks(PAGE, "sh")[:5]
    (world.directory / "served").write_text("by h2\n")
    made = world.run(hosts)
    assert made.returncode == 0, made.stderr
    with world.started(switch, "ready: switch"), world.started(server):
        got = world.run(client)
        assert got.returncode == 0, got.stderr
        assert "served" in got.stdout
        counters, block, unblock = asked.splitlines()
        received = re.findall(r"received_packets=(\d+)", world.run(counters).stdout)
        assert len(received) == 2
        assert min(map(int, received)) > 3
        for change, is_open in [(block, False), (unblock, True)]:
            done = world.run(change)
            assert done.returncode == 0, done.stderr
            got = world.run(client.replace("curl --retry 9", "curl --max-time 1"))
            assert (got.returncode == 0) == is_open, got.stderr


def test_mininet_starts_the_switch(world):
    if shutil.which("mn") is None:
        pytest.skip("Mininet is not installed: it is in the Debian package mininet")
    shutil.copy(ROOT / "examples" / "switch" / "mininet_switch.py", world.directory)
    (start,) = (text for text in blocks(PAGE, "sh") if text.startswith("mn "))
    (session,) = (text for text in blocks(PAGE, "") if text.startswith("mininet> "))
    typed = session.replace("mininet> ", "") + "exit\n"
    done = world.run(start, input=typed)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert "Directory listing for /" in said, said
    assert "actions=output:NORMAL" in said, said


def test_the_lines_for_os_ken_start_an_application(world):
    # Version 3 has what version 4 has left of it, too.
    if not OS_KEN.exists():
        pytest.skip("os-ken is not there: tools/setup test installs it in build/controllers")
    hosts = blocks(PAGE, "sh")[0]
    assert world.run(hosts).returncode == 0
    (lines,) = blocks(CONTROLLERS, "python")
    (world.directory / "start.py").write_text(lines)
    for application in ("learning_switch", "ping"):
        shutil.copy(CLIENTS / f"{application}.py", world.directory)
    with world.started(f"{OS_KEN} start.py learning_switch"):
        switch = "brimful-switchd --port 1=s1 --port 2=s2 --controller tcp:127.0.0.1:6653"
        with world.started(switch, "tcp:127.0.0.1:6653: connected"):
            came = world.run("ip netns exec h1 python3 -I ping.py 10.0.0.2 20 0.05")
    assert came.returncode == 0, came.stderr
    assert int(came.stdout.split()[0]) > 0
