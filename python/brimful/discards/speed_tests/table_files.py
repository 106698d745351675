"""CSV and Parquet files as tables, a batch at a time."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from brimful.discards import table_texts
from brimful.discards.speed_tests.mapping import BUILT_IN, Mapping, choose_mappings, missing_columns, needed_columns
from brimful.discards.speed_tests.rows import Server, Tally
from brimful.discards.speed_tests.tables import read_table
from brimful.discards.table_texts import Layout, fields, with_points
from brimful.discards.texts import decoded

BLOCK_BYTES = 1 << 23
"""Of a CSV file that are parsed at a time."""
BATCH_ROWS = 50_000
MAX_LINE_BYTES = 1 << 20
_IPERF_2 = re.compile(r"[0-9]{14}(?:[.+-][0-9.+-]*)?")
_IPERF_2_COLUMNS = 9
"""It has no header: its first line begins with a time."""


class Block(NamedTuple):
    """Rows of a table, and the number of each in its file."""

    rows: pa.Table
    numbers: npt.NDArray[np.int64]


def read_csv(
    file: io.BufferedReader,
    mappings: tuple[Mapping, ...] | None,
    server: Server | None,
    tally: Tally,
    *,
    member: str,
    zone: str | None = None,
) -> Iterator[pa.Table]:
    """Give the tests in a table in text with a header line."""
    file = table_texts.opened(file)
    layout = table_texts.read_layout(file)
    if not layout.names:
        tally.results += 1
        tally.empty += 1
        return
    if _IPERF_2.fullmatch(layout.names[0]) and len(layout.names) >= _IPERF_2_COLUMNS:
        tally.results += 1
        tally.reject(
            "is CSV of iperf 2, which says neither the direction nor the zone of its times: use iperf3 --json",
            member=member,
        )
        return
    twice = {name for name in layout.names if layout.names.count(name) > 1}
    layout = layout._replace(names=table_texts.each_once(layout.names))
    blocks = _csv_blocks(file, layout, tally, member)
    yield from _read_blocks(blocks, mappings, server, tally, member=member, zone=zone, twice=twice)


def read_parquet(
    file: BinaryIO,
    mappings: tuple[Mapping, ...] | None,
    server: Server | None,
    tally: Tally,
    *,
    member: str,
    zone: str | None = None,
) -> Iterator[pa.Table]:
    """Give the tests in a Parquet file, which can be sought in."""
    try:
        yield from _read_blocks(
            _parquet_blocks(pq.ParquetFile(file)), mappings, server, tally, member=member, zone=zone
        )
    except (pa.ArrowException, OSError):
        tally.results += 1
        tally.reject("is damaged or ends early", member=member)


def _parquet_blocks(parquet: pq.ParquetFile) -> Iterator[Block]:
    first = 1
    for batch in parquet.iter_batches(BATCH_ROWS):
        yield Block(_flat(pa.Table.from_batches([batch])), np.arange(first, first + batch.num_rows))
        first += batch.num_rows


def _csv_blocks(file: BinaryIO, layout: Layout, tally: Tally, member: str) -> Iterator[Block]:
    first = layout.lines + 1
    while content := file.read(BLOCK_BYTES):
        content += file.readline(MAX_LINE_BYTES)
        if not content.endswith(b"\n"):
            content += b"\n"
        block, refused = _parse(content, layout)
        for number in refused:
            line = decoded(content.split(b"\n")[number])
            tally.results += 1
            tally.reject("has another number of columns than the header", member=member, line=first + number, text=line)
        kept, other = _without_headers(block, layout.names)
        yield Block(kept.rows, kept.numbers + first)
        if other is not None:
            lost = block.rows.num_rows - other + sum(1 for _ in file)
            tally.results += lost
            at = first + int(block.numbers[other])
            tally.reject(table_texts.OTHER_HEADER, member=member, line=at, count=lost)
            return
        first += content.count(b"\n")


def _without_headers(block: Block, written: list[str]) -> tuple[Block, int | None]:
    """Take out rows that are the header again, and all from another header on; give the place of that."""
    again = list(table_texts.headers_in(block.rows, written))
    if not again:
        return block, None
    other = next((place for place, is_same in again if not is_same), None)
    kept = np.setdiff1d(np.arange(block.rows.num_rows)[:other], [place for place, _ in again])
    return Block(block.rows.take(pa.array(kept)), block.numbers[kept]), other


def _parse(content: bytes, layout: Layout) -> tuple[Block, list[int]]:
    """Give the rows in whole lines, and the numbers of the lines that are none."""
    names, delimiter = layout.names, layout.delimiter
    try:
        rows = pa_csv.read_csv(
            pa.BufferReader(content),
            read_options=pa_csv.ReadOptions(column_names=names, block_size=2 * BLOCK_BYTES, use_threads=False),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter),
            # All as words: one that is no number must not cost the others.
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
            ),
        )
    except pa.ArrowInvalid:
        return _parse_lines(content, layout)
    # A quote that is not closed swallows the lines after it.
    if rows.num_rows != content.count(b"\n"):
        return _parse_lines(content, layout)
    return Block(with_points(rows, delimiter), np.arange(rows.num_rows)), []


def _parse_lines(content: bytes, layout: Layout) -> tuple[Block, list[int]]:
    """Parse each line by itself: none can cost another, whatever quotes and octets are in it."""
    kept, numbers, refused = [], [], []
    for number, line in enumerate(content.split(b"\n")[:-1]):
        text = decoded(line).rstrip("\r")
        if not text:
            continue
        cells = fields(text, layout.delimiter)
        if len(cells) == len(layout.names):
            kept.append([one or None for one in cells])
            numbers.append(number)
        else:
            refused.append(number)
    columns = zip(*kept, strict=True) if kept else [()] * len(layout.names)
    rows = pa.table([pa.array(column, pa.string()) for column in columns], names=layout.names)
    return Block(with_points(rows, layout.delimiter), np.array(numbers, dtype=np.int64)), refused


def _read_blocks(
    blocks: Iterator[Block],
    mappings: tuple[Mapping, ...] | None,
    server: Server | None,
    tally: Tally,
    *,
    member: str,
    zone: str | None,
    twice: Collection[str] = (),
) -> Iterator[pa.Table]:
    for block in blocks:
        count = block.rows.num_rows
        columns = block.rows.column_names
        chosen = mappings or choose_mappings(columns)
        missing = sorted({name for mapping in chosen or () for name in missing_columns(mapping, columns)})
        if chosen is None:
            tally.results += count
            tally.reject(_unknown(columns), member=member, count=count)
        elif missing:
            tally.results += count
            tally.reject(f"has no column {', '.join(missing)}", member=member, count=count)
        elif doubled := sorted(needed_columns(chosen, columns) & set(twice)):
            tally.results += count
            tally.reject(f"has two columns called {doubled[0]}", member=member, count=count)
        else:
            yield from read_table(block.rows, block.numbers, chosen, server, tally, member=member, zone=zone)


def _unknown(columns: list[str]) -> str:
    """Say which columns lack of the known table that comes nearest."""
    lacking = {name: missing_columns(mapping, columns) for name, mapping in BUILT_IN.items()}
    nearest = min(lacking, key=lambda name: len(lacking[name]))
    return (f"is no known table: of {nearest} it lacks {', '.join(lacking[nearest])}; name the columns with --columns")[
        :500
    ]


def _flat(table: pa.Table) -> pa.Table:
    """Give columns within columns names with dots."""
    while any(pa.types.is_struct(one.type) for one in table.schema):
        table = table.flatten()
    return table
