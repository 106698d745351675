"""A system that recovers after a known time, and a run on it."""

from brimful.measurers.base import Description, TrialOutput
from brimful.policies import Policies
from brimful.records import RecoveryPlan, collect
from brimful.recovery.loop import RecoveryLoop
from support import invented

PLAN = RecoveryPlan(of="overload", rounds=2, load=1.1e6, duration_s=1.0, load_after=5.5e5, limit_s=20.0)


class Recovering:
    """A system of 1 Mpps that loses frames for so long after an overload; its tester waits after each trial."""

    def __init__(self, recovery_s, wait_s=0.1):
        self._recovery_s, self._wait_s = recovery_s, wait_s
        self._now_s = self._loses_until_s = 0.0
        self.true_s = []
        self._overload_end_s = 0.0

    def describe(self):
        return Description(virtual_time=True, max_load=2e6)

    def measure(self, load, duration_s, *, stop_above=None):
        begin_s, end_s = self._now_s, self._now_s + duration_s
        self._now_s = end_s + self._wait_s
        sent = round(load * duration_s)
        if load > 1e6:
            self._overload_end_s, self._loses_until_s = end_s, end_s + self._recovery_s
            return TrialOutput(sent=sent, lost=sent - round(1e6 * duration_s))
        return TrialOutput(sent=sent, lost=min(sent, round(load * max(0.0, self._loses_until_s - begin_s))))

    def now(self):
        return self._now_s

    def resume_at(self, elapsed_s):
        self._now_s = max(self._now_s, elapsed_s)


def invented_run(directory):
    """Two rounds of an overload."""
    run = invented(
        "recovery",
        "tester:eth1,eth2",
        recovery=PLAN,
        device={"name": "switch"},
        traffic={"frame_size": 64, "direction": "uni"},
    )
    records = []
    RecoveryLoop(PLAN, Recovering(0.4), Policies(), sink=records.append).run()
    return collect(directory, [run, *records])
