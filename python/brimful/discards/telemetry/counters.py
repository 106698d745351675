"""Whether a table holds counters or differences: read from its numbers, asked where these do not say.

Counters rise and hardly ever fall, differences rise and fall alike. What is taken for the wrong one of both gives wrong
rates without a trace, so that a table which could be either is never guessed at.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brimful.discards.capacities import Capacities
from brimful.discards.telemetry.cells import counts_of, devices_of, floats_of, names_of
from brimful.discards.telemetry.cleaning import MIN_PACKET_BYTES
from brimful.discards.times import times

MANY_RISES, MOST_FALLS = 20, 0.05
"""Of this number of rises, counters that were set back fall in so small a share."""
FEW_RISES = 7
"""Numbers in any order rise so often, and never fall, in one of 40,320 cases."""
_FEWEST_ROWS = 100
_LOOKED_AT = 20_000
"""Rows, from the first on."""
_TRAFFIC = ("octets", "packets")
"""Without these, a port does nothing else that is counted."""
_ASK = "; say --counters, or --differences if each number is what was counted since the row before"

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class _Steps:
    """What a column does from each row to the next one of the same port, direction and scope."""

    name: str
    series: NDArray[np.intp]
    """Which one each step is of."""
    rises: Bools
    falls: Bools
    too_much: Bools
    """More than the port can carry from one row to the next."""
    is_open: bool
    """Whether the numbers come to something else as counters: not where all but the last of each series are 0."""
    below_zero: bool

    @property
    def never_fall(self) -> bool:
        return float(self.falls.sum()) <= MOST_FALLS * float(self.rises.sum())


def doubt(batch: pa.Table, columns: tuple[str, ...], zone: str | None, ceilings: Capacities) -> str | None:
    """Say why a generic table must not be read as differences unasked; nothing where its numbers show that they are.

    Parameters
    ----------
    batch
        Its first rows.
    columns
        Which of its columns count something.
    zone
        Of times that have none.
    ceilings
        What ports carry.
    """
    batch = batch.slice(0, _LOOKED_AT)
    seconds = times(batch["timestamp"].combine_chunks(), zone=zone).seconds
    series = _series(batch, [name for name in ("device", "port", "direction", "scope") if name in batch.column_names])
    limit = _bytes_per_s(batch, seconds, ceilings)
    steps = list(_steps(batch, columns, seconds, series, limit))
    for one in steps:
        if 2 * one.too_much.sum() > len(one.too_much) and not one.below_zero:
            return f"{one.name} holds more than the port can carry from row to row, so these seem to be counters{_ASK}"
    together = sum(one.falls.sum() for one in steps) <= MOST_FALLS * sum(one.rises.sum() for one in steps)
    for one in steps:
        if not one.below_zero and _is_counter(one, together=bool(together)):
            return f"{one.name} rises row after row and does not fall, so these seem to be counters{_ASK}"
    if any(one.below_zero for one in steps) or not together or _stands_still(steps):
        return None
    return f"no number falls, so these can be counters{_ASK}" if any(one.is_open for one in steps) else None


def doubt_of_flat(batch: pa.Table, zone: str | None) -> str | None:
    """Say why the values of M-Lab's flat table seem to be counters, which it does not hold; nothing where they do not.

    That table is one of differences, so that it is doubted for many rises only.
    """
    batch = batch.slice(0, _LOOKED_AT)
    seconds = times(batch["timestamp"].combine_chunks(), zone=zone).seconds
    number = floats_of(batch["value"])
    series = _series(batch, [name for name in ("hostname", "experiment", "metric") if name in batch.column_names])
    there = np.isfinite(number) & ~np.isnan(seconds)
    one = _steps_of("value", number, there, seconds, series, np.full(len(batch), np.inf))
    if _is_counter(one, together=False):
        return (
            "value rises row after row and does not fall, but M-Lab's flat table holds differences; give it the values "
            "instead of the counters, or say --differences if these are differences"
        )
    return None


def _series(batch: pa.Table, names: list[str]) -> NDArray[np.int64]:
    series = np.zeros(len(batch), np.int64)
    for name in names:
        found, code = names_of(batch[name])
        series = series * len(found) + code
    return series


def _bytes_per_s(batch: pa.Table, seconds: NDArray[np.float64], ceilings: Capacities) -> NDArray[np.float64]:
    """Give what the port of each row carries, on the last day of the table."""
    known = seconds[np.isfinite(seconds) & (np.abs(seconds) < 2**32)]
    day = datetime.datetime.fromtimestamp(known.max() if len(known) else 0, datetime.UTC).date()
    devices, device = devices_of(batch["device"])
    return np.array([ceilings.at(name, day) / 8 for name in devices])[device]


def _steps(
    batch: pa.Table,
    columns: tuple[str, ...],
    seconds: NDArray[np.float64],
    series: NDArray[np.int64],
    limit: NDArray[np.float64],
) -> Iterator[_Steps]:
    for name in columns:
        number, there, _, debt = counts_of(batch[name])
        smallest = 1 if name == "octets" else MIN_PACKET_BYTES
        known = there & ~np.isnan(seconds)
        yield _steps_of(name, number, known, seconds, series, limit / smallest, below_zero=bool((debt > 0).any()))


def _steps_of(
    name: str,
    number: NDArray[np.uint64] | NDArray[np.float64],
    there: Bools,
    seconds: NDArray[np.float64],
    series: NDArray[np.int64],
    limit: NDArray[np.float64],
    *,
    below_zero: bool = False,
) -> _Steps:
    chosen = np.flatnonzero(there)
    order = chosen[np.lexsort((seconds[chosen], series[chosen]))]
    same = series[order[1:]] == series[order[:-1]]
    before, after = order[:-1][same], order[1:][same]
    firsts = order[np.append(True, ~same)[: len(order)]]
    _, of_step = np.unique(series[after], return_inverse=True)
    return _Steps(
        name=name,
        series=of_step,
        rises=number[after] > number[before],
        falls=number[after] < number[before],
        too_much=number[after] > limit[after] * (seconds[after] - seconds[before]),
        is_open=bool((number[before] > 0).any() or (number[firsts] > 0).any()),
        below_zero=below_zero,
    )


def _is_counter(one: _Steps, *, together: bool) -> bool:
    """Say whether one series rises as a counter does, or, where no column of the table falls, all of them together."""
    rows, rises, falls = (np.bincount(one.series, which) for which in (None, one.rises, one.falls))
    many = (rows >= _FEWEST_ROWS - 1) & (rises >= MANY_RISES) & (falls <= MOST_FALLS * rises)
    few = (rises >= FEW_RISES) & (falls == 0)
    if bool((many | few).any()):
        return True
    return together and bool(rises.sum() >= (MANY_RISES if falls.any() else FEW_RISES)) and one.never_fall


def _stands_still(steps: list[_Steps]) -> bool:
    """Say whether traffic stays the same while something else is counted: then these are rates of an even load."""
    still = any(one.is_open and not one.rises.any() and len(one.rises) > 0 for one in steps if one.name in _TRAFFIC)
    return still and any(one.rises.any() for one in steps)
