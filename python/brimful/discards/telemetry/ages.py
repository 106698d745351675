"""How long a device was up: what was a reboot, and what a step of the clock of its poller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.discards.telemetry.rows import Rows

SMALLEST_STEP_US = 5_000_000
"""By less, polls are late."""
MOST_ALL_STEPS, FEWEST_STEPS = 0.5, 3
"""Where the clock seems to be set in more than this share of intervals, the ages of the device are no seconds."""
UPTIME_WRAPS_S = 2**32 / 100
"""``sysUpTime`` counts hundredths of a second in 32 bits."""

Bools = NDArray[np.bool_]
Times = NDArray[np.int64]


@dataclass(frozen=True)
class Boots:
    """When a device was started, and from when to when it says so."""

    booted_us: Times
    said_us: Times
    """When it said how long it was up, sorted."""
    since_us: Times
    """Since when it was up then."""


def boots_of(uptimes: Rows, before: tuple[int, float] | None) -> Boots:
    """Read rows that say how many seconds a device was up; ``before`` is the last time and age of the day before."""
    end, seconds = uptimes["end_us"], uptimes["value"]
    if before is not None:
        end, seconds = np.append(before[0], end), np.append(before[1], seconds)
    since = end - np.round(seconds * 1e6).astype(np.int64)
    passed = np.diff(end, prepend=end[:1]) / 1e6
    last = np.append(seconds[:1], seconds[:-1])
    wraps = (seconds < last) & (last + passed >= UPTIME_WRAPS_S - 1) & (last <= UPTIME_WRAPS_S)
    # After a wrap of the clock itself, the device was up for so much longer.
    since = since - np.cumsum(wraps) * round(UPTIME_WRAPS_S * 1e6)
    return Boots(np.unique(since), end, since)


def is_said(boots: Boots, start: Times, end: Times) -> Bools:
    """Say for which intervals the device says that it was up all the time."""
    if not len(boots.said_us):
        return np.zeros(len(end), bool)
    after = np.searchsorted(boots.said_us, end)
    found = after < len(boots.said_us)
    after = np.minimum(after, len(boots.said_us) - 1)
    said: Bools = found & (boots.since_us[after] <= start)
    return said


def steps_of_clock(boots: Boots, start: Times, end: Times) -> Bools:
    """Say in which intervals the clock of the poller was set: the device aged by more or less than it says."""
    if len(boots.said_us) < 2:
        return np.zeros(len(end), bool)
    passed, set_us = np.diff(boots.said_us), np.diff(boots.since_us)
    allowed = np.maximum(SMALLEST_STEP_US, np.minimum(passed, passed - set_us) // 2)
    steps = (np.abs(set_us) > allowed) & (boots.since_us[1:] <= boots.said_us[:-1])
    one_way = (set_us[steps] > 0).all() or (set_us[steps] < 0).all()
    if one_way and steps.sum() > max(MOST_ALL_STEPS * len(steps), FEWEST_STEPS):
        # The ages are in another unit.
        return np.zeros(len(end), bool)
    begins, ends = boots.said_us[:-1][steps], boots.said_us[1:][steps]
    found: Bools = np.searchsorted(begins, end) > np.searchsorted(ends, start, "right")
    return found
