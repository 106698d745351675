"""Counters that a device shows late: polls in which one stands still, before more than its port can carry.

Devices renew what they show every few seconds. Polled more often, a busy port seems to count nothing, then twice as
much as it can. The polls in between say nothing; what was counted belongs to all of their time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.discards.schema import Flag
from brimful.discards.telemetry.chains import MOST_DIPS
from brimful.discards.telemetry.rows import ABSOLUTE, METRICS, Rows

_IS_TRAFFIC = np.array([name.split(".")[1] in ("octets", "unicast") for name in METRICS])
"""Metrics that rise all the time on a port that is busy; others stand still for long, and for no such reason."""

Times = NDArray[np.int64]
Values = NDArray[np.float64]


def put_together(
    rows: Rows, start: Times, value: Values, flags: NDArray[np.int16], ceilings: NDArray[np.float64]
) -> None:
    """Give what was counted too late to all the time in which it can have been, and no value to the polls in between.

    Parameters
    ----------
    rows
        Polls of one machine and day, sorted by (metric, end).
    start, value, flags
        Of each, as `chains.counted` gives them; changed in place.
    ceilings
        What each metric can count in a second at the most, by its code.
    """
    bare = rows["kind"] == ABSOLUTE
    if not bare.any():
        return
    metric, end = rows["metric"], rows["end_us"]
    per_s = ceilings[metric]
    with np.errstate(invalid="ignore"):
        over = (value > per_s * ((end - start) / 1e6)) & _IS_TRAFFIC[metric] & bare
    for place in np.flatnonzero(over).tolist():
        total, stood_still = value[place], False
        for before in range(place - 1, max(place - 1 - MOST_DIPS, -1), -1):
            if metric[before] != metric[place] or end[before] != start[before + 1] or np.isnan(value[before]):
                break
            total, stood_still = total + value[before], stood_still or value[before] == 0
            if stood_still and total <= per_s[place] * ((end[place] - start[before]) / 1e6):
                start[place], value[place] = start[before], total
                flags[place] |= int(Flag.MISSED_POLL)
                between = slice(before, place)
                start[between], value[between] = end[between] - 1, np.nan
                flags[between] |= int(Flag.DIP)
                break
