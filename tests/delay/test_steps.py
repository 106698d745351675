"""The order of trials."""

from collections import Counter

from brimful.delay.steps import steps
from brimful.records import DelayPlan
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(1, 6), st.integers(1, 9), st.sampled_from([None, "lab:wire"]))
def test_every_load_is_on_every_path_in_every_round_once(loads, rounds, wire):
    plan = DelayPlan(loads=[float(load + 1) for load in range(loads)], rounds=rounds, trial_s=1.0, wire=wire)
    made = list(steps(plan))
    assert set(Counter(made).values()) == {1}
    assert len(made) == loads * rounds * (2 if wire else 1)
    assert [step.round for step in made] == sorted(step.round for step in made)


def test_both_paths_of_a_load_are_neighbours_and_take_turns():
    plan = DelayPlan(loads=[1.0, 2.0, 3.0], rounds=4, trial_s=1.0, wire="lab:wire")
    made = list(steps(plan))
    pairs = list(zip(made[::2], made[1::2], strict=True))
    assert all((one.load, one.round) == (other.load, other.round) for one, other in pairs)
    for load in plan.loads:
        first = [one.path for one, _ in pairs if one.load == load]
        assert sorted(first) == ["device", "device", "wire", "wire"]


def test_an_earlier_wire_is_not_measured_again():
    plan = DelayPlan(loads=[1.0], rounds=2, trial_s=1.0, wire="runs/1", wire_run="1")
    assert [step.path for step in steps(plan)] == ["device", "device"]
