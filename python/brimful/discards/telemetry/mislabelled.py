"""Separates what was delivered as local octets of one direction whichever it was.

From the launch of the second generation until January 2022 both directions are called ``switch.octets.local.tx``. A
series is followed by its counter: the difference that was delivered leads back to the counter of the poll before. Which
of the two series is which direction follows from the packets of either: their frames have between 64 and about 1,520
bytes. A switch does not update octets and packets at the same instant, so single bins may seem to have others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.discards.schema import Flag
from brimful.discards.telemetry.rows import (
    LOCAL_OCTETS_RX,
    LOCAL_OCTETS_TX,
    LOCAL_UNICAST_RX,
    LOCAL_UNICAST_TX,
    UNKNOWN_DIRECTION,
    Rows,
    joined,
)

FIXED_ON_S = 1_642_550_400
"""2022-01-19: M-Lab's loader takes files from this day on to be labelled right."""
MIN_FRAME_BYTES = 40
MAX_FRAME_BYTES = 2000
"""Nearly all bins of a real port are between these (1,890 was seen); the wrong direction often is not."""
OTHER_BYTES = 16_000
"""Of broadcast and multicast in a bin, which the unicast packets do not count."""
MIN_CONTRADICTIONS = 3
"""To one answer, before the other is believed."""
MAX_SHARE = 0.25
"""Of these contradictions, this number may speak against the answer that is taken."""


def tell_apart(rows: Rows) -> Rows:
    """Give each row of an unknown direction its metric, or `Flag.AMBIGUOUS`; sort by (metric, end).

    ``rows`` are merged: sorted by (metric, end), at most two of an unknown direction for each end, in the order of
    their counters.
    """
    known = int(np.searchsorted(rows["metric"], UNKNOWN_DIRECTION))
    if known == len(rows):
        return rows
    pairs = rows[known:].copy()
    _, first, group = np.unique(pairs["end_us"], return_index=True, return_inverse=True)
    place = np.arange(len(pairs)) - first[group]
    segment, turned = _segments(pairs, first, group, place)
    # Were the first row of a segment the received one, this would be: 0 received, 1 transmitted.
    direction = place ^ turned[group]
    of_row = segment[group]
    count = int(segment[-1]) + 1
    against = np.bincount(of_row, _contradictions(pairs, direction, rows[:known]), count)
    against_swapped = np.bincount(of_row, _contradictions(pairs, 1 - direction, rows[:known]), count)
    swap = against > against_swapped
    least, most = np.minimum(against, against_swapped), np.maximum(against, against_swapped)
    unclear = (most < MIN_CONTRADICTIONS) | (least > MAX_SHARE * most)
    direction = np.where(unclear[of_row], place, direction ^ swap[of_row])
    pairs["metric"] = np.where(direction == 0, LOCAL_OCTETS_RX, LOCAL_OCTETS_TX)
    pairs["flags"] |= int(Flag.MISLABELLED)
    pairs["flags"][unclear[of_row]] |= int(Flag.AMBIGUOUS)
    known_rows = rows[:known]
    taken = np.isin(_key(pairs), _key(known_rows))
    together = joined([known_rows, pairs[~taken]])
    return together.take(np.argsort(_key(together), kind="stable"))


def _key(rows: Rows) -> NDArray[np.int64]:
    key: NDArray[np.int64] = rows["metric"].astype(np.int64) << 53 | rows["end_us"]
    return key


def _segments(
    pairs: Rows, first: NDArray[np.intp], group: NDArray[np.intp], place: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Give for each poll the stretch of polls it is linked with, and whether its rows change places within that.

    A row is linked with one of the poll before when its difference leads back to that counter.
    """
    counter = pairs["counter"]
    implied = counter - pairs["delivered"]
    size = np.diff(first, append=len(pairs))
    before = np.maximum(group - 1, 0)
    low = counter[first[before]]
    high = counter[first[before] + size[before] - 1]
    to_low = (group > 0) & (implied == low)
    to_high = (group > 0) & (size[before] == 2) & (implied == high)
    # Two equal counters before lead to either.
    linked = to_low ^ to_high
    turn = place ^ to_high
    straight = np.bincount(group[linked & (turn == 0)], minlength=len(first)) > 0
    turning = np.bincount(group[linked & (turn == 1)], minlength=len(first)) > 0
    begins = straight == turning
    begins[0] = True
    segment = np.cumsum(begins) - 1
    turns = np.cumsum(turning & ~begins)
    turned = (turns - turns[np.flatnonzero(begins)][segment]) % 2
    return segment, turned


def _contradictions(pairs: Rows, direction: NDArray[np.intp], known: Rows) -> NDArray[np.float64]:
    """Mark by 1 which rows cannot be of a direction, for its packets; 0 where they can or nothing is known."""
    wrong = np.zeros(len(pairs))
    for code, metric in enumerate((LOCAL_UNICAST_RX, LOCAL_UNICAST_TX)):
        packets = known[known["metric"] == metric]
        if not len(packets):
            continue
        at = np.minimum(np.searchsorted(packets["end_us"], pairs["end_us"]), len(packets) - 1)
        there = (direction == code) & (packets["end_us"][at] == pairs["end_us"])
        count = packets["delivered"][at].astype(np.float64)
        octets = pairs["delivered"].astype(np.float64)
        outside = (octets < MIN_FRAME_BYTES * count) | (octets > MAX_FRAME_BYTES * count + OTHER_BYTES)
        wrong[there & outside] = 1
    return wrong
