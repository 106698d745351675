"""The loop of a run on recovery: rounds of trials, each trial on disk before the next, then the times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from brimful.ceilings import ceiling_warning, lower_load
from brimful.errors import MeasureError
from brimful.measurers.base import Measurer
from brimful.policies import Policies
from brimful.records import End, Record, Recovery, RecoveryPlan, Trial
from brimful.recovery.calculations import OVERLOAD, PROBE, RESET, RESET_AT, is_over, recoveries
from brimful.recovery.reset import Reset, resetting
from brimful.session import Attempt, Keep, Session, SpoiledTooOftenError, perform_trial, repeat_as_allowed

REST_S = 5.0
"""Between rounds: what RFC 2544 section 23 asks for between trials."""


class RecoveryOutcome(msgspec.Struct, frozen=True):
    """What a run found."""

    recoveries: list[Recovery]
    end: End


class RecoveryLoop:
    """One run from the first round, or from the first that saved trials do not complete, to the times.

    Parameters
    ----------
    plan
        What to measure.
    measurer
        What performs the trials.
    policies
        What to do about trials that failed.
    reset
        The command line that resets the device, where the plan asks for one.
    sink
        Is given every record the moment it exists; returns when it is safe.
    progress
        Gets what is about to be done, in words.
    """

    def __init__(
        self,
        plan: RecoveryPlan,
        measurer: Measurer,
        policies: Policies,
        *,
        reset: Sequence[str] = (),
        sink: Callable[[Record], None] = lambda record: None,
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._plan = plan
        self._measurer = measurer
        self._reset = reset
        self._progress = progress
        self._sink = sink
        self._away_until_s = 0.0
        """Of the monotonic clock: until then the device may be away because of a trial that does not count."""
        self._session = Session([measurer], policies, sink=sink)

    def resume(self, saved: Sequence[Trial]) -> None:
        """Take over the trials of this run before it was interrupted; the round they end in is begun again."""
        self._session.take_over(saved)

    def run(self) -> RecoveryOutcome:
        """Measure until done, interrupted or failed; the times are those of whole rounds."""
        return self._session.run(self._measure, self._finish)

    def _measure(self) -> None:
        number = len(self._recoveries(self._session.trials))
        while number < self._plan.rounds:
            if self._session.trials:
                self._session.wait(REST_S)
            self._progress(f"round {number + 1} of {self._plan.rounds}: {self._plan.of}")
            try:
                self._round(number)
                number += 1
            except SpoiledTooOftenError as error:
                self._go_lower(error)
                number = 0

    def _go_lower(self, error: SpoiledTooOftenError) -> None:
        """Begin anew at a smaller load where the tester was too slow: all rounds have one load.

        Raises
        ------
        MeasureError
            When it was not, or no load is left that overloads the device.
        """
        plan = self._plan
        if not error.is_too_slow or error.trial.path == PROBE:
            raise error
        above = plan.throughput or 0.0 if plan.of == OVERLOAD else 0.0
        lower = lower_load(plan.load, asked=plan.asked or plan.load, above=above)
        if lower is None:
            message = f"{error}; a smaller load would not overload the device"
            raise MeasureError(message) from error
        unit = self._measurer.describe().load_unit
        self._sink(ceiling_warning(plan.load, lower, unit, f"the load of the {plan.of} is"))
        self._plan = plan.below(lower)

    def _round(self, number: int) -> None:
        if self._plan.of == RESET:
            self._make(RESET, number, self._plan.load, self._plan.duration_s)
            return
        own = [self._make(OVERLOAD, number, self._plan.load, self._plan.duration_s)]
        while not is_over(own, self._plan):
            own.append(self._make(PROBE, number, self._plan.load_after or self._plan.load, self._plan.probe_s))

    def _make(self, path: str, number: int, load: float, duration_s: float) -> Trial:
        return repeat_as_allowed(partial(self._attempt, path, number, load, duration_s))

    def _attempt(self, path: str, number: int, load: float, duration_s: float) -> Attempt:
        if (away_s := self._away_until_s - time.monotonic()) > 0:
            self._session.wait(away_s)
        return self._session.attempt(
            self._measurer,
            load,
            duration_s,
            detail=path,
            perform=self._perform_with_reset if path == RESET else perform_trial,
            path=path,
            round=number,
        )

    def _perform_with_reset(self, measurer: Measurer, load: float, duration_s: float, keep: Keep) -> None:
        """Reset the device once in a trial."""
        reset: Reset | None = None
        try:
            with resetting(self._reset, RESET_AT * duration_s) as reset:
                perform_trial(measurer, load, duration_s, keep)
        except MeasureError:
            if reset is not None and reset.began_s is not None:
                # A trial is as long as the device may need to come back; the rest is that between trials.
                self._away_until_s = reset.began_s + (1 - RESET_AT) * duration_s + REST_S
            raise

    def _finish(self, reason: str, text: str) -> RecoveryOutcome:
        found = self._recoveries(self._session.trials)
        return RecoveryOutcome(found, self._session.end(reason, text, found))

    def _recoveries(self, trials: Sequence[Trial]) -> list[Recovery]:
        return recoveries(trials, self._plan, conversion_factor=self._measurer.describe().conversion_factor)
