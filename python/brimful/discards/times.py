"""The one reader of times, for telemetry and for speed tests: as databases, programs and people write them.

ISO 8601 in its dialects (BigQuery's `` UTC``, Snowflake's `` +0000``, slashes, a comma before the fraction), days
before months with dots between, Unix time, and columns that hold times. What has no zone is in the zone that was given,
else UTC. A local time that the clocks of its zone show twice, or never, is not guessed.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.values import Mask, Values, counts, is_text, null_mask, numbers, said, texts
from brimful.errors import UsageError

HOW_TO_WRITE = "write it like 2026-03-01 00:01:00, or in Unix time"
DOUBTFUL = "is a local time that the clocks show twice or never"
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_LATEST_US = 1e17
"""Times beyond are out of all years; they must only not overflow."""
IN_PARTS = 1e11
_UNITS = ((1e17, 1e9), (1e14, 1e6), (IN_PARTS, 1e3))
"""From this number on, Unix time is in this many parts of a second: in seconds it would be in the year 5138."""
_FORM = re.compile(
    r"(?:(?P<year>[0-9]{4})[-/](?P<month>[0-9]{1,2})[-/](?P<day>[0-9]{1,2})"
    r"|(?P<dotted_day>[0-9]{1,2})[.](?P<dotted_month>[0-9]{1,2})[.](?P<dotted_year>[0-9]{4})"
    r"|(?P<plain_year>[0-9]{4})(?P<plain_month>[0-9]{2})(?P<plain_day>[0-9]{2})(?=T))"
    r"(?:[T ]+(?P<hour>[0-9]{1,2})(?P<colon>:?)(?P<minute>[0-9]{2})"
    r"(?:(?P=colon)(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?)?"
    r"\s*(?P<zone>UTC|GMT|Z|[+-][0-9]{2}(?::?[0-9]{2})?(?:\s+UTC)?|[A-Z][A-Za-z]+/[A-Za-z_/]+)?(?:\[[\w/+-]+\])?",
    re.ASCII,
)


class Times(NamedTuple):
    """Times, null where there are none or none that can be known."""

    us: pa.Array
    """Microseconds since 1970, UTC; bounded, where a clock had another unit."""
    bad: Mask
    """Where there is something that is no time."""
    doubtful: Mask
    """Where a local time is one of two, or none."""
    seconds: npt.NDArray[np.float64]
    """Since 1970, as they were written: not bounded, NaN where there are none."""


def check_zone(zone: str | None) -> None:
    """Refuse a zone that there is not.

    Raises
    ------
    UsageError
        When there is none of this name.
    """
    if zone is not None and zone not in zoneinfo.available_timezones():
        message = f"--timezone {zone}: there is no such zone; write it like Europe/Berlin"
        raise UsageError(message)


def parse_time(text: str) -> int:
    """Give microseconds since 1970 of a time in words; UTC where it does not say.

    >>> parse_time("2019-12-01T00:00:01.394297731Z"), parse_time("2019-12-01 00:00:01 UTC")
    (1575158401394297, 1575158401000000)

    Raises
    ------
    ValueError
        When it is none.
    """
    us = parse_local(text, None)
    assert us is not None
    return us


def parse_local(text: str, zone: str | None) -> int | None:
    """Give microseconds since 1970 of a time in words; nothing of a local time that the clocks show twice or never.

    >>> parse_local("2019/12/01 01:00:01,5", "Europe/Berlin")
    1575158401500000
    >>> parse_local("2019-10-27 02:30:00", "Europe/Berlin") is None
    True
    >>> parse_local("1.12.2019 00:00:01", None) == parse_local("20191201T000001Z", None)
    True

    Raises
    ------
    ValueError
        When it is none.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        message = f"{text!r} is no time"
        raise ValueError(message)
    year, month, day = (
        int(next(filter(None, (match[f"{form}{part}"] for form in ("", "dotted_", "plain_")))))
        for part in ("year", "month", "day")
    )
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    microsecond = int((match["fraction"] or "").ljust(6, "0")[:6])
    # Of a leap second Unix time is that of the next one.
    leap = second == 60 and minute % 15 == 14
    local = datetime.datetime(year, month, day, hour, minute, second - leap, microsecond)
    local += datetime.timedelta(seconds=leap)
    if match["zone"] and "/" in match["zone"]:
        zone, offset = match["zone"], None
        if zone not in zoneinfo.available_timezones():
            message = f"{zone} is no zone"
            raise ValueError(message)
    else:
        offset = _offset(match["zone"])
    if offset is None and zone is not None:
        at = zoneinfo.ZoneInfo(zone)
        first, second_one = (local.replace(tzinfo=at, fold=fold).utcoffset() for fold in (0, 1))
        if first != second_one:
            return None
        offset = first
    return (local.replace(tzinfo=datetime.UTC) - (offset or datetime.timedelta()) - EPOCH) // _MICROSECOND


