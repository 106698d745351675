"""A program and all that it started: what they cost, and how they are asked to end."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from brimful.lab.namespaces import Process

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """What processes used since they were started."""

    cpu_s: float
    """Of the processors, in user space and in the kernel on their behalf."""
    peak_memory_bytes: int
    """Resident: the largest that each process had, added up."""


def members(ancestor: Process) -> list[int]:
    """Return the processes that descend from one, with itself first; none when it has ended."""
    if not ancestor.is_alive():
        return []
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        fields = _fields(int(path.name))
        if fields:
            children.setdefault(int(fields[1]), []).append(int(path.name))
    found = [ancestor.pid]
    for number in found:
        found += children.get(number, [])
    return found


def cost(ancestor: Process) -> Cost:
    """Return what a family used; with what its members had ended and been waited for, but not their memory."""
    ticks, peak_kib = 0, 0
    for number in members(ancestor):
        # Time in user space and in the kernel, their own and that of children that were waited for (proc(5)).
        ticks += sum(map(int, _fields(number)[11:15]))
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{number}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak_kib += int(line.split()[1])
    return Cost(ticks / _TICKS_PER_S, peak_kib << 10)


def ask_to_end(ancestor: Process) -> None:
    """Send each member SIGTERM."""
    for number in members(ancestor):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGTERM)


def _fields(number: int) -> list[str]:
    """Return what `/proc/PID/stat` has behind the name, which may have blanks: the state, then the parent."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
