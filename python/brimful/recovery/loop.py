"""The loop of a run on recovery: rounds of trials, each trial on disk before the next, then the times."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from brimful.alarm import undisturbed
from brimful.attempts import Attempt, Policies, make_trial, repeat_as_allowed, save_attempt
from brimful.errors import MeasureError
from brimful.measurers.base import Measurer, TrialOutput, check_surplus, with_intended
from brimful.records import End, Record, Recovery, RecoveryPlan, Trial
from brimful.recovery.calculations import OVERLOAD, PROBE, RESET, RESET_AT, is_over, recoveries
from brimful.recovery.reset import Reset, resetting

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
        self._description = measurer.describe()
        self._policies = policies
        self._reset = reset
        self._sink = sink
        self._progress = progress
        self._trials: list[Trial] = []
        self._away_until_s = 0.0
        """Of the monotonic clock: until then the device may be away because of a trial that does not count."""
        self._start_s = measurer.now()

    def run(self) -> RecoveryOutcome:
        """Measure until done, interrupted or failed; the times are those of whole rounds."""
        reason, text = "done", ""
        try:
            for number in range(self._plan.rounds):
                if number:
                    self._wait(REST_S)
                self._round(number)
        except KeyboardInterrupt:
            reason = "interrupted"
        except MeasureError as error:
            reason, text = "measurement-failed", str(error)
        with undisturbed(forget=reason == "interrupted"):
            return self._finish(reason, text)

    def _round(self, number: int) -> None:
        self._progress(f"round {number + 1} of {self._plan.rounds}: {self._plan.of}")
        if self._plan.of == RESET:
            self._make(RESET, number, self._plan.load, self._plan.duration_s)
            return
        own = [self._make(OVERLOAD, number, self._plan.load, self._plan.duration_s)]
        while not is_over(own, self._plan):
            own.append(self._make(PROBE, number, self._plan.load_after or self._plan.load, self._plan.probe_s))

    def _make(self, path: str, number: int, load: float, duration_s: float) -> Trial:
        return repeat_as_allowed(lambda: self._attempt(path, number, load, duration_s))

    def _attempt(self, path: str, number: int, load: float, duration_s: float) -> Attempt:
        """Perform one trial and save it, whatever became of it."""
        if (away_s := self._away_until_s - time.monotonic()) > 0:
            self._wait(away_s)
        start_s, factor = self._elapsed_s(), self._description.conversion_factor
        kept = TrialOutput(sent=0, lost=0, intended=max(1, round(load * duration_s * factor)))

        def measure() -> TrialOutput:
            nonlocal kept
            with self._with_reset(duration_s) if path == RESET else contextlib.nullcontext():
                output = self._measurer.measure(load, duration_s)
                kept = with_intended(
                    output, load, duration_s, conversion_factor=factor, load_unit=self._description.load_unit
                )
                check_surplus(output, load, duration_s, self._description)
            return kept

        def of_failure(reply: dict[str, Any]) -> TrialOutput:
            return msgspec.structs.replace(kept, extra={**kept.extra, **reply})

        made = make_trial(measure, self._policies, where=f"{path} at {load:.10g}/s", of_failure=of_failure)
        return save_attempt(
            made,
            self._trials,
            self._sink,
            load=load,
            duration_s=duration_s,
            start_s=start_s,
            end_s=self._elapsed_s(),
            path=path,
            round=number,
        )

    @contextlib.contextmanager
    def _with_reset(self, duration_s: float) -> Iterator[None]:
        """Reset the device once in the trial within the block."""
        reset: Reset | None = None
        try:
            with resetting(self._reset, RESET_AT * duration_s) as reset:
                yield
        except MeasureError:
            if reset is not None and reset.began_s is not None:
                # A trial is as long as the device may need to come back; the rest is that between trials.
                self._away_until_s = reset.began_s + (1 - RESET_AT) * duration_s + REST_S
            raise

    def _wait(self, seconds: float) -> None:
        if self._description.virtual_time:
            self._measurer.resume_at(self._measurer.now() + seconds)
        else:
            time.sleep(seconds)

    def _elapsed_s(self) -> float:
        return self._measurer.now() - self._start_s

    def _finish(self, reason: str, text: str) -> RecoveryOutcome:
        whole = [trial for trial in self._trials if reason == "done" or trial.round != self._trials[-1].round]
        found = recoveries(whole, self._plan, conversion_factor=self._description.conversion_factor)
        search_s = round(self._elapsed_s(), 9)
        end = End(reason=reason, trials=len(self._trials), search_s=search_s, text=text)
        for record in [*found, end]:
            self._sink(record)
        return RecoveryOutcome(found, end)
