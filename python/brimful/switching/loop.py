"""The loop of a test of a switch: each trial on disk before the next, until the plan has no further one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from brimful.machine.watch import Watch
from brimful.measurers.base import Measurer
from brimful.measurers.stations import Stations
from brimful.policies import Policies
from brimful.records import End, Record, SwitchingPlan, SwitchingResult, Trial, Warning
from brimful.session import Attempt, Keep, Session, repeat_as_allowed, spoiled_warnings
from brimful.switching.steps import Step, next_of
from brimful.switching.trials import StationTrials


class SwitchingOutcome(msgspec.Struct, frozen=True):
    """What a test found."""

    results: list[SwitchingResult]
    end: End


class SwitchingLoop:
    """One test from the first trial, or on from saved ones, to its results."""

    def __init__(
        self,
        plan: SwitchingPlan,
        stations: Stations,
        policies: Policies,
        *,
        sink: Callable[[Record], None] = lambda record: None,
        watch: Watch | None = None,
    ) -> None:
        self._plan, self._stations = plan, stations
        self._measurer = StationTrials(plan, stations)
        self._session = Session([self._measurer], policies, sink=sink, watch=watch)

    def resume(self, saved: Sequence[Trial]) -> None:
        """Take over the trials of this test before it was interrupted."""
        self._session.take_over(saved)

    def run(self) -> SwitchingOutcome:
        """Measure until done, interrupted or failed."""
        return self._session.run(self._measure, self._finish)

    def _measure(self) -> None:
        while isinstance(step := next_of(self._plan, self._session.trials), Step):
            repeat_as_allowed(partial(self._attempt, step))

    def _attempt(self, step: Step) -> Attempt:
        if step.addresses and self._session.trials and not self._stations.forgets:
            self._stations.wait(self._plan.rest_s)
        self._measurer.step, self._measurer.number = step, len(self._session.trials)
        return self._session.attempt(
            self._measurer,
            step.load,
            step.frames / step.load,
            detail=step.name,
            perform=_perform,
            step=step.name,
            round=step.round,
        )

    def _finish(self, reason: str, text: str) -> SwitchingOutcome:
        found = next_of(self._plan, self._session.trials)
        results = [] if isinstance(found, Step) else found
        warnings: list[Warning] = spoiled_warnings(self._session.trials, "trial")
        return SwitchingOutcome(results, self._session.end(reason, text, [*results, *warnings]))


def _perform(measurer: Measurer, load: float, duration_s: float, keep: Keep) -> None:
    keep(measurer.measure(load, duration_s))
