"""A bound with its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from brimful.mlrsearch.discrete_load import DiscreteLoad
from brimful.mlrsearch.search_goal import SearchGoal


@dataclass(frozen=True)
class TargetStat:
    """Seconds of trials at one load, by how long they were and whether they met the loss ratio of a goal."""

    good_long: float
    bad_long: float
    good_short: float
    bad_short: float
    pessimistic_loss_ratio: float | None
    """Share by which the conditional throughput is below the load; None for an upper bound, which has none."""

    def __str__(self) -> str:
        """Give the sums."""
        return f"gl={self.good_long},bl={self.bad_long},gs={self.good_short},bs={self.bad_short}"


class TrimmedStat(DiscreteLoad):
    """A load that is a bound, and why: ``target_to_stat`` has one entry, for the goal that it is a bound of."""

    def __init__(
        self, float_load: float, goal: SearchGoal, stat: TargetStat, conditional_throughput: float | None
    ) -> None:
        super().__init__(float_load)
        self.target_to_stat = {goal: stat}
        self.conditional_throughput = conditional_throughput
        """Units per second that were forwarded; None for an upper bound."""

    def __str__(self) -> str:
        """Give the load and the sums."""
        (stat,) = self.target_to_stat.values()
        return f"fl={self.float_load},s=({stat})"
