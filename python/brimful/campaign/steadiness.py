"""Says where repeats of one search found two values, so that their mean stands for neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brimful import units
from brimful.records import Goal, Member, Warning
from brimful.statistics.steadiness import find_two_groups

TWO_GROUPS = "two-groups"
_FREE_WIDTH = 0.005
"""Of a goal that asks for no width: that of the presets."""


def steadiness_warnings(goals: Sequence[Goal], members: Sequence[Member]) -> Iterator[Warning]:
    """Name measurers, sizes and goals whose regular results fall into two groups."""
    for cell in dict.fromkeys(member.cell for member in members):
        repeats = [member for member in members if member.cell == cell and not member.failed]
        for goal in goals:
            yield from _of_goal(goal, cell, repeats)


def _of_goal(goal: Goal, cell: tuple[str, str | None], repeats: Sequence[Member]) -> Iterator[Warning]:
    found = [
        (member, result.conditional_throughput)
        for member in repeats
        for result in member.goal_results
        if result.goal == goal.name and result.regular and result.conditional_throughput is not None
    ]
    values = [value for _, value in found]
    groups = find_two_groups(values, (goal.width or _FREE_WIDTH) * max(values, default=0.0))
    if groups is None:
        return
    unit = next((member.run.load_unit for member, _ in found if member.run is not None), "frames/s")
    near = [
        f"repeats {', '.join(str(found[index][0].repeat) for index in which)} found about"
        f" {units.format_load(value, unit)}"
        for value, which in ((groups.lower, groups.in_lower), (groups.upper, groups.in_upper))
    ]
    measurer, size = cell
    where = measurer if size is None else f"{measurer}, {size}"
    text = f"{where}, goal {goal.name}: {' and '.join(near)}: the mean stands for neither"
    yield Warning(code=TWO_GROUPS, text=text)
