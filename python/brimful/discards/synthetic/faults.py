"""What goes wrong with the telemetry of a machine on a day."""

from __future__ import annotations

import datetime
import enum
import functools
from dataclasses import dataclass

import numpy as np

from brimful.discards.synthetic.config import BINS_PER_DAY, BINS_PER_HOUR, Config, Delivery
from brimful.discards.synthetic.streams import stream

CAN_BE_BAD = ("switch.octets.uplink.tx", "switch.unicast.uplink.tx")
CAN_CONFLICT = CAN_BE_BAD


class Bad(enum.Enum):
    """How a counter went wrong."""

    STEPPED_BACK = "stepped-back"
    RESET = "reset"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True)
class BadSample:
    """One bin of one counter."""

    bin: int
    kind: Bad
    amount: int
    """That the counter steps back, or goes on."""


@dataclass(frozen=True)
class Faults:
    """Of one machine on one day."""

    hours: np.ndarray
    """Whether there is telemetry, by hour."""
    missed: np.ndarray
    """Bins at whose end there was no poll; the next one covers both."""
    repeated: tuple[int, ...]
    """Hours that are delivered a second time."""
    conflicts: dict[int, int]
    """The bin, by hour, that has more the first time, at the cost of the one after it."""
    bad: dict[str, BadSample]
    """By metric."""

    @property
    def present(self) -> np.ndarray:
        """Whether there is telemetry, by bin."""
        return np.repeat(self.hours, BINS_PER_HOUR)


@functools.lru_cache(maxsize=256)
def _lost_days(seed: int, model: Delivery, site: str) -> frozenset[int]:
    first, last = model.missing_days_between
    span = (last - first).days + 1
    chosen = stream(seed, "lost days", site).choice(span, min(model.missing_days, span), replace=False)
    return frozenset(first.toordinal() + int(offset) for offset in chosen)


def faults(config: Config, site: str, machine: str, day: datetime.date) -> Faults:
    """Give what goes wrong at a machine of a site on a day."""
    return _faults(config.seed, config.delivery, site, machine, day)


@functools.lru_cache(maxsize=64)
def _faults(seed: int, model: Delivery, site: str, machine: str, day: datetime.date) -> Faults:
    numbers = stream(seed, "faults", f"{site} {machine}", day)
    hours = numbers.random(24) >= model.missing_hours
    repeat, conflict = numbers.random(24), numbers.random(24)
    missed = np.unique(numbers.integers(0, BINS_PER_DAY - 1, size=numbers.poisson(model.missed_polls * BINS_PER_DAY)))
    places = numbers.integers(1, 11, size=24)
    bad = {metric: _bad_sample(seed, model, site, machine, day, metric) for metric in CAN_BE_BAD}
    if day.toordinal() in _lost_days(seed, model, site):
        hours[:] = False
    present = np.repeat(hours, BINS_PER_HOUR)
    missed = missed[present[missed] & present[missed + 1]]
    if len(missed):
        missed = missed[np.diff(missed, prepend=-2) > 1]
    troubled = {int(index) + step for index in missed for step in (-1, 0, 1)}
    # A bin has one fault at most: then all formats can say what it was.
    bad_here = {
        metric: sample
        for metric, sample in bad.items()
        if sample and present[sample.bin] and not {sample.bin, sample.bin + 1} & troubled
    }
    troubled |= {sample.bin + step for sample in bad_here.values() for step in (-1, 0)}
    # In the middle of a file of five minutes, and of one of an hour.
    conflicts = {
        hour: hour * BINS_PER_HOUR + 30 * int(places[hour]) + 5
        for hour in range(24)
        if conflict[hour] < model.conflicting_hours and hours[hour]
    }
    conflicts = {hour: index for hour, index in conflicts.items() if not {index, index + 1} & troubled}
    repeated = [
        hour for hour in range(24) if hours[hour] and (repeat[hour] < model.duplicated_hours or hour in conflicts)
    ]
    return Faults(hours, missed, tuple(repeated), conflicts, bad_here)


def _bad_sample(
    seed: int, model: Delivery, site: str, machine: str, day: datetime.date, metric: str
) -> BadSample | None:
    numbers = stream(seed, f"bad {metric}", f"{site} {machine}", day)
    # One a day at most, far from midnight: what is about it is then of the same day.
    if numbers.random() >= model.bad_samples * BINS_PER_DAY:
        return None
    kind = list(Bad)[numbers.integers(len(Bad))]
    index = int(numbers.integers(BINS_PER_HOUR, BINS_PER_DAY - BINS_PER_HOUR))
    if kind is Bad.STEPPED_BACK:
        return BadSample(index, kind, int(numbers.integers(1, 1_000_000)))
    most = model.impossible_octets
    return BadSample(index, kind, most if ".octets." in metric else most // 64)
