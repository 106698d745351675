"""The run loop: a Controller that selects trials, a Measurer that performs them, records that keep them.

The loop owns what the engine must not know: the clock, the time budget, failures, and the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from brimful import _core, units
from brimful.alarm import undisturbed
from brimful.ceilings import LOWER, ceiling_warning
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
from brimful.policies import ON_ERROR, ON_INVALID, FailurePolicy, Policies, check_budget
from brimful.records import Bound, Goal, Record, Trial, Warning, is_rate_of_units
from brimful.session import (
    CHECK_UNITS,
    DEAD_DIRECTION_CHECK,
    DONE,
    Attempt,
    Keep,
    Session,
    SpoiledTooOftenError,
    nothing_passes,
    repeat_as_allowed,
)
from brimful.throughput.engine import feed, goal_results
from brimful.throughput.goals import moves_of_bounds, problem_json
from brimful.throughput.remaining import RemainingTime
from brimful.throughput.result import SearchResult
from brimful.throughput.unsent import unsent_warnings

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
"""Why a trial that was not spoiled is not counted, as the record says it."""
STARVED_PORTS = "starved-ports"
"""Code of the warning by which our tester names dead ports, of many, in one line."""


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
        self._controller = plan.controller()
        self._bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(plan.goals)
        self._remaining = RemainingTime()
        self._directions_checked = False
        self.remarks: list[Warning] = []
        """What a reader of the result should know and trials do not say; in the record already."""
        self._session = Session(
            [measurer],
            plan.policies,
            sink=sink,
            learn=self._learn,
            watch=watch,
            budget_s=None if plan.budget_s is None else max(plan.budget_s - spent_s, _NO_TIME_S),
        )

    def resume(self, saved: Sequence[Trial], bounds: Sequence[Bound]) -> None:
        """Take over the trials of a run that was interrupted, and the moves of bounds that it recorded."""
        counted = [trial for trial in saved if trial.invalid is None]
        for trial in saved:
            self._remaining.note(trial)
        for trial in counted:
            feed(self._controller, trial)
        if counted:
            # A killed run may have saved its last trial and not what that moved.
            latest = {(bound.goal, bound.side): bound.load for bound in bounds}
            names = [goal.name for goal in self._plan.goals]
            self._bounds = [(latest.get((name, "lower")), latest.get((name, "upper"))) for name in names]
            self._record_bounds(counted[-1].seq)
        self._session.take_over(saved)

    def run(self) -> SearchResult:
        """Search until done, out of time, interrupted or failed; the results are what the trials support."""
        return self._session.run(self._search, self.end)

    def _search(self) -> None:
        self._warm_up()
        while (trial := self._controller.next()) is not None:
            self._session.check_time(trial[1])
            self._show(trial)
            self._count(*trial)

    def _warm_up(self) -> None:
        """Let tester and device reach their working temperature: a trial at max load that is never counted."""
        if self._plan.warm_up_s > 0 and not self._session.trials:
            self._show((self._plan.max_load, self._plan.warm_up_s))
            self._attempt(self._plan.max_load, self._plan.warm_up_s, None, purpose=WARM_UP)

    def _count(self, load: float, duration_s: float) -> None:
        """Perform one trial, as often as the policy allows, and count it."""
        stop_above = None
        if self._plan.early_termination and self._description.can_stop_early:
            stop_above = self._controller.stop_above(load)
        try:
            trial = repeat_as_allowed(partial(self._attempt, load, duration_s, stop_above))
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
        counted = [trial for trial in self._session.trials if trial.invalid is None]
        offered = max((trial.load for trial in counted if trial.load < load), default=0.0)
        lower = max(LOWER * load, offered)
        if not error.is_too_slow or lower <= self._plan.min_load:
            raise error
        hint = self._plan.hint
        self._plan = msgspec.structs.replace(
            self._plan, max_load=lower, hint=None if hint is not None and hint > lower else hint
        )
        with undisturbed():
            self._remark(ceiling_warning(load, lower, self._description.load_unit, "max load is"))
            self._controller = self._plan.controller()
            for trial in counted:
                feed(self._controller, trial)
            self._bounds = self._controller.bounds()

    def _check_directions(self, trial: Trial) -> None:
        """End a search of which one direction is dead at any load: all its trials would be wasted.

        A device under too much load may forward nothing one way, so that the least load decides, once a search. Where
        frames of another size come through, that this one does not is a result: there is no throughput.
        """
        dead = _dead_directions(trial)
        if not dead or self._directions_checked:
            return
        self._directions_checked = True
        enough = CHECK_UNITS / trial.duration_s if is_rate_of_units(self._description.load_unit) else 0.0
        load = min(trial.load, max(self._plan.min_load, enough))
        attempt = partial(self._attempt, load, trial.duration_s, None, purpose=DEAD_DIRECTION_CHECK)
        try:
            check = repeat_as_allowed(attempt)
        except SpoiledTooOftenError:
            return
        still_dead = sorted(dead & _dead_directions(check))
        if not still_dead:
            return
        sender, receiver = still_dead[0]
        what = "nothing ever arrived" if sender == receiver else f"nothing that {sender} sends arrives at {receiver}"
        tried = [units.format_load(one, self._description.load_unit) for one in (trial.load, load)]
        said = f"{what}, neither at {tried[0]} nor at {tried[1]}"
        remark = nothing_passes(self._measurer, said)
        if remark is None:
            named = [f" ({note.get('text')})" for note in check.warnings if note.get("code") == STARVED_PORTS]
            message = f"{said}{''.join(named)}: see to cables and addresses, and that the device forwards that way"
            raise MeasureError(message)
        self._remark(remark)

    def _remark(self, remark: Warning) -> None:
        self._sink(remark)
        self.remarks.append(remark)

    def _attempt(self, load: float, duration_s: float, stop_above: float | None, purpose: str | None = None) -> Attempt:
        """Perform one trial and save it, whatever became of it."""
        return self._session.attempt(
            self._measurer,
            load,
            duration_s,
            perform=partial(self._perform, stop_above),
            purpose=purpose,
            phase=self._controller.phase(),
        )

    def _learn(self, trial: Trial) -> None:
        self._remaining.note(trial)
        if trial.invalid is None:
            feed(self._controller, trial)
            self._record_bounds(trial.seq)

    def _perform(
        self, stop_above: float | None, measurer: Measurer, load: float, duration_s: float, keep: Keep
    ) -> None:
        """Have a trial performed, and refuse an answer that cannot be."""
        keep(self._output_of_failure(load, duration_s, {}))
        try:
            keep(self._measure(stop_above, measurer, load, duration_s))
        except InvalidTrialError as error:
            keep(self._output_of_failure(load, duration_s, error.reply))
            raise

    def _measure(self, stop_above: float | None, measurer: Measurer, load: float, duration_s: float) -> TrialOutput:
        answer = measurer.measure(load, duration_s, stop_above=stop_above)
        if not isinstance(answer, TrialOutput):
            message = f"the measurer returned {shown(answer)}, which is no TrialOutput"
            raise TrialFailedError(message)
        output = checked_output(msgspec.structs.asdict(answer), where=self._description.name)
        self._check_sent(output, load, duration_s)
        self._check_surplus(output, load, duration_s)
        self._check_delay(output)
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

    def _check_delay(self, output: TrialOutput) -> None:
        """Refuse a trial that says nothing of its delay where a goal limits it.

        It may be silent if nothing arrived, or if it was stopped because its loss is certain to be too high.
        """
        limited = any(goal.delay_limit_s is not None for goal in self._plan.goals)
        if limited and output.delay_p99_s is None and output.lost < output.sent and not output.stopped_early:
            message = "delay_p99_s is missing, and a goal has a delay limit"
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
                elapsed_s=self._session.elapsed_s,
                remaining_s=self._remaining.left_s(self._controller.forecast(), trial, self._session.elapsed_s),
                trials=len(self._session.trials),
            )
        )

    def end(self, reason: str, text: str) -> SearchResult:
        """End the search here: the results are what the trials so far support."""
        if reason != DONE:
            self._controller.stop(reason)
        results = goal_results(self._controller.results_json(), self._plan.goals)
        trials = self._session.trials
        found: list[Record] = [*results, *unsent_warnings(self._plan.goals, trials, results)]
        if text:
            found.append(Warning(code=reason, text=text))
        end = self._session.end(reason, text, found, goals=self._plan.goals)
        return SearchResult(goal_results=results, trials=trials, end=end, load_unit=self._description.load_unit)


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
