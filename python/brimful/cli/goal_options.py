"""The options that name goals, for the commands that judge a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from brimful.errors import UsageError
from brimful.records import Goal
from brimful.throughput.goals import PRESETS, SearchGoal, named_goals, parse_goal

GOAL_DEFAULTS = "Left out: exceed=50%, trial=1s, sum and initial as trial, width=0.5%."
"""What a goal is that names its loss ratio alone."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def goal_options(function: _Command) -> _Command:
    """Add ``--preset`` and ``--goal``."""
    preset = click.option("--preset", type=click.Choice(list(PRESETS)), help="Judge by the goals of this preset.")
    goal = click.option(
        "--goal",
        "goal_texts",
        multiple=True,
        metavar="GOAL",
        help=f"Judge by this goal: loss=0.5%,trial=1s,... {GOAL_DEFAULTS}",
    )
    return preset(goal(function))


def check_goals(preset: str | None, goal_texts: tuple[str, ...]) -> None:
    """Refuse goals of a preset beside those of one's own: either could be meant."""
    if preset is not None and goal_texts:
        message = f"--preset {preset} and --goal both name goals; give one of them"
        raise UsageError(message)


def parsed_goals(goal_texts: tuple[str, ...]) -> list[SearchGoal]:
    """Read goals."""
    return [parse_goal(text) for text in goal_texts]


def chosen_goals(preset: str | None, goal_texts: tuple[str, ...]) -> list[Goal] | None:
    """Give the goals that were asked for, if any were."""
    check_goals(preset, goal_texts)
    if goal_texts:
        return named_goals(parsed_goals(goal_texts))
    return named_goals(PRESETS[preset].goals) if preset else None
