"""Comparisons of disks, which are late under overload."""

import pytest
from brimful.measurers.base import TrialOutput
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import Trial
from test_comparison_runs import looped, plan


class Disk(SimulatedMeasurer):
    """It completes IOs in their order; under overload nearly all of them come after their deadline."""

    def __init__(self, iops, *, deadline_s=0.01):
        super().__init__("sharp")
        self._iops, self._deadline_s = iops, deadline_s

    def measure(self, load, duration_s, *, stop_above=None):
        super().measure(load, duration_s)
        sent = round(load * duration_s)
        completed = min(sent, round(self._iops * (duration_s + self._deadline_s)))
        # The queue grows by load - iops each second.
        growth = max(1e-9, load / self._iops - 1)
        on_time = min(completed, round(load * self._deadline_s / growth)) if load > self._iops else completed
        return TrialOutput(sent=sent, lost=sent - on_time, late=completed - on_time)


def test_a_disk_is_compared_by_what_it_completes_late_or_not():
    limits = plan(max_load=2e4, trial_s=0.5)
    outcome, records = looped([Disk(3000), Disk(2500)], limits)
    assert outcome.ratios[0].verdict == "regression"
    assert outcome.ratios[0].ratio == pytest.approx(2500 / 3000, rel=0.01)
    made = [record for record in records if isinstance(record, Trial) and record.step == "pairs"]
    assert all(trial.sent - trial.lost < 0.5 * trial.forwarded for trial in made)
