"""One visit: loads first where they are not known yet, then trials of both builds in pairs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import msgspec

from brimful.errors import MeasureError
from brimful.paired.calibration import AVERAGED, LARGEST_QUEUE_SHARE, ROUNDS, Calibration, capacity_of
from brimful.records import BisectionPlan, Trial
from brimful.session import SpoiledTooOftenError

CALIBRATION, PAIRS = "calibration", "pairs"
BUILD, BESIDE = "build", "beside"
"""`Trial.path`: which of the two it was."""
_NOTHING = 3
"""Trials in which nothing arrives, after which a build is taken for one that does not forward."""
_LEAST_UNIT = 1e-4
"""Of what arrives in a trial: what whole units are worth is counted from here on."""
_RAISE, _MOST_RAISES = 1.2, 20
_TRIALS_FOR_SWITCH = 4
"""Time of the trials of a turn, in times of making a build active."""


class NotForwardingError(MeasureError):
    """A build forwards nothing."""


class Asked(msgspec.Struct, frozen=True):
    """A trial to make."""

    path: str
    load: float
    duration_s: float
    step: str
    round: int


class Calibrated(msgspec.Struct, frozen=True):
    """How a build is measured in a visit."""

    load: float
    queue: float
    """Units in its queue."""
    trial_s: float


class Summary(msgspec.Struct, frozen=True):
    """What the pairs of a visit give."""

    mean: float
    deviation: float
    pairs: int


def calibrated(
    plan: BisectionPlan, path: str, queue: float | None, earlier: float | None, make: Callable[[Asked], Trial]
) -> Calibrated:
    """Find the load of a build, from that of an ``earlier`` visit of any if there was one.

    Raises
    ------
    NotForwardingError
        When nothing arrives.
    MeasureError
        When no load is found that is too much for it, or most of what arrives is from its queue.
    """
    calibration = Calibration(
        plan.trial_s,
        first_load=earlier or plan.first_load,
        max_load=plan.max_load,
        queue=queue,
        rounds=ROUNDS if earlier is None else 1 + AVERAGED,
    )
    nothing = 0
    while not calibration.is_done:
        load, duration_s = calibration.next()
        try:
            trial = make(Asked(path, load, duration_s, CALIBRATION, calibration.trials))
        except SpoiledTooOftenError as error:
            if not (error.is_too_slow and calibration.can_lower):
                raise
            calibration.lower()
            continue
        nothing = nothing + 1 if trial.forwarded <= 0 else 0
        if nothing >= _NOTHING:
            message = f"it does not forward: nothing arrived in {nothing} trials one after the other"
            raise NotForwardingError(message)
        calibration.record(trial)
    if calibration.is_at_limit:
        message = (
            "it took all that can be offered: the builds are too fast for the"
            " tester; use smaller frames or larger IOs, or raise --max-load"
        )
        raise MeasureError(message)
    queue = calibration.queue or 0.0
    if queue > LARGEST_QUEUE_SHARE * (queue + calibration.units_per_s * calibration.trial_s):
        message = f"{queue:.0f} units stand in its queue, most of what arrives in a trial; make --trial longer"
        raise MeasureError(message)
    return Calibrated(calibration.load, queue, calibration.trial_s)


def order(plan: BisectionPlan, visit: int, block: int) -> list[tuple[str, int]]:
    """Give which build has its turn when, with the number of the pair: a coin decides who is first in each block.

    >>> plan = BisectionPlan(versions=[], confidence=0.95, tolerance=0.01, pairs=3, trial_s=1.0, seed=1)
    >>> [number for _, number in order(plan, 0, 2)]
    [0, 1, 0, 1, 2, 2]
    """
    draw = random.Random(f"{plan.seed} {visit}")
    blocks = [range(first, min(first + block, plan.pairs)) for first in range(0, plan.pairs, block)]
    return [(path, number) for numbers in blocks for path in draw.sample([BUILD, BESIDE], 2) for number in numbers]


def block_of(switch_s: float, trial_s: float) -> int:
    """Give the trials of a turn, so that switching takes a fifth of the time at most.

    >>> block_of(0.0, 1.0), block_of(3.0, 1.0)
    (1, 12)
    """
    return max(1, round(_TRIALS_FOR_SWITCH * switch_s / max(trial_s, 1e-3)))


def paired(
    plan: BisectionPlan,
    visit: int,
    loads: dict[str, float],
    trial_s: float,
    block: int,
    make: Callable[[Asked], Trial],
) -> dict[str, float]:
    """Make the trials of all pairs, and give the loads of both builds, which may have been raised.

    Raises
    ------
    MeasureError
        When loads cannot be raised any more.
    """
    for _ in range(_MOST_RAISES):
        turns = order(plan, visit, block)
        made = [make(Asked(path, loads[path], trial_s, PAIRS, number)) for path, number in turns]
        if all(trial.forwarded < trial.sent for trial in made):
            return loads
        # To drop only pairs without loss would select: both loads are raised, and the pairs begun anew.
        loads = {path: _RAISE * load for path, load in loads.items()}
        if plan.max_load is not None and max(loads.values()) > plan.max_load:
            break
    message = f"trial {made[-1].seq} and those before it came in without loss, and loads cannot be raised further"
    raise MeasureError(message)


def summarise(trials: Sequence[Trial], queue: float) -> Summary | None:
    """Give what the trials of a visit say; none: its pairs are not complete.

    Pairs before a trial without loss do not count, as loads were raised after it. Where trials do not alternate, the
    mean of their differences is that of the turns all the same.
    """
    logs: dict[str, dict[int, float]] = {BUILD: {}, BESIDE: {}}
    counts: list[float] = []
    for trial in trials:
        if trial.invalid is not None or trial.step != PAIRS:
            continue
        if trial.forwarded == trial.sent:
            logs = {BUILD: {}, BESIDE: {}}
            continue
        capacity = capacity_of(trial, queue)
        if capacity > 0:
            logs[trial.path or BUILD][trial.round or 0] = math.log(capacity)
            counts.append(trial.forwarded - queue)
    both = sorted(logs[BUILD].keys() & logs[BESIDE].keys())
    if not both:
        return None
    differences = [logs[BUILD][number] - logs[BESIDE][number] for number in both]
    mean = math.fsum(differences) / len(both)
    squares = math.fsum((each - mean) ** 2 for each in differences)
    deviation = math.sqrt(squares / max(1, len(both) - 1))
    # Noise of more than a unit evens whole units out; equal counts say no more than one of them does.
    unit = len(counts) / math.fsum(counts)
    if deviation < unit and unit > _LEAST_UNIT:
        deviation = unit * math.sqrt(len(both))
    return Summary(mean, deviation, len(both))
