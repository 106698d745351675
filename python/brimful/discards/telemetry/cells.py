"""Cells of tables as numbers and names, whatever their columns hold: texts of CSV or native types of Parquet."""

from __future__ import annotations

import decimal
import enum
import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from brimful.discards.identity import device_of
from brimful.discards.telemetry.rows import filled, present
from brimful.discards.values import NOTHING


def devices_of(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int64]]:
    """Give the different devices of a column, and which of them each row is of."""
    names, code = names_of(column)
    known: dict[str, int] = {}
    of_name = np.array([known.setdefault(device_of(name), len(known)) for name in names], np.int64)
    return list(known), of_name[code]


def names_of(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int64]]:
    """Give the different texts of a column, and which of them each row has."""
    encoded = column.cast(pa.string()).fill_null("").combine_chunks().dictionary_encode()
    values = [value.strip() for value in encoded.dictionary.to_pylist()]
    return values or [""], encoded.indices.to_numpy().astype(np.int64)


def floats_of(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Give numbers: NaN where there is nothing, -1 where there is no number."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy())
    return np.array([_float(text) for text in column.cast(pa.string()).to_pylist()], np.float64)


def _float(text: str | None) -> float:
    if text is None or text.strip().lower() in NOTHING:
        return np.nan
    try:
        return float(text)
    except ValueError:
        return -1


def counts_of(
    column: pa.ChunkedArray,
) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.uint64]]:
    """Give counts, which rows have one, which have something else, and how far below zero each is."""
    whole = _whole(column)
    if whole is not None:
        none = np.zeros(len(column), bool)
        return filled(whole), present(whole), none, none.astype(np.uint64)
    exact = _EXACT.get(column.type, 2**64)
    cells = column.to_pylist()
    parsed = [_NO_COUNT if isinstance(cell, float) and abs(cell) > exact else _count(cell) for cell in cells]
    if _NO_COUNT in parsed and are_fractions(cells):
        parsed = [one if one is None else _NO_COUNT for one in parsed]
    elif are_rounded(cells):
        parsed = [_NO_COUNT if _EXPONENT.fullmatch(str(cell)) else one for cell, one in zip(cells, parsed, strict=True)]
    elif _may_be_grouped(cells):
        parsed = [_NO_COUNT if _GROUPED.fullmatch(str(cell)) else one for cell, one in zip(cells, parsed, strict=True)]
    number = np.array([0 if one is None or one is _NO_COUNT else max(one, 0) for one in parsed], np.uint64)
    debt = np.array([0 if one is None or one is _NO_COUNT else max(-one, 0) for one in parsed], np.uint64)
    there = np.array([one is not None and one is not _NO_COUNT and one >= 0 for one in parsed], bool)
    return number, there, np.array([one is _NO_COUNT for one in parsed], bool), debt


def are_fractions(cells: Sequence[object]) -> bool:
    """Say whether some are fractions: then the whole ones among them are no counts, either, but means or rates."""
    fractions = sum(_FRACTION.search(str(cell)) is not None for cell in cells)
    return fractions >= FEWEST_FRACTIONS and fractions > MOST_FRACTIONS * len(cells)


def are_rounded(cells: Iterable[object]) -> bool:
    """Say whether large numbers have lost their last digits, as ``1.23457E+12`` of a spreadsheet or of awk has."""
    words = (cell for cell in cells if isinstance(cell, str) and not cell.isdecimal())
    found = {cell: match for cell in words if (match := _EXPONENT.fullmatch(cell))}
    lost = [int(match[3]) - len(match[2].rstrip("0")) for match in found.values()]
    return len(lost) >= FEWEST_ROUNDED and min(lost) >= DIGITS_LOST


def _may_be_grouped(cells: Sequence[object]) -> bool:
    """Say whether ``1.234`` may be 1,234: there is such a cell, and none like ``1234.000``."""
    words = [cell for cell in cells if isinstance(cell, str)]
    return any(map(_GROUPED.fullmatch, words)) and not any(map(_WITH_DECIMALS.fullmatch, words))


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Read a column of plain whole numbers at once; nothing where there is anything else."""
    if pa.types.is_string(column.type):
        # Arrow reads hexadecimal numbers as well.
        if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
            return None
        words = column.combine_chunks()
        whole = pc.if_else(pc.equal(words, ""), pa.scalar(None, words.type), words)
    elif pa.types.is_integer(column.type):
        whole = column.combine_chunks()
    else:
        return None
    try:
        return pa.chunked_array([whole.cast(pa.uint64())], pa.uint64())
    except pa.ArrowInvalid:
        return None


FEWEST_FRACTIONS, MOST_FRACTIONS = 3, 0.01
"""Of this number of fractions on, in a larger share of all cells, none of these is a count."""
_FRACTION = re.compile(r"^\s*[0-9]*\.[0-9]*[1-9][0-9]*\s*$")
FEWEST_ROUNDED, DIGITS_LOST = 3, 2
"""Of this number of different ones, each ends in this number of zeros or more."""
_EXPONENT = re.compile(r"\s*([0-9])\.?([0-9]*)[eE]\+?([0-9]+)\s*")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
_WITH_DECIMALS = re.compile(r"(?:0|[0-9]{4,})\.[0-9]{3}")
_EXACT = {pa.float16(): 2**11, pa.float32(): 2**24}
"""Whole numbers above are not what was counted."""


class _NoCount(enum.Enum):
    NO_COUNT = enum.auto()


_NO_COUNT = _NoCount.NO_COUNT


def _count(cell: object) -> int | _NoCount | None:
    """Read a count, which may be below zero; nothing where there is nothing."""
    if isinstance(cell, str):
        text = cell.strip()
        if text.isdecimal() and text.isascii():
            cell = int(text)
        elif text.lower() in NOTHING:
            return None
        else:
            try:
                cell = decimal.Decimal(text)
            except decimal.InvalidOperation:
                return _NO_COUNT
    if cell is None:
        return None
    if isinstance(cell, bytes):
        return _count(cell.decode(errors="replace"))
    if not isinstance(cell, int | float | decimal.Decimal) or isinstance(cell, bool):
        return _NO_COUNT
    if math.isnan(cell):
        return None
    return int(cell) if -(2**63) < cell < 2**64 and cell == int(cell) else _NO_COUNT
