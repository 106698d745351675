"""Rows of tables, some at a time, whatever file they are in: text, Parquet, or JSON."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from brimful.discards import table_texts
from brimful.discards.archives import EMPTY, WholeLines
from brimful.discards.compression import bare_name, uncompressed
from brimful.discards.identity import PORT_LABELS
from brimful.discards.json_texts import decoded_json, documents
from brimful.discards.telemetry import warehouse
from brimful.discards.telemetry.columns import Refused
from brimful.discards.telemetry.source import UnreadableError
from brimful.discards.texts import decoded

GENERIC = ("timestamp", "device", "port", "direction")
COUNTED = {
    "octets": "octets",
    "packets": "unicast",
    "discards": "discards",
    "errors": "errors",
    "pause": "pause",
}
"""Column: type of metric."""
OPTIONAL = ("scope", "ifIndex", "uptime", "span_s")
FLAT = ("hostname", "metric", "timestamp", "value")
SWITCH = "experiment"
_NAMES = {name.lower(): name for name in (*GENERIC, *COUNTED, *OPTIONAL, *FLAT, SWITCH)}
"""Of columns, by how they are in small letters."""
_WITH_UNIT = re.compile(rf"({'|'.join(COUNTED)})\s*[(\[]", re.IGNORECASE)
_BATCH_ROWS = 1 << 16
_BATCH_BYTES = 4 << 20
_JSON_BYTES = 256 << 20
"""A list of rows is one document."""


class Batch(NamedTuple):
    """Some rows of a table."""

    rows: pa.Table
    refused: list[Refused]
    """Lines between them that are none."""
    first: int
    """Number of the first of all these."""
    headers: list[int]
    """Lines that are the header again."""


def batches(path: Path) -> Iterator[Batch]:
    """Give the rows of a table.

    Raises
    ------
    UnreadableError
        When it is no table that is known.
    """
    name = bare_name(path.name)
    if name.endswith(".parquet"):
        yield from _parquet_batches(path)
    elif name.endswith((".csv", ".tsv")):
        yield from _csv_batches(path)
    else:
        yield from _json_batches(path)


def _named(names: list[str]) -> list[str]:
    """Give names of columns as the layouts have them, in whatever case they are written, and each once.

    Without a column ``port``, one with a label that names ports is it.

    Raises
    ------
    UnreadableError
        When two columns that are needed have one name.
    """
    known = [_NAMES.get(name.lower(), name) for name in names]
    for found in filter(None, map(_WITH_UNIT.match, names)):
        message = f"column {found.string} has a unit: call it {found[1]} if it counts bytes or packets"
        raise UnreadableError(message)
    if "port" not in known:
        written = {name.lower(): place for place, name in enumerate(names)}
        place = next((written[label.lower()] for label in PORT_LABELS if label.lower() in written), None)
        known = [name if at != place else "port" for at, name in enumerate(known)]
    twice = [name for name in _NAMES.values() if known.count(name) > 1]
    if twice:
        message = f"two columns are called {twice[0]}: keep one of them"
        raise UnreadableError(message)
    return table_texts.each_once(known)


def _wanted(names: list[str]) -> list[str]:
    if warehouse.is_nested(names):
        return names
    if set(names) >= set(FLAT):
        return [*FLAT, *([SWITCH] if SWITCH in names else [])]
    counted = [name for name in COUNTED if name in names]
    if set(names) >= set(GENERIC) and counted:
        return [*GENERIC, *(name for name in OPTIONAL if name in names), *counted]
    lacking = {
        "the generic table": [name for name in GENERIC if name not in names]
        + ([] if counted else [f"one of {', '.join(COUNTED)}"]),
        "M-Lab's flat table": [name for name in FLAT if name not in names],
    }
    nearest = min(lacking, key=lambda table: len(lacking[table]))
    message = f"is no table that is known: for {nearest} it lacks {', '.join(lacking[nearest])}"
    raise UnreadableError(message)


def _parquet_batches(path: Path) -> Iterator[Batch]:
    file = pyarrow.parquet.ParquetFile(path)
    names = file.schema_arrow.names
    known = dict(zip(_named(names), names, strict=True))
    wanted = _wanted(list(known))
    first = 1
    for batch in file.iter_batches(_BATCH_ROWS, columns=[known[name] for name in wanted]):
        table = pa.Table.from_batches([batch]).select([known[name] for name in wanted]).rename_columns(wanted)
        yield Batch(table, [], first, [])
        first += len(table)


def _csv_batches(path: Path) -> Iterator[Batch]:
    refused: list[Refused] = []

    def refuse(row: pyarrow.csv.InvalidRow) -> str:
        reason = f"has {row.actual_columns} columns, not {row.expected_columns}"
        refused.append(Refused(str(path), "", (row.number or 0) + layout.lines, reason, row.text[:1000]))
        return "skip"

    with path.open("rb") as raw:
        lines = WholeLines(uncompressed(raw))
        file = table_texts.opened(io.BufferedReader(lines, _BATCH_BYTES))
        layout = table_texts.read_layout(file)
        names = _named(layout.names)
        if not names:
            raise UnreadableError(EMPTY)
        wanted = _wanted(names)
        first = layout.lines + 1
        written = dict(zip(names, layout.names, strict=True))
        is_lost = False
        for batch in _parsed(file, names, wanted, layout.delimiter, refuse):
            found, refused = refused, []
            rows = table_texts.with_points(table_texts.as_words(batch), layout.delimiter)
            again = list(table_texts.headers_in(rows, [written[name] for name in wanted]))
            others = [place for place, is_same in again if not is_same]
            lost = 0 if is_lost else others[0] if others else len(rows)
            is_lost = lost < len(rows)
            yield _parted(path, rows, [place for place, _ in again if place < lost], lost, found, first)
            first += len(batch) + len(found)
        if refused:
            yield Batch(pa.table({name: pa.array([], pa.string()) for name in wanted}), refused, first, [])
        if lines.damage is not None:
            raise lines.damage


def _parted(path: Path, rows: pa.Table, again: list[int], lost: int, refused: list[Refused], first: int) -> Batch:
    """Take rows apart: those that are the header again, and those behind another header."""
    if not again and lost == len(rows):
        return Batch(rows, refused, first, [])
    bad = [one.line for one in refused]
    numbers = np.setdiff1d(np.arange(first, first + len(rows) + len(bad)), bad)
    texts = [",".join(map(str, row.values())) for row in rows.slice(lost).to_pylist()]
    behind = [
        Refused(str(path), "", int(number), table_texts.OTHER_HEADER, text[:1000])
        for number, text in zip(numbers[lost:], texts, strict=True)
    ]
    kept = np.setdiff1d(np.arange(lost), again)
    return Batch(rows.take(pa.array(kept)), refused + behind, first, numbers[again].tolist())


def _parsed(
    file: io.BufferedReader,
    names: list[str],
    wanted: list[str],
    delimiter: str,
    refuse: Callable[[pyarrow.csv.InvalidRow], str],
) -> Iterator[pa.Table]:
    if not file.peek(1):
        return
    reader = pyarrow.csv.open_csv(
        file,
        read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=_BATCH_BYTES, column_names=names),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, invalid_row_handler=refuse),
        # What is no UTF-8 must not cost the rest of the table: `as_words` sees to it.
        convert_options=pyarrow.csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(wanted, pa.string()),
            include_columns=wanted,
            strings_can_be_null=False,
        ),
    )
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _json_batches(path: Path) -> Iterator[Batch]:
    rows: list[dict[str, Any]] = []
    refused: list[Refused] = []
    first = 1
    with path.open("rb") as raw:
        lines = WholeLines(uncompressed(raw))
        for number, text in documents(io.BufferedReader(lines, _BATCH_BYTES), max_bytes=_JSON_BYTES):
            found = _rows_in(text)
            if found is None:
                refused.append(Refused(str(path), "", number, "is no row of a table", decoded((text or b"")[:1000])))
            rows += found or []
            if len(rows) >= _BATCH_ROWS:
                yield Batch(_table_of(rows), refused, first, [])
                first += len(rows) + len(refused)
                rows, refused = [], []
    if rows or refused:
        yield Batch(_table_of(rows), refused, first, [])
    if lines.damage is not None:
        raise lines.damage


def _rows_in(text: bytes | None) -> list[dict[str, Any]] | None:
    try:
        found = decoded_json(text or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    every = found if isinstance(found, list) else [found]
    return every if all(isinstance(row, dict) for row in every) else None


def _table_of(rows: list[dict[str, Any]]) -> pa.Table:
    written = list(dict.fromkeys(name for row in rows for name in row))
    known = dict(zip(_named(written), written, strict=True))
    return pa.table(
        {
            name: pa.array([None if (cell := row.get(known[name])) is None else str(cell) for row in rows], pa.string())
            for name in (_wanted(list(known)) if rows else [])
        }
    )
