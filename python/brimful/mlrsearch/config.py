"""What a search is given."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from brimful.mlrsearch.search_goal import SearchGoal
from brimful.mlrsearch.search_goal_tuple import SearchGoalTuple


@dataclass
class Config:
    """Goals and limits; each can be set at any time before the search.

    Raises
    ------
    ValueError
        When a value is set that cannot be. Whether min load is below max load is checked when the search begins, so
        that they can be set in any order.
    """

    goals: Iterable[SearchGoal] = SearchGoalTuple((SearchGoal(),))
    min_load: float = 9001.0
    """Units per second that no trial goes below."""
    max_load: float = 1e9
    """Units per second that no trial goes above."""
    search_duration_max: float = 1200.0
    """Seconds after which a search that has not ended raises."""
    warmup_duration: float | None = 1.0
    """Seconds of a first trial at max load, which is not counted; None or 0: there is none."""

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401 - whatever a user gave
        """Convert and check."""
        if name == "goals":
            value = SearchGoalTuple(value)
        elif name == "warmup_duration":
            value = float(value or 0.0)
            if not 0 <= value < math.inf:
                message = f"warmup_duration is {value:g}; it must be at least 0"
                raise ValueError(message)
        elif name in ("min_load", "max_load", "search_duration_max"):
            value = float(value)
            if not 0 < value < math.inf:
                message = f"{name} is {value:g}; it must be above 0"
                raise ValueError(message)
        super().__setattr__(name, value)
