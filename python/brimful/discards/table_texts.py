"""Tables as text, as people and programs write them: encoding, what is before the header, what parts the columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.texts import as_utf8, decoded, encoding_of

DELIMITERS = ",;\t|"
OTHER_HEADER = "is behind another header, with other columns or in another order: make a file of each part"
_MAX_LINE_BYTES = 4 << 20
_DECIMAL_COMMA = r"^([+-]?[0-9]+),([0-9]+)$"


class Layout(NamedTuple):
    """How a table is written."""

    names: list[str]
    """Of its columns; none where there is no header."""
    delimiter: str
    lines: int
    """Until the end of the header."""


def opened(file: io.BufferedReader) -> io.BufferedReader:
    """Give a text in UTF-8 without a mark, whose lines end with a line feed.

    Raises
    ------
    UnicodeDecodeError
        When it is not in the encoding that it says.
    """
    begin = file.peek(1)
    encoding, mark = encoding_of(begin)
    if encoding == "utf-8" and (b"\n" in begin or b"\r" not in begin):
        file.read(mark)
        return file
    content = as_utf8(file.read())
    return io.BufferedReader(io.BytesIO(content if b"\n" in content else content.replace(b"\r", b"\n")))


def read_layout(file: BinaryIO) -> Layout:
    """Read a table up to the end of its header; lines that are empty, comments or Excel's ``sep=;`` are no header."""
    lines, delimiter = 0, ""
    while line := file.readline(_MAX_LINE_BYTES):
        lines += 1
        text = decoded(line).strip("\r\n")
        if text.lower().startswith("sep=") and len(text) == len("sep=;"):
            delimiter = text[-1]
        elif text.strip() and not text.startswith("#"):
            delimiter = delimiter or delimiter_of(text)
            return Layout([name.strip() for name in fields(text, delimiter)], delimiter, lines)
    return Layout([], delimiter or ",", lines)


def delimiter_of(header: str) -> str:
    r"""Give what parts the columns of a header.

    >>> delimiter_of('time;"a,b";c'), delimiter_of("time\tvalue"), delimiter_of("time")
    (';', '\t', ',')
    """
    outside = Counter("".join(header.split('"')[::2]))
    return max(DELIMITERS, key=lambda one: outside[one])


def each_once(names: list[str]) -> list[str]:
    """Give names of which each is there once: those that come again get the number of their column.

    >>> each_once(["note", "time", "note"])
    ['note', 'time', 'note (column 3)']
    """
    return [
        f"{name} (column {place})" if name in names[: place - 1] else name for place, name in enumerate(names, start=1)
    ]


def parted(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Take lines apart; between semicolons, a comma in a number is a decimal point."""
    for cells in csv.reader(lines, delimiter=delimiter):
        yield [re.sub(_DECIMAL_COMMA, r"\1.\2", cell) for cell in cells] if delimiter == ";" else cells


def fields(line: str, delimiter: str) -> list[str]:
    """Take a line apart; there is nothing in one that is none."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def headers_in(rows: pa.Table, written: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """Find rows that are headers again, as where files were put one behind the other.

    Parameters
    ----------
    rows
        Columns of words.
    written
        What each column is called in the header of the file.

    Yields
    ------
        The place of each, and whether it has the columns in the same order.
    """
    names = {name.lower() for name in written}
    forms = pa.array([form for name in written for form in (name, name.lower(), name.upper(), f"\ufeff{name}")])
    begins = pc.is_in(rows.column(0), value_set=forms)
    if not pc.any(begins).as_py():
        return
    for place in pc.indices_nonzero(begins).to_pylist():
        cells = [str(cell).strip("\ufeff ").lower() for cell in rows.slice(place, 1).to_pylist()[0].values()]
        if 2 * sum(cell in names for cell in cells) > len(cells):
            yield place, cells == [name.lower() for name in written]


def as_words(table: pa.Table) -> pa.Table:
    """Give columns of text, valid or not, as words."""
    return pa.table({name: _words(table[name].combine_chunks()) for name in table.column_names})


def with_points(table: pa.Table, delimiter: str) -> pa.Table:
    """Give a table of words whose numbers have decimal points: between semicolons, they may have commas."""
    if delimiter != ";":
        return table
    return pa.table(
        {
            name: pc.replace_substring_regex(table[name], pattern=_DECIMAL_COMMA, replacement=r"\1.\2")
            for name in table.column_names
        }
    )


def _words(column: pa.Array) -> pa.Array:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        octets = column.cast(pa.binary()).to_pylist()
        return pa.array([None if one is None else decoded(one) for one in octets], pa.string())
    return column
