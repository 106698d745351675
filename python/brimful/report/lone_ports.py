"""Ports that lose frames where others lose none: of all ports together their share may look like nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from brimful.records import RunFile, Trial
from brimful.report import words
from brimful.units import format_load

_MOST_NAMED = 4
_LOADS = 2
"""With loss, at which the same ports must be the only ones."""
Counts = dict[str, tuple[int, int]]
"""By port: frames sent, and lost."""


def lone_losers(file: RunFile) -> str:
    """Name the ports to which, or from which, frames are lost at the least loads with loss, if it is not all of them.

    Nothing where frames of all ports are lost, or one load alone says so: one stall of a device loses as much.
    """
    by_load: dict[float, list[Trial]] = defaultdict(list)
    for trial in file.trials:
        if trial.invalid is None:
            by_load[trial.load].append(trial)
    switching = file.run.switching
    watched = [] if switching is None else switching.ports
    lossy = [load for load in sorted(by_load) if _losing(_sum(by_load[load], "to", watched))][:_LOADS]
    if len(lossy) < _LOADS:
        return ""
    trials = [trial for load in lossy for trial in by_load[load]]
    ways = {way: _sum(trials, way, watched) for way in ("to", "from")}
    named = {way: text for way, counts in ways.items() if (text := _named(counts))}
    if not named:
        return ""
    # Where all but one receiver lose, it is one sender.
    way = min(named, key=lambda way: len(_losing(ways[way])))
    least = format_load(lossy[0], file.run.load_unit)
    return f"from {least}, the least load with loss, frames are lost on the way {way} {named[way]} alone"


def _sum(trials: Sequence[Trial], way: str, watched: Sequence[str]) -> Counts:
    """Add up what all trials say of each port."""
    counts: dict[str, tuple[int, int]] = {}
    for trial in trials:
        for port, (sent, lost) in _of_trial(trial, way, watched):
            before = counts.get(port, (0, 0))
            counts[port] = (before[0] + sent, before[1] + lost)
    return counts


def _of_trial(trial: Trial, way: str, watched: Sequence[str]) -> list[tuple[str, tuple[int, int]]]:
    received = trial.extra.get("received")
    if watched and isinstance(received, list):
        # Broadcasts come from the first port, to all others.
        others = zip(watched[1:], received[1:], strict=False) if way == "to" else ()
        return [(port, (trial.sent, trial.sent - count)) for port, count in others]
    return [(str(one.get(way, "")), (int(one.get("sent", 0)), int(one.get("lost", 0)))) for one in trial.seen]


def _losing(counts: Mapping[str, tuple[int, int]]) -> list[str]:
    return [port for port, (_, lost) in counts.items() if lost > 0]


def _named(counts: Counts) -> str:
    """Name the ports that lose, if others do not."""
    losing = _losing(counts)
    if not losing or len(losing) == len(counts):
        return ""
    shares = [f"{port} ({words.share(counts[port][1] / max(counts[port][0], 1))})" for port in losing[:_MOST_NAMED]]
    more = f" and {len(losing) - _MOST_NAMED} more" if len(losing) > _MOST_NAMED else ""
    return f"{', '.join(shares)}{more}"
