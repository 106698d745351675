"""Columns of any type as numbers and words; what cannot be read becomes null and is pointed out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.texts import decoded

Mask = npt.NDArray[np.bool_]

NOTHING = frozenset(
    ("", "nan", "-nan", "null", "none", "\\n", "na", "n/a", "#n/a", "-", "<nil>", "nil", "undefined", "u")
)
"""How databases, programs and people write that there is no value, in small letters."""
# No array: to make the first one from a list, Arrow imports pandas.
_EMPTY = ("", "NULL", "null", "\\N", "None", "NaN", "nan", "N/A")
_WHOLE = r"^-?[0-9]{1,18}$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^(?i:nan)$"
_LARGEST_EXACT = 2.0**53


class Values(NamedTuple):
    """Values, null where there are none; and where there were some that cannot be read."""

    values: pa.Array
    bad: Mask


def null_mask(values: pa.Array) -> Mask:
    """Say where there is no value."""
    mask: Mask = pc.is_null(values).to_numpy(zero_copy_only=False)
    return mask


def _compared(values: pa.Array, before: pa.Array) -> Values:
    return Values(values, null_mask(values) & ~null_mask(before))


def texts(column: pa.Array) -> Values:
    """Give words; what is empty, or how databases write null, is null."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type) and not (whole := counts(column)).bad.any():
        # A whole number of a NUMERIC is written without its zeros.
        column = whole.values
    words = _valid(column) if is_text(column.type) else pc.cast(column, pa.string(), safe=False)
    trimmed = pc.utf8_trim_whitespace(words)
    is_empty = pc.is_in(trimmed, value_set=pa.array(_EMPTY))
    return Values(_null_where(trimmed, is_empty), np.zeros(len(column), dtype=bool))


def is_text(kind: pa.DataType) -> bool:
    """Say whether a column of a type holds words."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_dictionary(kind)
    )


def _valid(column: pa.Array) -> pa.Array:
    """Give words; octets that are no UTF-8 are Latin-1."""
    try:
        words = column.cast(pa.string())
        words.validate(full=True)
    except pa.ArrowInvalid:
        octets = column.cast(pa.binary()).to_pylist()
        words = pa.array([None if one is None else decoded(one) for one in octets], pa.string())
    return words


def _null_where(values: pa.Array, mask: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(mask, False), pa.scalar(None, values.type), values)


def numbers(column: pa.Array) -> Values:
    """Give numbers as they are in text or in numbers; what is not finite cannot be read, NaN is null."""
    if is_text(column.type):
        words = texts(column).values
        try:
            values = words.cast(pa.float64())
        except pa.ArrowInvalid:
            words = said(words)
            fitting = pc.match_substring_regex(words, _NUMBER)
            values = _null_where(words, pc.invert(fitting)).cast(pa.float64())
        column = words
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        values = pc.cast(column, pa.float64(), safe=False)
    else:
        return _compared(pa.nulls(len(column), pa.float64()), column)
    nan = pc.is_nan(values)
    values = _null_where(values, nan)
    kept = _compared(_null_where(values, pc.is_inf(values)), column)
    return Values(kept.values, kept.bad & ~pc.fill_null(nan, False).to_numpy(zero_copy_only=False))


def said(words: pa.Array) -> pa.Array:
    """Give words, null where they say that there is nothing."""
    return _null_where(words, pc.is_in(pc.utf8_lower(words), value_set=pa.array(sorted(NOTHING), pa.string())))


def counts(column: pa.Array) -> Values:
    """Give whole numbers, exact to 64 bits where they are written as such."""
    if pa.types.is_decimal(column.type):
        # DECIMAL and NUMERIC of databases hold whole numbers that a float does not.
        whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column.cast(pa.float64())), 2.0**62))
        return _compared(_null_where_not(column, whole).cast(pa.int64(), safe=False), column)
    if pa.types.is_integer(column.type):
        return _compared(_null_where_not(column, pc.less_equal(column, 2**62)).cast(pa.int64()), column)
    if is_text(column.type):
        words = texts(column).values
        exact = pc.match_substring_regex(words, _WHOLE)
        if pc.all(pc.fill_null(exact, True)).as_py():
            return Values(words.cast(pa.int64()), np.zeros(len(column), dtype=bool))
    inexact = numbers(column)
    whole = pc.and_(pc.equal(pc.round(inexact.values), inexact.values), pc.less(pc.abs(inexact.values), _LARGEST_EXACT))
    values = _null_where_not(inexact.values, whole).cast(pa.int64())
    if is_text(column.type):
        values = pc.coalesce(_null_where_not(words, exact).cast(pa.int64()), values)
    return Values(values, inexact.bad | (null_mask(values) & ~null_mask(inexact.values)))


def _null_where_not(values: pa.Array, mask: pa.Array) -> pa.Array:
    return _null_where(values, pc.invert(mask))


def scaled(values: pa.Array, factor: float) -> pa.Array:
    """Give numbers in another unit."""
    # 1e6 is exact, 1e-6 is not: dividing by the one rounds once, multiplying by the other twice.
    return pc.divide(values, round(1 / factor)) if factor < 1 else pc.multiply(values, factor)
