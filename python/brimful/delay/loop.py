"""The loop of a delay run: trials in their order, each on disk before the next, then the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from brimful.alarm import undisturbed
from brimful.attempts import Attempt, Policies, make_trial, repeat_as_allowed, save_attempt, spoiled_warnings
from brimful.delay import estimates
from brimful.delay.estimates import WIRE
from brimful.delay.observed import ALL, observe
from brimful.delay.steps import WARM_UP, Step, steps
from brimful.errors import MeasureError, RecordError
from brimful.machine.watch import Watch
from brimful.measurers.base import Measurer, TrialFailedError, TrialOutput
from brimful.records import Delay, DelayPlan, End, Record, Trial, Warning


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
        self._policies = policies
        self._sink = sink
        self._progress = progress
        self._watch = watch
        self._steps = list(steps(plan))
        self._trials: list[Trial] = []
        self._start_s = time.monotonic()

    def resume(self, saved: Sequence[Trial]) -> None:
        """Take over trials: those of this run before it was interrupted, or those of an earlier run on the wire."""
        self._trials += saved
        self._start_s -= max((trial.start_s + trial.elapsed_s for trial in saved), default=0.0)

    def run(self) -> DelayOutcome:
        """Measure until done, interrupted or failed; the results are what the trials support."""
        reason, text = "done", ""
        try:
            self._warm_up()
            left = self._left()
            began_s = self._elapsed_s()
            for done, step in enumerate(left):
                each_s = (self._elapsed_s() - began_s) / done if done else self._plan.trial_s
                self._show(step, 1 + len(self._steps) - len(left) + done, each_s * (len(left) - done))
                self._measure(step)
        except KeyboardInterrupt:
            reason = "interrupted"
        except MeasureError as error:
            reason, text = "measurement-failed", str(error)
        with undisturbed(forget=reason == "interrupted"):
            return self._finish(reason, text)

    def _left(self) -> list[Step]:
        made = {Step(trial.load, trial.path or "", trial.round or 0) for trial in self._trials if not trial.invalid}
        return [step for step in self._steps if step not in made]

    def _warm_up(self) -> None:
        """Let tester and device reach their working temperature: a trial on each path that is never counted."""
        if self._plan.warm_up_s <= 0:
            return
        for path in self._measurers:
            step = Step(max(self._plan.loads), path, 0)
            self._show(step, 0, self._plan.warm_up_s + self._plan.trial_s * len(self._left()))
            self._attempt(step, self._plan.warm_up_s, purpose=WARM_UP)

    def _measure(self, step: Step) -> None:
        """Perform one trial, as often as the policy allows."""
        repeat_as_allowed(lambda: self._attempt(step, self._plan.trial_s))

    def _attempt(self, step: Step, duration_s: float, purpose: str | None = None) -> Attempt:
        """Perform one trial and save it, whatever became of it."""
        if self._watch is not None:
            self._watch.look()
        start_s = self._elapsed_s()
        where = f"trial at {step.load:.10g}/s {'on the wire' if step.path == WIRE else 'through the device'}"
        kept = TrialOutput(sent=0, lost=0, intended=max(1, round(step.load * duration_s)))

        def measure() -> TrialOutput:
            nonlocal kept
            try:
                kept = self._measurers[step.path].measure(step.load, duration_s)
                _check(kept, where)
            except TrialFailedError as error:
                message = f"{where}: {error}"
                raise TrialFailedError(message) from error
            return kept

        def of_failure(reply: dict[str, Any]) -> TrialOutput:
            return msgspec.structs.replace(kept, extra={**kept.extra, **_without_histograms(reply)})

        made = make_trial(measure, self._policies, where=where, of_failure=of_failure)
        return save_attempt(
            made,
            self._trials,
            self._sink,
            purpose=purpose,
            load=step.load,
            duration_s=duration_s,
            start_s=start_s,
            end_s=self._elapsed_s(),
            path=step.path,
            round=step.round,
        )

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._start_s

    def _show(self, step: Step, number: int, remaining_s: float) -> None:
        self._progress(DelayProgress(number, len(self._steps), step, self._elapsed_s(), remaining_s))

    def _finish(self, reason: str, text: str) -> DelayOutcome:
        delays = estimates.results(self._trials, self._plan)
        end = End(
            reason=reason,
            trials=len(self._trials),
            search_s=round(self._elapsed_s(), 9),
            text=text,
            machine=self._watch.result([]) if self._watch is not None else None,
        )
        warnings = [*estimates.warnings(delays), *spoiled_warnings(self._trials, "trial", but=WARM_UP)]
        found: list[Record] = [*delays, *warnings, end]
        for record in found:
            self._sink(record)
        return DelayOutcome(delays=delays, trials=self._trials, warnings=warnings, end=end)


def _check(output: TrialOutput, where: str) -> None:
    """Refuse a trial that says nothing of the delay.

    Raises
    ------
    TrialFailedError
        Naming what is missing.
    """
    try:
        observed = observe(output.directions, where=where)
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
