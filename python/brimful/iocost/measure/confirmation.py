"""A vrate that a search found, tried for as long as it will be judged, and lowered until it holds.

A search tries many vrates for a short time each. At the edge, where the groups together ask for a little more than the
disk does, queues grow too slowly to be seen in one of its trials, and of several vrates near the edge it takes the
luckiest. What is promised must hold longer, and twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from brimful.iocost.measure.searches import GOALS

ROUNDS = 2
"""Trials at a vrate that count together, as those of the validation do."""
STEP = 0.05
"""By so much a vrate that did not hold is lowered, and by twice as much each time that does not help."""
_LOOSEST_FIRST = ("p99", "p999")

Trial = dict[str, Any]


def confirm(
    found: Mapping[str, Any],
    try_at: Callable[[float, float], Trial | None],
    *,
    least_vrate: float,
) -> dict[str, Any]:
    """Give the vrates that hold, by goal, as a search gives them, and the trials.

    Parameters
    ----------
    found
        Bounds of the search, by goal.
    try_at
        Performs a trial at a vrate that may end once more than a share of its IOs is late; nothing where that
        cannot be known: time is over, or the machine spoils every try.
    least_vrate
        Below it nothing is tried.
    """
    search = _Confirmation(try_at, least_vrate)
    bounds: dict[str, Any] = {}
    looser: Mapping[str, float | None] = {"lower": math.inf, "upper": math.inf}
    for goal in _LOOSEST_FIRST:
        looser = bounds[goal] = search.bounds(goal, found.get(goal, {}), looser)
    return {**bounds, "trials": search.trials}


class _Confirmation:
    def __init__(self, try_at: Callable[[float, float], Trial | None], least_vrate: float) -> None:
        self._try_at = try_at
        self._least_vrate = least_vrate
        self.trials: list[Trial] = []

    def bounds(
        self, goal: str, found: Mapping[str, Any], looser: Mapping[str, float | None]
    ) -> dict[str, float | None]:
        """Find the vrate that holds for a goal, from the one that the search found downwards.

        A goal that fewer IOs may be late for holds at no vrate that is too great for a looser one.
        """
        upper = _least(found.get("upper"), looser["upper"])
        if found.get("lower") is None or looser["lower"] is None:
            return {"lower": None, "upper": upper}
        vrate, step = min(found["lower"], looser["lower"]), STEP
        while vrate >= self._least_vrate:
            holds = self._holds(vrate, GOALS[goal])
            if holds is None:
                break
            if holds:
                return {"lower": vrate, "upper": upper}
            vrate, upper, step = vrate * (1 - step), vrate, min(2 * step, 0.5)
        return {"lower": None, "upper": upper}

    def _holds(self, vrate: float, share: float) -> bool | None:
        """Whether at most a share is late at a vrate; nothing where that cannot be known."""
        while True:
            at_vrate = [trial for trial in self.trials if trial["set"] == vrate]
            late = sum(trial["late"] for trial in at_vrate)
            # As many as all rounds together may have; a trial that ended early has more.
            allowed = share * ROUNDS * max((trial["intended"] for trial in at_vrate), default=0)
            if at_vrate and late > allowed:
                return False
            if len(at_vrate) >= ROUNDS:
                return True
            trial = self._try_at(vrate, share * ROUNDS)
            if trial is None:
                return None
            self.trials.append(trial)


def _least(*vrates: float | None) -> float | None:
    return min((vrate for vrate in vrates if vrate is not None and vrate < math.inf), default=None)
