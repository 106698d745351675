"""Delay runs as they are carried out."""

import signal
import time
from pathlib import Path

import pytest
from brimful.delay.estimates import DEVICE, WIRE
from brimful.delay.loop import DelayLoop
from brimful.machine.watch import Watch
from brimful.measurers.base import Description, InvalidTrialError, TrialOutput
from brimful.policies import FailurePolicy, Policies
from brimful.records import End, Trial
from delay_cases import plan
from test_observed import direction


class Steady:
    """Frames of one delay."""

    def describe(self):
        return Description()

    def now(self):
        return time.monotonic()

    def measure(self, load, duration_s, *, stop_above=None):
        one = direction([50_000] * 10)
        return TrialOutput(sent=10, lost=0, intended=10, directions=[one])


@pytest.mark.usefixtures("python_interrupts")
@pytest.mark.parametrize("kind", [Trial, End])
def test_results_are_of_all_trials_whenever_the_interruption_comes(kind):
    records = []

    def keep(record):
        records.append(record)
        if isinstance(record, kind):
            signal.raise_signal(signal.SIGINT)

    policies = Policies(FailurePolicy(), FailurePolicy())
    loop = DelayLoop(plan(), {DEVICE: Steady(), WIRE: Steady()}, policies, sink=keep)
    if kind is Trial:
        outcome = loop.run()
        assert (outcome.end.reason, outcome.end.trials, len(outcome.trials)) == ("interrupted", 1, 1)
    else:
        with pytest.raises(KeyboardInterrupt):
            loop.run()
    assert isinstance(records[-1], End)
    assert records[-1].trials == sum(isinstance(record, Trial) for record in records)


def test_the_end_says_how_quiet_the_machine_was():
    loop = DelayLoop(plan(), {DEVICE: Steady(), WIRE: Steady()}, Policies(), watch=Watch(proc=Path("/proc")))
    assert loop.run().end.machine is not None
    assert DelayLoop(plan(), {DEVICE: Steady(), WIRE: Steady()}, Policies()).run().end.machine is None


def test_the_time_that_is_left_tends_to_zero():
    seen = []
    loop = DelayLoop(plan(), {DEVICE: Steady(), WIRE: Steady()}, Policies(), progress=seen.append)
    loop.run()
    assert [state.trial for state in seen] == list(range(1, seen[0].trials + 1))
    # Nothing was measured yet: as long as all trials last by themselves.
    assert seen[0].remaining_s == pytest.approx(seen[0].trials * plan().trial_s)
    # These take no time.
    assert seen[-1].remaining_s < 0.1


class Slow(Steady):
    """The same behind a tester that cannot offer more than a load."""

    def __init__(self, most):
        self._most = most

    def measure(self, load, duration_s, *, stop_above=None):
        if load > self._most:
            raise InvalidTrialError("the tester was late by 3 ms")
        return super().measure(load, duration_s)


def test_a_load_that_the_tester_cannot_offer_has_no_delay_and_others_have():
    loads = [5_000.0, 10_000.0, 20_000.0]
    asked = plan(loads=loads)
    policies, records = Policies(FailurePolicy(1), FailurePolicy()), []
    slow = {DEVICE: Slow(loads[0]), WIRE: Steady()}
    outcome = DelayLoop(asked, slow, policies, sink=records.append).run()
    assert outcome.end.reason == "done"
    assert {found.load for found in outcome.delays} == {loads[0]}
    ceilings = [record.load for record in records if getattr(record, "code", "") == "tester-ceiling"]
    assert ceilings == [loads[0]]
    none = DelayLoop(asked, {DEVICE: Slow(0.0), WIRE: Steady()}, policies).run()
    assert none.end.reason == "measurement-failed"
