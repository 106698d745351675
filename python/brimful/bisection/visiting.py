"""One visit: loads first where they are not known yet, then trials of both builds in pairs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import msgspec

from brimful.errors import MeasureError
from brimful.paired.calibration import Calibration, capacity_of
from brimful.records import BisectionPlan, Trial

CALIBRATION, PAIRS = "calibration", "pairs"
BUILD, BESIDE = "build", "beside"
"""`Trial.path`: which of the two it was."""
_NOTHING = 3
"""Trials in which nothing arrives, after which a build is taken for one that does not forward."""
_RAISE, _MOST_RAISES = 1.2, 20


class NotForwardingError(MeasureError):
    """A build forwards nothing."""


class Asked(msgspec.Struct, frozen=True):
    """A trial to make."""

    path: str
    load: float
    duration_s: float
    step: str
    round: int


class Summary(msgspec.Struct, frozen=True):
    """What the pairs of a visit give."""

    mean: float
    deviation: float
    pairs: int


def calibrated(
    plan: BisectionPlan, path: str, queue: float | None, make: Callable[[Asked], Trial]
) -> tuple[float, float]:
    """Find the load of a build, and the units in its queue.

    Raises
    ------
    NotForwardingError
        When nothing arrives.
    MeasureError
        When no load is found that is too much for it.
    """
    calibration = Calibration(plan.trial_s, first_load=plan.first_load, max_load=plan.max_load, queue=queue)
    nothing = 0
    while not calibration.is_done:
        load, duration_s = calibration.next()
        trial = make(Asked(path, load, duration_s, CALIBRATION, calibration.trials))
        nothing = nothing + 1 if trial.sent - trial.lost <= 0 else 0
        if nothing >= _NOTHING:
            message = f"it does not forward: nothing arrived in {nothing} trials one after the other"
            raise NotForwardingError(message)
        calibration.record(trial)
    if calibration.is_at_limit:
        message = (
            f"it took all of {calibration.load:.6g}/s, the most that can be offered: the builds are too fast for the"
            " tester; use smaller frames, or raise --max-load"
        )
        raise MeasureError(message)
    return calibration.load, calibration.queue or 0.0


def order(plan: BisectionPlan, visit: int) -> list[tuple[str, int]]:
    """Give which build has its turn when, with the number of the pair: a coin decides who is first.

    Builds that have a test bed each alternate; where there is one, each has all its trials at once.
    """
    draw = random.Random(f"{plan.seed} {visit}")
    if not plan.side_by_side:
        first, second = draw.sample([BUILD, BESIDE], 2)
        return [(path, number) for path in (first, second) for number in range(plan.pairs)]
    return [(path, number) for number in range(plan.pairs) for path in draw.sample([BUILD, BESIDE], 2)]


def paired(
    plan: BisectionPlan, visit: int, loads: dict[str, float], make: Callable[[Asked], Trial]
) -> dict[str, float]:
    """Make the trials of all pairs, and give the loads of both builds, which may have been raised.

    Raises
    ------
    MeasureError
        When loads cannot be raised any more.
    """
    for _ in range(_MOST_RAISES):
        if all(make(Asked(path, loads[path], plan.trial_s, PAIRS, number)).lost for path, number in order(plan, visit)):
            return loads
        # To drop only pairs without loss would select: both loads are raised, and the pairs begun anew.
        loads = {path: _RAISE * load for path, load in loads.items()}
        if plan.max_load is not None and max(loads.values()) > plan.max_load:
            break
    message = f"trials came in without loss at {max(loads.values()) / _RAISE:.6g}/s, and loads cannot be raised further"
    raise MeasureError(message)


def summarise(trials: Sequence[Trial], queue: float) -> Summary | None:
    """Give what the trials of a visit say; none: its pairs are not complete.

    Pairs before a trial without loss do not count, as loads were raised after it. Two builds one after the other are
    compared trial by trial too: the mean is that of the differences all the same.
    """
    logs: dict[str, dict[int, float]] = {BUILD: {}, BESIDE: {}}
    for trial in trials:
        if trial.invalid is not None or trial.step != PAIRS:
            continue
        if trial.lost == 0:
            logs = {BUILD: {}, BESIDE: {}}
            continue
        capacity = capacity_of(trial, queue)
        if capacity > 0:
            logs[trial.path or BUILD][trial.round or 0] = math.log(capacity)
    both = sorted(logs[BUILD].keys() & logs[BESIDE].keys())
    if not both:
        return None
    differences = [logs[BUILD][number] - logs[BESIDE][number] for number in both]
    mean = math.fsum(differences) / len(both)
    squares = math.fsum((each - mean) ** 2 for each in differences)
    return Summary(mean, math.sqrt(squares / max(1, len(both) - 1)), len(both))
