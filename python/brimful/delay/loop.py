"""The loop of a delay run: trials in their order, each on disk before the next, then the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from brimful.alarm import undisturbed
from brimful.ceilings import ceiling_warning
from brimful.delay import estimates
from brimful.delay.estimates import WIRE
from brimful.delay.observed import ALL, observe
from brimful.delay.steps import WARM_UP, Step, steps
from brimful.errors import RecordError
from brimful.machine.watch import Watch
from brimful.measurers.base import InvalidTrialError, Measurer, TrialFailedError, TrialOutput
from brimful.policies import Policies
from brimful.records import NOTHING_PASSES, Delay, DelayPlan, End, Record, Trial, Warning
from brimful.session import (
    CHECK_UNITS,
    DEAD_DIRECTION_CHECK,
    Attempt,
    Keep,
    Perform,
    Session,
    SpoiledTooOftenError,
    nothing_passes,
    perform_trial,
    repeat_as_allowed,
    spoiled_warnings,
)
from brimful.units import format_load


class DelayProgress(msgspec.Struct, frozen=True):
    """Where a run stands, to be shown."""

    trial: int
    """Of those that count, from 1."""
    trials: int
    step: Step
    elapsed_s: float
    remaining_s: float


class DelayOutcome(msgspec.Struct, frozen=True):
    """What a run found."""

    delays: list[Delay]
    trials: list[Trial]
    warnings: list[Warning]
    end: End

    @property
    def passes_nothing(self) -> bool:
        """Whether no frame of this size comes through."""
        return any(warning.code == NOTHING_PASSES for warning in self.warnings)


class DelayLoop:
    """One run from the first trial, or from the saved ones, to the results.

    Parameters
    ----------
    plan
        What to measure.
    measurers
        By path: what performs the trials.
    policies
        What to do about trials that failed.
    sink
        Is given every record the moment it exists; returns when it is safe.
    progress
        Gets where the run stands before each trial.
    watch
        Looks at the machine before each trial, where that means something.
    """

    def __init__(
        self,
        plan: DelayPlan,
        measurers: Mapping[str, Measurer],
        policies: Policies,
        *,
        sink: Callable[[Record], None] = lambda record: None,
        progress: Callable[[DelayProgress], None] = lambda progress: None,
        watch: Watch | None = None,
    ) -> None:
        self._plan = plan
        self._measurers = measurers
        self._sink = sink
        self._progress = progress
        self._ceiling = math.inf
        self._remarks: list[Warning] = []
        self._steps = list(steps(plan))
        self._session = Session(measurers.values(), policies, sink=sink, watch=watch)

    def resume(self, saved: Sequence[Trial], ceiling: float = math.inf) -> None:
        """Take over trials: those of this run before it was interrupted, or those of an earlier run on the wire.

        ``ceiling`` is the greatest load that the tester could offer.
        """
        self._ceiling = ceiling
        self._session.take_over(saved)

    def run(self) -> DelayOutcome:
        """Measure until done, interrupted or failed; the results are what the trials support."""
        return self._session.run(self._measure, self._finish)

    def _measure(self) -> None:
        self._warm_up()
        left = self._left()
        began_s = self._session.elapsed_s
        for done, step in enumerate(left):
            each_s = (self._session.elapsed_s - began_s) / done if done else self._plan.trial_s
            self._show(step, 1 + len(self._steps) - len(left) + done, each_s * (len(left) - done))
            if step.load > self._ceiling:
                continue
            try:
                repeat_as_allowed(partial(self._attempt, step, self._plan.trial_s))
            except SpoiledTooOftenError as error:
                if self._passes_nothing(step, error.trial):
                    return
                self._leave_out(step, error)

    def _passes_nothing(self, step: Step, trial: Trial) -> bool:
        """Say whether nothing arrived because the device passes no frame of this size, which is a result."""
        if step.path == WIRE or not _lost_all(trial):
            return False
        load = min(step.load, CHECK_UNITS / trial.duration_s)
        again = msgspec.structs.replace(step, load=load)
        check = self._attempt(again, trial.duration_s, purpose=DEAD_DIRECTION_CHECK, perform=perform_trial).trial
        unit = self._measurers[step.path].describe().load_unit
        said = f"nothing arrived, neither at {format_load(step.load, unit)} nor at {format_load(load, unit)}"
        remark = nothing_passes(self._measurers[step.path], said) if _lost_all(check) else None
        if remark is None:
            return False
        with undisturbed():
            self._sink(remark)
            self._remarks.append(remark)
        return True

    def _leave_out(self, step: Step, error: SpoiledTooOftenError) -> None:
        """Go on with the loads below one that the tester cannot offer: that has no result.

        Raises
        ------
        SpoiledTooOftenError
            The error that was given: the tester was not too slow, or there are no loads below.
        """
        lower = max((load for load in self._plan.loads if load < step.load), default=None)
        if not error.is_too_slow or lower is None:
            raise error
        unit = self._measurers[step.path].describe().load_unit
        with undisturbed():
            self._sink(ceiling_warning(step.load, lower, unit, "the greatest load is"))
            self._ceiling = lower

    def _left(self) -> list[Step]:
        counted = [trial for trial in self._session.trials if not trial.invalid]
        made = {Step(trial.load, trial.path or "", trial.round or 0) for trial in counted}
        return [step for step in self._steps if step not in made]

    def _warm_up(self) -> None:
        """Let tester and device reach their working temperature: a trial on each path that is never counted."""
        if self._plan.warm_up_s <= 0:
            return
        for path in self._measurers:
            step = Step(max(self._plan.loads), path, 0)
            self._show(step, 0, self._plan.warm_up_s + self._plan.trial_s * len(self._left()))
            self._attempt(step, self._plan.warm_up_s, purpose=WARM_UP)

    def _attempt(
        self, step: Step, duration_s: float, purpose: str | None = None, perform: Perform | None = None
    ) -> Attempt:
        return self._session.attempt(
            self._measurers[step.path],
            step.load,
            duration_s,
            detail="on the wire" if step.path == WIRE else "through the device",
            perform=perform or _perform,
            purpose=purpose,
            path=step.path,
            round=step.round,
        )

    def _show(self, step: Step, number: int, remaining_s: float) -> None:
        self._progress(DelayProgress(number, len(self._steps), step, self._session.elapsed_s, remaining_s))

    def _finish(self, reason: str, text: str) -> DelayOutcome:
        trials = self._session.trials
        delays = estimates.results(trials, self._plan, self._ceiling)
        warnings = [
            *estimates.warnings(delays),
            *spoiled_warnings(trials, "trial", but=[WARM_UP, DEAD_DIRECTION_CHECK]),
        ]
        end = self._session.end(reason, text, [*delays, *warnings])
        return DelayOutcome(delays=delays, trials=trials, warnings=[*self._remarks, *warnings], end=end)


def _lost_all(trial: Trial) -> bool:
    return 0 < trial.sent <= trial.lost


def _perform(measurer: Measurer, load: float, duration_s: float, keep: Keep) -> None:
    """Perform a trial that says something of the delay."""
    keep(TrialOutput(sent=0, lost=0, intended=max(1, round(load * duration_s))))
    try:
        output = measurer.measure(load, duration_s)
        keep(output)
        _check(output)
    except InvalidTrialError as error:
        raise InvalidTrialError(str(error), _without_histograms(error.reply)) from error


def _check(output: TrialOutput) -> None:
    """Refuse a trial that says nothing of the delay.

    Raises
    ------
    TrialFailedError
        Naming what is missing.
    """
    try:
        observed = observe(output.directions, where="the reply")
    except RecordError as error:
        raise TrialFailedError(str(error)) from error
    if ALL not in observed:
        message = f"no direction has a delay; {output.lost} of {output.sent} frames were lost"
        raise TrialFailedError(message)


def _without_histograms(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Give the reply to a trial that is not counted without what makes it long."""
    directions = reply.get("directions")
    if not isinstance(directions, list):
        return dict(reply)
    kept = [
        {key: value for key, value in direction.items() if key != "delay"} if isinstance(direction, dict) else direction
        for direction in directions
    ]
    return {**reply, "directions": kept}
