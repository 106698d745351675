"""The second question: whether a device loses units below its capacity more often than the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from brimful.paired.ratios import others_of
from brimful.records import LossPairs, Pair, PairedPlan, Trial
from brimful.statistics.discordant import Discordant, judge
from brimful.statistics.pairs import UNDECIDED

SHARE = 0.97
"""Load / capacity."""
EXCESS = 0.05
"""A share of trials: that a device loses units in so many more is what is excluded."""
MOST_PAIRS = 1000
_EARLY_ALPHA, _ALPHA = 0.01, 0.05


class Losses:
    """Counts pairs of trials of which only one exceeded the loss ratio.

    Parameters
    ----------
    plan
        What is measured.
    capacities
        Of each device.
    """

    name = "loss"

    def __init__(self, plan: PairedPlan, capacities: Sequence[float]) -> None:
        self._plan = plan
        self._loads = [SHARE * capacity for capacity in capacities]
        self._others = others_of(plan)
        self._counts = dict.fromkeys(self._others, Discordant())
        self.trials = 1

    @property
    def is_decided(self) -> bool:
        """Whether there is a verdict on every device, or nothing more is to be expected."""
        return all(
            self._verdict(device) != UNDECIDED or self._counts[device].pairs >= MOST_PAIRS for device in self._others
        )

    def devices(self, number: int) -> list[int]:
        """Give the devices of a round: all but the control."""
        return [0, *self._others]

    def load(self, device: int) -> float:
        """Give the load that a device is offered."""
        return self._loads[device]

    def take(self, device: int, trial: Trial) -> float | None:
        """Give 1 where a trial exceeded the loss ratio, else 0."""
        lost = max(trial.intended, trial.sent) - (trial.sent - trial.lost)
        return float(lost > (self._plan.loss_ratio or 0.0) * trial.intended)

    def end_round(self, number: int, instance: int, values: Mapping[int, Sequence[float]]) -> list[Pair]:
        """Take a whole round; it has no ratio."""
        for device in self._others:
            for first, second in zip(values[0], values[device], strict=True):
                counts = self._counts[device]
                self._counts[device] = Discordant(
                    counts.only_first + (first > second),
                    counts.only_second + (second > first),
                    counts.alike + (first == second),
                )
        return []

    def choose_trials(self, switch_s: float, trial_s: float) -> None:
        """Let trials take as long as switching: each of them is a pair of its own."""
        self.trials = max(1, round(switch_s / trial_s))

    def results(self) -> list[LossPairs]:
        """Give the answer for each device."""
        return [
            LossPairs(
                device=self._plan.devices[device].name,
                verdict=self._verdict(device),
                loss_ratio=self._plan.loss_ratio or 0.0,
                only_first=counts.only_first,
                only_device=counts.only_second,
                alike=counts.alike,
                load=self._loads[device],
                first_load=self._loads[0],
                excess=EXCESS,
            )
            for device, counts in self._counts.items()
        ]

    def _verdict(self, device: int) -> str:
        share = 1 / len(self._others)
        return judge(self._counts[device], excess=EXCESS, early_alpha=_EARLY_ALPHA * share, alpha=_ALPHA * share)
