"""What is changed outside: noted before, put back by whoever comes next where the one who changed it was killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from brimful import changes
from brimful.changes import Note, put_back
from brimful.errors import MeasureError
from support import BRIMFUL, ROOT

CHILD = """
import sys, time
from pathlib import Path
from brimful.changes import Note
setting, notes = Path(sys.argv[1]), Path(sys.argv[2])
note = Note([(setting, "0")], notes=notes)
setting.write_text("2\\n")
print("changed", flush=True)
time.sleep(60)
"""


@pytest.fixture
def setting(tmp_path):
    path = tmp_path / "setting"
    path.write_text("0\n")
    return path


def child(*arguments, script=CHILD):
    """A process that has changed something, and waits."""
    words = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    path = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=path)
    assert process.stdout.readline() == "changed\n"
    return process


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_what_a_killed_process_changed_is_put_back_once(tmp_path, setting):
    notes = tmp_path / "notes"
    process = child(setting, notes)
    assert put_back(notes=notes) == [], "it lives"
    assert setting.read_text() == "2\n"
    killed(process)
    (text,) = put_back(notes=notes)
    assert f"put back {setting}, which a run that was killed had changed: 0" in text
    assert setting.read_text() == "0\n"
    assert list(notes.iterdir()) == []
    assert put_back(notes=notes) == []


def test_a_note_is_there_before_the_change_and_gone_after_it(tmp_path, setting):
    notes = tmp_path / "notes"
    with Note([(setting, "0")], notes=notes):
        (path,) = notes.glob("*.json")
        assert json.loads(path.read_text())["put_back"] == [[str(setting), "0"]]
    assert list(notes.iterdir()) == []


def test_settings_of_another_boot_are_gone_with_it(tmp_path, setting, monkeypatch):
    notes = tmp_path / "notes"
    killed(child(setting, notes))
    monkeypatch.setattr(changes, "_boot", lambda: "another")
    assert put_back(notes=notes) == []
    assert setting.read_text() == "2\n"
    assert list(notes.iterdir()) == []


def test_a_device_that_is_gone_needs_nothing(tmp_path, setting):
    notes = tmp_path / "notes"
    killed(child(setting, notes))
    setting.unlink()
    assert put_back(notes=notes) == []
    assert list(notes.iterdir()) == []


def test_what_cannot_be_put_back_stays_noted(tmp_path, setting, monkeypatch):
    notes = tmp_path / "notes"
    killed(child(setting, notes))

    def refuse(path, line):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(changes, "write_line", refuse)
    (text,) = put_back(notes=notes)
    assert "cannot put back '0'" in text
    assert "as root" in text
    monkeypatch.undo()
    assert len(put_back(notes=notes)) == 1
    assert setting.read_text() == "0\n"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"boot": 1}', '{"boot": "", "put_back": [1]}', "[" * 5000])
def test_what_is_no_note_is_not_believed(tmp_path, content):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "1-0.json").write_text(content)
    assert put_back(notes=notes) == []


def test_nothing_is_changed_where_nothing_can_be_noted(tmp_path, setting):
    (tmp_path / "notes").write_text("a file")
    with pytest.raises(MeasureError, match="cannot note what is to be put back"):
        Note([(setting, "0")], notes=tmp_path / "notes")


@pytest.fixture
def loop(tmp_path):
    """A loop device on a file; gone with the test."""
    if os.geteuid() != 0 or shutil.which("losetup") is None or not os.access("/run", os.W_OK):
        pytest.skip("a loop device needs root")
    (tmp_path / "disk").write_bytes(bytes(1 << 20))
    command = ["losetup", "--find", "--show", str(tmp_path / "disk")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no loop device: {done.stderr.strip()}")
    path = done.stdout.strip()
    yield path
    subprocess.run(["losetup", "--detach", path], check=False)


NOTES_OF_ITS_OWN = """
import sys, time
from pathlib import Path
from brimful import changes
changes.NOTES = Path(sys.argv.pop(1))
"""
"""Begins a program: whatever commands other tests run would put back what is noted in the place of all."""
COMMAND = f"""{NOTES_OF_ITS_OWN}
from brimful.__main__ import run
run()
"""
UNMERGED = f"""{NOTES_OF_ITS_OWN}
from brimful.iocost.measure.disk import Disk
disk = Disk(sys.argv[1], destroy_data=None, options=[], ignore_signature=False)
with disk.unmerged():
    print("changed", flush=True)
    time.sleep(60)
"""


def queue_of(loop):
    queue = Path("/sys/class/block") / Path(loop).name / "queue"
    return {name: (queue / name).read_text() for name in ("scheduler", "nr_requests", "nomerges")}


def test_the_next_command_puts_back_the_queue_of_a_disk(tmp_path, loop):
    before = queue_of(loop)
    notes = tmp_path / "notes"
    process = child(notes, loop, script=UNMERGED)
    assert queue_of(loop)["nomerges"] == "2\n"
    killed(process)
    assert queue_of(loop)["nomerges"] == "2\n"
    command = [sys.executable, "-c", COMMAND, notes, "presets"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{Path(loop).name}/queue/nomerges, which a run that was killed had changed: 0" in done.stderr
    assert queue_of(loop) == before


def test_a_plan_for_a_disk_that_is_read_only_is_refused(loop):
    command = [*BRIMFUL, "iocost", "measure", loop, "--dry-run", "--working-set", "512k"]
    subprocess.run(["blockdev", "--setro", loop], check=True)
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    done = subprocess.run([*command, "--destroy-data", loop], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{loop}: is read-only" in done.stderr
    subprocess.run(["blockdev", "--setrw", loop], check=True)
    assert subprocess.run([*command, "--destroy-data", loop], capture_output=True, check=False).returncode == 0


def test_who_measures_next_takes_the_settings_of_before_for_its_own(tmp_path, monkeypatch, loop):
    from brimful.iocost.measure.disk import Disk

    monkeypatch.setattr(changes, "NOTES", tmp_path / "notes")
    before = queue_of(loop)
    killed(child(changes.NOTES, loop, script=UNMERGED))
    disk = Disk(loop, destroy_data=None, options=[], ignore_signature=False)
    with disk.unmerged():
        assert queue_of(loop)["nomerges"] == "2\n"
    assert queue_of(loop) == before
    assert any("echo '0' > " in command and "nomerges" in command for command in disk.undo)
