"""The engine in terms of records."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from brimful import _core
from brimful.records import Goal, GoalResult, Trial


def feed(engine: _core.Controller | _core.TrialLog, trial: Trial) -> None:
    """Tell the engine what a trial gave.

    Raises
    ------
    ValueError, OverflowError
        When no trial can have such numbers.
    """
    engine.record(
        trial.load,
        trial.duration_s,
        trial.intended,
        trial.sent,
        trial.lost,
        trial.effective_duration_s,
        trial.stopped_early,
        trial.delay_p99_s,
    )


def goal_results(results_json: str, goals: Sequence[Goal]) -> list[GoalResult]:
    """Read the results of the engine, in the order of the goals."""
    results = json.loads(results_json)
    return [
        msgspec.convert({"kind": "goal_result", "goal": goal.name, **result}, GoalResult)
        for goal, result in zip(goals, results, strict=True)
    ]
