"""A session: trials one after the other, each on disk before the next, until all are made or something ends them.

It owns what every run has: the clock, the time budget, the policies, the machine's watch, and the record. A subject
says which trials to make, and calculates what they give.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from brimful.alarm import alarm, undisturbed
from brimful.ceilings import is_too_slow
from brimful.errors import MeasureError, one_line
from brimful.machine.watch import Watch
from brimful.measurers.base import (
    COUNTED_AS_LOSS,
    Comparing,
    InvalidTrialError,
    Measurer,
    TrialFailedError,
    TrialOutput,
    check_surplus,
    with_intended,
)
from brimful.policies import FailurePolicy, Policies
from brimful.records import NONE_PASSES, NOTHING_PASSES, End, Goal, Record, Trial, Warning
from brimful.units import format_load

DONE, INTERRUPTED, FAILED, TIME_BUDGET = "done", "interrupted", "measurement-failed", "time-budget"
"""Why a session ended: `End.reason`."""
DEAD_DIRECTION_CHECK = "dead-direction check"
"""Why a trial that shows whether anything passes at a small load is not counted, as the record says it."""
CHECK_UNITS = 100
"""This number of units distinguishes a dead path from one that loses some."""
_T = TypeVar("_T")


Keep = Callable[[TrialOutput], None]
"""Notes what a trial counted: what is in the record even where the trial is refused after it."""
Perform = Callable[[Measurer, float, float, Keep], None]
"""Has a trial of a load and a duration in seconds performed, keeps what it counted, and refuses what cannot be."""


def perform_trial(measurer: Measurer, load: float, duration_s: float, keep: Keep) -> None:
    """Perform a trial, and refuse it where more was sent than was asked for.

    Raises
    ------
    InvalidTrialError, TrialFailedError
        When nothing of it counts.
    MeasureError
        When nothing more can be measured.
    """
    description = measurer.describe()
    factor, unit = description.conversion_factor, description.load_unit
    keep(TrialOutput(sent=0, lost=0, intended=max(1, round(load * duration_s * factor))))
    output = measurer.measure(load, duration_s)
    keep(with_intended(output, load, duration_s, conversion_factor=factor, load_unit=unit))
    check_surplus(output, load, duration_s, description)


class Attempt(msgspec.Struct, frozen=True):
    """A trial that was made, and is in the record."""

    trial: Trial
    policy: FailurePolicy | None = None
    """What to do about it when it gave nothing to count."""
    problem: str = ""
    """Why it gave nothing."""


class TimeIsUpError(Exception):
    """The time budget is spent."""


class _Clock:
    """The time of one measurer since the session began."""

    def __init__(self, measurer: Measurer) -> None:
        self._measurer = measurer
        self.is_virtual = measurer.describe().virtual_time
        self._start_s = measurer.now()

    def elapsed_s(self) -> float:
        return self._measurer.now() - self._start_s

    def go_on_from(self, elapsed_s: float) -> None:
        self._measurer.resume_at(elapsed_s)
        self._start_s = self._measurer.now() - elapsed_s

    def pass_time(self, seconds: float) -> None:
        """Let virtual time pass."""
        if self.is_virtual and seconds > 0:
            self._measurer.resume_at(self._measurer.now() + seconds)


class Session:
    """The trials of one run, with one measurer or with several in turns.

    Parameters
    ----------
    measurers
        They perform the trials, one at a time. Where time is virtual, it passes for all of them alike.
    policies
        What to do about trials that gave nothing to count.
    sink
        Is given every record the moment it exists; returns when it is safe.
    learn
        Is given every trial once it is safe; no interruption comes between.
    watch
        Looks at the machine before each trial, where that means something.
    budget_s
        The session ends after this time, in seconds.
    """

    def __init__(
        self,
        measurers: Iterable[Measurer],
        policies: Policies,
        *,
        sink: Callable[[Record], None],
        learn: Callable[[Trial], None] = lambda trial: None,
        watch: Watch | None = None,
        budget_s: float | None = None,
    ) -> None:
        self._clocks = [_Clock(measurer) for measurer in measurers]
        self._is_virtual = all(clock.is_virtual for clock in self._clocks)
        self._policies = policies
        self._sink = sink
        self._learn = learn
        self._watch = watch
        self._budget_s = budget_s
        self._longest_wait_s = 0.0
        self.trials: list[Trial] = []
        """Saved trials, in their order."""

    def take_over(self, saved: Sequence[Trial]) -> None:
        """Go on after the trials of a run that was interrupted."""
        if not saved:
            return
        for trial in saved:
            self._note(trial)
        elapsed_s = max(trial.start_s + trial.elapsed_s for trial in saved)
        for clock in self._clocks:
            clock.go_on_from(elapsed_s)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the session began, those before it was interrupted included."""
        return max(clock.elapsed_s() for clock in self._clocks)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        if self._is_virtual:
            for clock in self._clocks:
                clock.pass_time(seconds)
        else:
            time.sleep(seconds)

    def check_time(self, duration_s: float) -> None:
        """Refuse a trial that would not end within the budget.

        Raises
        ------
        TimeIsUpError
            When it would not, with the longest wait so far.
        """
        if self._budget_s is not None and self.elapsed_s + duration_s + self._longest_wait_s > self._budget_s:
            raise TimeIsUpError

    def run(self, steps: Callable[[], None], finish: Callable[[str, str], _T]) -> _T:
        """Carry steps out until they are done, out of time, interrupted or failed, and finish.

        Parameters
        ----------
        steps
            Makes the trials.
        finish
            Is given the reason of the end and what is to be said of it, and not interrupted.
        """
        reason, text = DONE, ""
        try:
            # A virtual clock needs no alarm for a trial that hangs.
            left_s = None if self._budget_s is None or self._is_virtual else self._budget_s - self.elapsed_s
            with alarm(left_s, TimeIsUpError):
                steps()
        except TimeIsUpError:
            reason = TIME_BUDGET
        except KeyboardInterrupt:
            reason = INTERRUPTED
        except MeasureError as error:
            reason, text = FAILED, str(error)
        with undisturbed(forget=reason == INTERRUPTED):
            return finish(reason, text)

    def attempt(
        self,
        measurer: Measurer,
        load: float,
        duration_s: float,
        *,
        detail: str = "",
        perform: Perform = perform_trial,
        purpose: str | None = None,
        **facts: Any,  # noqa: ANN401 - fields of Trial
    ) -> Attempt:
        """Perform one trial and save it, whatever became of it.

        Parameters
        ----------
        measurer
            Performs it; one of those of the session.
        load, duration_s
            What is asked for, in its unit and in seconds.
        detail
            What messages say of the trial besides its number and load.
        perform
            How it is performed, and what is refused.
        purpose
            Why it does not count although it could, if so.
        facts
            Fields of the trial that only some kinds of run have.

        Raises
        ------
        MeasureError
            When nothing more can be measured.
        """
        if self._watch is not None:
            self._watch.look()
        start_s = self.elapsed_s
        for clock in self._clocks:
            clock.pass_time(start_s - clock.elapsed_s())
        shown = format_load(load, measurer.describe().load_unit)
        where = f"trial {len(self.trials)}{detail and f' ({detail})'} at {shown}"
        output, policy, problem = self._perform(partial(perform, measurer, load, duration_s), where)
        counts_as_loss = purpose is None and policy is not None and policy.count_as_loss
        notes = [{"code": COUNTED_AS_LOSS, "text": problem}] if counts_as_loss else []
        trial = trial_of(
            msgspec.structs.replace(output, warnings=output.warnings + notes),
            seq=len(self.trials),
            load=load,
            duration_s=duration_s,
            start_s=start_s,
            end_s=self.elapsed_s,
            invalid=purpose if policy is None else None if counts_as_loss else problem,
            **facts,
        )
        with undisturbed():
            self._sink(trial)
            self._note(trial)
            self._learn(trial)
        return Attempt(trial, policy, problem)

    def _perform(self, perform: Callable[[Keep], None], where: str) -> tuple[TrialOutput, FailurePolicy | None, str]:
        """Give what a trial counted; where nothing of it counts, what to do about that, and why."""
        kept = TrialOutput(sent=0, lost=0)

        def keep(output: TrialOutput) -> None:
            nonlocal kept
            kept = output

        try:
            perform(keep)
        except InvalidTrialError as error:
            kept = msgspec.structs.replace(kept, extra={**kept.extra, **error.reply})
            return kept, self._policies.on_invalid, f"invalid {where}: {error}"
        except TrialFailedError as error:
            return kept, self._policies.on_error, f"{where}: {error}"
        return kept, None, ""

    def end(self, reason: str, text: str, found: Iterable[Record], *, goals: Sequence[Goal] = ()) -> End:
        """Write what was found, and the end.

        Parameters
        ----------
        reason, text
            As `finish` of `run` is given them.
        found
            Results and warnings.
        goals
            What the machine was to be quiet for.
        """
        for record in found:
            self._sink(record)
        end = End(
            reason=reason,
            trials=len(self.trials),
            search_s=round(self.elapsed_s, 9),
            text=text,
            machine=None if self._watch is None else self._watch.result(goals),
        )
        self._sink(end)
        return end

    def _note(self, trial: Trial) -> None:
        self.trials.append(trial)
        self._longest_wait_s = max(self._longest_wait_s, trial.elapsed_s - trial.duration_s)


