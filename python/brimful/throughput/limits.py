"""What a measurer cannot do for a search is refused before its first trial."""

from __future__ import annotations

import math
from collections.abc import Sequence

from brimful import units
from brimful.errors import UsageError
from brimful.measurers.base import Description
from brimful.records import Goal, is_rate_of_units

_ROUNDING = 1e-9
"""What products of decimal numbers may be beside the mark, as a share."""


def check_limits(goals: Sequence[Goal], max_load: float, description: Description) -> None:
    """Refuse a load that this measurer cannot offer, and goals that no trial of it could meet.

    Raises
    ------
    UsageError
        Naming what is asked for and what the measurer can do.
    """
    most = description.max_load
    if most is not None and max_load > most * (1 + _ROUNDING):
        asked, offered = (units.stated_load(load, description.load_unit) for load in (max_load, most))
        message = f"max load {asked} is above the {offered} that measurer {description.name!r} can offer; lower it"
        raise UsageError(message)
    for goal in goals:
        _check_duration(goal, description)
        _check_width(goal, max_load, description)
    check_delay_limits(goals, description)


def least_evidence_s(goals: Sequence[Goal], *, early_termination: bool) -> float:
    """Give how long trials take at least until every goal has a lower and an upper bound.

    Low-loss trials decide once what is missing of the duration sum could not exceed any more, high-loss trials once
    they do (MLRsearch-15 exceed ratio); one pair of loads may serve all goals. With early termination high-loss trials
    may take next to no time.

    >>> goal = Goal("ndr", 0.0, 0.5, 1.0, 21.0, 1.0)
    >>> least_evidence_s([goal], early_termination=False), least_evidence_s([goal], early_termination=True)
    (22.0, 11.0)
    """
    return max(_least_evidence_s(goal, early_termination=early_termination) for goal in goals)


def _least_evidence_s(goal: Goal, *, early_termination: bool) -> float:
    trial_s, allowed_s = goal.final_trial_duration_s, goal.exceed_ratio * goal.duration_sum_s
    low = math.ceil((goal.duration_sum_s - allowed_s) / trial_s - _ROUNDING)
    high = math.floor(allowed_s / trial_s + _ROUNDING) + 1
    return (low if early_termination else low + high) * trial_s


def unit_difference(lower: float, upper: float, goal: Goal, conversion_factor: float) -> float:
    """Give by how many units full-length trials at two loads differ; a trial cannot show less than one."""
    return (upper - lower) * goal.final_trial_duration_s * conversion_factor


def check_delay_limits(goals: Sequence[Goal], description: Description) -> None:
    """Refuse goals with a delay limit where the measurer reports no delay: no trial could ever keep it.

    Raises
    ------
    UsageError
        Naming the goal and the measurer.
    """
    for goal in goals:
        if goal.delay_limit_s is not None and not description.tells_delay:
            message = (
                f"goal {goal.name!r} has a delay limit, but the measurer {description.name!r} reports no delay;"
                " leave the limit out or take a measurer that reports it"
            )
            raise UsageError(message)


def _check_duration(goal: Goal, description: Description) -> None:
    least_s = description.min_duration_s
    if least_s is not None and goal.initial_trial_duration_s < least_s:
        message = (
            f"goal {goal.name!r}: the measurer makes no trial shorter than {units.format_delay(least_s)},"
            f" but the initial trial duration is {units.format_delay(goal.initial_trial_duration_s)}"
        )
        raise UsageError(message)


def _check_width(goal: Goal, max_load: float, description: Description) -> None:
    """Refuse a width below what trials can show even at max load, where they have the most units."""
    if goal.width is None or not is_rate_of_units(description.load_unit):
        return
    told = unit_difference(max_load * (1 - goal.width), max_load, goal, description.conversion_factor)
    if told < 1 - _ROUNDING:
        most, unit = units.stated_load(max_load, description.load_unit), description.load_unit.removesuffix("/s")
        message = (
            f"goal {goal.name!r}: at max load {most} a width of {units.format_ratio(goal.width)} is {told:.2g}"
            f" {unit} in a trial of {units.format_delay(goal.final_trial_duration_s)},"
            " and no trial can tell less than one; give a goal whose trial or width is"
            f" {math.ceil((1 - _ROUNDING) / told)} times larger"
        )
        raise UsageError(message)
