"""The state of a series, by what was measured and what people said."""

import math

import pytest
from brimful.trend.judgement import Settings
from histories import levels, said, series_of, word


def test_a_steady_series_is_normal():
    found = said(levels((100, 40)))
    assert (found.state, found.text, found.version) == ("normal", "at its level", "39")
    assert [(level.start, level.end) for level in found.levels] == [(0, 40)]


def test_few_versions_are_not_judged():
    found = said([100.0] * 5 + [300.0] * 6)
    assert (found.state, found.text) == ("normal", "11 of the 12 versions that a verdict needs")


@pytest.mark.parametrize(("worse", "state"), [("higher", "regression"), ("lower", "progression")])
def test_a_change_is_what_the_series_says_is_worse(worse, state):
    found = said(levels((100, 30), (105, 5)), worse=worse)
    assert found.state == state
    (change,) = found.changes
    assert (change.kind, change.standing, change.first_bad, change.last_good) == (state, "open", "30", "29")
    assert change.ratio_low < 1.05 < change.ratio_high
    assert " % higher (" in found.text
    assert "since 30, last good 29" in found.text


def test_a_progression_is_news_for_a_while_only():
    assert said(levels((100, 30), (95, 11))).state == "progression"
    assert said(levels((100, 30), (95, 12))).state == "normal"


def test_a_regression_stays_until_it_is_undone():
    assert said(levels((100, 30), (105, 40))).state == "regression"
    found = said(levels((100, 30), (105, 20), (100, 20)))
    assert found.state == "normal"
    assert [change.standing for change in found.changes] == ["undone", "open"]


def test_a_regression_that_is_undone_in_part_stays():
    found = said(levels((100, 30), (110, 20), (105, 20)))
    assert (found.state, [change.standing for change in found.changes]) == ("regression", ["open", "open"])


def test_a_change_within_the_tolerance_is_normal():
    values = levels((100, 30), (103, 30))
    assert said(values).state == "regression"
    found = said(values, settings=Settings(tolerance=0.03))
    assert (found.state, found.changes[0].standing) == ("normal", "within tolerance")


@pytest.mark.parametrize(("value", "state"), [(103, "suspected regression"), (97, "suspected progression")])
def test_a_value_far_from_its_level_is_suspected(value, state):
    found = said([*levels((100, 40)), value])
    assert (found.state, found.changes) == (state, [])
    assert "standard deviations" in found.text


def test_of_many_series_a_value_must_be_farther_to_be_suspected():
    values = [*levels((100, 40)), 101.6]
    assert said(values).state == "suspected regression"
    assert said(values, all_series=10_000).state == "normal"


def test_an_outlier_that_is_not_the_newest_is_nothing():
    assert said([*levels((100, 40)), 150.0, 100.0]).state == "normal"


def test_a_failed_newest_version_has_no_value_and_is_no_zero():
    found = said([*levels((100, 40)), None])
    assert (found.state, found.text, found.value) == ("no value", "40 has no value: failed", None)
    assert found.changes == []


def test_failed_versions_between_are_left_out_and_places_stay():
    values = levels((100, 30), (105, 10))
    values[10:20] = [None] * 10
    found = said(values)
    assert (found.changes[0].index, found.levels[1].start) == (30, 30)


def test_no_versions_are_no_value():
    assert said([]).state == "no value"


def test_an_accepted_change_is_accepted_until_its_day():
    values = levels((100, 30), (105, 20))
    acceptance = word("accept", "30", versions=["30"], until="2026-06-01")
    assert said(values, acceptance).state == "accepted"
    assert said(values, acceptance, today="2026-06-02").state == "regression"


def test_another_change_than_the_accepted_one_is_open():
    found = said(levels((100, 30), (105, 20), (112, 10)), word("accept", "30"))
    assert (found.state, [change.standing for change in found.changes]) == ("regression", ["accepted", "open"])


def test_an_acceptance_holds_when_the_place_moves_a_little():
    values = levels((100, 30), (105, 20))
    assert said(values, word("accept", "31", versions=["30", "31", "32"])).state == "accepted"
    assert said(values, word("accept", "33", versions=["32", "33"])).state == "regression"


def test_a_reset_series_begins_anew():
    values = levels((100, 30), (105, 20))
    found = said(values, word("reset", "35"))
    assert (found.state, found.levels[0].start) == ("normal", 35)
    assert said(values, word("reset", "no such version")).state == "regression"


@pytest.mark.parametrize("factor", [1000, 1 / 1000, 1e6, 1024, 1e9])
def test_a_unit_that_changes_is_no_regression(factor):
    found = said(levels((100, 30), (100 * factor, 20)))
    assert (found.state, found.changes[0].standing) == ("no value", "another unit")
    assert "has the unit changed? Accept it, or reset the series" in found.text
    assert said(levels((100, 30), (100 * factor, 20)), word("accept", "30")).state != "no value"


def test_a_large_change_that_is_no_unit_is_a_regression():
    assert said(levels((100, 30), (90_000, 20))).text.startswith("900")


def test_labels_that_changed_with_a_level_are_given():
    labels = [{"kernel": "6.1", "brimful": "1"}] * 30 + [{"kernel": "6.2", "brimful": "1"}] * 10
    found = said(levels((100, 30), (105, 10)), labels=labels)
    assert found.changes[0].changed_labels == {"kernel": ("6.1", "6.2")}


def test_what_is_said_of_the_first_versions_knows_nothing_of_later_ones():
    from brimful.trend.judging import judge

    values = levels((100, 30), (105, 20))
    for count in (0, 11, 29, 33, 50):
        of_part = judge(series_of(values), (), Settings(), all_series=1, today="", upto=count)
        of_whole = judge(series_of(values[:count]), (), Settings(), all_series=1, today="")
        assert of_part == of_whole


def test_extreme_values_are_judged():
    for values in ([5e-324] * 20, [1.7e308] * 20, [1e-300, 1e300] * 10, [1.0] * 19 + [1e308]):
        assert math.isfinite(said(values).deviation)
