"""The engine in terms of records."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from brimful import _core
from brimful.measurers.base import COUNTED_AS_LOSS
from brimful.records import Goal, GoalResult, Trial


def feed(engine: _core.Controller | _core.TrialLog, trial: Trial) -> None:
    """Give the engine what a trial gave.

    Raises
    ------
    ValueError, OverflowError
        When no trial can have such numbers.
    """
    counts = (trial.intended, trial.sent, trial.lost)
    rest = (trial.effective_duration_s, trial.stopped_early, trial.delay_p99_s)
    engine.record((trial.load, trial.duration_s, *counts, *rest))


def goal_results(results_json: str, goals: Sequence[Goal]) -> list[GoalResult]:
    """Read the results of the engine, in the order of the goals."""
    results = json.loads(results_json)
    return [
        msgspec.convert({"kind": "goal_result", "goal": goal.name, **result}, GoalResult)
        for goal, result in zip(goals, results, strict=True)
    ]


def unsent_units(trial: Trial) -> int:
    """Give how many units of a trial count as loss although they were never sent.

    Those of a trial that was stopped early do not count, and a trial that is total loss by the user's policy is no
    matter of sending.
    """
    if trial.stopped_early or any(note.get("code") == COUNTED_AS_LOSS for note in trial.warnings):
        return 0
    return max(0, trial.intended - trial.sent)
