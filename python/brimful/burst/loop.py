"""The loop of a run on back-to-back frames: burst after burst, each on disk before the next, then the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from brimful.alarm import undisturbed
from brimful.burst.calculations import completed_tests, is_lossless, new_search, result_of, test_of, warnings_of
from brimful.ceilings import ceiling_warning, lower_load
from brimful.errors import MeasureError
from brimful.machine.watch import Watch
from brimful.measurers.base import InvalidTrialError, Measurer, TrialOutput
from brimful.policies import Policies
from brimful.records import Burst, BurstPlan, BurstTest, End, Record, Trial, Warning
from brimful.session import Attempt, Keep, Session, SpoiledTooOftenError, repeat_as_allowed, spoiled_warnings
from brimful.units import format_delay

LATE_SHARE = 0.1
"""Of the time of a burst that its last frame may be late: the device forwards that much more meanwhile."""
LATE_S = 100e-6
"""A short burst may be as late as this: the 99th percentile of the tester on a quiet machine is below 22 us."""


class BurstProgress(msgspec.Struct, frozen=True):
    """Where a run stands, to be shown."""

    test: int
    """From 0."""
    frames: int
    """Of the burst that is about to be sent."""
    held: int
    lossy: int | None
    elapsed_s: float


class BurstOutcome(msgspec.Struct, frozen=True):
    """What a run found."""

    tests: list[BurstTest]
    result: Burst | None
    warnings: list[Warning]
    end: End


class BurstLoop:
    """One run from the first burst, or from the saved ones, to the results.

    Parameters
    ----------
    plan
        What to measure.
    measurer
        What sends the bursts.
    policies
        What to do about trials that failed.
    sink
        Is given every record the moment it exists; returns when it is safe.
    progress
        Gets where the run stands before each burst.
    watch
        Looks at the machine before each burst, where that means something.
    """

    def __init__(
        self,
        plan: BurstPlan,
        measurer: Measurer,
        policies: Policies,
        *,
        sink: Callable[[Record], None] = lambda record: None,
        progress: Callable[[BurstProgress], None] = lambda progress: None,
        watch: Watch | None = None,
    ) -> None:
        self._plan = plan
        self._measurer = measurer
        self._description = measurer.describe()
        self._sink = sink
        self._progress = progress
        self._tests: list[BurstTest] = []
        self._search = new_search(plan)
        self._session = Session([measurer], policies, sink=sink, watch=watch)

    def resume(self, saved: Sequence[Trial], tests: Sequence[BurstTest]) -> None:
        """Take over the trials of a run that was interrupted, and the tests that its record states.

        Raises
        ------
        RecordError
            When the trials are not those of such a run.
        """
        if not saved:
            return
        self._tests, self._search = completed_tests(saved, self._plan)
        for test in self._tests[len(tests) :]:
            self._sink(test)  # a killed run may have saved its last trial and not what that decided
        self._session.take_over(saved)
        self._rest(saved[-1].duration_s)

    def run(self) -> BurstOutcome:
        """Measure until done, interrupted or failed; the results are what the trials support."""
        return self._session.run(self._measure, self._finish)

    def _measure(self) -> None:
        while len(self._tests) < self._plan.tests:
            frames = self._search.next()
            if frames is None:
                self._end_test()
                continue
            self._show(frames)
            try:
                trial = repeat_as_allowed(partial(self._attempt, frames))
            except SpoiledTooOftenError as error:
                self._go_lower(error)
                continue
            self._search.record(frames, lossless=is_lossless(trial))

    def _go_lower(self, error: SpoiledTooOftenError) -> None:
        """Begin anew at a smaller load where the tester was too slow: all bursts of a result have one load.

        Raises
        ------
        MeasureError
            When it was not, or no load above the throughput is left.
        """
        if not error.is_too_slow:
            raise error
        load = self._plan.load
        lower = lower_load(load, asked=self._plan.asked or load, above=self._plan.throughput or 0.0)
        if lower is None:
            message = f"{error}; bursts at a smaller load would not overflow the device"
            raise MeasureError(message) from error
        with undisturbed():
            self._sink(ceiling_warning(load, lower, self._description.load_unit, "bursts are at"))
            self._plan = self._plan.below(lower)
            self._tests, self._search = [], new_search(self._plan)

    def _end_test(self) -> None:
        with undisturbed():
            done = test_of(len(self._tests), self._search, self._plan)
            self._sink(done)
            self._tests.append(done)
            self._search = new_search(self._plan)

    def _attempt(self, frames: int) -> Attempt:
        """Offer one burst, and let the device send what it still holds of it."""
        duration_s = frames / self._plan.load
        attempt = self._session.attempt(
            self._measurer,
            self._plan.load,
            duration_s,
            detail=f"burst of {frames} frames",
            perform=partial(self._send, round(frames * self._description.conversion_factor)),
            round=len(self._tests),
            burst=frames,
        )
        self._rest(duration_s)
        return attempt

    def _send(self, due: int, measurer: Measurer, load: float, duration_s: float, keep: Keep) -> None:
        keep(TrialOutput(sent=0, lost=0, intended=due))
        output = measurer.measure(load, duration_s, stop_above=0.0 if self._description.can_stop_early else None)
        keep(msgspec.structs.replace(output, intended=due))
        _check_burst(output, due, duration_s)

    def _rest(self, burst_s: float) -> None:
        """Be silent for as long as RFC 9004 section 6.2 asks for: longer where sending took longer."""
        self._session.wait(max(self._plan.rest_s, burst_s))

    def _show(self, frames: int) -> None:
        self._progress(
            BurstProgress(
                test=len(self._tests),
                frames=frames,
                held=self._search.held,
                lossy=self._search.lossy,
                elapsed_s=self._session.elapsed_s,
            )
        )

    def _finish(self, reason: str, text: str) -> BurstOutcome:
        result = result_of(self._tests, self._plan)
        warnings = [*warnings_of(self._tests, self._plan), *spoiled_warnings(self._session.trials, "burst")]
        found: list[Record] = [] if result is None else [result]
        end = self._session.end(reason, text, [*found, *warnings])
        return BurstOutcome(tests=self._tests, result=result, warnings=warnings, end=end)


def _check_burst(output: TrialOutput, due: int, burst_s: float) -> None:
    """Refuse a burst that was not the one asked for: of another length, or drawn out by a sender that was away.

    Raises
    ------
    InvalidTrialError
        Saying what it was instead.
    """
    if output.sent != due and not (output.stopped_early and output.lost > 0):
        message = f"{output.sent} frames of a burst of {due} were sent"
        if output.sent < due:
            message = f"{due - output.sent} of {due} frames of the burst were not sent"
        raise InvalidTrialError(message, output.extra)
    pacings = [direction.get("pacing") for direction in output.directions]
    late_s = max((pacing.get("max_lateness_s", 0.0) for pacing in pacings if isinstance(pacing, dict)), default=0.0)
    allowed_s = max(LATE_SHARE * burst_s, LATE_S)
    if late_s > allowed_s:
        message = (
            f"frames were not back to back: one of a burst of {format_delay(burst_s)} was {format_delay(late_s)} late"
            f" (bound {format_delay(allowed_s)})"
        )
        raise InvalidTrialError(message, output.extra)