def _offset(text: str | None) -> datetime.timedelta | None:
    if not text:
        return None
    digits = text.split()[0].replace(":", "")
    if digits in ("UTC", "GMT", "Z"):
        return datetime.timedelta()
    size = datetime.timedelta(hours=int(digits[1:3]), minutes=int(digits[3:] or 0))
    return -size if digits.startswith("-") else size


def times(column: pa.Array, *, unit_us: float | None = None, form: str | None = None, zone: str | None = None) -> Times:
    """Read a column of times.

    Parameters
    ----------
    unit_us
        Microseconds of the unit that numbers are in; if it is not given, their size says which it is.
    form
        Of times in words, as of strptime; without it, they are as `parse_time` reads them.
    zone
        Of times that have none: UTC, if it is not given.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(column.type):
        values = pc.cast(column, pa.timestamp("us", column.type.tz), safe=False)
        return _in_zone(values, column, zone if column.type.tz is None else None)
    if unit_us is not None or not is_text(column.type):
        return _scaled(column, 1e6, sized=True) if unit_us is None else _scaled(column, unit_us)
    words = texts(column).values
    if form is not None:
        return _in_zone(pc.strptime(words, format=form, unit="us", error_is_null=True), words, zone)
    return _in_words(words, zone)


def _in_zone(values: pa.Array, before: pa.Array, zone: str | None) -> Times:
    doubtful = np.zeros(len(values), bool)
    if zone is not None:
        first, last = (
            pc.assume_timezone(values, zone, ambiguous=which, nonexistent=which).cast(pa.int64())
            for which in ("earliest", "latest")
        )
        doubtful = pc.fill_null(pc.not_equal(first, last), False).to_numpy(zero_copy_only=False)
        values = pc.if_else(pa.array(doubtful), pa.scalar(None, pa.int64()), first)
    us = values.cast(pa.int64())
    return Times(us, null_mask(us) & ~null_mask(before) & ~doubtful, doubtful, _as_seconds(us))


def _as_seconds(us: pa.Array) -> npt.NDArray[np.float64]:
    seconds: npt.NDArray[np.float64] = us.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy() / 1e6
    return seconds


def _scaled(column: pa.Array, unit_us: float, *, sized: bool = False) -> Times:
    whole = counts(column)
    if (
        sized
        and (parts := unix_parts(numbers(column).values.fill_null(0).to_numpy(zero_copy_only=False))).max(initial=1) > 1
    ):
        return _sized(whole if not whole.bad.any() else numbers(column), parts)
    none = np.zeros(len(column), bool)
    if not whole.bad.any() and unit_us >= 1:
        factor = int(unit_us)
        most = int(_LATEST_US / factor)
        # What is too large to be multiplied is a time in another unit in any case: the latest one stands for it.
        bounded = pc.max_element_wise(
            pc.min_element_wise(whole.values, most, skip_nulls=False), -most, skip_nulls=False
        )
        seconds = whole.values.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy() * (unit_us / 1e6)
        return Times(pc.multiply(bounded, factor), whole.bad, none, seconds)
    broken = numbers(column)
    scaled = pc.multiply(broken.values, unit_us)
    bounded = pc.max_element_wise(pc.min_element_wise(scaled, _LATEST_US, skip_nulls=False), 0.0, skip_nulls=False)
    seconds = broken.values.fill_null(np.nan).to_numpy(zero_copy_only=False) * (unit_us / 1e6)
    return Times(pc.round(bounded).cast(pa.int64()), broken.bad, none, seconds)


def unix_parts(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Say in which parts of a second Unix times are, by their size.

    >>> unix_parts(np.array([1772323200.0, 1772323200000.0]))
    array([   1., 1000.])
    """
    return np.select([numbers >= least for least, _ in _UNITS], [parts for _, parts in _UNITS], 1.0)


