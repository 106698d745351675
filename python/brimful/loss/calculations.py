"""Which trials a sweep has, and what they say of each load. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from brimful.errors import RecordError
from brimful.records import Loss, LossPlan, Trial
from brimful.statistics.limits import mean_limit
from brimful.statistics.ranks import median_interval
from brimful.statistics.student import CONFIDENCE, student_quantile

CLEAN = 2
"""Trials without loss, one after the other, that end a sweep: RFC 2544 section 26.3."""
_RULE_OF_THREE = 3.0
"""Of a loss ratio of which N frames showed nothing, 3 / N is the upper end of the 95 % interval."""
_ENOUGH = 6
"""Trials of which the least and the greatest enclose the median in 95 % of cases, however they are distributed."""


def steps(plan: LossPlan, lossless: list[bool], ceiling: float = math.inf) -> Iterator[float]:
    """Give the loads of a sweep that are still to be tried.

    Parameters
    ----------
    plan
        Of the run.
    lossless
        Whether each trial so far lost nothing; it may grow while the loads are taken. Loads above the ceiling are added
        to it as they are passed over.
    ceiling
        The greatest load that the tester can offer.

    Examples
    --------
    >>> seen = [False]
    >>> for load in steps(LossPlan(loads=[4.0, 3.0, 2.0, 1.0], reference=4.0, duration_s=1.0), seen):
    ...     seen.append(load < 3.5)
    >>> seen
    [False, True, True]
    """
    while len(lossless) < len(plan.loads):
        if plan.until_lossless and len(lossless) >= CLEAN and all(lossless[-CLEAN:]):
            return
        load = plan.loads[len(lossless)]
        if load > ceiling:
            lossless.append(False)
        else:
            yield load


def outcomes(trials: Sequence[Trial], plan: LossPlan, sweep: int, ceiling: float = math.inf) -> list[bool]:
    """Give whether each trial of a sweep lost nothing, as `steps` takes it.

    Raises
    ------
    RecordError
        When a trial is not one of the plan, in its order.
    """
    lossless: list[bool] = []
    for trial in trials:
        if trial.invalid is not None or (trial.round or 0) != sweep:
            continue
        # A load may have been offered before the tester was found unable to.
        if next(steps(plan, lossless, max(ceiling, trial.load)), None) != trial.load:
            message = f"trial {trial.seq}: its load is not the next load of sweep {sweep + 1}"
            raise RecordError(message)
        lossless.append(trial.lost == 0)
    return lossless


def losses(trials: Sequence[Trial], plan: LossPlan, ceiling: float = math.inf) -> list[Loss]:
    """Give the loss at each load, the greatest load first; ``ceiling`` as in `steps`.

    Raises
    ------
    RecordError
        When a trial is not one of the plan, in its order.
    """
    counted = [trial for trial in trials if trial.invalid is None]
    for sweep in {trial.round or 0 for trial in counted}:
        outcomes(counted, plan, sweep, ceiling)
    loads = sorted({trial.load for trial in counted}, reverse=True)
    at_loads = [[trial for trial in counted if trial.load == load] for load in loads]
    more = _rarely_more([_ratios(trials) for trials in at_loads])
    return [_loss(load, trials, more) for load, trials in zip(loads, at_loads, strict=True)]


def _rarely_more(at_loads: Sequence[Sequence[float]]) -> float:
    """Give the upper limit of the mean by which trials lose more than the best one at their load.

    Trials of all loads are taken together, as those of one are too few to show what is rare.
    """
    more = [ratio - min(ratios) for ratios in at_loads if len(ratios) > 1 for ratio in ratios]
    return mean_limit(math.fsum(more) / len(more), len(more)) if more else 1.0


def _ratios(trials: Sequence[Trial]) -> list[float]:
    return [trial.lost / trial.sent if trial.sent else 0.0 for trial in trials]


def _loss(load: float, trials: Sequence[Trial], more: float) -> Loss:
    ratios = _ratios(trials)
    sent, lost, number = sum(trial.sent for trial in trials), sum(trial.lost for trial in trials), len(trials)
    found = Loss(load=load, trials=number, sent=sent, lost=lost, ratio=math.fsum(ratios) / number)
    if number == 1 or not sent:
        return found
    half = student_quantile(0.5 + CONFIDENCE / 2, number - 1) * statistics.stdev(ratios) / math.sqrt(number)
    low, high = median_interval(np.array(ratios))
    if number < _ENOUGH:
        low, high = min(low, found.ratio - half), max(high, found.ratio + half)
    # Nothing is known better than to a frame of a trial.
    low, high = max(0.0, low - number / sent), min(1.0, max(high + number / sent, _RULE_OF_THREE / sent))
    limit = min(1.0, max(high, found.ratio + half, min(ratios) + more))
    typical = statistics.median(ratios)
    return msgspec.structs.replace(found, typical=typical, typical_low=low, typical_high=high, limit=limit)
