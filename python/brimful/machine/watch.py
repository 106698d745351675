"""Looks at this machine between the trials of a run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from brimful.machine.figures import Usage, judge, others_share, read_usage, speed_spread
from brimful.records import Goal, Machine

_BLOCK = bytes(range(256)) * 64
"""Fits the innermost cache, so that the processor alone decides how long it takes."""
_REPEATS = 64
"""About a millisecond in all; the best of them is slow only where something slows the processor for all that time."""


def time_work() -> int:
    """Give the nanoseconds that a fixed piece of work takes at best.

    BLAKE2b keeps the arithmetic units busy: unlike a hash that has instructions of its own, it also takes longer when
    another thread shares the core.
    """
    return min(_time_once() for _ in range(_REPEATS))


class Watch:
    """Watches the machine from the first `look` on.

    Parameters
    ----------
    proc
        Where the kernel reports what processors did.
    work
        Gives the nanoseconds that a fixed piece of work takes now.
    """

    def __init__(self, *, proc: Path = Path("/proc"), work: Callable[[], int] = time_work) -> None:
        self._proc = proc
        self._work = work
        self._before: Usage | None = None
        self._times_ns: list[int] = []

    def look(self) -> None:
        """See how fast the machine is; to be called before each trial, never while frames are sent."""
        if not self._times_ns:
            self._before = self._usage()
        self._times_ns.append(self._work())

    def result(self, goals: Iterable[Goal]) -> Machine | None:
        """Say how quiet the machine was for these goals; None if the kernel does not say, or with too few looks."""
        before, after = self._before, self._usage()
        others = None if before is None or after is None else others_share(before, after)
        return judge(others, speed_spread(self._times_ns), goals)

    def _usage(self) -> Usage | None:
        processes: dict[int, str] = {}
        try:
            for directory in self._proc.iterdir():
                if directory.name.isdecimal():
                    # It may have ended since.
                    with contextlib.suppress(OSError):
                        processes[int(directory.name)] = (directory / "stat").read_text(errors="replace")
            return read_usage((self._proc / "stat").read_text(), processes, os.getpid())
        except OSError:
            return None


def _time_once() -> int:
    begin = time.perf_counter_ns()
    hashlib.blake2b(_BLOCK)
    return time.perf_counter_ns() - begin
