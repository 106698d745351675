"""What is decided from visits: groups that no test parts, ranges, and each answer."""

import itertools

import numpy as np
import pytest
from brimful.bisection.decisions import (
    CANNOT_SAY,
    CONFIRM,
    CONTROL,
    ENDS,
    NONE,
    ONE,
    SEARCH,
    Costs,
    Next,
    Settings,
    decide,
    groups_of,
    in_range,
)
from brimful.statistics.belief import History, Visit, believe
from hypothesis import given
from hypothesis import strategies as st

COSTS = Costs(build_s=60.0, visit_s=30.0)
EXACT = {"pairs": 20, "deviation": 0.005}


def next_of(history, visits, *, broken=(), made=(), costs=COSTS, **options):
    return decide(history, visits, settings=Settings(**options), costs=costs, made=made, broken=broken)[0]


def visits_of(*rows):
    return [Visit(build, beside, mean, **EXACT) for build, beside, mean in rows]


SHOWN = visits_of(*[(8, 0, -0.05)] * 4, (0, 0, 0.0), (0, 0, 0.001))


def test_the_ends_come_first():
    history = History.linear(8)
    assert next_of(history, []) == Next(8, 0, ENDS)
    assert next_of(history, SHOWN[:3]) == Next(0, 0, CONTROL)
    assert next_of(history, SHOWN).purpose == SEARCH
    assert next_of(history, SHOWN).build == 4


def test_a_build_that_is_made_is_preferred_to_another():
    step = next_of(History.linear(8), SHOWN, made=[3])
    assert step.build == 3
    assert next_of(History.linear(8), SHOWN, made=[3], costs=Costs(build_s=0.0, visit_s=30.0)).build == 4


def test_what_is_believed_is_confirmed_beside_its_parent():
    found = SHOWN + visits_of(*[(4, 0, 0.0)] * 3, *[(5, 0, -0.05)] * 3)
    step = next_of(History.linear(8), found)
    assert (step.build, step.beside, step.purpose) == (5, 4, CONFIRM)
    answer = next_of(History.linear(8), found + visits_of((5, 4, -0.05), (5, 4, -0.05)))
    assert (answer.kind, answer.builds) == (ONE, ((5,),))


def test_a_parent_that_is_broken_is_passed_over():
    found = SHOWN + visits_of(*[(3, 0, 0.0)] * 3, *[(5, 0, -0.05)] * 3)
    step = next_of(History.linear(8), found, broken=[4])
    assert (step.build, step.beside) == (5, 3)
    answer = next_of(History.linear(8), found + visits_of((5, 3, -0.05), (5, 3, -0.05)), broken=[4])
    assert (answer.kind, answer.builds) == ("range", ((4, 5),))


def test_a_good_build_that_differs_from_itself_ends_it():
    strays = visits_of(*[(8, 0, -0.05)] * 4, (0, 0, -0.05), (0, 0, -0.05))
    assert next_of(History.linear(8), strays).kind == CANNOT_SAY


def test_a_change_within_the_tolerance_is_none():
    alike = visits_of(*[(8, 0, 0.0005), (8, 0, -0.0005)] * 4, (0, 0, 0.0), (0, 0, 0.0))
    assert next_of(History.linear(8), alike).kind == NONE
    assert next_of(History.linear(8), alike, tolerance=0.0005).purpose == ENDS


def test_a_change_that_is_not_found_again_is_none():
    def noisy(*means):
        return [Visit(8, 0, mean, pairs=20, deviation=0.05) for mean in means]

    controls = visits_of((0, 0, 0.0), (0, 0, 0.0))
    seen = noisy(-0.035, -0.04, -0.045, -0.04) + controls
    assert next_of(History.linear(8), seen).purpose == SEARCH
    assert next_of(History.linear(8), seen + noisy(*[0.015] * 4)).purpose == ENDS
    assert next_of(History.linear(8), seen + noisy(*[0.005] * 32)).kind == NONE


def test_builds_that_cannot_be_visited_are_never_next():
    history = History.linear(8)
    for broken in ([4], [3, 4, 5], [1, 2, 3, 4, 5, 6, 7]):
        step = next_of(history, SHOWN, broken=broken)
        assert not isinstance(step, Next) or step.build not in broken


@given(st.sets(st.integers(1, 9)), st.booleans())
def test_groups_are_those_that_no_test_parts(broken, is_merged):
    parents = [(0,), (1,), (1,), (2, 3), (4,), (4,), (5, 6), (7,), (8,), (9,)] if is_merged else None
    history = History(parents) if parents else History.linear(10)
    testable = tuple(build for build in range(11) if build not in broken)
    groups = groups_of(history, testable)
    assert sorted(itertools.chain(*groups)) == list(range(1, 11))
    number = {build: place for place, group in enumerate(groups) for build in group}
    for one, other in itertools.combinations(range(1, 11), 2):
        parted = any(history.has[build, one] != history.has[build, other] for build in testable)
        assert (number[one] == number[other]) == (not parted)


@given(st.lists(st.tuples(st.integers(1, 6), st.floats(-0.06, 0.02)), min_size=3, max_size=8), st.floats(0.5, 0.99))
def test_a_range_is_the_shortest_that_holds_all_changes(rows, confidence):
    visits = visits_of(*[(build, 0, mean) for build, mean in rows])
    belief = believe(History.linear(6), visits)
    answer = in_range(belief, confidence, "")
    low, high = answer.builds[0][0], answer.builds[0][-1]

    def inside(first, last):
        outside = sum(belief.one[build] for build in range(7) if not first <= build <= last)
        outside += belief.first[1:first].sum() + belief.second[last + 1 :].sum()
        return 1 - belief.none - outside

    fitting = [
        last - first for first in range(1, 7) for last in range(first, 7) if inside(first, last) >= confidence + 1e-9
    ]
    assert answer.probability == pytest.approx(max(0.0, inside(low, high)), abs=1e-6)
    if fitting:
        assert high - low <= min(fitting)
        assert answer.probability >= confidence - 1e-9


def test_a_long_history_tries_fewer_builds_and_parts_it_as_well():
    history = History.linear(1000)
    visits = visits_of(*[(1000, 0, -0.05)] * 4, (0, 0, 0.0), (0, 0, 0.0))
    assert abs(next_of(history, visits).build - 500) <= 75
    assert np.isfinite(believe(history, visits).one).all()
