"""The run loop: a Controller that selects trials, a Measurer that performs them, records that keep them.

The loop owns what the engine must not know: the clock, the time budget, failures, and the file.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from brimful import _core
from brimful.alarm import alarm, undisturbed
from brimful.attempts import (
    ON_ERROR,
    ON_INVALID,
    Attempt,
    FailurePolicy,
    Policies,
    SpoiledTooOftenError,
    make_trial,
    repeat_as_allowed,
    trial_of,
)
from brimful.errors import MeasureError, UsageError, shown
from brimful.machine.watch import Watch
from brimful.measurers.base import (
    COUNTED_AS_LOSS,
    Description,
    InvalidTrialError,
    Measurer,
    TrialFailedError,
    TrialOutput,
    check_surplus,
    checked_output,
    with_intended,
)
from brimful.records import TESTER_CEILING, Bound, End, Goal, Record, Trial, Warning, is_rate_of_units
from brimful.throughput.engine import feed, goal_results
from brimful.throughput.goals import moves_of_bounds, problem_json
from brimful.throughput.remaining import RemainingTime
from brimful.throughput.result import SearchResult
from brimful.throughput.unsent import unsent_warnings
from brimful.units import format_load

_LONGEST_BUDGET_S = 1e9
_NO_TIME_S = 1e-9
"""Less than any trial takes."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a search is given."""

    goals: list[Goal]
    min_load: float
    max_load: float
    strategy: str = "straddle"
    hint: float | None = None
    budget_s: float | None = None
    early_termination: bool = False
    warm_up_s: float = 0.0
    on_invalid: FailurePolicy = FailurePolicy.parse(ON_INVALID)
    on_error: FailurePolicy = FailurePolicy.parse(ON_ERROR)

    @property
    def policies(self) -> Policies:
        """What to do about trials that gave nothing to count."""
        return Policies(self.on_invalid, self.on_error)

    def controller(self) -> _core.Controller:
        """Begin the search.

        Raises
        ------
        UsageError
            When goals or limits cannot be searched for.
        """
        check_budget(self.budget_s)
        problem = problem_json(
            self.goals,
            self.min_load,
            self.max_load,
            hint=self.hint,
            early_termination=self.early_termination,
        )
        try:
            return _core.Controller(problem, self.strategy)
        except ValueError as error:
            raise UsageError(str(error)) from error


def check_budget(budget_s: float | None) -> None:
    """Require 0 < budget <= 1e9 s.

    Raises
    ------
    UsageError
        Naming what is allowed.
    """
    if budget_s is not None and not 0 < budget_s <= _LONGEST_BUDGET_S:
        message = f"time budget of {budget_s:g} s: it must be above 0 s and at most {_LONGEST_BUDGET_S:g} s"
        raise UsageError(message)


class Progress(msgspec.Struct, frozen=True):
    """Where a search stands, to be shown."""

    bounds: list[tuple[float | None, float | None]]
    next_trial: tuple[float, float] | None
    elapsed_s: float
    remaining_s: float | None
    trials: int
    campaign_remaining_s: float | None = None
    """Until all searches of its campaign have ended."""


WARM_UP = "warm-up"
DEAD_DIRECTION_CHECK = "dead-direction check"
"""Why a trial that was not spoiled is not counted, as the record says it."""
_CHECK_UNITS = 100
"""This number of units distinguishes a dead path from one that loses some."""


_LOWER = 0.75
"""Of a load that the tester cannot offer: the next that is tried."""
_TOO_SLOW = re.compile(
    r"\boff schedule\b|: (late(?= by\b|[:;,]|$)|too slow|stalled|behind|cannot keep up|could not keep up)"
    r"|\b(tester|generator|sender|frames|packets|units|IOs)\b"
    r".*(\blate\b|too slow|not be sent|not sent|stalled|behind|keep up)|stretched|rate was off"
)
"""What testers say of themselves where a smaller load would help."""


class _BudgetSpentError(Exception):
    """The time budget ended within a trial."""


