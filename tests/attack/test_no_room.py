"""Places without room and homes that cannot be written: one line, the result is shown, and nothing is lost."""

import errno
import os
import shutil
import subprocess
import sys

import pytest
from attacking import outcome, refused
from brimful.errors import MeasureError
from brimful.lab import state
from brimful.records import read_run

SIM = ("search", "-m", "sim:sharp,capacity=1Mpps", "--quiet")


@pytest.fixture
def full(monkeypatch):
    """Make atomic writes find no room."""

    def no_room(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    return lambda: monkeypatch.setattr("tempfile.mkstemp", no_room)


def test_a_merge_without_room_is_one_line_and_can_be_made_again(tmp_path, monkeypatch):
    for part in (1, 2):
        outcome(*SIM, "--repeat", 2, "--shard", f"{part}/2", "--out", tmp_path / f"p{part}")
    merge = ("merge", tmp_path / "p1", tmp_path / "p2", "--out", tmp_path / "whole")

    def no_room(source, target, **_):
        raise shutil.Error([(source, target, f"[Errno 28] No space left on device: '{source}'")])

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", no_room)
        assert "No space left on device" in refused(*merge)
        assert not (tmp_path / "whole" / "run.jsonl").exists()
    assert outcome(*merge)[0] == 0
    assert len(read_run(tmp_path / "whole").members) == 2


def test_what_is_found_is_shown_before_files_are_written(tmp_path, monkeypatch, full):
    monkeypatch.chdir(tmp_path)
    outcome(*SIM, "--out", "run")
    outcome("trend", "add", "store", "run")
    full()
    for command, shown in (
        (("trend", "check", "store", "--junit", "x.xml"), "Not judged yet"),
        ((*SIM, "--junit", "x.xml"), "1.000 Mpps"),
    ):
        code, output, errors = outcome(*command)
        assert (code, len(errors.splitlines())) == (3, 1), errors
        assert "cannot write: No space left on device" in errors
        assert shown in output


def test_a_lab_that_cannot_be_noted_says_where(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "brimful" / "abc.draft").mkdir(parents=True, mode=0o700)
    (tmp_path / "brimful").chmod(0o700)
    with pytest.raises(MeasureError, match=r"abc\.json: cannot note the lab: .*XDG_RUNTIME_DIR"):
        state.save(state.Entry("abc", "bridge", 0.0, None, ()))


def test_a_full_disk_takes_back_what_was_written_of_a_line(tmp_path):
    """On a real one, of 64 KiB, in a mount namespace; without the right to make one there is nothing to try."""
    (tmp_path / "full").mkdir()
    script = """
    mount -t tmpfs -o size=64k tmpfs full && head -c 50000 /dev/zero >full/other || exit 77
    "$@" --out full/run; echo "code $?"
    rm full/other
    "$@" --out full/run --resume; echo "code $?"
    """
    search = ["brimful", *SIM[:2], "sim:noisy,capacity=1Mpps,seed=3", "--goal", "loss=0,trial=1s,sum=300s"]
    python = [sys.executable, "-m", *search, "--quiet"]
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", *python],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"this machine does not let us mount a file system in memory: {done.stderr.strip()}")
    (line,) = done.stderr.splitlines()
    assert line.endswith(
        "full/run/run.jsonl: cannot write: No space left on device; make room and continue with --resume"
    )
    assert "code 3" in done.stdout.splitlines()
    assert "Traceback" not in done.stderr


def test_figures_need_no_home_to_keep_settings_in():
    program = "import brimful.report.figures, matplotlib; matplotlib.get_configdir()"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env={**os.environ, "HOME": "/proc"}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
