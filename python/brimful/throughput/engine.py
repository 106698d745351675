"""The engine's Controller in terms of records."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from brimful import _core
from brimful.records import Goal, GoalResult, Trial


def feed(controller: _core.Controller, trial: Trial) -> None:
    """Tell the Controller what a trial gave.

    Raises
    ------
    ValueError, OverflowError
        When no trial can have such numbers.
    """
    controller.record(
        trial.load,
        trial.duration_s,
        trial.intended,
        trial.sent,
        trial.lost,
        trial.effective_duration_s,
        trial.stopped_early,
        trial.delay_p99_s,
    )


def goal_results(controller: _core.Controller, goals: Sequence[Goal]) -> list[GoalResult]:
    """Give what the trials so far support, in the order of the goals."""
    results = json.loads(controller.results_json())
    return [
        msgspec.convert({"kind": "goal_result", "goal": goal.name, **result}, GoalResult)
        for goal, result in zip(goals, results, strict=True)
    ]