class SearchLoop:
    """One search from the first trial (or the saved ones) to the results.

    Parameters
    ----------
    plan
        What to search for.
    measurer
        What performs the trials.
    sink
        Is given every record the moment it exists; returns when it is safe.
    progress
        Gets where the search stands before each trial.
    watch
        Looks at the machine before each trial, where that means something.
    spent_s
        Of the time budget, before the loop was made.

    Raises
    ------
    UsageError
        When goals, limits or the time budget cannot be searched for.
    """

    def __init__(
        self,
        plan: Plan,
        measurer: Measurer,
        *,
        sink: Callable[[Record], None] = lambda record: None,
        progress: Callable[[Progress], None] = lambda progress: None,
        watch: Watch | None = None,
        spent_s: float = 0.0,
    ) -> None:
        self._plan = plan
        self._measurer = measurer
        self._description: Description = measurer.describe()
        self._sink = sink
        self._progress = progress
        self._watch = watch
        self._controller = plan.controller()
        self._budget_s = None if plan.budget_s is None else max(plan.budget_s - spent_s, _NO_TIME_S)
        self._bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(plan.goals)
        self._trials: list[Trial] = []
        self._elapsed_before_s = 0.0
        self._start_s = measurer.now()
        self._longest_wait_s = 0.0
        self._remaining = RemainingTime()
        self._directions_checked = False

    def resume(self, saved: Sequence[Trial], bounds: Sequence[Bound]) -> None:
        """Take over the trials of a run that was interrupted, and the moves of bounds that it recorded."""
        counted = [trial for trial in saved if trial.invalid is None]
        for trial in saved:
            self._trials.append(trial)
            self._note_wait(trial)
        for trial in counted:
            feed(self._controller, trial)
        if counted:
            # A killed run may have saved its last trial and not what that moved.
            latest = {(bound.goal, bound.side): bound.load for bound in bounds}
            names = [goal.name for goal in self._plan.goals]
            self._bounds = [(latest.get((name, "lower")), latest.get((name, "upper"))) for name in names]
            self._record_bounds(counted[-1].seq)
        if saved:
            self._elapsed_before_s = max(trial.start_s + trial.elapsed_s for trial in saved)
            self._measurer.resume_at(self._elapsed_before_s)
            self._start_s = self._measurer.now()

    def run(self) -> SearchResult:
        """Search until done, out of time, interrupted or failed; the results are what the trials support."""
        reason, text = "done", ""
        try:
            with self._alarm():
                self._warm_up()
                while (trial := self._controller.next()) is not None:
                    if self._is_out_of_time(trial[1]):
                        reason = "time-budget"
                        break
                    self._show(trial)
                    self._count(*trial)
        except _BudgetSpentError:
            reason = "time-budget"
        except KeyboardInterrupt:
            reason = "interrupted"
        except MeasureError as error:
            reason, text = "measurement-failed", str(error)
        with undisturbed(forget=reason == "interrupted"):
            return self.end(reason, text)

    def _elapsed_s(self) -> float:
        return self._elapsed_before_s + self._measurer.now() - self._start_s

    def _is_out_of_time(self, duration_s: float) -> bool:
        budget_s = self._budget_s
        return budget_s is not None and self._elapsed_s() + duration_s + self._longest_wait_s > budget_s

    def _alarm(self) -> contextlib.AbstractContextManager[None]:
        """End a trial that hangs past the budget. Virtual clocks need none."""
        budget_s = self._budget_s
        left_s = None if budget_s is None or self._description.virtual_time else budget_s - self._elapsed_s()
        return alarm(left_s, _BudgetSpentError)

    def _warm_up(self) -> None:
        """Let tester and device reach their working temperature: a trial at max load that is never counted."""
        if self._plan.warm_up_s > 0 and not self._trials:
            self._show((self._plan.max_load, self._plan.warm_up_s))
            self._attempt(self._plan.max_load, self._plan.warm_up_s, None, purpose=WARM_UP)

    def _count(self, load: float, duration_s: float) -> None:
        """Perform one trial, as often as the policy allows, and count it."""
        stop_above = None
        if self._plan.early_termination and self._description.can_stop_early:
            stop_above = self._controller.stop_above(load)
        try:
            trial = repeat_as_allowed(lambda: self._attempt(load, duration_s, stop_above))
        except SpoiledTooOftenError as error:
            self._go_lower(load, error)
            return
        self._check_directions(trial)

    def _go_lower(self, load: float, error: SpoiledTooOftenError) -> None:
        """Search on below a load that the tester cannot offer: that it is too slow is a fact about this load alone.

        Raises
        ------
        SpoiledTooOftenError
            The error that was given: the tester was not too slow, or nothing is left below.
        """
        counted = [trial for trial in self._trials if trial.invalid is None]
        offered = max((trial.load for trial in counted if trial.load < load), default=0.0)
        lower = max(_LOWER * load, offered)
        if not _TOO_SLOW.search(error.trial.invalid or "") or lower <= self._plan.min_load:
            raise error
        hint = self._plan.hint
        self._plan = msgspec.structs.replace(
            self._plan, max_load=lower, hint=None if hint is not None and hint > lower else hint
        )
        unit = self._description.load_unit
        text = (
            f"the tester could not offer {format_load(load, unit)} on schedule, see the reasons of invalid trials: max"
            f" load is {format_load(lower, unit)} from here on"
        )
        with undisturbed():
            self._sink(Warning(code=TESTER_CEILING, text=text, load=lower))
            self._controller = self._plan.controller()
            for trial in counted:
                feed(self._controller, trial)
            self._bounds = self._controller.bounds()

    def _check_directions(self, trial: Trial) -> None:
        """End a search of which one direction is dead at any load: all its trials would be wasted.

        A device under too much load may forward nothing one way, so that the least load decides, once a search.
        """
        dead = _dead_directions(trial)
        if not dead or self._directions_checked:
            return
        self._directions_checked = True
        enough = _CHECK_UNITS / trial.duration_s if is_rate_of_units(self._description.load_unit) else 0.0
        load = min(trial.load, max(self._plan.min_load, enough))
        check = self._attempt(load, trial.duration_s, None, purpose=DEAD_DIRECTION_CHECK)
        if check.policy is not None:
            return
        for sender, receiver in dead & _dead_directions(check.trial):
            what = (
                "nothing ever arrived" if sender == receiver else f"nothing that {sender} sends arrives at {receiver}"
            )
            message = (
                f"{what}, neither at {trial.load:.10g}/s nor at {load:.10g}/s: see to cables and addresses, and that"
                " the device forwards that way"
            )
            raise MeasureError(message)

    def _attempt(self, load: float, duration_s: float, stop_above: float | None, purpose: str | None = None) -> Attempt:
        """Perform one trial and save it, whatever became of it."""
        if self._watch is not None:
            self._watch.look()
        start_s = self._elapsed_s()
        made = make_trial(
            lambda: self._measure(load, duration_s, stop_above),
            self._plan.policies,
            where=f"trial at {load:.10g}/s",
            of_failure=lambda reply: self._output_of_failure(load, duration_s, reply),
        )
        counted_as_loss = purpose is None and made.policy is not None and made.policy.count_as_loss
        invalid = purpose if made.policy is None else None if counted_as_loss else made.problem
        warnings = [{"code": COUNTED_AS_LOSS, "text": made.problem}] if counted_as_loss else []
        trial = trial_of(
            msgspec.structs.replace(made.output, warnings=made.output.warnings + warnings),
            seq=len(self._trials),
            load=load,
            duration_s=duration_s,
            start_s=start_s,
            end_s=self._elapsed_s(),
            invalid=invalid,
            phase=self._controller.phase(),
        )
        with undisturbed():
            self._sink(trial)
            self._trials.append(trial)
            self._note_wait(trial)
            if trial.invalid is None:
                feed(self._controller, trial)
                self._record_bounds(trial.seq)
        return Attempt(trial, made.policy, made.problem)

    def _measure(self, load: float, duration_s: float, stop_above: float | None) -> TrialOutput:
        """Have a trial performed, and refuse an answer that cannot be."""
        answer = self._measurer.measure(load, duration_s, stop_above=stop_above)
        where = f"trial at {load:.10g}/s"
        if not isinstance(answer, TrialOutput):
            message = f"{where}: the measurer returned {shown(answer)}, which is no TrialOutput"
            raise TrialFailedError(message)
        output = checked_output(msgspec.structs.asdict(answer), where=where)
        self._check_sent(output, load, duration_s)
        self._check_surplus(output, load, duration_s)
        self._check_delay(output, load)
        told = self._description
        return with_intended(
            output, load, duration_s, conversion_factor=told.conversion_factor, load_unit=told.load_unit
        )

    def _check_sent(self, output: TrialOutput, load: float, duration_s: float) -> None:
        """Refuse a trial in which the tester sent nothing although something was due: it says nothing of the device."""
        due = max(output.intended or 0, self._units(load, duration_s))
        counted_as_loss = any(warning.get("code") == COUNTED_AS_LOSS for warning in output.warnings)
        if output.sent == 0 and due >= 1 and not counted_as_loss:
            message = f"nothing was sent although {due:.0f} units were due; see whether the generator works"
            raise InvalidTrialError(message, output.extra)

    def _check_surplus(self, output: TrialOutput, load: float, duration_s: float) -> None:
        """Refuse a trial of another load than this, and keep what it counted."""
        try:
            check_surplus(output, load, duration_s, self._description)
        except InvalidTrialError as error:
            due = output.sent if output.intended is None else output.intended
            counts = {"intended": due, "sent": output.sent, "lost": output.lost}
            raise InvalidTrialError(str(error), {**output.extra, **counts}) from None

    def _check_delay(self, output: TrialOutput, load: float) -> None:
        """Refuse a trial that says nothing of its delay where a goal limits it.

        It may be silent if nothing arrived, or if it was stopped because its loss is certain to be too high.
        """
        limited = any(goal.delay_limit_s is not None for goal in self._plan.goals)
        if limited and output.delay_p99_s is None and output.lost < output.sent and not output.stopped_early:
            message = f"trial at {load:.10g}/s: delay_p99_s is missing, and a goal has a delay limit"
            raise TrialFailedError(message)

    def _output_of_failure(self, load: float, duration_s: float, reply: dict[str, Any]) -> TrialOutput:
        """Give what a spoiled trial counted, or total loss where it counted nothing that can be."""
        counts = [reply.get(field) for field in ("intended", "sent", "lost")]
        if all(isinstance(count, int) and count >= 0 for count in counts) and counts[2] <= counts[1]:  # type: ignore[operator]
            return TrialOutput(intended=counts[0], sent=counts[1], lost=counts[2], extra=reply)  # type: ignore[arg-type]
        intended = round(self._units(load, duration_s))
        return TrialOutput(intended=max(1, intended), sent=0, lost=0, extra=reply)

    def _units(self, load: float, duration_s: float) -> float:
        """Give how many units a trial should offer over all interfaces."""
        return load * duration_s * self._description.conversion_factor

    def _note_wait(self, trial: Trial) -> None:
        self._longest_wait_s = max(self._longest_wait_s, trial.elapsed_s - trial.duration_s)
        self._remaining.note(trial)

    def _record_bounds(self, seq: int) -> None:
        bounds = self._controller.bounds()
        for move in moves_of_bounds(self._plan.goals, self._bounds, bounds, seq):
            self._sink(move)
        self._bounds = bounds

    def _show(self, trial: tuple[float, float] | None) -> None:
        self._progress(
            Progress(
                bounds=self._bounds,
                next_trial=trial,
                elapsed_s=self._elapsed_s(),
                remaining_s=self._remaining.left_s(self._controller.forecast(), trial, self._elapsed_s()),
                trials=len(self._trials),
            )
        )

    def end(self, reason: str, text: str) -> SearchResult:
        """End the search here: the results are what the trials so far support."""
        if reason != "done":
            self._controller.stop(reason)
        results = goal_results(self._controller.results_json(), self._plan.goals)
        for result in results:
            self._sink(result)
        for warning in unsent_warnings(self._plan.goals, self._trials, results):
            self._sink(warning)
        end = End(
            reason=reason,
            trials=len(self._trials),
            search_s=round(self._elapsed_s(), 9),
            text=text,
            machine=self._watch.result(self._plan.goals) if self._watch is not None else None,
        )
        if text:
            self._sink(Warning(code=reason, text=text))
        self._sink(end)
        return SearchResult(goal_results=results, trials=self._trials, end=end, load_unit=self._description.load_unit)


def _dead_directions(trial: Trial) -> set[tuple[str, str]]:
    """Give sender and receiver of the directions in which nothing that was sent arrived.

    A tester that reports no directions has one, without names.
    """
    if not trial.directions:
        return {("", "")} if trial.lost == trial.sent != 0 else set()
    return {
        (str(direction.get("from", "one port")), str(direction.get("to", "the other")))
        for direction in trial.directions
        if direction.get("lost") == direction.get("sent") != 0 and direction.get("sent") is not None
    }
