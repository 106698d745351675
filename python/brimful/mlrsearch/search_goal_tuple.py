"""The goals of one search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from brimful.mlrsearch.search_goal import SearchGoal


@dataclass(frozen=True)
class SearchGoalTuple:
    """One or more goals, all different.

    Raises
    ------
    ValueError
        When there is none, or one is there twice.
    TypeError
        When one is no `SearchGoal`.
    """

    goals: tuple[SearchGoal, ...]

    def __post_init__(self) -> None:
        """Take any iterable, and check."""
        object.__setattr__(self, "goals", tuple(self.goals))
        if not self.goals:
            message = "there is no goal; give one or more"
            raise ValueError(message)
        for index, goal in enumerate(self.goals):
            if not isinstance(goal, SearchGoal):
                message = f"goal {index + 1} is {goal!r}; it must be a SearchGoal"
                raise TypeError(message)
            if goal in self.goals[:index]:
                message = f"goal {index + 1} is there twice: {goal}"
                raise ValueError(message)

    def __iter__(self) -> Iterator[SearchGoal]:
        """Give the goals in their order."""
        return iter(self.goals)
