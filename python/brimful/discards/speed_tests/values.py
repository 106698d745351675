"""Columns of any type as numbers, times and words; what cannot be read becomes null and is pointed out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.speed_tests.rows import parse_time

Mask = npt.NDArray[np.bool_]

_WHOLE = r"^-?[0-9]{1,18}$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_LARGEST_EXACT = 2.0**53
_LATEST_US = 1e17
"""Times beyond are out of all years; they must only not overflow."""


class Values(NamedTuple):
    """Values, null where there are none; and where there were some that cannot be read."""

    values: pa.Array
    bad: Mask


def _null_mask(values: pa.Array) -> Mask:
    mask: Mask = pc.is_null(values).to_numpy(zero_copy_only=False)
    return mask


def _compared(values: pa.Array, before: pa.Array) -> Values:
    return Values(values, _null_mask(values) & ~_null_mask(before))


def texts(column: pa.Array) -> Values:
    """Give words; what is empty is null."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    words = _valid(column) if _is_text(column.type) else pc.cast(column, pa.string(), safe=False)
    trimmed = pc.utf8_trim_whitespace(words)
    return Values(_null_where(trimmed, pc.equal(trimmed, "")), np.zeros(len(column), dtype=bool))


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_dictionary(kind)
    )


def _valid(column: pa.Array) -> pa.Array:
    """Give words in UTF-8; octets that are none are replaced."""
    try:
        words = column.cast(pa.string())
        words.validate(full=True)
    except pa.ArrowInvalid:
        octets = column.cast(pa.binary()).to_pylist()
        words = pa.array([None if one is None else one.decode(errors="replace") for one in octets], pa.string())
    return words


def _null_where(values: pa.Array, mask: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(mask, False), pa.scalar(None, values.type), values)


def numbers(column: pa.Array) -> Values:
    """Give numbers as they are in text or in numbers; what is not finite cannot be read, NaN is null."""
    if _is_text(column.type):
        words = texts(column).values
        try:
            values = words.cast(pa.float64())
        except pa.ArrowInvalid:
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


def counts(column: pa.Array) -> Values:
    """Give whole numbers, exact to 64 bits where they are written as such."""
    if pa.types.is_integer(column.type):
        return _compared(_null_where_not(column, pc.less_equal(column, 2**62)).cast(pa.int64()), column)
    if _is_text(column.type):
        words = texts(column).values
        exact = pc.match_substring_regex(words, _WHOLE)
        if pc.all(pc.fill_null(exact, True)).as_py():
            return Values(words.cast(pa.int64()), np.zeros(len(column), dtype=bool))
    inexact = numbers(column)
    whole = pc.and_(pc.equal(pc.round(inexact.values), inexact.values), pc.less(pc.abs(inexact.values), _LARGEST_EXACT))
    values = _null_where_not(inexact.values, whole).cast(pa.int64())
    if _is_text(column.type):
        values = pc.coalesce(_null_where_not(words, exact).cast(pa.int64()), values)
    return Values(values, inexact.bad | (_null_mask(values) & ~_null_mask(inexact.values)))


def _null_where_not(values: pa.Array, mask: pa.Array) -> pa.Array:
    return _null_where(values, pc.invert(mask))


def times(column: pa.Array, *, microseconds_per_unit: float | None, form: str | None, zone: str | None) -> Values:
    """Give microseconds since 1970, UTC."""
    if pa.types.is_timestamp(column.type):
        values = pc.cast(column, pa.timestamp("us", column.type.tz), safe=False)
        return _compared(_to_utc(values, zone).cast(pa.int64()), column)
    if microseconds_per_unit is not None:
        return _scaled_times(column, microseconds_per_unit)
    words = texts(column).values
    if form is not None:
        values = pc.strptime(words, format=form, unit="us", error_is_null=True)
        return _compared(_to_utc(values, zone).cast(pa.int64()), words)
    return _compared(_times_in_words(words, zone), words)


def _scaled_times(column: pa.Array, microseconds_per_unit: float) -> Values:
    whole = counts(column)
    if not whole.bad.any() and microseconds_per_unit >= 1:
        factor = int(microseconds_per_unit)
        fitting = pc.less(pc.abs(whole.values), int(_LATEST_US / factor))
        # What is too large to be multiplied is a time in another unit in any case: the latest one stands for it.
        bounded = pc.if_else(fitting, whole.values, int(_LATEST_US / factor))
        return Values(pc.multiply(bounded, factor), whole.bad)
    broken = numbers(column)
    scaled = pc.multiply(broken.values, microseconds_per_unit)
    bounded = pc.max_element_wise(pc.min_element_wise(scaled, _LATEST_US, skip_nulls=False), 0.0, skip_nulls=False)
    return Values(pc.round(bounded).cast(pa.int64()), broken.bad)


def _times_in_words(words: pa.Array, zone: str | None) -> pa.Array:
    """Read ISO times as databases and programs write them: UTC, Z, an offset, or none."""
    plain = pc.replace_substring_regex(words, pattern=r"\s*(UTC|Z|[+]00:?00)$", replacement="")
    plain = pc.replace_substring_regex(plain, pattern=r"([.][0-9]{6})[0-9]+$", replacement=r"\1")
    try:
        told = pc.equal(plain, words)
        values = plain.cast(pa.timestamp("us"))
        if zone is None:
            return values.cast(pa.int64())
        return pc.if_else(told, _to_utc(values, zone).cast(pa.int64()), values.cast(pa.int64()))
    except pa.ArrowInvalid:
        return pa.array([_time_or_none(word) for word in words.to_pylist()], pa.int64())


def _time_or_none(word: str | None) -> int | None:
    if word is None:
        return None
    try:
        return parse_time(word)
    except (ValueError, OverflowError):
        return None


def _to_utc(values: pa.Array, zone: str | None) -> pa.Array:
    if values.type.tz is None and zone is not None:
        values = pc.assume_timezone(values, zone, ambiguous="earliest", nonexistent="latest")
    return values.cast(pa.timestamp("us"))


def scaled(values: pa.Array, factor: float) -> pa.Array:
    """Give numbers in another unit."""
    # 1e6 is exact, 1e-6 is not: dividing by the one rounds once, multiplying by the other twice.
    return pc.divide(values, round(1 / factor)) if factor < 1 else pc.multiply(values, factor)
