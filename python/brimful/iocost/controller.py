"""The files of the kernel's controller: where they are, what is set in them, and how to set and restore it."""

from __future__ import annotations

import re
from pathlib import Path

from brimful import changes
from brimful.changes import Note, put_back
from brimful.errors import BrimfulError
from brimful.kernel import echo_line, sysfs_lines
from brimful.records import Solution

QOS_FILE = "io.cost.qos"
MODEL_FILE = "io.cost.model"


class CostController:
    """What the controller does to one device; `restore` brings back what was set when this was made.

    Parameters
    ----------
    device_number
        Major and minor number of the whole disk.
    root
        Where ``sys`` and ``proc`` are.

    Raises
    ------
    BrimfulError
        When the kernel has no such controller, or does not let it be set for this device.
    """

    def __init__(self, device_number: str, *, root: Path = Path("/")) -> None:
        self.directory = find_control_group(root=root)
        self._number = device_number
        self._note: Note | None = None
        put_back()
        qos, model = (read_line(self.directory / name, device_number) for name in (QOS_FILE, MODEL_FILE))
        self._before = [
            (QOS_FILE, restoring(qos, f"{device_number} enable=0 ctrl=auto")),
            (MODEL_FILE, restoring(model, f"{device_number} ctrl=auto")),
        ]
        # What cannot be restored must not be set.
        self.restore()

    @property
    def undo(self) -> list[str]:
        """Shell commands that do what `restore` does."""
        return [echo_line(line, str(self.directory / name)) for name, line in self._before]

    def set(self, model: dict[str, int], qos: dict[str, float]) -> None:
        """Set a model and QoS parameters, and turn the controller on."""
        self._note_before()
        lines = sysfs_lines(self._number, Solution(name="measured", target="", model=model, qos=qos))
        for name, line in zip((QOS_FILE, MODEL_FILE), lines, strict=True):
            write_line(self.directory / name, line)

    def turn_off(self) -> None:
        """Let IOs pass as they come."""
        self._note_before()
        write_line(self.directory / QOS_FILE, f"{self._number} enable=0")

    def restore(self) -> None:
        """Bring back what was set before; the model first, so that the old QoS never meets the new model."""
        for path, line in self._lines():
            write_line(path, line)
        if self._note is not None:
            self._note.close()
            self._note = None

    def _lines(self) -> list[tuple[Path, str]]:
        return [(self.directory / name, line) for name, line in reversed(self._before)]

    def _note_before(self) -> None:
        """Note what was set before, once it is about to be changed."""
        if self._note is None:
            self._note = Note(self._lines())

    def vrate(self) -> float | None:
        """Give the vrate that the kernel has arrived at, in per cent; nothing where it does not show one."""
        shown = read_line(self.directory / "io.stat", self._number)
        text = None if shown is None else parse_line(shown)[1].get("cost.vrate")
        return None if text is None else float(text)


def find_control_group(*, root: Path = Path("/")) -> Path:
    """Find the directory that has the files of the controller.

    Raises
    ------
    BrimfulError
        When there is none.
    """
    mounts = read_text(root / "proc" / "self" / "mounts").splitlines()
    places = [_unescape(fields[1]) for fields in map(str.split, mounts) if len(fields) > 2 and fields[2] == "cgroup2"]
    for place in (*places, "/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        directory = root / place.lstrip("/")
        if (directory / QOS_FILE).exists() and (directory / MODEL_FILE).exists():
            return directory
    message = (
        f"no {QOS_FILE} in the root control group: the kernel needs CONFIG_BLK_CGROUP_IOCOST and a cgroup2 mount with"
        " the io controller, and containers do not show the file; see /proc/config.gz or /boot/config-*"
    )
    raise BrimfulError(message)


def read_line(path: Path, device_number: str) -> str | None:
    """Give what a file says of a device; nothing where it says nothing."""
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _failure(path, "read", error) from error
    return next((line.rstrip() for line in content.splitlines() if line.split(" ", 1)[0] == device_number), None)


def write_line(path: Path, line: str) -> None:
    """Give the kernel a line.

    Raises
    ------
    BrimfulError
        When it does not take it.
    """
    try:
        changes.write_line(path, line)
    except OSError as error:
        raise _failure(path, f"write {line!r} to", error) from error


def restoring(before: str | None, unset: str) -> str:
    """Give the line that brings back what was set before."""
    if before is None:
        return unset
    device_number, values = parse_line(before)
    if values.get("ctrl") != "auto":
        return before
    # With any parameter in the line the kernel would count the values as set by hand, whatever ctrl says.
    kept = [f"{key}={values[key]}" for key in ("enable", "ctrl") if key in values]
    return " ".join([device_number, *kept])


def parse_line(line: str) -> tuple[str, dict[str, str]]:
    """Take a line apart: the device number, and its values by their names."""
    device_number, *pairs = line.split()
    return device_number, dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def read_text(path: Path) -> str:
    """Read a small file without its newline; nothing, where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except OSError:
        return ""


def _unescape(mount_point: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), mount_point)


def _failure(path: Path, what: str, error: OSError) -> BrimfulError:
    hint = "run it as root" if isinstance(error, PermissionError) else "the kernel refuses the values, or this disk"
    return BrimfulError(f"cannot {what} {path}: {error.strerror}; {hint}")
