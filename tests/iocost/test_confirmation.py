"""What a search of vrate found is tried for longer, and lowered until it holds."""

import pytest
from brimful.iocost.measure.confirmation import ROUNDS, confirm

FOUND = {"p999": {"lower": 80.0, "upper": 84.0}, "p99": {"lower": 90.0, "upper": 94.5}}
IOS = 1000


class Device:
    """A disk on which a share of the protected IOs is late that depends on the vrate."""

    def __init__(self, share, most_trials=100):
        self._share = share
        self._left = most_trials
        self.bounds = []

    def try_at(self, vrate, stop_above):
        if self._left == 0:
            return None
        self._left -= 1
        self.bounds.append(stop_above)
        late = min(round(self._share(vrate) * IOS), round(stop_above * IOS) + 1)
        return {"set": vrate, "vrate": vrate, "intended": IOS, "sent": IOS, "late": late, "hog_rate": 1.0}


def confirmed(device, found=FOUND, least=10.0):
    result = confirm(found, device.try_at, least_vrate=least)
    return {goal: (result[goal]["lower"], result[goal]["upper"]) for goal in ("p99", "p999")}, result["trials"]


def test_what_holds_stays_as_it_was_found():
    bounds, trials = confirmed(Device(lambda vrate: 0.0))
    assert bounds == {"p99": (90.0, 94.5), "p999": (80.0, 84.0)}
    assert [trial["set"] for trial in trials] == [90.0] * ROUNDS + [80.0] * ROUNDS


def test_what_does_not_hold_is_lowered_until_it_does():
    device = Device(lambda vrate: 0.3 if vrate > 70 else 0.0)
    bounds, trials = confirmed(device)
    assert bounds["p99"] == (pytest.approx(90 * 0.95 * 0.9 * 0.8), pytest.approx(90 * 0.95 * 0.9))
    # The same trials speak for the goal that allows less; what it found itself is greater, and has failed already.
    assert bounds["p999"][0] == bounds["p99"][0]
    sets = [trial["set"] for trial in trials]
    assert [sets.count(vrate) for vrate in dict.fromkeys(sets)] == [1, 1, 1, ROUNDS], "one trial that fails is enough"


def test_what_one_trial_has_too_many_late_of_may_hold_in_all():
    shares = iter([0.015, 0.0, 0.0, 0.0])
    bounds, _ = confirmed(Device(lambda vrate: next(shares)))
    assert bounds["p99"][0] == 90.0
    shares = iter([0.015, 0.015, 0.0, 0.0, 0.0, 0.0])
    bounds, _ = confirmed(Device(lambda vrate: next(shares)))
    assert bounds["p99"] == (pytest.approx(85.5), 90.0)


def test_a_trial_may_end_once_all_rounds_together_have_too_many_late():
    device = Device(lambda vrate: 0.0)
    confirmed(device)
    assert device.bounds == [0.01 * ROUNDS] * ROUNDS + [0.001 * ROUNDS] * ROUNDS


def test_nothing_holds_where_time_is_over_or_the_group_would_starve():
    bounds, trials = confirmed(Device(lambda vrate: 0.0, most_trials=3))
    assert bounds == {"p99": (90.0, 94.5), "p999": (None, 84.0)}
    assert len(trials) == 3
    bounds, _ = confirmed(Device(lambda vrate: 1.0), least=50.0)
    assert bounds["p99"] == (None, pytest.approx(90 * 0.95 * 0.9 * 0.8))
    assert bounds["p999"] == bounds["p99"], "what is too much for the looser goal is for the other one"


def test_what_was_not_found_is_not_tried():
    device = Device(lambda vrate: 0.0)
    bounds, trials = confirmed(device, {"p999": {"lower": None, "upper": 15.0}, "p99": {"lower": 20.0, "upper": None}})
    assert bounds == {"p99": (20.0, None), "p999": (None, 15.0)}
    assert len(trials) == ROUNDS
