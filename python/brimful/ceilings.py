"""What is done where the tester cannot offer a load: a smaller one is tried, and the record says so."""

from __future__ import annotations

import re

from brimful.records import TESTER_CEILING, Warning
from brimful.units import format_load

LOWER = 0.75
"""Of a load that the tester cannot offer: the next that is tried."""
_LEAST_EXCESS = 1.02
"""Of a load that is to be exceeded: less above it would be within the width of a search."""
_LEAST_SHARE = 0.1
"""Of the load that was asked for: a tester that cannot offer this is not merely too slow."""
_TOO_SLOW = re.compile(
    r"\boff schedule\b|: (late(?= by\b|[:;,]|$)|too slow|stalled|behind|cannot keep up|could not keep up)"
    r"|\b(tester|generator|sender|frames|packets|units|IOs)\b"
    r".*(\blate\b|too slow|not be sent|not sent|stalled|behind|keep up)|stretched|rate was off"
)
"""What testers say of themselves where a smaller load would help."""


def is_too_slow(reason: str) -> bool:
    """Say whether a trial was invalid because the tester could not offer its load, which says nothing of smaller ones.

    >>> is_too_slow("invalid trial 3 at 5 pps: late by 3 ms"), is_too_slow("the link of eth1 is down")
    (True, False)
    """
    return _TOO_SLOW.search(reason) is not None


def lower_load(load: float, *, asked: float, above: float = 0.0) -> float | None:
    """Give the load to try after one that the tester cannot offer; none: it would mean nothing.

    Parameters
    ----------
    load, asked
        That was tried, and that was asked for first.
    above
        What has to be exceeded, such as the throughput by an overload.

    Examples
    --------
    >>> lower_load(100.0, asked=100.0), lower_load(110.0, asked=110.0, above=100.0)
    (75.0, 105.0)
    >>> lower_load(102.5, asked=110.0, above=100.0) is None
    True
    """
    lower = max(LOWER * load, (load + above) / 2)
    return None if lower < max(_LEAST_SHARE * asked, _LEAST_EXCESS * above) else lower


def ceiling_warning(load: float, lower: float, unit: str, what: str) -> Warning:
    """Say that a load was lowered; ``what`` is now at the lower one."""
    text = (
        f"the tester could not offer {format_load(load, unit)} on schedule, see the reasons of invalid trials: {what}"
        f" {format_load(lower, unit)} from here on"
    )
    return Warning(code=TESTER_CEILING, text=text, load=lower)