def _sized(given: Values, parts: npt.NDArray[np.float64]) -> Times:
    """Read Unix times of which some are not in seconds."""
    there = pc.is_valid(given.values).to_numpy(zero_copy_only=False)
    number = given.values.fill_null(0).to_numpy(zero_copy_only=False)
    bounded = np.clip(number, -_LATEST_US, None)
    us = np.where(parts > 1e6, bounded // 1000, bounded * (1e6 / np.minimum(parts, 1e6)).astype(np.int64))
    us = np.where(np.abs(us) > _LATEST_US, _LATEST_US, us)
    seconds = np.where(there, number / parts, np.nan)
    return Times(pa.array(us.astype(np.int64), mask=~there), given.bad, np.zeros(len(us), bool), seconds)


def _in_words(words: pa.Array, zone: str | None) -> Times:
    """Read times in words; the usual ones at once."""
    plain = pc.replace_substring_regex(words, pattern=r"\s*(UTC|Z|[+]00:?00)$", replacement="")
    told = pc.not_equal(plain, words)
    plain = pc.replace_substring_regex(plain, pattern=r"([.][0-9]{6})[0-9]+$", replacement=r"\1")
    try:
        values = plain.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return _one_by_one(words, zone)
    utc = _in_zone(values, words, None)
    if zone is None or pc.all(told).as_py():
        return utc
    local = _in_zone(values, words, zone)
    is_told = pc.fill_null(told, False)
    us = pc.if_else(is_told, utc.us, local.us)
    return Times(us, utc.bad, local.doubtful & ~is_told.to_numpy(zero_copy_only=False), _as_seconds(us))


def _one_by_one(words: pa.Array, zone: str | None) -> Times:
    """Read times in words, each different one once."""
    words = said(words)
    encoded = pc.dictionary_encode(words)
    found: list[int | None] = []
    doubtful, seconds = [], []
    for word in encoded.dictionary.to_pylist():
        us, is_doubtful, at = _read(word, zone)
        found.append(us)
        doubtful.append(is_doubtful)
        seconds.append(at)
    us = pa.array(found, pa.int64()).take(encoded.indices)
    of_row = encoded.indices.fill_null(len(doubtful)).to_numpy()
    dubious = np.array([*doubtful, False], bool)[of_row]
    return Times(
        us, null_mask(us) & ~null_mask(words) & ~dubious, dubious, np.array([*seconds, np.nan], np.float64)[of_row]
    )


def _read(word: str, zone: str | None) -> tuple[int | None, bool, float]:
    try:
        number = float(word)
    except ValueError:
        pass
    else:
        if not np.isfinite(number):
            return None, False, np.nan
        number /= next((parts for least, parts in _UNITS if number >= least), 1)
        return round(max(-_LATEST_US, min(number * 1e6, _LATEST_US))), False, number
    try:
        us = parse_local(word, zone)
    except (ValueError, OverflowError):
        return None, False, np.nan
    return us, us is None, np.nan if us is None else us / 1e6
