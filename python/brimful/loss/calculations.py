"""Which trials a sweep has, and what they say of each load. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from brimful.errors import RecordError
from brimful.records import Loss, LossPlan, Trial
from brimful.statistics.student import CONFIDENCE, student_quantile

CLEAN = 2
"""Trials without loss, one after the other, that end a sweep: RFC 2544 section 26.3."""
_RULE_OF_THREE = 3.0
"""Of a loss ratio of which N frames showed nothing, 3 / N is the upper end of the 95 % interval."""


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
            message = f"trial {trial.seq}: {trial.load:.10g}/s is not the next load of sweep {sweep + 1}"
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
    return [_loss(load, [trial for trial in counted if trial.load == load]) for load in loads]


def _loss(load: float, trials: Sequence[Trial]) -> Loss:
    ratios = [trial.lost / trial.sent if trial.sent else 0.0 for trial in trials]
    sent, lost, number = sum(trial.sent for trial in trials), sum(trial.lost for trial in trials), len(trials)
    mean = math.fsum(ratios) / number
    low = high = None
    if number > 1 and sent:
        variance = math.fsum((ratio - mean) ** 2 for ratio in ratios) / (number - 1)
        half = student_quantile(0.5 + CONFIDENCE / 2, number - 1) * math.sqrt(variance / number)
        # Nothing is known better than to a frame of a trial.
        low = max(0.0, mean - half - number / sent)
        high = min(1.0, max(mean + half + number / sent, _RULE_OF_THREE / sent))
    return Loss(load=load, trials=number, sent=sent, lost=lost, ratio=mean, low=low, high=high)
