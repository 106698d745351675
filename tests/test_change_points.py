"""Change points against all segmentations of short series, and on series whose truth is known."""

import itertools
import math
import random
import runpy
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from brimful.statistics import change_points as module
from brimful.statistics.change_points import change_points
from hypothesis import given, settings
from hypothesis import strategies as st

BENCH = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "bench" / "discards_power.py")))
FIRST = date(2018, 1, 1)
LEVELS = np.array([0.0, *np.exp2(np.arange(-11, -3) * 3 / 8)])


def days(number):
    return [FIRST + timedelta(day) for day in range(number)]


def score(path, hits, likelihoods, cost, level_cost):
    """Give the penalised likelihood of a level for each day; the best scatter of each segment."""
    total = -cost / 2 if path[0] else 0.0
    start = 0
    for day in range(1, len(path) + 1):
        if day < len(path) and path[day] == path[start]:
            continue
        total += likelihoods[start:day, path[start], :].sum(axis=0).max()
        if day < len(path):
            before, after = path[start], path[day]
            too_near = before and after and abs(before - after) < 4
            if too_near or (after == 0 and hits[day]):
                return -math.inf
            total -= level_cost if before and after else cost if after else cost / 2
        start = day
    return total


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from([0, 20, 20, 20])), min_size=4, max_size=4),
    st.floats(0.1, 4),
    st.floats(1, 3),
)
def test_no_segmentation_is_better_than_the_one_that_is_found(rows, cost, inflation):
    calendar = module._Calendar.of(days(4), [hits for hits, _ in rows], [bins for _, bins in rows])
    likelihoods = module._likelihoods(calendar, LEVELS)
    found = module._segment(calendar, likelihoods, LEVELS, cost, cost * inflation) // len(module.SCATTERS)
    best = max(
        score(path, calendar.hits, likelihoods, cost, cost * inflation)
        for path in itertools.product(range(len(LEVELS)), repeat=4)
    )
    assert score(found, calendar.hits, likelihoods, cost, cost * inflation) == pytest.approx(best)


@pytest.mark.parametrize("site", ["plain", "sparse onset", "residual"])
def test_begin_and_stop_are_found_to_the_day(site):
    errors, holding = BENCH.date_errors(site, range(8))
    assert all(off is not None and abs(off) <= 1 for _, off in errors)
    assert holding["begin"] + holding["stop"] >= 14


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("level", [0.0, 1e-4, 0.03, 0.3])
def test_nothing_is_found_where_nothing_changes(level, correlated):
    for seed in range(6):
        assert BENCH.found_changes(*BENCH.constant_series(seed, level, 2.0, correlated=correlated)) == []


def test_a_change_says_what_it_rests_on():
    hits = [0] * 100 + [800, 900] * 30 + [0] * 40
    begin, stop = change_points(days(200), hits, [8640] * 200)
    assert (begin.kind, begin.day, begin.first_day, begin.last_day) == ("begin", *[FIRST + timedelta(100)] * 3)
    assert (begin.before, begin.after) == (0.0, pytest.approx(850 / 8640))
    assert (stop.kind, stop.day, stop.until) == ("stop", FIRST + timedelta(160), FIRST + timedelta(200))
    assert (stop.bins_after, stop.bins_with_discards_after) == (40 * 8640, 0)
    assert stop.log10_chance < -40
    assert begin.evidence > 50


def test_days_without_telemetry_widen_the_interval():
    hits = [0] * 50 + [500] * 50
    bins = [8640] * 45 + [0] * 5 + [8640] * 50
    (begin,) = change_points(days(100), hits, bins)
    assert (begin.first_day, begin.last_day) == (FIRST + timedelta(45), FIRST + timedelta(50))


def test_days_may_come_in_any_order_and_some_not_at_all():
    hits = [0] * 50 + [500] * 50
    rows = [(day, number, 8640) for day, number in zip(days(100), hits, strict=True) if day.day != 13]
    shuffled = random.Random(1).sample(rows, len(rows))
    assert change_points(*zip(*shuffled, strict=True)) == change_points(*zip(*rows, strict=True))
    assert [point.day for point in change_points(*zip(*rows, strict=True))] == [FIRST + timedelta(50)]


@pytest.mark.parametrize("false", [[(150, 1)], [(150, 3000)], [(20, 1), (250, 700)]])
def test_single_false_days_change_nothing(false):
    hits = np.zeros(300, dtype=int)
    for day, number in false:
        hits[day] = number
    assert change_points(days(300), hits, [8640] * 300) == []


def test_a_false_day_after_a_stop_changes_nothing():
    hits = [700] * 40 + [0] * 20 + [3] + [0] * 20
    (stop,) = change_points(days(81), hits, [8640] * 81)
    assert (stop.kind, stop.day, stop.bins_with_discards_after) == ("stop", FIRST + timedelta(40), 3)


def test_a_single_day_without_discards_is_no_stop():
    hits = np.full(300, 400)
    hits[170] = 0
    assert change_points(days(300), hits, [8640] * 300) == []


def test_several_changes_are_found():
    hits = [0] * 60 + [100] * 60 + [1000] * 60 + [0] * 60 + [50] * 60
    points = change_points(days(300), hits, [8640] * 300)
    assert [(point.kind, (point.day - FIRST).days) for point in points] == [
        ("begin", 60),
        ("level", 120),
        ("stop", 180),
        ("begin", 240),
    ]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(-5, 20_000), st.integers(-5, 10_000)), max_size=12))
def test_any_numbers_give_changes_or_none(rows):
    hits, bins = [row[0] for row in rows], [row[1] for row in rows]
    for point in change_points(days(len(rows)), hits, bins):
        assert point.first_day <= point.day <= point.last_day
        assert 0 <= point.before <= 1
        assert 0 <= point.after <= 1
        assert math.isfinite(point.evidence)


def test_a_day_without_telemetry_is_no_way_to_another_level():
    hits = [0] * 60 + [100] * 120 + [0] + [130] * 60 + [0] * 60
    bins = [8640] * 180 + [0] + [8640] * 120
    days = [date(2018, 1, 1) + timedelta(number) for number in range(len(hits))]
    assert [(point.kind, days.index(point.day)) for point in change_points(days, hits, bins)] == [
        ("begin", 60),
        ("stop", 241),
    ]
