"""Absolute counters of a switch, and what polls of them give."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np

from brimful.discards.synthetic.config import Config
from brimful.discards.synthetic.faults import Bad, Faults, faults
from brimful.discards.synthetic.platform import SECOND_GENERATION
from brimful.discards.synthetic.streams import stream
from brimful.discards.synthetic.telemetry import increments
from brimful.discards.synthetic.world import SiteDay, site_day

_OF_32_BITS = ("errors", "discards")


@dataclass(frozen=True)
class Position:
    """Where a counter is at a midnight."""

    now: int
    polled: int | None
    """At the last poll that there was; none before the first."""
    sample: tuple[int, int] | None = None
    """Value and counter of the poll at that midnight, if it gave any; it is in the files of the day that begins."""


@dataclass(frozen=True)
class Polls:
    """Of one counter on one day: entry i is of the end of bin i."""

    values: np.ndarray
    """The counter minus that of the poll before, modulo 2**64 as the collector subtracts."""
    counters: np.ndarray
    present: np.ndarray
    """Whether there is a sample."""
    end: Position


def position(config: Config, site: str, machine: str, day: datetime.date) -> dict[str, Position]:
    """Give where the counters of a machine are when a day begins: what was counted since the world began."""
    first = faults(config, site, machine, config.first_day)
    here = {}
    for metric in SECOND_GENERATION:
        start = _start(config, site, machine, metric)
        # A collector that starts with the world has polled at its first midnight.
        here[metric] = Position(start, start if first.hours[0] else None)
    for earlier in config.days:
        if earlier >= day:
            break
        world = site_day(config, site, earlier)
        here = {metric: poll(config, world, machine, metric, here[metric]).end for metric in SECOND_GENERATION}
    return here


def _start(config: Config, site: str, machine: str, metric: str) -> int:
    numbers = stream(config.seed, f"counter {metric}", f"{site} {machine}")
    if metric.split(".")[1] not in _OF_32_BITS:
        # Above 2**53 some are more than a double holds exactly.
        return int(10 ** numbers.uniform(12, 17))
    if ".discards." in metric and numbers.random() < config.delivery.wrapping_counters:
        return 2**32 - int(numbers.integers(1, 2000))
    return int(numbers.integers(0, 1_000_000))


def poll(
    config: Config, world: SiteDay, machine: str, metric: str, begin: Position, series: np.ndarray | None = None
) -> Polls:
    """Give the polls of a counter on a day; ``series`` are its increments, if they are not those of the world."""
    found = faults(config, world.site, machine, world.day)
    if series is None:
        series = increments(config, world, machine, metric)
    counters = _count(series, found, metric, begin.now)
    present = _polled(found, starts_tomorrow=_starts(config, world, machine))
    read = counters[present]
    polled = begin.polled
    values = np.zeros(len(counters), np.uint64)
    if len(read):
        before = np.concatenate([[read[0] if polled is None else np.uint64(polled)], read[:-1]])
        values[present] = read - before
        if polled is None:
            # The first poll gives no sample: there is nothing to subtract.
            present[np.flatnonzero(present)[0]] = False
        polled = int(read[-1])
    sample = (int(values[-1]), int(counters[-1])) if present[-1] else None
    return Polls(values, counters, present, Position(int(counters[-1]), polled, sample))


def _starts(config: Config, world: SiteDay, machine: str) -> bool:
    tomorrow = world.day + datetime.timedelta(1)
    return bool(faults(config, world.site, machine, tomorrow).hours[0])


def _polled(found: Faults, *, starts_tomorrow: bool) -> np.ndarray:
    """Give the bins at whose ends there was a poll.

    The one at the end of an outage is the first after it, and covers all of it.
    """
    present = found.present
    polled = present.copy()
    polled[:-1] |= present[1:]
    polled[-1] |= starts_tomorrow
    polled[found.missed] = False
    return polled


def _count(series: np.ndarray, found: Faults, metric: str, start: int) -> np.ndarray:
    steps = series.astype(np.int64)
    bad = found.bad.get(metric)
    if bad:
        before = start + int(steps[: bad.bin].sum())
        own = int(steps[bad.bin])
        steps[bad.bin] = {
            Bad.IMPOSSIBLE: bad.amount,
            Bad.STEPPED_BACK: -min(bad.amount, before),
            Bad.RESET: own // 2 - before,
        }[bad.kind]
    counters = start + np.cumsum(steps)
    if metric.split(".")[1] in _OF_32_BITS:
        counters %= 2**32
    return counters.astype(np.uint64)
