"""The loop of a run on the frame loss rate: sweeps over the loads, each trial on disk before the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from brimful.alarm import undisturbed
from brimful.ceilings import ceiling_warning
from brimful.loss.calculations import losses, outcomes, steps
from brimful.machine.watch import Watch
from brimful.measurers.base import Measurer
from brimful.policies import Policies
from brimful.records import End, Loss, LossPlan, Record, Trial, Warning
from brimful.session import Attempt, Session, SpoiledTooOftenError, repeat_as_allowed, spoiled_warnings


class LossProgress(msgspec.Struct, frozen=True):
    """Where a run stands."""

    sweep: int
    """From 0."""
    load: float
    elapsed_s: float


class LossOutcome(msgspec.Struct, frozen=True):
    """What a run found."""

    losses: list[Loss]
    warnings: list[Warning]
    end: End


class LossLoop:
    """One run from the first trial, or on from saved ones, to the loss at each load.

    Parameters
    ----------
    plan
        What to measure.
    measurer
        Performs the trials.
    policies
        What to do about trials that failed.
    sink
        Is given every record the moment it exists; returns when it is safe.
    progress
        Is given where the run stands before each trial.
    watch
        Looks at the machine before each trial, where that means something.
    """

    def __init__(
        self,
        plan: LossPlan,
        measurer: Measurer,
        policies: Policies,
        *,
        sink: Callable[[Record], None] = lambda record: None,
        progress: Callable[[LossProgress], None] = lambda progress: None,
        watch: Watch | None = None,
    ) -> None:
        self._plan = plan
        self._measurer = measurer
        self._sink = sink
        self._progress = progress
        self._ceiling = math.inf
        self._session = Session([measurer], policies, sink=sink, watch=watch)

    def resume(self, saved: Sequence[Trial], ceiling: float) -> None:
        """Take over the trials of this run before it was interrupted, and the greatest load that could be offered."""
        self._ceiling = ceiling
        self._session.take_over(saved)

    def run(self) -> LossOutcome:
        """Measure until done, interrupted or failed."""
        return self._session.run(self._measure, self._finish)

    def _measure(self) -> None:
        for sweep in range(self._plan.sweeps):
            lossless = outcomes(self._session.trials, self._plan, sweep, self._ceiling)
            while (load := next(steps(self._plan, lossless, self._ceiling), None)) is not None:
                if self._session.trials:
                    self._session.wait(self._plan.rest_s)
                self._progress(LossProgress(sweep, load, self._session.elapsed_s))
                try:
                    lossless.append(repeat_as_allowed(partial(self._attempt, sweep, load)).lost == 0)
                except SpoiledTooOftenError as error:
                    self._leave_out(load, error)

    def _leave_out(self, load: float, error: SpoiledTooOftenError) -> None:
        """Go on with the loads below one that the tester cannot offer.

        Raises
        ------
        SpoiledTooOftenError
            The error that was given: the tester was not too slow, or there are no loads below.
        """
        lower = max((other for other in self._plan.loads if other < load), default=None)
        if not error.is_too_slow or lower is None:
            raise error
        with undisturbed():
            self._sink(ceiling_warning(load, lower, self._measurer.describe().load_unit, "the greatest load is"))
            self._ceiling = lower

    def _attempt(self, sweep: int, load: float) -> Attempt:
        return self._session.attempt(self._measurer, load, self._plan.duration_s, round=sweep)

    def _finish(self, reason: str, text: str) -> LossOutcome:
        found = losses(self._session.trials, self._plan, self._ceiling)
        warnings = spoiled_warnings(self._session.trials, "trial")
        return LossOutcome(found, warnings, self._session.end(reason, text, [*found, *warnings]))
