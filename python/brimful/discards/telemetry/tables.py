"""Telemetry in tables: a generic layout for any source, and the flat one of M-Lab's own table.

The layouts are described in docs/reference/discards-sources.md.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from brimful.discards.capacities import Capacities
from brimful.discards.compression import DamagedError
from brimful.discards.identity import MAX_NAME_LENGTH, is_name
from brimful.discards.schema import Flag
from brimful.discards.telemetry import clocks, counters, warehouse
from brimful.discards.telemetry import ports as of_ports
from brimful.discards.telemetry.cells import counts_of, devices_of, floats_of, names_of
from brimful.discards.telemetry.columns import (
    MISSING,
    NO_AGE,
    NOT_TOLD,
    Columns,
    Decoded,
    Refused,
    put,
    sort_out,
    wrong_clocks,
)
from brimful.discards.telemetry.row_batches import COUNTED, SWITCH, batches
from brimful.discards.telemetry.rows import ABSOLUTE, CODES, FIXED, SINCE, UPTIME, Rows, empty_rows
from brimful.discards.telemetry.source import Reading, Source, UnreadableError
from brimful.discards.times import DOUBTFUL, HOW_TO_WRITE, Times, times

_DIRECTIONS = {"rx": "rx", "in": "rx", "ingress": "rx", "tx": "tx", "out": "tx", "egress": "tx"}
_DOUBLED = "has two numbers at one time, time after time: these are two ports; give each a name of its own"
_SCOPES = {"uplink": "uplink", "local": "local", "": "uplink"}


def read_table(source: Source) -> Iterator[Decoded]:
    """Read a table.

    Raises
    ------
    UnreadableError
        When it is no such table, or damaged; what was given before is good.
    """
    path, reading = source.path, source.reading
    try:
        for batch, refused, first, headers in batches(path):
            decoded = Decoded(lines=len(batch) + len(refused), samples=len(batch), refused=refused)
            problems: dict[int, str] = {}
            others = [*(one.line for one in refused), *headers]
            numbers = np.setdiff1d(np.arange(first, first + len(batch) + len(others)), others)
            if warehouse.is_nested(batch.column_names):
                warehouse.take_rows(batch.to_pylist(), reading.latest_s, problems, decoded)
            elif "hostname" in batch.column_names:
                if reading.counters:
                    message = "is M-Lab's flat table, which holds differences: ingest it without --counters"
                    raise UnreadableError(message)
                _flat(batch, reading, problems, decoded)
            else:
                _generic(batch, reading, problems, decoded)
            decoded.refused += [
                Refused(str(path), "", int(numbers[row]), reason, _text(batch, row)) for row, reason in problems.items()
            ]
            yield decoded
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error, DamagedError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableError(reason.splitlines()[0] if reason else type(error).__name__) from error


def doubt_in(path: Path, zone: str | None, ceilings: Capacities) -> str | None:
    """Say why it must be said whether a table holds counters or differences; nothing where it shows that."""
    with contextlib.suppress(UnreadableError, pa.ArrowException, OSError, EOFError, UnicodeDecodeError, csv.Error):
        for batch, *_ in batches(path):
            if warehouse.is_nested(batch.column_names):
                return None
            if "hostname" in batch.column_names:
                return counters.doubt_of_flat(batch, zone)
            columns = tuple(name for name in COUNTED if name in batch.column_names)
            return counters.doubt(batch, columns, zone, ceilings)
    return None


def _text(batch: pa.Table, row: int) -> str:
    return ",".join("" if cell is None else str(cell) for cell in batch.slice(row, 1).to_pylist()[0].values())[:1000]


def _flat(batch: pa.Table, reading: Reading, problems: dict[int, str], decoded: Decoded) -> None:
    """Read rows of the table of 2018: a sample each, whose timestamp is the start of its bin."""
    found = times(batch["timestamp"].combine_chunks(), zone=reading.zone)
    seconds = found.seconds
    _count_doubtful(found, decoded)
    readable = ~np.isnan(seconds) & (seconds == np.floor(seconds)) & (np.abs(seconds) < 2**62)
    for row in np.flatnonzero(~readable & ~found.doubtful):
        problems[int(row)] = "timestamp is no time in whole seconds"
    decoded.refused_samples += len(problems)
    rows = np.flatnonzero(readable)
    names = {}
    for name in ("metric", "hostname", SWITCH):
        values, codes = names_of(batch[name]) if name in batch.column_names else ([NOT_TOLD], np.zeros(len(batch), int))
        names[name] = (values, codes[rows])
    columns = Columns(
        line=rows,
        names=names,
        length=np.ones(len(rows), np.int64),
        samples={"timestamp": seconds[rows].astype(np.int64), "value": floats_of(batch["value"])[rows]},
    )
    sort_out(columns, reading.latest_s, problems, decoded)


def _count_doubtful(found: Times, decoded: Decoded) -> None:
    if found.doubtful.any():
        decoded.left_out[f"time {DOUBTFUL}"] += int(found.doubtful.sum())


@dataclass
class _Checks:
    """Which rows are still good, and why the others are not."""

    good: NDArray[np.bool_]
    problems: dict[int, str]
    samples: NDArray[np.int64]
    """Of each row: its counts, and how long the device was up; a row without any counts as one."""
    decoded: Decoded

    def refuse(self, wrong: NDArray[np.bool_], reason: str) -> None:
        wrong = wrong & self.good
        for row in np.flatnonzero(wrong):
            self.problems[int(row)] = reason
        self.decoded.refused_samples += int(self.samples[wrong].sum())
        self.good &= ~wrong

    def leave_out(self, rows: NDArray[np.bool_], reason: str) -> None:
        """Count rows that say nothing: nothing is wrong with them."""
        rows = rows & self.good
        if rows.any():
            self.decoded.left_out[reason] += int(self.samples[rows].sum())
            self.good &= ~rows


def _generic(batch: pa.Table, reading: Reading, problems: dict[int, str], decoded: Decoded) -> None:
    """Read rows of any source: what a port counted until a time."""
    found = times(batch["timestamp"].combine_chunks(), zone=reading.zone)
    counts = {name: counts_of(batch[name]) for name in COUNTED if name in batch.column_names}
    ages = floats_of(batch["uptime"]) if "uptime" in batch.column_names else np.full(len(batch), np.nan)
    cells = [there | bad | (debt > 0) for _, there, bad, debt in counts.values()]
    samples = np.maximum(np.sum([*cells, ~np.isnan(ages)], axis=0), 1)
    decoded.samples = int(samples.sum())
    checks = _Checks(np.ones(len(batch), bool), problems, samples, decoded)
    checks.leave_out(found.doubtful, f"time {DOUBTFUL}")
    seconds = found.seconds
    checks.refuse(np.isnan(seconds), f"timestamp is no time: {HOW_TO_WRITE}")
    for reason, wrong in wrong_clocks(np.nan_to_num(seconds), reading.latest_s):
        checks.refuse(wrong, reason)
    devices, device = devices_of(batch["device"])
    ports, port = names_of(batch["port"])
    for names, code, what in ((devices, device, "device"), (ports, port, "port")):
        bad = np.array([not is_name(name) for name in names], bool)
        checks.refuse(bad[code], f"{what} has no name, or one of more than {MAX_NAME_LENGTH} characters")
    direction = _choice(batch["direction"], _DIRECTIONS, checks, "direction is none of rx, tx, in, out")
    scope = np.full(len(batch), "uplink")
    if "scope" in batch.column_names:
        scope = _choice(batch["scope"], _SCOPES, checks, "scope is neither uplink nor local")
    for name, (_, _, bad, debt) in counts.items():
        # A difference may be below zero, a counter never is.
        checks.refuse(bad | (debt > 0) if reading.counters else bad, f"{name} is no count")
    present = np.logical_or.reduce([there | (debt > 0) for _, there, _, debt in counts.values()])
    checks.leave_out(~present, MISSING)
    span_us = None if reading.counters or "span_s" not in batch.column_names else _spans_us(batch, seconds, checks)

    of_port = device * len(ports) + port
    places, place = np.unique(of_port, return_inverse=True)
    replaced = np.zeros(len(batch), bool)
    if "ifIndex" in batch.column_names:
        names, index = names_of(batch["ifIndex"])
        replaced = _indices(names, index, place, seconds, checks)
        told = np.flatnonzero(checks.good & np.array([name != "" for name in names])[index])
        codes = {"device": device[told], "port": port[told], "index": index[told]}
        decoded.notes += of_ports.renamed(devices, ports, codes, seconds[told])
    ways = (place * 2 + (direction == "tx")) * 2 + (scope == "local")
    behind = _check_times(ways, device, seconds, checks, list(counts.values()), reading)
    end_us = found.us.fill_null(0).to_numpy(zero_copy_only=False)
    parts, part_places = [], []
    for name, (number, there, _, debt) in counts.items():
        if (debt > 0).any() and not reading.counters:
            number = _bridged(number, np.where(checks.good, debt, 0), checks.good & there, (ways, seconds), decoded)
        chosen = np.flatnonzero(checks.good & there)
        rows = empty_rows(len(chosen))
        rows["end_us"] = end_us[chosen]
        if span_us is not None:
            rows["kind"], rows["value"], rows["start_us"] = FIXED, number[chosen], (end_us - span_us)[chosen]
        else:
            rows["kind"] = ABSOLUTE if reading.counters else SINCE
            rows["counter" if reading.counters else "delivered"] = number[chosen]
            rows["flags"] = (behind | (replaced & bool(reading.counters)))[chosen] * int(Flag.REPLACED)
        for side, where in itertools.product(("rx", "tx"), ("uplink", "local")):
            same = (direction[chosen] == side) & (scope[chosen] == where)
            rows["metric"][same] = CODES[f"switch.{COUNTED[name]}.{where}.{side}"]
        parts.append(rows)
        part_places.append(place[chosen])
    if "uptime" in batch.column_names:
        rows, chosen = _uptimes(ages, checks, end_us)
        parts.append(rows)
        part_places.append(place[chosen])
    known = [(devices[one // len(ports)], ports[one % len(ports)]) for one in places]
    put(decoded, np.concatenate(parts), np.concatenate(part_places), known)


def _check_times(
    ways: NDArray[np.int64],
    device: NDArray[np.int64],
    seconds: NDArray[np.float64],
    checks: _Checks,
    counts: list[of_ports.Count],
    reading: Reading,
) -> NDArray[np.bool_]:
    """Take out rows of times that are there twice; say which are the first behind a step of the clock."""
    found = of_ports.set_back(ways, device, seconds, checks.good, counts, are_counters=bool(reading.counters))
    checks.refuse(found.of_two, clocks.TWO_POLLERS)
    checks.leave_out(found.twice, clocks.SET_BACK)
    checks.refuse(of_ports.doubled(ways, seconds, checks.good, counts), _DOUBLED)
    return found.behind


def _spans_us(batch: pa.Table, seconds: NDArray[np.float64], checks: _Checks) -> NDArray[np.int64]:
    """Give how long each difference took."""
    span_s = floats_of(batch["span_s"])
    # No shorter than times are exact, no longer than since 1970.
    checks.refuse(~((span_s >= 1e-6) & (span_s < np.nan_to_num(seconds))), "span_s is no length of an interval")
    return np.where(checks.good, np.round(span_s * 1e6), 0).astype(np.int64)


def _uptimes(ages: NDArray[np.float64], checks: _Checks, end_us: NDArray[np.int64]) -> tuple[Rows, NDArray[np.intp]]:
    """Make rows of how long devices were up, and say which rows of the table they are of."""
    is_age = (ages >= 0) & np.isfinite(ages)
    wrong = int((checks.good & ~is_age & ~np.isnan(ages)).sum())
    if wrong:
        checks.decoded.left_out[NO_AGE] += wrong
    chosen = np.flatnonzero(checks.good & is_age)
    rows = empty_rows(len(chosen))
    rows["end_us"], rows["start_us"] = end_us[chosen], end_us[chosen] - 1
    rows["value"], rows["metric"], rows["kind"] = ages[chosen], UPTIME, FIXED
    return rows, chosen


def _bridged(
    number: NDArray[np.uint64],
    debt: NDArray[np.uint64],
    there: NDArray[np.bool_],
    order: tuple[NDArray[np.int64], NDArray[np.float64]],
    decoded: Decoded,
) -> NDArray[np.uint64]:
    """Make up for differences below zero, counter by counter."""
    ways, seconds = order
    for way in np.unique(ways[debt > 0]):
        rows = np.flatnonzero(ways == way)
        number, found = of_ports.bridge(number, debt, there, rows[np.argsort(seconds[rows], kind="stable")])
        decoded.left_out.update(found)
    return number


def _indices(
    names: list[str],
    index: NDArray[np.int64],
    place: NDArray[np.int64],
    seconds: NDArray[np.float64],
    checks: _Checks,
) -> NDArray[np.bool_]:
    """Refuse ports of one name that are two at the same time; say where one that is left has another index."""
    replaced = np.zeros(len(index), bool)
    for one in np.unique(place):
        rows = np.flatnonzero((place == one) & checks.good)
        found = np.unique(index[rows])
        if len(found) < 2:
            continue
        spans = sorted(
            (seconds[rows][index[rows] == code].min(), seconds[rows][index[rows] == code].max(), code) for code in found
        )
        twins = [(a, b) for (_, end, a), (begin, _, b) in itertools.pairwise(spans) if begin <= end]
        for pair in twins[:1]:
            told = " and ".join(f"ifIndex {names[code]}" for code in pair)
            wrong = np.zeros(len(index), bool)
            wrong[rows] = True
            checks.refuse(wrong, f"is of two ports with one name, {told}: give each a name of its own")
        for begin, _, code in [] if twins else spans[1:]:
            replaced[rows] |= (index[rows] == code) & (seconds[rows] == begin)
    return replaced


def _choice(column: pa.ChunkedArray, meanings: dict[str, str], checks: _Checks, problem: str) -> NDArray[np.str_]:
    names, code = names_of(column)
    meant = np.array([meanings.get(name.lower(), "?") for name in names])[code]
    checks.refuse(meant == "?", problem)
    return meant
