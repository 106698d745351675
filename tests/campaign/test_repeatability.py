"""Mean, deviation and interval of repeats, against tables and other formulas."""

import math
import random
import statistics

import pytest
from brimful.statistics.repeatability import summarise
from hypothesis import given
from hypothesis import strategies as st

# Two-sided 95 % points of Student's t, from printed tables.
T_TABLE = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 10: 2.262, 20: 2.093, 30: 2.045, 101: 1.984}

VALUES = st.lists(st.floats(1e3, 1e8), min_size=1, max_size=30)


@pytest.mark.parametrize(("runs", "t"), T_TABLE.items())
def test_the_interval_has_the_t_of_the_tables(runs, t):
    values = [100.0 + (-1) ** index for index in range(runs)]
    spread = summarise(values)
    assert spread.margin * math.sqrt(runs) / spread.deviation == pytest.approx(t, abs=6e-4)


def test_a_worked_example():
    # Mean 5, squares of deviations 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32.
    spread = summarise([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert spread.mean == 5.0
    assert spread.deviation == pytest.approx(math.sqrt(32 / 7))
    assert spread.variation == pytest.approx(math.sqrt(32 / 7) / 5)
    assert spread.interval == pytest.approx((5 - 1.7875, 5 + 1.7875), abs=1e-4)


def test_one_run_has_no_interval_and_none_no_mean():
    spread = summarise([7.0])
    assert (spread.runs, spread.mean, spread.least, spread.most) == (1, 7.0, 7.0, 7.0)
    assert spread.deviation is spread.variation is spread.interval is spread.margin is None
    assert summarise([]) is None


@given(VALUES)
def test_it_agrees_with_the_library(values):
    spread = summarise(values)
    assert spread.mean == pytest.approx(statistics.fmean(values))
    assert spread.least == min(values)
    assert spread.most == max(values)
    if len(values) > 1:
        assert spread.deviation == pytest.approx(statistics.stdev(values), abs=1e-6)


@given(VALUES, st.floats(0.01, 100))
def test_it_scales_and_does_not_know_the_order(values, factor):
    spread, scaled = summarise(values), summarise([factor * value for value in reversed(values)])
    assert scaled.mean == pytest.approx(factor * spread.mean)
    if len(values) > 1:
        low, high = spread.interval
        assert low <= spread.mean <= high
        assert scaled.margin == pytest.approx(factor * spread.margin, rel=1e-6, abs=1e-6)
        assert spread.variation == pytest.approx(scaled.variation, abs=1e-9)


@given(st.floats(1e3, 1e8), st.integers(2, 20))
def test_equal_runs_have_no_spread(value, runs):
    spread = summarise([value] * runs)
    assert spread.deviation == pytest.approx(0, abs=1e-6)
    assert spread.margin == pytest.approx(0, abs=1e-5)


def test_the_interval_covers_the_mean_as_often_as_it_says():
    # A fixed seed, so this is a calculation: 95 % of 1 500 is 1 425, with a standard deviation of 8.
    draw = random.Random(5)
    covered = 0
    for _ in range(1500):
        low, high = summarise([draw.gauss(1e6, 1e4) for _ in range(3)]).interval
        covered += low <= 1e6 <= high
    assert 1395 <= covered <= 1455
