"""Puts new rows of a machine into the days that a store has of it, and cleans those days anew."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brimful.discards.capacities import Capacities
from brimful.discards.schema import SAMPLES, WIDTHS, Flag
from brimful.discards.store import Partition, Store
from brimful.discards.telemetry.chains import NO_TAIL, Ends, Tail, alone_in, tail_of
from brimful.discards.telemetry.cleaning import ceilings_per_s, clean, merge
from brimful.discards.telemetry.interleaved import taken_apart
from brimful.discards.telemetry.mislabelled import tell_apart
from brimful.discards.telemetry.rows import (
    BIN_US,
    METRICS,
    SINCE,
    Rows,
    as_numbers,
    empty_rows,
    from_table,
    joined,
    present,
)

_EPOCH = datetime.date(1970, 1, 1)
_NO_VALUE = (
    Flag.REPLACED,
    Flag.RESET,
    Flag.AMBIGUOUS,
    Flag.DIP,
    Flag.WRAPS,
    Flag.SAWTOOTH,
    Flag.STEPPED,
    Flag.CEILING,
)
"""Why a row may have no value; without any of these, it is the first poll of a counter, or a difference alone."""


@dataclass
class Counts:
    """What a day has after cleaning."""

    flags: dict[Flag, int] = field(default_factory=dict)
    missing_bins: dict[str, int] = field(default_factory=dict)
    """Bins between the first and the last of the day that no row covers, by type of metric."""
    values: int = 0
    without_value: dict[str, int] = field(default_factory=dict)
    """Rows, by the one reason of each."""


@dataclass
class Merged:
    """What became of the rows of a machine."""

    place: tuple[str, str] = ("", "")
    """Site and machine."""
    new: int = 0
    known: int = 0
    """Rows that the store had, or that were delivered twice."""
    conflicting: int = 0
    may_count_twice: bool = False
    """Differences of one source lie evenly between those of another."""
    left_out: int = 0
    """Differences that surely do."""
    days: dict[Partition, Counts] = field(default_factory=dict)


def merge_machine(
    store: Store, site: str, machine: str, days: Mapping[int, list[Rows]], capacities: Capacities
) -> Merged:
    """Write new rows of a machine, by day since 1970, each list in the order of ingestion.

    A day depends on the last polls of the one before. What depends on a day is written before it: whenever this is
    killed, ingesting the same again finds the day unfinished and does both.
    """
    merged = Merged((site, machine))
    tail: tuple[int, Tail] | None = None
    for day in sorted(days):
        partition = _partition(site, machine, day)
        stored = store.read(partition, SAMPLES)
        ceilings = ceilings_per_s(capacities.at(site, partition.day))
        old = empty_rows(0) if stored is None else from_table(stored)
        parts, left_out, may_be_two = taken_apart([old, *days[day]])
        merged.left_out += left_out
        merged.may_count_twice |= may_be_two
        rows, conflicts = merge(joined(parts), ceilings)
        rows = tell_apart(rows)
        delivered = sum(len(part) for part in days[day]) - left_out
        new = len(rows) - len(old)
        merged.new += new
        merged.conflicting += conflicts
        merged.known += delivered - new - conflicts
        before = tail[1] if tail is not None and tail[0] == day - 1 else _stored_tail(store, site, machine, day - 1)
        after = _ends_after(store, site, machine, day, rows, before, days.get(day + 1, []))
        table = clean(rows, before, ceilings, machine, after)
        # Of two rows with one start, one is kept.
        merged.new -= len(rows) - len(table)
        merged.conflicting += len(rows) - len(table)
        tail = (day, tail_of(table))
        if day + 1 not in days:
            _clean_again(store, site, machine, day + 1, tail[1], capacities, merged)
        if day - 1 not in days and (rows["kind"] == SINCE).any():
            _clean_before(store, site, machine, day - 1, rows, capacities, merged)
        _write(store, partition, table, stored, merged)
    return merged


def rows_between(store: Store, place: tuple[str, str], first_day: int, last_day: int) -> Rows:
    """Give the rows that a store has of a site and machine on these days since 1970, and those between.

    Raises
    ------
    BrimfulError
        When a file of the store is damaged.
    """
    found = (store.read(_partition(*place, day), SAMPLES) for day in range(first_day, last_day + 1))
    return joined([empty_rows(0), *(from_table(stored) for stored in found if stored is not None)])


def judge_machine(store: Store, partitions: list[Partition], capacities: Capacities) -> int:
    """Clean the days of a machine, in order, by other capacities; give how many changed."""
    merged = Merged()
    changed = 0
    tail: tuple[datetime.date, Tail] | None = None
    for partition in partitions:
        stored = store.read(partition, SAMPLES)
        if stored is None:
            continue
        before = tail[1] if tail is not None and tail[0] + datetime.timedelta(days=1) == partition.day else NO_TAIL
        ceilings = ceilings_per_s(capacities.at(partition.site, partition.day))
        rows = _known_rows(stored)
        after = _ends_after(store, partition.site, partition.name, (partition.day - _EPOCH).days, rows, before)
        table = clean(rows, before, ceilings, partition.name, after)
        tail = (partition.day, tail_of(table))
        changed += not table.equals(stored.combine_chunks())
        _write(store, partition, table, stored, merged)
    return changed


def _partition(site: str, machine: str, day: int) -> Partition:
    return Partition("samples", site, _EPOCH + datetime.timedelta(days=day), machine)


def _stored_tail(store: Store, site: str, machine: str, day: int) -> Tail:
    stored = store.read(_partition(site, machine, day), SAMPLES)
    return NO_TAIL if stored is None else tail_of(stored)


def _known_rows(stored: pa.Table) -> Rows:
    """Read rows back, sorted and separated."""
    rows = from_table(stored)
    unlimited = np.full(len(METRICS), np.inf)
    return tell_apart(merge(rows, unlimited)[0])


def _clean_again(
    store: Store, site: str, machine: str, day: int, tail: Tail, capacities: Capacities, merged: Merged
) -> None:
    """Clean a day that is in the store after the one before changed, and those after it as far as that matters."""
    partition = _partition(site, machine, day)
    stored = store.read(partition, SAMPLES)
    if stored is None:
        return
    ceilings = ceilings_per_s(capacities.at(site, partition.day))
    rows = _known_rows(stored)
    table = clean(rows, tail, ceilings, machine, _ends_after(store, site, machine, day, rows, tail))
    after = tail_of(table)
    if after != tail_of(stored):
        _clean_again(store, site, machine, day + 1, after, capacities, merged)
    _write(store, partition, table, stored, merged)


def _ends_after(
    store: Store, site: str, machine: str, day: int, rows: Rows, tail: Tail, new: Sequence[Rows] = ()
) -> Ends:
    """Give when the differences of the next day end, of the metrics that are alone on this one."""
    alone = alone_in(rows, tail)
    if not alone:
        return {}
    later = joined([rows_between(store, (site, machine), day + 1, day + 1), *new])
    later = later[later["kind"] == SINCE]
    ends = {code: np.unique(later["end_us"][later["metric"] == code]) for code in alone}
    return {code: found for code, found in ends.items() if len(found)}


def _clean_before(
    store: Store, site: str, machine: str, day: int, later: Rows, capacities: Capacities, merged: Merged
) -> None:
    """Clean a day that is in the store, if differences that are alone in it depend on rows of the day after."""
    partition = _partition(site, machine, day)
    stored = store.read(partition, SAMPLES)
    rows = empty_rows(0) if stored is None else _known_rows(stored)
    tail = _stored_tail(store, site, machine, day - 1) if (rows["kind"] == SINCE).any() else NO_TAIL
    after = _ends_after(store, site, machine, day, rows, tail, [later])
    if after:
        ceilings = ceilings_per_s(capacities.at(site, partition.day))
        _write(store, partition, clean(rows, tail, ceilings, machine, after), stored, merged)


def _write(store: Store, partition: Partition, table: pa.Table, stored: pa.Table | None, merged: Merged) -> None:
    merged.days[partition] = _counts(table)
    if stored is None or not table.equals(stored.combine_chunks()):
        store.write(partition, table)


def _without_value(table: pa.Table, flags: NDArray[np.int16]) -> dict[str, int]:
    """Count rows without a value, by the first reason that holds."""
    left = ~present(table["value"])
    has_counter = present(table["counter"])
    reasons = {str(flag.name).lower(): (flags & int(flag)) != 0 for flag in _NO_VALUE}
    reasons |= {"first_poll": has_counter, "no_interval": ~has_counter}
    found = {}
    for reason, rows in reasons.items():
        number = int(np.count_nonzero(rows & left))
        left &= ~rows
        if number:
            found[reason] = number
    return found


def _counts(table: pa.Table) -> Counts:
    counts = Counts()
    flags = as_numbers(table["flags"])
    for flag in ~WIDTHS:
        number = int(np.count_nonzero(flags & int(flag)))
        if number:
            counts.flags[flag] = number
    counts.values = len(table) - table["value"].null_count
    if table["value"].null_count:
        counts.without_value = _without_value(table, flags)
    metric = table["metric"].chunk(0)
    codes: NDArray[np.int16] = as_numbers(metric.indices)
    start = as_numbers(table["bin_start"])
    # The polls of a dip lie within the bin that covers their time. Times of one metric have room below 2^53.
    offset = codes.astype(np.int64) << 53
    end = np.maximum.accumulate(as_numbers(table["bin_end"]) + offset) - offset
    gap = np.maximum(start[1:] - end[:-1], 0) * (codes[1:] == codes[:-1])
    missing = np.bincount(codes[1:], np.round(gap / BIN_US), minlength=len(metric.dictionary))
    for name, number in zip(metric.dictionary.to_pylist(), missing, strict=True):
        if number and name != "switch.uptime":
            kind = name.split(".")[1]
            counts.missing_bins[kind] = counts.missing_bins.get(kind, 0) + int(number)
    return counts
