"""Numbers on their way to the engine and back arrive as what they were."""

import brimful
import pytest
from brimful.throughput.verify import TrialLog
from hypothesis import given
from hypothesis import strategies as st
from support import goal, sharp
from test_verify import trial

loads = st.floats(1e3, 1e7)


@given(st.tuples(loads, loads).map(sorted).filter(lambda limits: limits[1] > 1.5 * limits[0]))
def test_no_trial_leaves_the_limits_by_the_last_digit(limits):
    low, high = limits
    result = brimful.search(
        sharp(1e9), goals=[brimful.SearchGoal(loss_ratio=0, duration_sum_s=1)], min_load=low, max_load=high
    )
    assert max(trial.load for trial in result.trials) == high
    assert min(trial.load for trial in result.trials) >= low
    assert result.goal_results[0].reason == "max-load-is-lower-bound"


@given(st.integers(2, 1000).flatmap(lambda whole: st.tuples(st.integers(1, whole - 1), st.just(whole))))
def test_every_simple_fraction_is_an_exceed_ratio(fraction):
    part, whole = fraction
    goals = [brimful.SearchGoal(loss_ratio=0, exceed_ratio=part / whole, duration_sum_s=1)]
    assert brimful.search(sharp(1e4), goals=goals, min_load=1e3, max_load=1e5).goal_results[0].regular


@pytest.mark.parametrize(("lower", "upper"), [(9.95, 10.0), (995.0, 1000.0), (99.5, 100.0)])
def test_loads_a_width_apart_are_near_enough_in_binary_too(lower, upper):
    trials = [trial(0, lower, 60.0, lost=0), trial(1, upper, 60.0, lost=1)]
    log = TrialLog([goal(exceed=0.0, trial=60.0, duration_sum=60.0)], trials, (lower, upper))
    assert log.results()[0].reason == "regular"
