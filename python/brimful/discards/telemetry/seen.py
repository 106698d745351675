"""Series of counters, the port of each, and which of them the store has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from brimful.discards.schema import Flag
from brimful.discards.telemetry.renames import Key, Span, joined
from brimful.discards.telemetry.vocabularies import place_of
from brimful.discards.values import NOTHING

Value = str | int | float | None
_DIGITS = 20
"""This many may not fit into 64 bits."""
_OWN = ("__name__", "ifIndex")
"""Labels that distinguish the counters of a port."""


class Series(msgspec.Struct):
    """What was sampled under one set of labels: times in Unix seconds, and values as they were written."""

    metric: dict[str, str]
    values: list[tuple[float, Value]]


@dataclass
class Known:
    """A series that can be read."""

    number: int
    series: Series
    place: tuple[str, str]
    """Device and port."""
    metric: int
    width: Flag
    of_all_kinds: bool
    """It counts packets of all kinds, in place of unicast ones."""
    first_s: float
    last_s: float
    times: NDArray[np.float64]
    """Of its samples, as they were read."""
    set_at: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Times of the first samples after the clock was set."""

    @property
    def span(self) -> Span:
        """From when to when its port had the name that its labels say."""
        device, name = place_of(self.series.metric)
        distances = np.sort(np.diff(np.sort(self.times)))
        every_s = float(distances[len(distances) // 2]) if len(distances) else 0
        return Span(device, self.series.metric.get("ifIndex", ""), name, self.first_s, self.last_s, every_s)


class Before(NamedTuple):
    """A series that another source had of a port and metric."""

    labels: dict[str, str]
    width: Flag
    first_s: float
    last_s: float
    times: NDArray[np.float64] | None = None
    """Of its samples, where it is the last one that was read of its counter."""


class Seen:
    """Series that were read before, of the same run or noted in the ledger of the store."""

    def __init__(self, noted: Iterable[list[Any]] = ()) -> None:
        self.found: dict[tuple[str, str, int], list[Before]] = {}
        self.names: dict[str, dict[Key, Span]] = {}
        """By device: from when to when its ports had which names."""
        self.new: list[list[Any]] = []
        """To be noted."""
        for line in noted:
            self._keep(*line)

    def add(self, one: Known) -> None:
        """Keep a series that was read."""
        line = (*one.place, one.metric, int(one.width), one.series.metric, one.first_s, one.last_s)
        before = self.found.get((*one.place, one.metric), [])
        if before:
            before[-1] = before[-1]._replace(times=None)
        self._keep(*line)
        every = self.found[*one.place, one.metric]
        every[-1] = every[-1]._replace(times=one.times)
        self.new.append([*line])

    def _keep(
        self, device: str, port: str, metric: int, width: int, labels: dict[str, str], first_s: float, last_s: float
    ) -> None:
        self.found.setdefault((device, port, metric), []).append(Before(labels, Flag(width), first_s, last_s))
        span = Span(device, labels.get("ifIndex", ""), place_of(labels)[1], first_s, last_s, 0, stored_as=port)
        names = self.names.setdefault(device, {})
        names |= joined([span, *([names[span.key]] if span.key in names else [])])

    def follows(self, one: Known) -> bool:
        """Say whether the port had another index, or its counter another name, before: it may be another one."""
        now = one.series.metric
        return any(
            other.last_s < one.first_s
            and any(
                other.labels.get(label, now.get(label)) != now.get(label, other.labels.get(label)) for label in _OWN
            )
            for other in self.found.get((*one.place, one.metric), [])
        )

    def over_the_time_of(self, one: Known) -> list[Before]:
        """Give the series of the same port, metric and time; those of the same labels share more than one sample."""
        return [
            other
            for other in self.found.get((*one.place, one.metric), [])
            if (
                other.first_s <= one.last_s and one.first_s <= other.last_s
                if other.labels != one.series.metric
                else other.first_s < one.last_s and one.first_s < other.last_s
            )
        ]


def plain_counters(values: list[tuple[float, Value]]) -> list[int] | None:
    """Read counters at once where all are written as whole numbers; nothing where any is not."""
    words = [text for _, text in values]
    try:
        together = "".join(words)  # type: ignore[arg-type]
    except TypeError:
        return None
    if not (together.isdecimal() and together.isascii() and all(words) and max(map(len, words)) < _DIGITS):  # type: ignore[arg-type]
        return None
    return list(map(int, words))  # type: ignore[arg-type]


def counter_of(value: Value) -> int | None:
    """Read a counter, which may be written like ``1.2345e+10``; nothing of what says nothing, -1 of what is none.

    >>> [counter_of(value) for value in ("1.2345e+10", 7.0, "NaN", "1.5", "x")]
    [12345000000, 7, None, -1, -1]
    """
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < _DIGITS:
        return int(value)
    text = str(value)
    if text.strip().lower() in NOTHING:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return -1
    if number.is_nan():
        return None
    # Means and rates of counters are none.
    return int(number) if 0 <= number < 2**64 and number == number.to_integral_value() else -1
