"""Numbers and times as people and programs write them. Pure."""

from __future__ import annotations

import datetime
import email.utils
import re

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)
_STEPS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From where on a number is not seconds since 1970 but a part of one, and how many parts a second has: as seconds it
would be thousands of years ahead."""
_FORMS = ("%Y-%m-%d %H:%M:%S %z", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d", "%a %b %d %H:%M:%S %Y %z", "%a %b %d %H:%M:%S %Y")
"""Beside ISO 8601: what git prints, what older tools write, and the C library's."""


def number(text: str, *, decimal_comma: bool = False) -> float:
    """Read a number; commas between groups of three digits are left out.

    Raises
    ------
    ValueError
        When it is none.

    Examples
    --------
    >>> number("1,205,000"), number("1.205,5", decimal_comma=True)
    (1205000.0, 1205.5)
    """
    if decimal_comma and "," in text:
        text = text.replace(".", "").replace(",", ".")
    elif _GROUPED.fullmatch(text.strip()):
        text = text.replace(",", "")
    return float(text)


def time(text: str) -> float | None:
    """Read a time as seconds since 1970; none: it is no time. One without a zone is taken as UTC.

    >>> time("2026-01-02T03:04:05+02:00") == time("2026-01-02 03:04:05 +0200") == time("1767315845000")
    True
    """
    text = text.strip()
    try:
        seconds = float(text)
    except ValueError:
        found = _date(re.sub(r"\s*(UTC|GMT|Z)$", "", text) if re.search(r"\d", text) else "")
        return None if found is None else found.timestamp()
    return seconds / next((parts for least, parts in _STEPS if seconds >= least), 1.0)


def _date(text: str) -> datetime.datetime | None:
    found = _iso(text)
    for form in _FORMS:
        if found is not None:
            break
        try:
            found = datetime.datetime.strptime(text, form)
        except ValueError:
            continue
    if found is None:
        try:
            found = email.utils.parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError):
            return None
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)


def _iso(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
