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


def steps(plan: LossPlan, lossless: Sequence[bool]) -> Iterator[float]:
    """Give the loads of a sweep that are still to be tried.

    Parameters
    ----------
    plan
        Of the run.
    lossless
        Whether each trial so far lost nothing; it may grow while the loads are taken.

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
        yield plan.loads[len(lossless)]


def losses(trials: Sequence[Trial], plan: LossPlan) -> list[Loss]:
    """Give the loss at each load, the greatest load first.

    Raises
    ------
    RecordError
        When a trial is not one of the plan, in its order.
    """
    by_load: dict[float, list[Trial]] = {}
    made: dict[int, list[bool]] = {}
    for trial in trials:
        if trial.invalid is not None:
            continue
        sweep = made.setdefault(trial.round or 0, [])
        if next(steps(plan, sweep), None) != trial.load:
            message = f"trial {trial.seq}: {trial.load:.10g}/s is not the next load of sweep {(trial.round or 0) + 1}"
            raise RecordError(message)
        sweep.append(trial.lost == 0)
        by_load.setdefault(trial.load, []).append(trial)
    return [_loss(load, by_load[load]) for load in sorted(by_load, reverse=True)]


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
