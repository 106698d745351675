"""The options that name goals, for the commands that judge a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from brimful.goals import PRESETS, named_goals, parse_goal
from brimful.records import Goal

_Command = TypeVar("_Command", bound=Callable[..., Any])


def goal_options(function: _Command) -> _Command:
    """Add ``--preset`` and ``--goal``."""
    preset = click.option("--preset", type=click.Choice(list(PRESETS)), help="Judge by the goals of this preset.")
    goal = click.option(
        "--goal",
        "goal_texts",
        multiple=True,
        metavar="GOAL",
        help="Judge by this goal: loss=0.5%,trial=1s,...",
    )
    return preset(goal(function))


def chosen_goals(preset: str | None, goal_texts: tuple[str, ...]) -> list[Goal] | None:
    """Give the goals that were asked for, if any were."""
    if goal_texts:
        return named_goals([parse_goal(text) for text in goal_texts])
    return named_goals(PRESETS[preset].goals) if preset else None
