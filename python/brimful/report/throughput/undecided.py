"""What trials say of a goal that a search ended without reaching."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from brimful.records import Goal, GoalResult
from brimful.report.throughput.trials import TrialView, exact_ratio
from brimful.units import format_load

_FEWEST = 3


def so_far(goal: Goal, result: GoalResult | None, trials: Sequence[TrialView], unit: str) -> str:
    """Say where trials put the limit of a goal that are too few for bounds; empty: they say too little.

    The loads are parted where the fewest trials contradict: those below that missed the goal and those above that met
    it, weighed by its exceed ratio. A bound that is known is not put in doubt.
    """
    counted = [trial for trial in trials if trial.invalid is None]
    if len(counted) < _FEWEST:
        return ""
    met, missed = Counter[float](), Counter[float]()
    for trial in counted:
        (missed if goal.name in trial.exceeded else met)[trial.load] += 1
    loads = sorted({*met, *missed})
    missed_below = [0, *accumulate(missed[load] for load in loads)]
    met_above = [met.total() - number for number in (0, *accumulate(met[load] for load in loads))]
    exceed_ratio = exact_ratio(goal.exceed_ratio)
    costs = [low * (1 - exceed_ratio) + high * exceed_ratio for low, high in zip(missed_below, met_above, strict=True)]
    lower, upper = (None, None) if result is None else (result.lower_bound, result.upper_bound)
    first = 0 if lower is None else bisect_right(loads, lower)
    last = len(loads) if upper is None else bisect_left(loads, upper)
    below = max(range(first, last + 1), key=lambda place: (-costs[place], place))
    agree = len(counted) - missed_below[below] - met_above[below]
    sides = [format_load(load, unit) for load in loads[max(0, below - 1) : below + 1]]
    if below == 0:
        place = f"below {sides[0]}"
    elif below == len(loads):
        place = f"above {sides[0]}"
    else:
        place = f"between {sides[0]} and {sides[1]}"
    return f"The trials so far put it {place} ({agree} of {len(counted)} agree), which is no bound yet."
