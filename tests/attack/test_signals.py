"""Commands of every kind that a signal ends: one line, the exit code 130, and no process or lab is left."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from brimful.lab import permitted, state
from support import BRIMFUL

SYNTH = ("discards", "synth", "world", "--first-day", "2018-02-01", "--last-day", "2018-02-01", "--render", "v1")
"""A day of each of 19 sites."""
WORKERS = 2


def session(leader):
    """The command lines of the processes of a session."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
            words = (directory / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if fields[0] not in "ZX" and int(fields[3]) == leader:
            found.append(" ".join(words))
    return found


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextlib.contextmanager
def begin(tmp_path, *command):
    process = subprocess.Popen(
        [*BRIMFUL, *command], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_what_started_them(tmp_path, number):
    with begin(tmp_path, *SYNTH, "--workers", str(WORKERS), "--quiet") as process:
        wait_until(lambda: sum("spawn_main" in line for line in session(process.pid)) == WORKERS)
        # They are begun once there is something of theirs.
        wait_until(lambda: list((tmp_path / "world" / "v1").rglob("*")))
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        if number == signal.SIGTERM:
            assert (process.returncode, errors.splitlines()[-1:]) == (130, ["brimful: interrupted"])
        wait_until(lambda: not session(process.pid))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_lab_ends_with_its_command(tmp_path, monkeypatch, number):
    if (reason := permitted()) is not None:
        pytest.skip(reason)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with begin(tmp_path, "lab", "run", "wire", "sleep", "600") as process:
        wait_until(lambda: any(line.startswith("sleep 600") for line in session(process.pid)))
        assert len(state.read_all()) == 1
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (130, "brimful: interrupted\n")
        assert state.read_all() == []
        wait_until(lambda: not session(process.pid))
