"""The answer for a goal."""

from __future__ import annotations

from dataclasses import dataclass

from brimful.mlrsearch.discrete_load import DiscreteLoad
from brimful.mlrsearch.trimmed_stat import TrimmedStat


@dataclass
class GoalResult:
    """The bounds of a goal; where one is None, the result is irregular."""

    relevant_lower_bound: TrimmedStat | None
    """The greatest load that meets the goal and is below the upper bound; None: not even the min load does."""
    relevant_upper_bound: TrimmedStat | None
    """The smallest load that does not meet the goal; None: even the max load does."""

    @property
    def conditional_throughput(self) -> DiscreteLoad | None:
        """What was forwarded at the lower bound; None without one."""
        lower = self.relevant_lower_bound
        if lower is None or lower.conditional_throughput is None:
            return None
        return DiscreteLoad(lower.conditional_throughput)

    def __str__(self) -> str:
        """Give the lower bound in short."""
        return str(self.relevant_lower_bound)
