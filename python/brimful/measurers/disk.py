"""Our own disk tester: on a block device of this machine, or on the lab's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from brimful.errors import MeasureError, UsageError
from brimful.lab.disk import DEFAULT_BYTES, DEFAULT_LIMIT, DiskLab
from brimful.lab.programs import find_own_program
from brimful.measurers.base import Description, Settings, TrialOutput
from brimful.measurers.command import CommandMeasurer

PROGRAM = "brimful-disk"
_NOT_PER_TRIAL = ("device", "prepare", "depth", "duration", "create", "file-size")
"""Options of the program that are no property of a measurer."""
_WORD = re.compile(r"[a-z]+(-[a-z]+)*(=|$)")
"""An option as it is written behind a path."""
_STEADY_ROUNDS = "steady-rounds"
_DESTROY = "destroy-data"
_LAB_OPTIONS = ("limit", "bytes")


def open_disk(rest: str, settings: Settings) -> CommandMeasurer:
    """Open ``PATH[,key=value...]``: keys are the long options of ``brimful-disk``.

    A workload that writes finds its working set written once: what was written before is not written again.

    Raises
    ------
    UsageError
        When an option makes no sense, or the device must not be touched.
    MeasureError
        When the device cannot be prepared.
    """
    path, words = _path_and_words(rest)
    options = _options(words, f"disk:{rest}")
    rounds = options.pop(_STEADY_ROUNDS, None)
    if options.get(_DESTROY) is not None:
        steady = [] if rounds is None else [f"--{_STEADY_ROUNDS}={rounds}"]
        prepare([find_program(), "--device", path, *_arguments(options), "--prepare", *steady])
    elif rounds is not None:
        message = f"measurer 'disk:{rest}': {_STEADY_ROUNDS} writes: it needs {_DESTROY}={path}"
        raise UsageError(message)
    command = [find_program(), "--device", path, *_arguments(options)]
    return CommandMeasurer(command, timeout_s=settings.timeout_s, name=PROGRAM, detail=settings.detail)


def open_lab_disk(rest: str, settings: Settings) -> LabDiskMeasurer:
    """Open ``disk[,key=value...]``: the lab's disk, with its options and those of ``brimful-disk``."""
    return LabDiskMeasurer(rest, timeout_s=settings.timeout_s, detail=settings.detail)


def _path_and_words(rest: str) -> tuple[str, str]:
    """Part a path, which may have commas in it, from the options behind it.

    The shortest path that is there wins, if what follows it reads as options; where none is, the first comma parts.
    """
    parts = rest.split(",")
    for number in range(1, len(parts) + 1):
        path, words = ",".join(parts[:number]), parts[number:]
        if all(_WORD.match(word) for word in words) and Path(path).exists():
            return path, ",".join(words)
    path, _, words_of_first = rest.partition(",")
    return path, words_of_first


class LabDiskMeasurer:
    """Our own disk tester on a loop device in memory, behind a throttle of known limit."""

    def __init__(self, rest: str, *, timeout_s: float, detail: bool) -> None:
        self._lab, options = _open_lab(f"lab:{rest}")
        try:
            path = self._lab.path
            if _writes(options):
                options[_DESTROY] = path
            command = self._lab.command([find_program(), "--device", path, *_arguments(options)])
            self._tester = CommandMeasurer(command, timeout_s=timeout_s, name=PROGRAM, detail=detail)
        except BaseException:
            self._lab.close()
            raise

    def describe(self) -> Description:
        """Say what tester and disk are."""
        description = self._tester.describe()
        return msgspec.structs.replace(description, device={**self._lab.describe(), **description.device})

    def calibrate(self) -> float:
        """Measure the tester's own ceiling: what it offers on schedule to a disk that does nothing."""
        return self._tester.calibrate()

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Perform one trial."""
        return self._tester.measure(load, duration_s, stop_above=stop_above)

    def now(self) -> float:
        """Give the time of the wall clock."""
        return self._tester.now()

    def resume_at(self, elapsed_s: float) -> None:
        """Nothing to do: the disk is a new one."""

    def close(self) -> None:
        """End the tester, then the disk."""
        try:
            self._tester.close()
        finally:
            self._lab.close()


def find_program() -> str:
    """Give the path of the tester.

    Raises
    ------
    UsageError
        When it is not installed.
    """
    found = find_own_program(PROGRAM)
    if found is None:
        message = f"{PROGRAM} is not installed beside this Python and not on the PATH; reinstall brimful"
        raise UsageError(message)
    return found


def _options(words: str, spec: str) -> dict[str, str | None]:
    """Read ``key=value,...``; a word without a value is a flag."""
    options: dict[str, str | None] = {}
    for word in filter(None, words.split(",")):
        key, equals, value = word.partition("=")
        if key in options or key in _NOT_PER_TRIAL or not key:
            reason = "given twice" if key in options else "no option of a disk"
            message = f"measurer {spec!r}: {word!r} is {reason}"
            raise UsageError(message)
        options[key] = value if equals else None
    return options


def _arguments(options: dict[str, str | None]) -> list[str]:
    return [f"--{key}" if value is None else f"--{key}={value}" for key, value in options.items()]


def _writes(options: dict[str, str | None]) -> bool:
    """Say whether a workload of the lab may write: the lab's disk may be overwritten, a reader need not be able to."""
    pattern = options.get("pattern") or "randread"
    return "workload" in options or "replay" in options or pattern not in ("randread", "read")


def open_lab(spec: str) -> DiskLab:
    """Open ``lab:disk`` with its own options alone, written once.

    Raises
    ------
    UsageError
        When an option makes no sense.
    """
    lab, options = _open_lab(spec)
    if options:
        lab.close()
        message = f"{spec!r}: {next(iter(options))!r} is no option of the lab's disk; it has {', '.join(_LAB_OPTIONS)}"
        raise UsageError(message)
    return lab


def _open_lab(spec: str) -> tuple[DiskLab, dict[str, str | None]]:
    """Open the lab's disk, and give the options that are not its own."""
    options = _options(spec.partition(",")[2], spec)
    own = {key: options.pop(key) for key in _LAB_OPTIONS if key in options}
    size = own.get("bytes") or str(DEFAULT_BYTES)
    if not size.isdecimal() or not 4 << 20 <= int(size) <= 1 << 34:
        message = f"measurer {spec!r}: bytes is {size}: use {4 << 20} to {1 << 34}"
        raise UsageError(message)
    lab = DiskLab(limit=own.get("limit") or DEFAULT_LIMIT, size=int(size))
    try:
        # What is read has been written once, outside the limit: a hole of the memory would be read faster.
        prepare([find_program(), "--device", lab.path, f"--{_DESTROY}={lab.path}", "--prepare"])
    except BaseException:
        lab.close()
        raise
    return lab, options


def prepare(command: list[str]) -> dict[str, Any]:
    """Run the tester where it writes the working set, show how far it has come, and give what it says of the disk.

    Raises
    ------
    UsageError
        When the device must not be touched.
    MeasureError
        When it cannot be prepared.
    """
    last = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        for line in program.stderr or ():
            # What it says last is the reason where it fails; what it says before is how far it has come.
            if last:
                sys.stderr.write(f"{last}\n")
            last = line.strip()
        mark = program.stdout.read() if program.stdout else ""
    if program.returncode == 0:
        return dict(json.loads(mark or "{}"))
    message = last or f"{PROGRAM} --prepare ended with {program.returncode}"
    raise UsageError(message) if program.returncode == UsageError.exit_code else MeasureError(message)