class SpoiledTooOftenError(MeasureError):
    """A trial was tried as often as allowed, and gave nothing to count; ``trial`` is the last of them."""

    def __init__(self, message: str, trial: Trial) -> None:
        super().__init__(message)
        self.trial = trial

    @property
    def is_too_slow(self) -> bool:
        """Whether the tester could not offer the load, which says nothing of smaller ones."""
        return is_too_slow(self.trial.invalid or "")


def spoiled_warnings(trials: Sequence[Trial], one: str, *, but: Sequence[str] = ()) -> list[Warning]:
    """Say how many trials were invalid, if any was; those of the purposes ``but`` were not meant to count."""
    spoiled = sum(trial.invalid not in (None, *but) for trial in trials)
    if not spoiled:
        return []
    return [Warning(code="invalid-trials", text=f"{spoiled} of {len(trials)} {one}s were invalid and not counted")]


def nothing_passes(measurer: Measurer, said: str) -> Warning | None:
    """Say that no frame of this size passes, of which ``said`` is what was seen; none: those of others may not either.

    The trials that look for a size that passes are of no record.
    """
    size = measurer.passing_size() if isinstance(measurer, Comparing) else None
    if size is None:
        return None
    text = f"{NONE_PASSES}: {said}, while frames of {size} bytes come through"
    return Warning(code=NOTHING_PASSES, text=text)


