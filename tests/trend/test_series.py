"""Rows of a store as a series: one entry for each version, in order."""

import random
from statistics import median

import pytest
from brimful.trend.series import assemble

LABELS = {0: {}, 1: {"kernel": "6.1"}, 2: {"kernel": "6.2"}}


def series(*rows):
    """Of rows (version, value, time, labels), of which the last two may be left out."""
    full = [
        (version, at[0] if at else None, value, 0.0, None if value else "failed", at[1] if at[1:] else 0, "")
        for version, value, *at in rows
    ]
    return assemble(id=1, key={"name": "s"}, unit="s", worse="higher", rows=full, label_sets=LABELS)


def test_values_of_a_version_are_one_with_a_spread():
    (value,) = series(("a", 3.0), ("a", 1.0), ("a", 2.0), ("a", None))
    assert (value.value, value.least, value.most, value.count, value.problem) == (2.0, 1.0, 3.0, 3, None)
    assert value.error == pytest.approx(0.40, abs=0.01)


def test_numbers_go_by_number_and_others_by_time():
    assert series(("1.10", 1.0), ("1.9", 1.0), ("v1.2", 1.0)).versions == ["v1.2", "1.9", "1.10"]
    assert series(("b", 1.0, 3.0), ("a", 1.0, 1.0), ("c", 1.0, 2.0)).versions == ["a", "c", "b"]


def test_what_has_no_time_stands_where_it_was_added():
    assert series(("x", 1.0), ("b", 1.0, 2.0), ("y", 1.0), ("a", 1.0, 1.0)).versions == ["x", "a", "b", "y"]
    assert series(("z", 1.0), ("a", 1.0)).versions == ["z", "a"]


def test_a_version_measured_again_stays_in_its_place():
    found = series(("a", 1.0, 1.0, 1), ("b", 1.0, 2.0), ("a", 3.0, 9.0, 2))
    assert found.versions == ["a", "b"]
    assert (found[0].value, found[0].at, found[0].labels) == (2.0, 1.0, {"kernel": "6.2"})


def test_a_failed_version_has_a_problem_and_no_zero():
    (value,) = series(("a", None))
    assert (value.value, value.least, value.count, value.problem) == (None, None, 0, "failed")


def test_columns_are_those_of_a_naive_twin():
    chance = random.Random(1)
    rows = [(f"{chance.randrange(30)}.x", chance.uniform(1, 2), chance.uniform(0, 9)) for _ in range(80)]
    found = series(*rows)
    assert sorted(found.versions) == sorted({version for version, *_ in rows})
    assert found.times == sorted(found.times)
    for value in found:
        of_version = [row for row in rows if row[0] == value.version]
        assert value.value == median(row[1] for row in of_version)
        assert value.at == min(row[2] for row in of_version)


def test_an_empty_series_has_no_entries():
    assert len(series()) == 0
    assert list(series()) == []
