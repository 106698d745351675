"""Comparisons of runs on block devices."""

import json
import re

import msgspec
import pytest
from brimful.errors import UsageError
from brimful.report.iocost import comparison
from test_html_runs import BASE_MODEL, EDGES, made_run, made_series, made_solution


def only(ours, against, **options):
    sides = [
        [made_run(solutions=[made_solution("a", *value) if isinstance(value, tuple) else value]) for value in side]
        for side in (ours, against)
    ]
    return comparison.build(*sides, **options).solutions[0]


def solved(scale, *interval):
    return made_solution("a", scale, interval=interval or None)


@pytest.mark.parametrize(
    ("new", "old", "verdict", "overlap"),
    [
        (solved(0.5), solved(0.5), "same", None),
        (solved(0.991), solved(1.0), "same", None),
        (solved(0.98), solved(1.0), "regression", None),
        (solved(1.0), solved(0.98), "improvement", None),
        (solved(0.5, 0.4, 0.6), solved(0.7, 0.6, 0.8), "unclear", True),
        (solved(0.5, 0.4, 0.59), solved(0.7, 0.6, 0.8), "regression", False),
        (solved(0.7, 0.6, 0.8), solved(0.5, 0.4, 0.59), "improvement", False),
        (solved(0.5, 0.4, 0.7), solved(0.7), "unclear", True),
        (solved(None), solved(0.7), "regression", None),
        (solved(0.7), solved(None), "improvement", None),
        (solved(None), solved(None), "same", None),
    ],
)
def test_verdicts(new, old, verdict, overlap):
    found = only([new], [old])
    assert (found.verdict, found.intervals_overlap) == (verdict, overlap)
    assert comparison.build([made_run(solutions=[new])], [made_run(solutions=[old])]).regressed == (
        verdict == "regression"
    )


def test_several_runs_span_an_interval():
    found = only([solved(0.4), solved(0.9)], [solved(0.8, 0.75, 0.85), solved(None)])
    assert found.ours.scale_factor == pytest.approx(0.6)
    assert found.ours.interval == (0.4, 0.9)
    assert (found.against.solved, found.against.runs) == (1, 2)
    assert found.verdict == "unclear"


def test_tolerance_is_relative():
    assert only([solved(0.45)], [solved(0.5)], tolerance=0.2).verdict == "same"
    assert only([solved(0.45)], [solved(0.5)], tolerance=0.05).verdict == "regression"


def test_numbers_that_differ_are_named():
    found = only([solved(0.5)], [solved(1.0)])
    assert [(each.name, each.ours, each.against) for each in found.numbers] == [
        (name, BASE_MODEL[name] / 2, BASE_MODEL[name]) for name in BASE_MODEL
    ]


def test_a_lost_solution_says_why():
    found = only([solved(None)], [solved(0.7)])
    assert found.sentence == "The solution is lost; without one now: aMOF has no data."


def series_of(new, old):
    sides = [made_run(series=[made_series("MOF", points)], solutions=[]) for points in (new, old)]
    return comparison.build([sides[0]], [sides[1]]).series[0]


def test_lines_are_compared_where_both_are():
    found = series_of([(0.0, 1.0), (100.0, 2.0)], [(50.0, 1.5), (150.0, 1.5)])
    assert (found.low, found.high, found.at) == (50.0, 100.0, 100.0)
    assert found.difference == pytest.approx(0.5)


def test_the_greatest_difference_may_be_at_a_vertex_of_either():
    bent, straight = [(0.0, 1.0), (30.0, 3.0), (100.0, 1.0)], [(0.0, 1.0), (100.0, 1.0)]
    sides = [made_run(series=[made_series("MOF", points)], solutions=[]) for points in (bent, straight)]
    fit = msgspec.structs.replace(sides[0].fits[0], vertices=bent)
    sides[0] = msgspec.structs.replace(sides[0], fits=[fit])
    for ours, against, difference in ((sides[0], sides[1], 2.0), (sides[1], sides[0], -2.0)):
        found = comparison.build([ours], [against]).series[0]
        assert (found.at, found.difference) == (30.0, difference)


@pytest.mark.parametrize("old", [[], [(60.0, 1.0), (70.0, 1.0)]])
def test_lines_that_share_no_vrate_have_no_difference(old):
    found = series_of([(0.0, 1.0), (50.0, 2.0)], old)
    assert (found.at, found.difference) == (None, None)


def test_other_devices_are_refused_unless_allowed():
    other = made_run(run_id="other", device={"model": "Made 2"})
    with pytest.raises(UsageError, match="the device is 'Made 2' in one and 'Made 1' in the other") as refused:
        comparison.build([other], [made_run()])
    assert "\n" not in str(refused.value)
    allowed = comparison.build([other], [made_run()], any_device=True)
    assert "device differs: Made 1 | Made 2" in allowed.notes


def test_runs_of_searches_and_nothing_are_refused():
    search = msgspec.structs.replace(made_run(), run=msgspec.structs.replace(made_run().run, subject="search"))
    with pytest.raises(UsageError, match="is no run on a block device"):
        comparison.build([made_run()], [search])
    with pytest.raises(UsageError, match="nothing to compare"):
        comparison.build([], [made_run()])


def test_other_base_models_are_noted():
    other = made_run(base_model={**BASE_MODEL, "rbps": 1})
    assert any("base models differ" in note for note in comparison.build([other], [made_run()]).notes)
    assert not comparison.build([made_run()], [made_run()]).notes


@pytest.mark.parametrize("name", EDGES)
def test_any_run_can_be_shown(name):
    result = comparison.build([EDGES[name]], [made_run()], any_device=True)
    assert comparison.render(result).endswith("\n")
    content = json.loads(comparison.to_json(result))
    assert (content["kind"], content["subject"]) == ("comparison", "block-device")
    assert content["regressed"] == result.regressed


def test_text_shows_solutions_numbers_and_lines():
    better = made_run(run_id="new", solutions=[made_solution("a", 0.9, interval=(0.85, 0.95))])
    shown = comparison.render(comparison.build([better], [made_run(solutions=[made_solution("a", 0.7)])]))
    assert shown.startswith("Made 1: new against made\n")
    assert "a 90.0 % 85.0 % to 95.0 % 70.0 % - 1.286 improvement" in re.sub(" +", " ", shown)
    assert "a: An improvement. The scale factor is 28.6 % higher, and the intervals do not overlap." in shown
    assert "rbps 900000000 and 700000000 (1.286)" in shown
    assert "rlat-99-mean" in shown
