"""The page on the reader's own forwarder, from an empty directory; each run is interrupted once it is on its way."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bpf_object import XDP_PASS, same_for_all, write_xdp_object
from support import ROOT
from test_documents import blocks
from test_how_to_commands import read_until

PAGE = ROOT / "docs" / "how-to" / "your-forwarder.md"
COMMANDS = [line for block in blocks(PAGE, "sh") for line in block.splitlines()]
MEASURING = [command for command in COMMANDS if command.startswith("brimful ")]

QUICK = [next(c for c in MEASURING if c.startswith(f"brimful {command} ")) for command in ("search", "delay")]


@pytest.fixture
def directory(tmp_path):
    """Where a reader has made what the page shows."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler is installed")
    (source,), (script,) = blocks(PAGE, "c"), blocks(PAGE, "bash")
    (tmp_path / "fwd.c").write_text(source)
    (tmp_path / "bridge.sh").write_text(script)
    write_xdp_object(tmp_path / "filter.o", same_for_all(XDP_PASS))
    subprocess.run(["sh", "-ec", COMMANDS[0]], cwd=tmp_path, check=True)
    (tmp_path / "Makefile").write_text(f"fwd: fwd.c\n\t{COMMANDS[0]}\n")
    git = "git -c user.name=a -c user.email=a@example.com"
    begin = f"git init -q . && git add fwd.c Makefile && {git} commit -qm one && git tag v1"
    subprocess.run(["sh", "-ec", f"{begin} && echo // >>fwd.c && {git} commit -qam two"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    # Each measures the tester first; test_own_forwarder.py has the other forwarders without that.
    [pytest.param(c, marks=[] if c in QUICK else [pytest.mark.slow]) for c in MEASURING],
)
def test_every_command_begins(own_interfaces, directory, command):
    if "testpmd" in command and shutil.which("dpdk-testpmd") is None:
        pytest.skip("dpdk-testpmd is not installed: tools/setup test")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    words = ["sh", "-ec", f"exec {command}"]
    with subprocess.Popen(
        words, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            before = read_until(process, r"\b(trial|round) +\d|warm-up|making")
            process.send_signal(signal.SIGINT)
            after, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == (1 if command.startswith("brimful search") else 130), before + after


def test_the_page_is_short_and_every_command_is_run():
    assert len(re.sub(r"```.*?```", "", PAGE.read_text(), flags=re.DOTALL).split()) <= 400
    assert [COMMANDS[0], *MEASURING] == COMMANDS
