"""The second question: whether a device loses units below its capacity more often than the first one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from brimful.paired.ratios import CANNOT_TELL, DIFFERS, SAME, in_pairs, others_of
from brimful.records import LossPairs, Pair, PairedPlan, Trial
from brimful.statistics.discordant import Discordant, judge, unfair_evidence
from brimful.statistics.pairs import UNDECIDED, autocorrelation_time

SHARE = 0.97
"""Load / capacity."""
EXCESS = 0.05
"""A share of trials: what is excluded is that a device loses units in this share more of its trials."""
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
    silent
        Devices that pass nothing.
    """

    name = "loss"

    def __init__(self, plan: PairedPlan, capacities: Sequence[float], silent: Collection[int] = ()) -> None:
        self._plan = plan
        self._loads = [SHARE * capacity for capacity in capacities]
        self._compared = in_pairs(plan, silent)[1:]
        self._others = [device for device in others_of(plan) if device in self._compared]
        self._differences: dict[int, list[int]] = {device: [] for device in self._compared}
        self.trials = 1

    @property
    def is_decided(self) -> bool:
        """Whether there is a verdict on every device, or nothing more is to be expected."""
        return all(
            self._verdict(device) != UNDECIDED or len(self._differences[device]) >= MOST_PAIRS
            for device in self._others
        )

    def devices(self, number: int) -> list[int]:
        """Give the devices of a round: all, the control in every second one."""
        return [0, *(self._compared if number % 2 else self._others)]

    def load(self, device: int) -> float:
        """Give the load that a device is offered."""
        return self._loads[device]

    def take(self, device: int, trial: Trial) -> float | None:
        """Give 1 where a trial exceeded the loss ratio, else 0."""
        lost = max(trial.intended, trial.sent) - (trial.sent - trial.lost)
        return float(lost > (self._plan.loss_ratio or 0.0) * trial.intended)

    def end_round(self, number: int, instance: int, values: Mapping[int, Sequence[float]]) -> list[Pair]:
        """Take a whole round; it has no ratio."""
        for device in values.keys() - {0}:
            pairs = zip(values[0], values[device], strict=True)
            self._differences[device] += [int(second - first) for first, second in pairs]
        return []

    def choose_trials(self, switch_s: float, trial_s: float) -> None:
        """Let trials take as long as switching: each of them is a pair of its own."""
        self.trials = max(1, round(switch_s / trial_s))

    def results(self) -> list[LossPairs]:
        """Give the answer for each device."""
        is_same = all(self._verdict(device) != DIFFERS for device in self._compared)
        return [self._result(device, is_same=is_same) for device in self._compared]

    def _result(self, device: int, *, is_same: bool) -> LossPairs:
        differences = self._differences[device]
        verdict = self._verdict(device)
        return LossPairs(
            device=self._plan.devices[device].name,
            verdict=verdict if is_same or device not in self._others else CANNOT_TELL,
            loss_ratio=self._plan.loss_ratio or 0.0,
            only_first=differences.count(-1),
            only_device=differences.count(1),
            alike=differences.count(0),
            load=self._loads[device],
            first_load=self._loads[0],
            excess=EXCESS,
        )

    def _verdict(self, device: int) -> str:
        differences = self._differences[device]
        if device not in self._others:
            counts = Discordant.count(differences).worth(autocorrelation_time(differences))
            return DIFFERS if unfair_evidence(counts) >= 1 / _EARLY_ALPHA else SAME
        share = 1 / len(self._others)
        return judge(differences, excess=EXCESS, early_alpha=_EARLY_ALPHA * share, alpha=_ALPHA * share)
