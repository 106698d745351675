"""Differences of one source between those of another: of a second poller, or of one whose clock was set in between.

Each says what was counted since the row before of its own source. Among those of another it would seem to have taken
less time, and what was counted would count twice.
"""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from brimful.discards.schema import Flag
from brimful.discards.telemetry.replicas import CLOSER, FEWEST_BETWEEN, MOST_EVEN
from brimful.discards.telemetry.rows import SINCE, Rows

BETWEEN = "are differences between those of another source: of a second poller, or of one whose clock was set back"
"""Why samples are left out."""

Times = NDArray[np.int64]


class _Verdict(enum.Enum):
    ONE_POLLER = enum.auto()
    MAYBE_TWO = enum.auto()
    TWO = enum.auto()


def taken_apart(parts: list[Rows]) -> tuple[list[Rows], int, bool]:
    """Leave out differences that lie between those of another part; the first parts stay.

    Returns
    -------
        The parts, how many rows were left out, and whether others may be those of two pollers: rows of one table that
        lie in two files by turns look the same.
    """
    kept: list[Rows] = []
    left_out, may_be_two = 0, False
    before: dict[int, Times] = {}
    for part in parts:
        since = part["kind"] == SINCE
        if not since.any():
            kept.append(part)
            continue
        stays = np.ones(len(part), bool)
        flagged = np.zeros(len(part), bool)
        for code in np.unique(part["metric"][since]).tolist():
            of_code = since & (part["metric"] == code)
            ends = np.unique(part["end_us"][of_code])
            old = before.get(code, ends[:0])
            verdict = _verdict(old, ends) if len(old) else _Verdict.ONE_POLLER
            may_be_two |= verdict is _Verdict.MAYBE_TWO
            if verdict is _Verdict.TWO:
                # Rows just before and behind would seem to have taken less time, too, as at midnight.
                usual_us = round(float(np.median(np.diff(old))))
                begin, end = max(old[0], ends[0]) - usual_us, min(old[-1], ends[-1]) + usual_us
                inside = (part["end_us"] >= begin) & (part["end_us"] <= end)
                stays &= ~(of_code & inside & ~np.isin(part["end_us"], old))
                # Of the first row behind these, or of one that begins between them, the row before is not there.
                if (ends > end).any():
                    flagged |= of_code & (part["end_us"] == ends[ends > end][0])
                if (ends < begin).any():
                    _flag_first(kept, code, old[0])
            before[code] = np.union1d(old, part["end_us"][of_code & stays])
        left_out += int((~stays).sum())
        if flagged.any():
            part = part.copy()
            part["flags"][flagged] |= int(Flag.REPLACED)
        kept.append(part if stays.all() else part[stays])
    return kept, left_out, may_be_two


def _flag_first(kept: list[Rows], code: int, end_us: int) -> None:
    for place, part in enumerate(kept):
        found = (part["kind"] == SINCE) & (part["metric"] == code) & (part["end_us"] == end_us)
        if found.any():
            kept[place] = part.copy()
            kept[place]["flags"][found] |= int(Flag.REPLACED)


def _verdict(old: Times, new: Times) -> _Verdict:
    begin, end = max(old[0], new[0]), min(old[-1], new[-1])
    of_old, of_new = (times[(times >= begin) & (times <= end)] for times in (old, new))
    between = np.setdiff1d(of_new, old)
    # Where most are there again, a file was written again.
    if not len(of_old) or not len(between) or 2 * len(between) < len(of_new):
        return _Verdict.ONE_POLLER
    if min(len(old), len(new)) <= FEWEST_BETWEEN or not (_is_even(old) and _is_even(new)):
        return _Verdict.ONE_POLLER
    usual_us = min(float(np.median(np.diff(times))) for times in (old, new))
    after = np.clip(np.searchsorted(old, between), 1, len(old) - 1)
    apart = np.minimum(np.abs(between - old[after - 1]), np.abs(old[after] - between))
    # Others fill gaps.
    if 2 * (apart < CLOSER * usual_us).sum() < len(between):
        return _Verdict.ONE_POLLER
    # Of one table in two files, rows do not lie closer together only where both have some.
    outside = len(old) - len(of_old) + len(new) - len(of_new)
    if outside >= 2 * FEWEST_BETWEEN or not _is_even(np.union1d(of_old, of_new)):
        return _Verdict.TWO
    return _Verdict.MAYBE_TWO if min(len(of_old), len(between)) >= FEWEST_BETWEEN else _Verdict.ONE_POLLER


def _is_even(times: Times) -> bool:
    distances = np.diff(times)
    if not len(distances):
        return True
    usual = float(np.median(distances))
    return bool((np.abs(distances - usual) <= (1 - CLOSER) * usual).mean() >= MOST_EVEN)
