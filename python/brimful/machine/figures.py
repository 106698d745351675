"""From what the kernel counted and how long work took to how quiet a machine was; nothing here reads any of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from brimful.records import Goal, Machine
from brimful.units import format_ratio

MOST_FOR_OTHERS = 0.01
"""Share of the processors' time. What others take the device cannot have: on two processors this much of both is 2 % of
the one that a lab's device has, four widths of the presets for reports. An idle system takes less than half of it, and
the kernel, which counts by sampling, is off by less than half of it within some seconds."""
FREE_WIDTH = 0.005
"""How far the speed may move where no goal has a width: that of the presets which are for reports."""
_TIME_COLUMNS = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; the guests' that follow are part of user and nice."""
_KERNEL_THREAD = 0x0020_0000
"""PF_KTHREAD of the kernel's include/linux/sched.h."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Processor time since the machine began, in ticks of the kernel's clock for users."""

    total: int
    """Of all processors, idle time included."""
    user: int
    system: int
    """Of all processes and kernel threads, without interrupts."""
    stolen: int
    own_user: int
    """Of the watched process and all that it started."""
    own_system: int
    kernel_threads: dict[int, int]
    """Each by its number; empty where they cannot be seen, as in a container."""


def read_usage(stat: str, processes: Mapping[int, str], root: int) -> Usage | None:
    """Read the kernel's counters.

    Parameters
    ----------
    stat
        Text of ``/proc/stat``.
    processes
        Texts of ``/proc/PID/stat`` by process number.
    root
        Number of the process that is watched, with all that it started.

    Returns
    -------
    Usage or None
        None where ``stat`` or the text of the watched process does not say what it should.
    """
    name, *columns = [*stat.partition("\n")[0].split(), ""][: 1 + _TIME_COLUMNS]
    if name != "cpu" or len(columns) < _TIME_COLUMNS or not all(column.isdecimal() for column in columns):
        return None
    user, nice, system, *_rest, stolen = times = [int(column) for column in columns]
    known = {pid: process for pid, text in processes.items() if (process := _Process.read(text)) is not None}
    if root not in known:
        return None
    own = [known[pid] for pid in _descendants(known, root)]
    return Usage(
        total=sum(times),
        user=user + nice,
        system=system,
        stolen=stolen,
        own_user=sum(process.user for process in own),
        own_system=sum(process.system for process in own),
        kernel_threads={pid: process.system for pid, process in known.items() if process.is_kernel_thread},
    )


def others_share(before: Usage, after: Usage) -> float | None:
    """Give the share of the processors' time that others than the watched process took; None when no time passed.

    Stolen time is others'. Interrupts and kernel threads do not count: they forward the frames of a lab, and what they
    do for others cannot be distinguished. It is the least that others took: many kernels count an interrupt for the
    process or thread that it interrupts too, and the time of others in the kernel hides behind that. Where kernel
    threads cannot be seen, none of it is known.
    """
    total = after.total - before.total
    if total <= 0:
        return None
    user = after.user - before.user - (after.own_user - before.own_user)
    system = after.system - before.system - (after.own_system - before.own_system)
    system -= sum(ticks - before.kernel_threads.get(pid, 0) for pid, ticks in after.kernel_threads.items())
    # Each is at least 0, so that too much system time of our own takes nothing from the user time of others.
    others = max(0, user) + (max(0, system) if after.kernel_threads else 0) + max(0, after.stolen - before.stolen)
    return min(1.0, others / total)


def speed_spread(times_ns: Sequence[int]) -> float | None:
    """Give how far the time of the same work moved, (95th - 5th percentile) / median; None with less than two times.

    >>> speed_spread([100, 100, 103, 100, 100]), speed_spread([100])
    (0.024, None)
    """
    if len(times_ns) < 2 or min(times_ns) <= 0:
        return None
    parts = statistics.quantiles(times_ns, n=20, method="inclusive")
    return round((parts[-1] - parts[0]) / statistics.median(times_ns), 6)


def judge(others: float | None, spread: float | None, goals: Iterable[Goal]) -> Machine | None:
    """Say whether a machine with these figures was quiet enough for the goals; None where a figure is not known."""
    if others is None or spread is None:
        return None
    quiet = others <= MOST_FOR_OTHERS and spread <= _width(goals)
    return Machine(others_share=round(others, 6), speed_spread=spread, quiet=quiet)


def explain_unrest(machine: Machine, goals: Iterable[Goal]) -> str:
    """Say what was not quiet and what to do about it."""
    found, width = [], _width(goals)
    if machine.others_share > MOST_FOR_OTHERS:
        found.append(
            f"others took {format_ratio(machine.others_share, digits=3)} of the processors,"
            f" more than {format_ratio(MOST_FOR_OTHERS)}"
        )
    if machine.speed_spread > width:
        found.append(
            f"CPU speed varied by {format_ratio(machine.speed_spread, digits=3)},"
            f" more than the width of {format_ratio(width)}"
        )
    return (
        f"{'; '.join(found)}: results may move by as much; leave the machine alone, pin its frequency,"
        " or repeat with --repeat"
    )


def _width(goals: Iterable[Goal]) -> float:
    return min((goal.width for goal in goals if goal.width is not None), default=FREE_WIDTH)


class _Process(msgspec.Struct, frozen=True):
    parent: int
    is_kernel_thread: bool
    user: int
    system: int
    """Both with the time of the children that have ended."""

    @classmethod
    def read(cls, text: str) -> _Process | None:
        # The name before it may contain anything, blanks and brackets too. The fields are 3 and following of proc(5).
        fields = text.rpartition(")")[2].split()
        try:
            user, system, ended_user, ended_system = (int(field) for field in fields[11:15])
            flags = int(fields[6])
            return cls(int(fields[1]), bool(flags & _KERNEL_THREAD), user + ended_user, system + ended_system)
        except (ValueError, IndexError):
            return None


def _descendants(processes: Mapping[int, _Process], root: int) -> list[int]:
    """Give the root and all whose ancestor it is."""
    children: dict[int, list[int]] = {}
    for pid, process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found
