"""The levels of a history: equal to those of a naive twin, and what the detector is for."""

import math
import random

import pytest
from brimful import _core
from brimful.trend.detection import analyse, expected_false_alarms, penalty_for, suspected_at
from brimful.trend.judgement import Settings
from hypothesis import given
from hypothesis import strategies as st
from naive_levels import fit

PENALTY, CAP = 16.0, 9.0


def history(seed, shifts=(), count=80, deviation=0.01):
    chance = random.Random(seed)
    values = [chance.gauss(0, deviation) for _ in range(count)]
    for at, size in shifts:
        values[at:] = [value + size * deviation for value in values[at:]]
    return values


def assert_like_the_twin(values, errors):
    deviation, correlation, levels, jumps = _core.fit_levels(values, errors, PENALTY, CAP)
    expected = fit(values, errors, PENALTY, CAP)
    assert (deviation, correlation) == pytest.approx(expected[:2])
    assert jumps == expected[3]
    assert [level[:2] for level in levels] == [level[:2] for level in expected[2]]
    for level, twin in zip(levels, expected[2], strict=True):
        assert level == pytest.approx(twin, abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_levels_are_those_of_the_twin(seed):
    chance = random.Random(seed)
    shifts = [(chance.randrange(5, 75), chance.uniform(-8, 8)) for _ in range(seed % 4)]
    values = history(seed, shifts)
    for _ in range(seed % 3):
        values[chance.randrange(80)] += chance.uniform(-0.5, 0.5)
    errors = [chance.choice([0.0, 0.002, 0.03]) for _ in values]
    assert_like_the_twin(values, errors)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=30), st.integers(1, 5))
def test_levels_of_few_distinct_values_cost_no_more_than_those_of_the_twin(values, scale):
    """Paths of equal cost abound here, so only the cost is compared."""
    values = [0.013 * scale * value for value in values]
    errors = [0.0] * len(values)
    deviation, correlation, levels, jumps = _core.fit_levels(values, errors, PENALTY, CAP)
    twin = fit(values, errors, PENALTY, CAP)
    assert (deviation, correlation) == pytest.approx(twin[:2])
    assert len(levels) == len(jumps) + 1
    assert cost_of(values, deviation, correlation, levels) == pytest.approx(
        cost_of(values, deviation, correlation, twin[2]), rel=0.05, abs=1.0
    )


def cost_of(values, deviation, correlation, levels):
    """Of levels at their means, which are a little better than the lines of the grid."""
    inflation = (1 + correlation) / (1 - correlation)
    losses = [
        min(((value - level[2]) / deviation) ** 2, CAP * inflation)
        for level in levels
        for value in values[level[0] : level[1]]
    ]
    return sum(losses) + PENALTY * inflation * (len(levels) - 1)


def test_one_odd_value_is_no_level():
    values = history(1)
    values[40] += 50
    assert analyse(values, [0.0] * 80, PENALTY, CAP).changes == []


def test_a_change_has_its_place_and_its_size():
    (change,) = analyse(history(2, [(50, -5)]), [0.0] * 80, PENALTY, CAP).changes
    assert change.earliest <= 50 <= change.latest
    assert abs(change.size + 0.05) < change.margin < 0.01
    assert change.is_beyond(0.03)
    assert not change.is_beyond(0.05)


def test_a_value_that_is_hardly_known_counts_less():
    values = history(3)
    values[-2:] = [0.06, 0.06]
    known = analyse(values, [0.0] * 80, PENALTY, CAP)
    vague = analyse(values, [0.0] * 78 + [0.05] * 2, PENALTY, CAP)
    assert [change.index for change in known.changes] == [78]
    assert vague.changes == []


def test_values_that_are_all_equal_have_one_level_until_they_change():
    assert analyse([1.0] * 30, [0.0] * 30, PENALTY, CAP).changes == []
    (change,) = analyse([1.0] * 30 + [1.1] * 2, [0.0] * 32, PENALTY, CAP).changes
    assert (change.index, change.earliest, change.latest) == (30, 30, 30)


def test_jumps_are_dated_within_their_interval():
    right = 0
    for seed in range(100):
        changes = analyse(history(seed, [(50, 2.5)]), [0.0] * 80, PENALTY, CAP).changes
        right += any(change.earliest <= 50 <= change.latest for change in changes)
    assert right >= 90


def test_short_histories_are_levels_too():
    for count in range(4):
        assert len(analyse([0.5] * count, [0.0] * count, PENALTY, CAP).levels) == min(count, 1)


@pytest.mark.parametrize("values", [[math.nan, 1.0], [math.inf] * 3, [1.0]])
def test_what_is_not_finite_or_has_no_errors_is_refused(values):
    with pytest.raises(ValueError, match="finite"):
        _core.fit_levels(values, [0.0] * 5, PENALTY, CAP)


def test_more_series_are_judged_more_strictly():
    settings = Settings()
    assert penalty_for(settings, 1) == 16
    assert suspected_at(settings, 1) == 3
    for series in (100, 7500, 10**6):
        assert penalty_for(settings, series) > penalty_for(settings, series // 10)
        assert suspected_at(settings, series) > suspected_at(settings, series // 10)
        assert expected_false_alarms(settings, series) <= settings.false_alarms * 1.0001
