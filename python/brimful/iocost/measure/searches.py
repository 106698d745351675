"""Searches within a measurement: every trial goes into its record, and into the search again when it is resumed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from brimful.errors import MeasureError
from brimful.measurers.base import Measurer
from brimful.policies import FailurePolicy
from brimful.records import Goal, Record, Trial
from brimful.throughput.goals import SearchGoal
from brimful.throughput.result import SearchResult
from brimful.throughput.run_loop import Plan, SearchLoop

GOALS = {"p100": 0.0, "p999": 0.001, "p99": 0.01}
"""Name of a goal: the share of IOs that may be late."""
_ON_INVALID = FailurePolicy.parse("retry:100")
"""The budget of a step ends what the machine spoils for too long."""


def goals(names: Sequence[str], *, trial_s: float, first_trial_s: float, width: float) -> list[Goal]:
    """Give goals by their names."""
    return [
        SearchGoal(
            loss_ratio=GOALS[name],
            final_trial_duration_s=trial_s,
            initial_trial_duration_s=first_trial_s,
            width=width,
        ).record(name)
        for name in names
    ]


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """A search as a step of a measurement."""

    step: str
    goals: list[Goal]
    min_load: float
    max_load: float
    budget_s: float
    hint: float | None = None

    def run(
        self,
        measurer: Measurer,
        saved: Sequence[Trial],
        *,
        began_s: float,
        sink: Callable[[Trial], None],
    ) -> SearchResult:
        """Search, going on after saved trials.

        Parameters
        ----------
        measurer
            Who performs the trials.
        saved
            Those of this step that were made before.
        began_s
            When the step began, since the measurement did.
        sink
            Is given every trial, its time since the measurement began.

        Raises
        ------
        MeasureError
            When nothing more can be measured.
        KeyboardInterrupt
            When it was interrupted.
        """

        def keep(record: Record) -> None:
            if isinstance(record, Trial):
                sink(msgspec.structs.replace(record, step=self.step, start_s=began_s + record.start_s))

        plan = Plan(
            goals=self.goals,
            min_load=self.min_load,
            max_load=self.max_load,
            budget_s=self.budget_s,
            hint=self.hint,
            on_invalid=_ON_INVALID,
        )
        loop = SearchLoop(plan, measurer, sink=keep)
        loop.resume([msgspec.structs.replace(trial, start_s=trial.start_s - began_s) for trial in saved], [])
        result = loop.run()
        if result.end.reason == "interrupted":
            raise KeyboardInterrupt
        if result.end.reason == "measurement-failed":
            raise MeasureError(result.end.text)
        return result


def summary(result: SearchResult) -> dict[str, Any]:
    """Give what a search found, by goal: bounds, and the latency at the lower one."""
    return {
        found.goal: {
            "lower": found.lower_bound,
            "upper": found.upper_bound,
            "reason": found.reason,
            **_latencies(result.trials, found.lower_bound),
        }
        for found in result.goal_results
    }


def _latencies(trials: Sequence[Trial], load: float | None) -> dict[str, Any]:
    """Give the 99th percentiles at a load, medians of its trials, of reads and writes, and of how many IOs they are."""
    at_load = [trial for trial in trials if trial.load == load and trial.invalid is None]
    found: dict[str, Any] = {"ios": sum(trial.sent for trial in at_load)}
    for what in ("reads", "writes"):
        p99s = [
            side["delay"]["p99_s"]
            for trial in at_load
            for side in trial.directions
            if side.get("what") == what and side.get("delay")
        ]
        if p99s:
            found[f"{what}_p99_s"] = statistics.median(p99s)
    return found
