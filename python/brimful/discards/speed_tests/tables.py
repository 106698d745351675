"""Tests in flat tables: which of their columns give what is in a mapping."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards import times as time_module
from brimful.discards import values as value_module
from brimful.discards.speed_tests import rows as row_module
from brimful.discards.speed_tests.mapping import BUILT_IN, KINDS, UNITS, Mapping, Source, find_column
from brimful.discards.speed_tests.rows import ROWS, Server, Tally, find_server, parse_server
from brimful.discards.values import Values

_LONGEST_US = int(row_module.LONGEST_S * 1e6)


class _Columns:
    """The parts of a test as a mapping finds them in a table, and what is wrong with its rows."""

    def __init__(self, table: pa.Table, mapping: Mapping, zone: str | None) -> None:
        self._zone = zone
        self._table = table
        self._mapping = mapping
        self.is_built_in = mapping in BUILT_IN.values()
        self.rows = table.num_rows
        self.reasons: list[str] = []
        self.trouble = np.zeros(self.rows, dtype=np.int16)
        """Of each row: 0, or one more than the number of the first reason against it."""

    def reject(self, mask: pa.Array | value_module.Mask, reason: str) -> None:
        """Say what is wrong with rows."""
        if not isinstance(mask, np.ndarray):
            mask = pc.fill_null(mask, False).to_numpy(zero_copy_only=False)
        hit = mask & (self.trouble == 0)
        if hit.any():
            self.reasons.append(reason)
            self.trouble[hit] = len(self.reasons)

    def has(self, name: str) -> bool:
        """Say whether a part is given at all."""
        return self._find(name) is not None

    def get(self, name: str) -> pa.Array:
        """Give a part of the tests: null where it is not given or cannot be read."""
        found = self._find(name)
        if found is None:
            return pa.nulls(self.rows, _TYPES[KINDS[name]])
        source, columns = found
        parts = [_read(name, source, column, self._zone) for column in columns]
        for part in parts:
            if isinstance(part, time_module.Times):
                self.reject(part.doubtful, f"{name} {time_module.DOUBTFUL}")
            self.reject(part.bad, f"{name} cannot be read")
        whole = parts[0][0]
        for part in parts[1:]:
            whole = pc.add(whole, part[0])
        factor = UNITS[KINDS[name]].get(source.unit or "", 1.0)
        # Of sums as of single values: parts that are whole are added up exactly before they are scaled.
        if KINDS[name] in ("seconds", "rate"):
            whole = value_module.scaled(whole, factor)
        elif KINDS[name] == "bytes" and factor != 1:
            whole = pc.round(value_module.scaled(whole, factor)).cast(pa.int64(), safe=False)
        return whole

    def _find(self, name: str) -> tuple[Source, list[pa.Array]] | None:
        source = self._mapping.get(name)
        if source is None:
            return None
        if source.value is not None:
            return source, [pa.array([source.value] * self.rows)]
        names = [find_column(column, self._table.column_names) for column in source.names]
        if None in names:
            return None
        return source, [self._table[column].combine_chunks() for column in names]


_TYPES = {
    "text": pa.string(),
    "count": pa.int64(),
    "time": pa.int64(),
    "seconds": pa.float64(),
    "bytes": pa.int64(),
    "rate": pa.float64(),
}


def _read(name: str, source: Source, column: pa.Array, zone: str | None) -> Values | time_module.Times:
    kind = KINDS[name]
    factor = UNITS[kind].get(source.unit or "")
    if kind == "text":
        words = value_module.texts(column).values
        return Values(_translated(words, source.values), np.zeros(len(words), dtype=bool))
    if kind == "time":
        return time_module.times(column, unit_us=factor, form=source.format, zone=source.zone or zone)
    if kind == "count" or (kind == "bytes" and factor in (None, 1.0)):
        return value_module.counts(column)
    return value_module.numbers(column)


def _translated(words: pa.Array, values: dict[str, str] | None) -> pa.Array:
    if values is None:
        return words
    found = pc.index_in(words, value_set=pa.array(list(values), pa.string()))
    return pc.coalesce(pa.array(list(values.values()), pa.string()).take(found), words)


def read_table(
    table: pa.Table,
    numbers: npt.NDArray[np.int64],
    mappings: tuple[Mapping, ...],
    server: Server | None,
    tally: Tally,
    *,
    member: str,
    zone: str | None = None,
) -> list[pa.Table]:
    """Give the tests in rows of a table, for each mapping; rows that cannot be read go to the tally.

    ``numbers`` are those of the rows in their file, ``zone`` is that of times that have none. A row is one
    result, however many tests it has; it is bad when one of them is.
    """
    tally.results += table.num_rows
    read = [_tests(_Columns(table, mapping, zone), server) for mapping in mappings]
    first = read[0][0]
    for columns, _ in read[1:]:
        for number, reason in enumerate(columns.reasons, start=1):
            first.reject(columns.trouble == number, reason)
    good = pa.array(first.trouble == 0)
    _reject_rows(table, numbers, first, tally, member)
    return [tests.filter(good).cast(ROWS) for _, tests in read]


def _reject_rows(table: pa.Table, numbers: npt.NDArray[np.int64], columns: _Columns, tally: Tally, member: str) -> None:
    for code, reason in enumerate(columns.reasons, start=1):
        hit = np.flatnonzero(columns.trouble == code)
        kept = hit[: row_module.KEPT_PER_REASON]
        for number, row in zip(numbers[kept].tolist(), table.take(kept).to_pylist(), strict=True):
            tally.reject(reason, member=member, line=number, text=json.dumps(row, default=str))
        if len(hit) > len(kept):
            tally.reject(reason, member=member, count=len(hit) - len(kept))


def _tests(columns: _Columns, server: Server | None) -> tuple[_Columns, pa.Table]:
    found: dict[str, Any] = {
        name: columns.get(name) for name in KINDS if name not in ("start", "end", "duration", "sending", "rate")
    }
    found |= _servers(columns, found, server)
    found |= _transfers(columns, found["bytes"])
    found["logged"] = pc.coalesce(found["logged"], found["start"])
    _check(columns, found)
    found["retransmission_unit"] = _unit(found)
    found["test_id"] = pc.fill_null(found["test_id"], "")
    timestamps = {name: found[name].cast(pa.timestamp("us")) for name in ("start", "end", "logged")}
    found = found | timestamps
    # What is null and must not be is in a row that was rejected; it is left out when all rows have been looked at.
    loose = pa.schema([pa.field(one.name, one.type) for one in ROWS])
    arrays = [found[one.name].cast(one.type, safe=False) for one in loose]
    return columns, pa.table(arrays, schema=loose)


def _servers(columns: _Columns, found: dict[str, Any], server: Server | None) -> dict[str, pa.Array]:
    """Give site and machine: from columns of their own, from the server's name, or as they were given."""
    names = pc.dictionary_encode(found["server_name"])
    # In M-Lab's own tables a name of another form is a mistake.
    parse = find_server if columns.is_built_in else parse_server
    known = [parse(name) for name in names.dictionary.to_pylist()]
    parts = {}
    for part in ("site", "machine"):
        words = pa.array([getattr(one, part) if one else None for one in known], pa.string())
        parts[part] = pc.coalesce(found[part], words.take(names.indices))
        if server is not None:
            parts[part] = pc.fill_null(parts[part], getattr(server, part))
    unknown = pc.or_(pc.is_null(parts["site"]), pc.is_null(parts["machine"]))
    columns.reject(unknown, "the server is not known: name its columns, or give it with --server")
    joined = pc.binary_join_element_wise(parts["machine"], parts["site"], "-")
    return {**parts, "server_name": pc.coalesce(found["server_name"], joined)}


