"""Numbers as reports on discards have them."""

from __future__ import annotations

from brimful.report import words
from brimful.report.discards.model import number

NOTHING = "–"


def p_value(value: object) -> str:
    """Write the probability of a test.

    >>> p_value(0.9234), p_value("?")
    ('0.923', '–')
    """
    return words.p_value(number(value))


def factor(value: object) -> str:
    """Write how many times as much.

    >>> factor(1.0234), factor(None)
    ('1.023', '–')
    """
    found = number(value)
    return NOTHING if found is None else f"{found:.3f}"


def ratio_with_interval(value: object, interval: object) -> str:
    """Write a ratio and the interval around it.

    >>> ratio_with_interval(1.01, [0.98, 1.04])
    '1.010 (0.980 to 1.040)'
    """
    if not isinstance(interval, list | tuple) or len(interval) != 2:
        return factor(value)
    return f"{factor(value)} ({factor(interval[0])} to {factor(interval[1])})"


def count(value: object) -> str:
    """Write a whole number; a dash where there is none.

    >>> count(1200.0), count(None)
    ('1,200', '–')
    """
    found = number(value)
    return NOTHING if found is None else words.group(round(found))


def share(value: object) -> str:
    """Write a share in per cent; a dash where there is none.

    >>> share(0.4321), share(None)
    ('43.2 %', '–')
    """
    found = number(value)
    return NOTHING if found is None else words.share(found)


def percent(value: object) -> str:
    """Write a round share in per cent, with no more digits than it has.

    >>> percent(0.05), percent(0.0834), percent(25.3), percent(None)
    ('5 %', '8.3 %', '2530 %', '–')
    """
    found = number(value)
    if found is None:
        return NOTHING
    return f"{found * 100:.2g} %" if abs(found) < 0.995 else f"{found * 100:.0f} %"


def small(value: object) -> str:
    """Write a ratio far below 1.

    >>> small(4.21e-5), small(0.0), small(None)
    ('4.2e-05', '0', '–')
    """
    found = number(value)
    if found is None:
        return NOTHING
    return f"{found:.1e}" if found else "0"