def repeat_as_allowed(attempt: Callable[[], Attempt]) -> Trial:
    """Make a trial as often as its policy allows, and give the one that counts.

    Raises
    ------
    SpoiledTooOftenError
        When the last one allowed gave nothing to count either; with the hint of the tester, if it had one.
    """
    failures = 0
    while True:
        made = attempt()
        if made.policy is None or made.policy.count_as_loss:
            return made.trial
        failures += 1
        if failures > made.policy.retries:
            again = f" ({failures} times in a row)" if failures > 1 else ""
            hint = made.trial.extra.get("hint")
            message = f"{made.problem}{again}{f'; {one_line(hint)}' if isinstance(hint, str) else ''}"
            raise SpoiledTooOftenError(message, made.trial)


def trial_of(
    output: TrialOutput,
    *,
    seq: int,
    load: float,
    duration_s: float,
    start_s: float,
    end_s: float,
    invalid: str | None,
    **more: Any,  # noqa: ANN401 - fields of Trial
) -> Trial:
    """Give the record of a trial.

    Parameters
    ----------
    output
        What happened in it.
    seq, load, duration_s
        Its number, and what was asked for.
    start_s, end_s
        When it began and ended, in seconds since the start of the run.
    invalid
        Why it does not count, if it does not.
    more
        Fields that only some kinds of run have.
    """
    return Trial(
        seq=seq,
        load=load,
        duration_s=duration_s,
        intended=output.sent if output.intended is None else output.intended,
        sent=output.sent,
        lost=output.lost,
        effective_duration_s=output.effective_duration_s,
        start_s=round(start_s, 9),
        elapsed_s=round(end_s - start_s, 9),
        stopped_early=output.stopped_early,
        delay_p99_s=output.delay_p99_s,
        invalid=invalid,
        duplicated=output.duplicated,
        reordered=output.reordered,
        late=output.late,
        directions=output.directions,
        warnings=output.warnings,
        extra=output.extra,
        **more,
    )
