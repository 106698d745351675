"""The disk that is measured, and the tester's command lines on it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from brimful.alarm import undisturbed
from brimful.changes import Note, put_back
from brimful.errors import MeasureError, UsageError
from brimful.kernel import echo_line
from brimful.lab.disk import DiskLab
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.disk import PROGRAM, find_program, open_lab, prepare

DEPTHS = (4, 8, 16, 32, 64, 128, 256)
"""IOs in flight that a probe tries, one after the other, until the rate rises no more."""
LEAST_GAIN = 0.03
_RAMP_SHARE = 0.25
"""Of the time of a probe, for all depths that it tries; they warm the disk up too."""
_TIMEOUT_S = 30.0
_PATIENCE_S = 5.0
_LAB = "lab:disk"


class Probe(msgspec.Struct, frozen=True):
    """What a disk does at most."""

    rate: float
    """IO/s."""
    depth: int
    tried: list[tuple[int, float]]
    """Depth and rate, in the order in which they were tried."""


class Disk:
    """A disk of this machine, or the lab's.

    Parameters
    ----------
    name
        Its path, or ``lab:disk`` with its options.
    destroy_data
        The path once more, where the disk may be overwritten.
    options
        Options of ``brimful-disk`` for every IO: working set, deadline.
    pause
        What the tester does between starts, ``spin`` or ``sleep``; none: as it likes.

    Raises
    ------
    UsageError
        When there is no such disk, or another one is to be destroyed.
    """

    def __init__(
        self,
        name: str,
        *,
        destroy_data: str | None,
        options: list[str],
        ignore_signature: bool,
        pause: str | None = None,
    ) -> None:
        self._lab: DiskLab | None = None
        self._options = options
        self._pause = pause
        self._started = 0
        self.path = name
        self.writes = destroy_data is not None
        self._destroy: list[str] = []
        if name.partition(",")[0] == _LAB:
            self._lab = open_lab(name)
            self.path, self.writes, destroy_data = self._lab.path, True, self._lab.path
        elif destroy_data not in (None, name):
            message = f"--destroy-data {destroy_data}: is not the disk that is measured, {name}; name that once more"
            raise UsageError(message)
        if destroy_data is not None:
            self._destroy = [f"--destroy-data={destroy_data}", *(["--ignore-signature"] if ignore_signature else [])]

    @property
    def bytes(self) -> int:
        """Its size, 0 where it is not known."""
        text = self._sysfs("size")
        return int(text) * 512 if text.isdecimal() else 0

    @property
    def device_number(self) -> str:
        """Major and minor number of the whole disk; empty for what is no whole disk."""
        return self._sysfs("dev") if not self._sysfs("partition") else ""

    def check_writable(self) -> None:
        """Refuse a disk that is to be written and cannot be, before anything is planned.

        Raises
        ------
        UsageError
            When it is read-only.
        """
        is_locked = self._sysfs("ro") == "1" or (Path(self.path).exists() and not os.access(self.path, os.W_OK))
        if self.writes and is_locked:
            message = f"{self.path}: is read-only; leave --destroy-data out, or see `blockdev --getro`"
            raise UsageError(message)

    def lab_facts(self) -> dict[str, str | int]:
        """Say what the lab's disk is made of; nothing for others."""
        return self._lab.describe() if self._lab is not None else {}

    def command(self, *arguments: str, writes: bool = False, pause: str | None = None) -> list[str]:
        """Give the command line of the tester, each time with a seed of its own.

        With the same, a probe would ask for the places that the one before has left in a cache, and a hog for those of
        the group beside it.
        """
        pause = pause or self._pause
        self._started += 1
        words = [find_program(), "--device", self.path, *self._options, f"--seed={self._started}"]
        words += [*(self._destroy if writes else []), *arguments]
        words += [f"--pause={pause}"] if pause else []
        return self._lab.command(words) if self._lab is not None else words

    def prepare(self, *arguments: str) -> dict[str, Any]:
        """Write the working set once, or bring it to its steady state; give what is then known of it."""
        return prepare(self.command("--prepare", *arguments, writes=True))

    def measurer(self, pattern: str, *arguments: str) -> CommandMeasurer:
        """Open the tester for trials at a load."""
        command = self.command(f"--pattern={pattern}", *arguments, writes=_is_writing(pattern))
        return CommandMeasurer(command, timeout_s=_TIMEOUT_S, name=PROGRAM)

    def probe(self, pattern: str, size: str, seconds: float) -> Probe:
        """Find what the disk does at most, with ever more IOs in flight."""
        ramp_s = seconds * _RAMP_SHARE
        tried: list[tuple[int, float]] = []
        for depth in DEPTHS:
            rate = self.closed_loop(pattern, size, depth, ramp_s / len(DEPTHS))
            gained = not tried or rate >= max(rate for _, rate in tried) * (1 + LEAST_GAIN)
            tried.append((depth, rate))
            if not gained:
                break
        depth = max(tried, key=lambda each: each[1])[0]
        return Probe(self.closed_loop(pattern, size, depth, seconds - ramp_s), depth, tried)

    def closed_loop(self, pattern: str, size: str, depth: int, seconds: float) -> float:
        """Give the rate with `depth` IOs in flight."""
        arguments = [f"--pattern={pattern}", f"--size={size}", f"--depth={depth}", f"--duration={seconds:.3f}s"]
        found = _run(self.command(*arguments, f"--slots={depth}", writes=_is_writing(pattern)), seconds)
        return float(found["rate"])

    @property
    def undo(self) -> list[str]:
        """Shell commands that bring back the settings of its queue as they are now."""
        return [echo_line(value, str(path)) for path, value in self._queue().items()]

    @contextlib.contextmanager
    def unmerged(self) -> Iterator[None]:
        """Have the kernel hand over every IO as it comes: neither merged nor sorted, so that each counts as one.

        Where that cannot be set, it is not. What was set before is noted first, and put back however the block ends; a
        process that is killed in it leaves that to the next one.

        Raises
        ------
        MeasureError
            When what is to be put back cannot be noted.
        """
        put_back()
        before = self._queue()
        if not os.access(next(iter(before), Path(os.devnull)), os.W_OK) or not before:
            yield
            return
        queue = next(iter(before)).parent
        with Note(list(before.items())):
            try:
                for name, value in (("scheduler", "none"), ("nomerges", "2")):
                    _try_to_write(queue / name, value)
                yield
            finally:
                with undisturbed():
                    for path, value in before.items():
                        _try_to_write(path, value)

    def _queue(self) -> dict[Path, str]:
        """Give what is set of its queue, in the order in which to set it back."""
        queue = Path("/sys/class/block") / Path(self.path).resolve().name / "queue"
        before: dict[Path, str] = {}
        # Another scheduler brings a number of requests of its own, which is therefore set back behind it.
        for name in ("scheduler", "nr_requests", "nomerges"):
            with contextlib.suppress(OSError):
                before[queue / name] = _chosen((queue / name).read_text())
        return before

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the disk while several testers share it, so that no other process takes it."""
        descriptor = self._claim()
        try:
            yield
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """End the lab's disk."""
        if self._lab is not None:
            self._lab.close()

    def _claim(self) -> int:
        """Open it exclusively; a tester that has ended may hold it a little longer."""
        patient_until_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return os.open(self.path, os.O_RDONLY | os.O_EXCL)
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > patient_until_s:
                    message = f"{self.path}: {error.strerror}; it is in use"
                    raise UsageError(message) from error
            time.sleep(0.1)

    def _sysfs(self, name: str) -> str:
        try:
            return (Path("/sys/class/block") / Path(self.path).resolve().name / name).read_text().strip()
        except OSError:
            return ""


def _is_writing(pattern: str) -> bool:
    return pattern not in ("randread", "read")


def _run(command: list[str], seconds: float) -> dict[str, Any]:
    """Run the tester once, and read the one object that it prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + _TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        message = f"{PROGRAM}: no result within {seconds + _TIMEOUT_S:.0f} s"
        raise MeasureError(message) from error
    if done.returncode == 0 and done.stdout:
        return dict(json.loads(done.stdout))
    message = " ".join(done.stderr.split()) or f"{PROGRAM} ended with {done.returncode}"
    raise UsageError(message) if done.returncode == UsageError.exit_code else MeasureError(message)


def _try_to_write(path: Path, value: str) -> None:
    with contextlib.suppress(OSError):
        path.write_text(value)


def _chosen(text: str) -> str:
    """Give what is chosen: of ``[none] mq-deadline`` what stands in brackets.

    >>> _chosen("[none] mq-deadline "), _chosen("0 ")
    ('none', '0')
    """
    inner = text.partition("[")[2].partition("]")[0]
    return inner or text.strip()
