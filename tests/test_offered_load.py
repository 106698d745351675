"""The load that a tester can offer through a lab, found in few trials."""

import contextlib
import random
import re
import statistics
from types import SimpleNamespace

import pytest
from brimful.errors import MeasureError
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.tester import LabMeasurer, highest_offered


def trials_of(highest, spoiled=()):
    """What is on schedule up to a load, but for the trials with these numbers; and the loads that were asked for."""
    asked = []

    def is_on_schedule(load):
        asked.append(load)
        return load <= highest and len(asked) - 1 not in spoiled

    return is_on_schedule, asked


@pytest.mark.parametrize("highest", [1e6, 0.99e6, 0.5e6, 0.1e6])
def test_the_highest_load_on_schedule_is_found_within_a_tenth(highest):
    is_on_schedule, asked = trials_of(highest)
    found = highest_offered(1e6, is_on_schedule)
    assert 0.9 * highest < found <= highest
    above = sum(load > highest for load in set(asked))
    assert len(asked) <= above + 1 + 3 + 3


def test_a_spoiled_trial_costs_no_load():
    is_on_schedule, _ = trials_of(1e6, spoiled={0, 1, 4})
    assert highest_offered(1e6, is_on_schedule) == 1e6


def shares(per_load, seed):
    """What is on schedule by chance, so often as a function of the load says."""
    chance = random.Random(seed)
    return lambda load: chance.random() < per_load(load)


def test_a_load_that_is_on_schedule_by_luck_is_not_taken():
    found = [highest_offered(1e6, shares(lambda load: 0.1 if load > 0.85e6 else 1.0, seed)) for seed in range(200)]
    assert sum(load > 0.85e6 for load in found) <= 10


def test_a_busy_machine_that_spoils_trials_at_any_load_costs_little():
    found = [highest_offered(1e6, shares(lambda load: 0.35, seed)) for seed in range(200)]
    assert statistics.median(found) >= 0.7e6


def test_a_tester_that_is_never_on_schedule_has_no_load():
    assert highest_offered(1e6, lambda load: False) is None


class Late:
    """A tester that keeps no schedule with a device between its ports."""

    def calibrate(self):
        return 1e6

    def measure(self, load, duration_s):
        raise InvalidTrialError("a: the sender stalled for 12 ms (bound 10 ms)", {"hint": "end other programs"})

    def close(self):
        pass


def test_what_spoiled_its_trials_is_said(monkeypatch):
    wire = SimpleNamespace(ports=["a", "b"])
    monkeypatch.setattr("brimful.measurers.tester.open_lab", lambda *_, **__: contextlib.nullcontext(wire))
    monkeypatch.setattr(LabMeasurer, "__init__", lambda self: None)
    measurer = LabMeasurer()
    measurer.__dict__.update(_lab=wire, _tester=Late(), _ip=4, _mtu=1500, _arguments=[], _tester_in=lambda *_: Late())
    expected = "the tester cannot send any load on schedule through the lab: a: the sender stalled for 12 ms"
    with pytest.raises(MeasureError, match=re.escape(expected + " (bound 10 ms); end other programs")):
        measurer.calibrate()
