"""Where a search of a campaign begins: near what searches before it found.

A guess selects loads and nothing else: what counts as a bound is decided by the trials of the search itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from brimful.campaign.plan import Planned
from brimful.records import Member
from brimful.units import ETHERNET_OVERHEAD_BYTES


def first_guess(planned: Planned, ended: Sequence[Member]) -> float | None:
    """Give the load that a search probably ends near; none where nothing is known.

    A repeat begins at the mean of what the same search found before. The first search of a size begins at the frames/s
    of the nearest size, as a device does that is limited by frames; or at its bit/s, where the two nearest sizes agree
    better in bit/s than in frames/s.

    Parameters
    ----------
    planned
        The search that is about to begin.
    ended
        Searches of the campaign that ended, in their order.
    """
    known = [
        (member, load)
        for member in ended
        if member.measurer == planned.measurer and (load := _found(member)) is not None
    ]
    same = [load for member, load in known if member.frame_size == planned.frame_size]
    if same:
        return math.fsum(same) / len(same)
    if not known:
        return None
    size = _bytes(planned.frame_size)
    sized = [(found, load) for member, load in known if (found := _bytes(member.frame_size)) is not None]
    if size is None or not sized:
        return known[-1][1]
    nearest = sorted(dict(sized).items(), key=lambda entry: abs(math.log(entry[0] / size)))
    (near_size, near_load), *others = nearest
    if others and _agree_in_bits(near_size, near_load, *others[0]):
        return near_load * near_size / size
    return near_load


def _agree_in_bits(size: float, load: float, other_size: float, other_load: float) -> bool:
    in_frames = abs(math.log(load / other_load))
    in_bits = abs(math.log(load * size / (other_load * other_size)))
    return in_bits < in_frames


def _found(member: Member) -> float | None:
    """Give the upper bound of the first goal that has bounds, or the lower one where that is all there is.

    The load just above capacity is the better one to begin at: its first trial loses a little, and by that says where
    the capacity is; one just below loses nothing and says only that more is possible. A search that failed may have
    stopped anywhere.
    """
    if member.failed:
        return None
    return next((found.upper_bound or found.lower_bound for found in member.goal_results if found.lower_bound), None)


def _bytes(frame_size: str | None) -> float | None:
    """Give the bytes that a frame of the size takes on the wire."""
    if frame_size is None or not frame_size.isdecimal():
        return None
    return float(frame_size) + ETHERNET_OVERHEAD_BYTES