def _transfers(columns: _Columns, octets: pa.Array) -> dict[str, pa.Array]:
    """Give when a transfer was, how long it was sending and how fast, from what there is of these."""
    start, end = columns.get("start"), columns.get("end")
    duration, sending_s = columns.get("duration"), columns.get("sending")
    lasting_us = pc.round(pc.multiply(pc.coalesce(duration, sending_s), 1e6))
    columns.reject(pc.or_(pc.less(lasting_us, 0), pc.less(sending_s, 0)), "a time span is negative")
    columns.reject(pc.greater(lasting_us, _LONGEST_US), row_module.TOO_LONG)
    bounded = pc.if_else(pc.less_equal(pc.abs(lasting_us), _LONGEST_US), lasting_us, None)
    end = pc.coalesce(end, pc.add(start, bounded.cast(pa.int64())))
    columns.reject(pc.is_null(start), "start is missing")
    columns.reject(pc.is_null(end), "the end is missing")
    first, last = row_module.FIRST_US, row_module.LAST_US
    columns.reject(pc.or_(pc.less(start, first), pc.greater_equal(start, last)), row_module.OUT_OF_YEARS)
    columns.reject(pc.less(end, start), row_module.ENDS_BEFORE_START)
    columns.reject(pc.greater(pc.subtract(end, start), _LONGEST_US), row_module.TOO_LONG)
    seconds = pc.divide(pc.subtract(end, start).cast(pa.float64(), safe=False), 1e6)
    sending_s = pc.coalesce(sending_s, seconds)
    positive = pc.if_else(pc.greater(sending_s, 0), sending_s, None)
    rate = pc.divide(pc.multiply(octets.cast(pa.float64(), safe=False), 8.0), positive)
    return {
        "start": start,
        "end": end,
        "sending_s": sending_s,
        "rate_bps": pc.coalesce(columns.get("rate"), rate),
    }


def _check(columns: _Columns, found: dict[str, Any]) -> None:
    told = pc.is_in(found["direction"], value_set=pa.array(["download", "upload"]))
    columns.reject(pc.invert(told), "direction is neither download nor upload")
    columns.reject(pc.is_null(found["protocol"]), "protocol is missing")
    if columns.has("test_id"):
        columns.reject(pc.is_null(found["test_id"]), "test_id is missing")
    for name in ("bytes", "rate_bps", "retransmitted", "sent"):
        columns.reject(pc.less(found[name], 0), f"{name} is negative")
    for name in ("client_port", "server_port"):
        columns.reject(pc.or_(pc.less(found[name], 0), pc.greater(found[name], 65535)), f"{name} is out of range")


def _unit(found: dict[str, Any]) -> pa.Array:
    both = pc.and_(pc.is_valid(found["retransmitted"]), pc.is_valid(found["sent"]))
    return pc.if_else(both, pc.fill_null(found["retransmission_unit"], "segments"), None)
