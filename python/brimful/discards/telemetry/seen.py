"""Series of counters, the port of each, and which of them the store has."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from brimful.discards.identity import PORT_LABELS, device_in
from brimful.discards.schema import Flag
from brimful.discards.telemetry.renames import Key, Span, joined

Value = str | int | float | None


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
    first_s: float
    last_s: float

    @property
    def span(self) -> Span:
        """From when to when its port had the name that its labels say."""
        device, name = place_of(self.series.metric)
        times = sorted(at for at, _ in self.series.values)
        distances = sorted(after - before for before, after in itertools.pairwise(times))
        every_s = distances[len(distances) // 2] if distances else 0
        return Span(device, self.series.metric.get("ifIndex", ""), name, self.first_s, self.last_s, every_s)


class Seen:
    """Series that were read before, of the same run or noted in the ledger of the store."""

    def __init__(self, noted: Iterable[list[Any]] = ()) -> None:
        self.found: dict[tuple[str, str, int, int], list[tuple[dict[str, str], float, float]]] = {}
        self.names: dict[str, dict[Key, Span]] = {}
        """By device: from when to when its ports had which names."""
        self.new: list[list[Any]] = []
        """To be noted."""
        for line in noted:
            self._keep(*line)

    def add(self, one: Known) -> None:
        """Keep a series that was read."""
        line = (*one.place, one.metric, int(one.width), one.series.metric, one.first_s, one.last_s)
        self._keep(*line)
        self.new.append([*line])

    def _keep(
        self, device: str, port: str, metric: int, width: int, labels: dict[str, str], first_s: float, last_s: float
    ) -> None:
        self.found.setdefault((device, port, metric, width), []).append((labels, first_s, last_s))
        span = Span(device, labels.get("ifIndex", ""), place_of(labels)[1], first_s, last_s, 0, stored_as=port)
        names = self.names.setdefault(device, {})
        names |= joined([span, *([names[span.key]] if span.key in names else [])])

    def follows(self, one: Known) -> bool:
        """Say whether the port had another index before: its counter may be another one."""
        key = (*one.place, one.metric, int(one.width))
        index = one.series.metric.get("ifIndex")
        return index is not None and any(
            labels.get("ifIndex", index) != index and last_s < one.first_s
            for labels, _, last_s in self.found.get(key, [])
        )

    def twin(self, one: Known) -> dict[str, str] | None:
        """Give the labels of another series of the same port, metric and time."""
        for labels, first_s, last_s in self.found.get((*one.place, one.metric, int(one.width)), []):
            if labels != one.series.metric and first_s <= one.last_s and one.first_s <= last_s:
                return labels
        return None


def place_of(labels: dict[str, str]) -> tuple[str, str]:
    """Give device and port."""
    port = next((labels[label] for label in PORT_LABELS if labels.get(label)), "")
    return device_in(labels), port
