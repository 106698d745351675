"""Telemetry in tables (CSV or Parquet): a generic layout for any source, and the flat one of M-Lab's own table.

The layouts are described in docs/reference/discards-sources.md.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from brimful.discards.telemetry.columns import Columns, Decoded, Refused, put, sort_out, wrong_clocks
from brimful.discards.telemetry.rows import ABSOLUTE, CODES, SINCE, empty_rows

ENDINGS = (".csv", ".csv.gz", ".parquet")
_GENERIC = ("timestamp", "device", "port", "direction")
_COUNTED = {"octets": "octets", "packets": "unicast", "discards": "discards"}
"""Column: type of metric."""
_SCOPE = "scope"
_FLAT = ("hostname", "experiment", "metric", "timestamp", "value")
_DIRECTIONS = {"rx": "rx", "in": "rx", "tx": "tx", "out": "tx"}
_SCOPES = {"uplink": "uplink", "local": "local", "": "uplink"}
_MAX_NAME_LENGTH = 80
_BATCH_ROWS = 1 << 16
_BATCH_BYTES = 4 << 20
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class UnreadableError(Exception):
    """A file is not what its name says, from somewhere on."""


def read_table(path: Path, latest_s: float, *, counters: bool) -> Iterator[Decoded]:
    """Read a table; ``counters`` says that generic ones hold counters, not what was counted since the row before.

    Raises
    ------
    UnreadableError
        When it is no such table, or damaged; what was given before is good.
    """
    try:
        batches = _parquet_batches(path) if path.suffix == ".parquet" else _csv_batches(path)
        first = 1 if path.suffix == ".parquet" else 2
        for batch, refused in batches:
            decoded = Decoded(lines=len(batch) + len(refused), samples=len(batch), refused=refused)
            problems: dict[int, str] = {}
            numbers = np.setdiff1d(np.arange(first, first + decoded.lines), [one.line for one in refused])
            if "hostname" in batch.column_names:
                _flat(batch, latest_s, problems, decoded)
            else:
                _generic(batch, latest_s, counters, problems, decoded)
            decoded.refused += [
                Refused(str(path), "", int(numbers[row]), reason, _text(batch, row)) for row, reason in problems.items()
            ]
            yield decoded
            first += decoded.lines
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableError(reason.splitlines()[0] if reason else type(error).__name__) from error


def _text(batch: pa.Table, row: int) -> str:
    return ",".join("" if cell is None else str(cell) for cell in batch.slice(row, 1).to_pylist()[0].values())[:1000]


def _wanted(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        message = "two columns have the same name"
        raise UnreadableError(message)
    if set(names) >= set(_FLAT):
        return list(_FLAT)
    counted = [name for name in _COUNTED if name in names]
    if set(names) >= set(_GENERIC) and counted:
        return [*_GENERIC, *([_SCOPE] if _SCOPE in names else []), *counted]
    message = f"has neither the columns {', '.join(_GENERIC)} and one of {', '.join(_COUNTED)}, nor {', '.join(_FLAT)}"
    raise UnreadableError(message)


def _parquet_batches(path: Path) -> Iterator[tuple[pa.Table, list[Refused]]]:
    file = pyarrow.parquet.ParquetFile(path)
    for batch in file.iter_batches(_BATCH_ROWS, columns=_wanted(file.schema_arrow.names)):
        yield pa.Table.from_batches([batch]), []


def _csv_batches(path: Path) -> Iterator[tuple[pa.Table, list[Refused]]]:
    with _opened(path) as file:
        head = file.readline(_BATCH_BYTES).decode("utf-8-sig")
    names = [name.strip() for name in next(csv.reader([head]), [])]
    wanted = _wanted(names)
    refused: list[Refused] = []

    def refuse(row: pyarrow.csv.InvalidRow) -> str:
        reason = f"has {row.actual_columns} columns, not {row.expected_columns}"
        refused.append(Refused(str(path), "", row.number or 0, reason, row.text[:1000]))
        return "skip"

    with _opened(path) as file:
        reader = pyarrow.csv.open_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, block_size=_BATCH_BYTES, column_names=names, skip_rows=1
            ),
            parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=refuse),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted, strings_can_be_null=False
            ),
        )
        for batch in reader:
            found, refused = refused, []
            yield pa.Table.from_batches([batch]), found
        if refused:
            yield pa.table({name: pa.array([], pa.string()) for name in wanted}), refused


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _flat(batch: pa.Table, latest_s: float, problems: dict[int, str], decoded: Decoded) -> None:
    """Read rows of the table of 2018: a sample each, whose timestamp is the start of its bin."""
    seconds = _seconds(batch["timestamp"])
    readable = ~np.isnan(seconds) & (seconds == np.floor(seconds)) & (np.abs(seconds) < 2**62)
    for row in np.flatnonzero(~readable):
        problems[int(row)] = "timestamp is no time in whole seconds"
    rows = np.flatnonzero(readable)
    names = {}
    for name in ("metric", "hostname", "experiment"):
        values, codes = _names(batch[name])
        names[name] = (values, codes[rows])
    columns = Columns(
        line=rows,
        names=names,
        length=np.ones(len(rows), np.int64),
        samples={"timestamp": seconds[rows].astype(np.int64), "value": _floats(batch["value"])[rows]},
    )
    sort_out(columns, latest_s, problems, decoded)


@dataclass
class _Checks:
    """Which rows are still good, and why the others are not."""

    good: NDArray[np.bool_]
    problems: dict[int, str]

    def refuse(self, wrong: NDArray[np.bool_], reason: str) -> None:
        for row in np.flatnonzero(wrong & self.good):
            self.problems[int(row)] = reason
        self.good &= ~wrong


def _generic(batch: pa.Table, latest_s: float, counters: bool, problems: dict[int, str], decoded: Decoded) -> None:
    """Read rows of any source: what a port counted until a time."""
    checks = _Checks(np.ones(len(batch), bool), problems)
    seconds = _seconds(batch["timestamp"])
    checks.refuse(np.isnan(seconds), "timestamp is no time")
    for reason, wrong in wrong_clocks(np.nan_to_num(seconds), latest_s):
        checks.refuse(wrong, reason)
    devices, device = _names(batch["device"])
    ports, port = _names(batch["port"])
    for names, code, what in ((devices, device, "device"), (ports, port, "port")):
        bad = np.array([not 0 < len(name) <= _MAX_NAME_LENGTH for name in names], bool)
        checks.refuse(bad[code], f"{what} has no name, or one of more than {_MAX_NAME_LENGTH} characters")
    direction = _choice(batch["direction"], _DIRECTIONS, checks, "direction is none of rx, tx, in, out")
    scope = np.full(len(batch), "uplink")
    if _SCOPE in batch.column_names:
        scope = _choice(batch[_SCOPE], _SCOPES, checks, "scope is neither uplink nor local")
    counts = {name: _counts(batch[name]) for name in _COUNTED if name in batch.column_names}
    for name, (_, _, bad) in counts.items():
        checks.refuse(bad, f"{name} is no count")
    present = np.logical_or.reduce([there for _, there, _ in counts.values()])
    checks.refuse(~present, f"has none of {', '.join(counts)}")

    places, place = np.unique(device * len(ports) + port, return_inverse=True)
    parts, part_places = [], []
    for name, (number, there, _) in counts.items():
        chosen = np.flatnonzero(checks.good & there)
        rows = empty_rows(len(chosen))
        rows["end_us"] = np.round(seconds[chosen] * 1e6)
        rows["kind"] = ABSOLUTE if counters else SINCE
        rows["counter" if counters else "delivered"] = number[chosen]
        for side, where in itertools.product(("rx", "tx"), ("uplink", "local")):
            same = (direction[chosen] == side) & (scope[chosen] == where)
            rows["metric"][same] = CODES[f"switch.{_COUNTED[name]}.{where}.{side}"]
        parts.append(rows)
        part_places.append(place[chosen])
    known = [(devices[one // len(ports)], ports[one % len(ports)]) for one in places]
    put(decoded, np.concatenate(parts), np.concatenate(part_places), known)


def _names(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int64]]:
    """Give the different texts of a column, and which of them each row has."""
    encoded = column.cast(pa.string()).fill_null("").combine_chunks().dictionary_encode()
    values = [value.strip() for value in encoded.dictionary.to_pylist()]
    return values or [""], encoded.indices.to_numpy().astype(np.int64)


def _choice(column: pa.ChunkedArray, meanings: dict[str, str], checks: _Checks, problem: str) -> NDArray[np.str_]:
    names, code = _names(column)
    meant = np.array([meanings.get(name.lower(), "?") for name in names])[code]
    checks.refuse(meant == "?", problem)
    return meant


def _seconds(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Give Unix seconds, NaN where there are none: from ISO 8601 (UTC where no zone is said), or numbers."""
    if pa.types.is_timestamp(column.type):
        whole = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
        return np.asarray(whole.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()) / 1e6
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        names, code = _names(column)
        return np.array([_second(name) for name in names])[code]
    return _floats(column)


def _second(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        at = datetime.datetime.fromisoformat(text)
        return ((at if at.tzinfo else at.replace(tzinfo=datetime.UTC)) - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return np.nan


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Give numbers, NaN where there are none."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy())
    return np.array([_float(text) for text in column.cast(pa.string()).to_pylist()], np.float64)


def _float(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return np.nan


def _counts(column: pa.ChunkedArray) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Give counts, which rows have one, and which have something else."""
    parsed = [_count(cell) for cell in column.to_pylist()]
    number = np.array([0 if one is None or one < 0 else one for one in parsed], np.uint64)
    there = np.array([one is not None for one in parsed], bool)
    return number, there, np.array([one == -1 for one in parsed], bool)


def _count(cell: object) -> int | None:
    """Read a count; -1 is none, nothing where there is nothing."""
    if isinstance(cell, str):
        text = cell.strip()
        if not text:
            return None
        try:
            cell = int(text) if text.isdecimal() and text.isascii() else float(text)
        except ValueError:
            return -1
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return None
    if isinstance(cell, int | float) and 0 <= cell < 2**64 and cell == int(cell):
        return int(cell)
    return -1
