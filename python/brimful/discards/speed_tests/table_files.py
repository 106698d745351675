"""CSV and Parquet files as tables, a batch at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from brimful.discards.speed_tests.mapping import Mapping, choose_mappings, missing_columns
from brimful.discards.speed_tests.rows import Server, Tally
from brimful.discards.speed_tests.tables import read_table

BLOCK_BYTES = 1 << 23
"""Of a CSV file that are parsed at a time."""
BATCH_ROWS = 50_000
MAX_HEADER_BYTES = 1 << 20


def read_csv(
    file: BinaryIO, mappings: tuple[Mapping, ...] | None, server: Server | None, tally: Tally, *, member: str
) -> Iterator[pa.Table]:
    """Give the tests in a file of comma-separated values with a header line."""
    header = file.readline(MAX_HEADER_BYTES)
    names = next(csv.reader([header.decode("utf-8-sig", errors="replace")]), [])
    if not names:
        tally.results += 1
        tally.empty += 1
        return

    def skip(row: pa_csv.InvalidRow) -> str:
        tally.results += 1
        tally.reject("has another number of columns than the header", member=member, text=row.text or "")
        return "skip"

    try:
        reader = pa_csv.open_csv(
            file,
            read_options=pa_csv.ReadOptions(column_names=names, block_size=BLOCK_BYTES, use_threads=False),
            parse_options=pa_csv.ParseOptions(invalid_row_handler=skip),
            # All as words: one that is no number must not cost the others.
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                null_values=["", "null", "NULL", "NaN", "nan"],
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid as error:
        # A header alone: there is nothing to read.
        if "Empty CSV" not in str(error):
            raise
        return
    yield from _read_batches(reader, mappings, server, tally, member=member)


def read_parquet(
    file: BinaryIO, mappings: tuple[Mapping, ...] | None, server: Server | None, tally: Tally, *, member: str
) -> Iterator[pa.Table]:
    """Give the tests in a Parquet file."""
    # The description of such a file is at its end.
    content = file if file.seekable() else io.BytesIO(file.read())
    yield from _read_batches(pq.ParquetFile(content).iter_batches(BATCH_ROWS), mappings, server, tally, member=member)


def _read_batches(
    batches: Iterator[pa.RecordBatch],
    mappings: tuple[Mapping, ...] | None,
    server: Server | None,
    tally: Tally,
    *,
    member: str,
) -> Iterator[pa.Table]:
    row = 1
    for batch in batches:
        table = _flat(pa.Table.from_batches([batch]))
        chosen = mappings or choose_mappings(table.column_names)
        if chosen is None:
            tally.results += table.num_rows
            tally.reject("has the columns of no known table: name them with --columns", count=table.num_rows)
            continue
        missing = sorted({name for mapping in chosen for name in missing_columns(mapping, table.column_names)})
        if missing:
            tally.results += table.num_rows
            tally.reject(f"has no column {', '.join(missing)}", count=table.num_rows)
            continue
        yield from read_table(table, chosen, server, tally, member=member, first_row=row)
        row += table.num_rows


def _flat(table: pa.Table) -> pa.Table:
    """Give columns within columns names with dots."""
    while any(pa.types.is_struct(one.type) for one in table.schema):
        table = table.flatten()
    return table
