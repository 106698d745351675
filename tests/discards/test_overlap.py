"""What is known of discards in tests, for intervals of any length: against a loop over seconds, and by hand."""

import datetime
from collections import Counter

import overlap_worlds
import pytest
import stores
from brimful.discards import analysis

MIDNIGHT = stores.MIDNIGHT


def found(samples, tests):
    prepared = stores.Prepared(lambda samples, tests: analysis.test_overlap(tests, samples))
    return {row["test_id"]: row for row in prepared.ask(samples=samples, tests=tests).to_pylist()}


def test_a_thousand_worlds_are_as_a_loop_over_seconds_finds():
    samples, tests, expected = overlap_worlds.a_thousand()
    rows = found(samples, tests)
    seen = {name: {key: row[key] for key in ("overlap", "discards", "coverage")} for name, row in rows.items()}
    assert seen == expected
    classes = Counter(one["overlap"] for one in expected.values())
    assert min(classes[name] for name in ("zero", "non-zero", "unknown")) > 400
    assert sum(0 < one["coverage"] < 1 for one in expected.values()) > 500


def at(second):
    return MIDNIGHT + datetime.timedelta(seconds=second)


def polled(interval, *, offset=0, with_discards=(), hole=(), machine="mlab1"):
    """Ten minutes of intervals; those with discards and those that are missing are told by their starts."""
    return [
        overlap_worlds.sample("dfw01", machine, 0, 0, 5.0 if start in with_discards else 0.0, usable=True)
        | {"bin_start": at(start), "bin_end": at(start + interval)}
        for start in range(offset, 600, interval)
        if start not in hole
    ]


@pytest.mark.parametrize(
    ("samples", "test", "overlap", "coverage"),
    [
        (polled(12, with_discards=[120]), (131, 140), "non-zero", 1),
        (polled(10, offset=3, hole=[203]), (200.5, 219.5), "unknown", 9 / 19),
        (polled(5, with_discards=[200]), (207, 217), "zero", 1),
        (polled(1, with_discards=[200]), (202, 212), "zero", 1),
        (polled(15, with_discards=[150]), (166, 170), "zero", 1),
        (polled(600), (10, 20), "zero", 1),
        (polled(300, with_discards=[300]), (290, 300), "zero", 1),
        (polled(300, with_discards=[300]), (290, 300.5), "non-zero", 1),
        (polled(60, hole=[60]), (50, 70), "unknown", 0.5),
        (polled(10), (30, 30), "zero", 1),
        (polled(10, hole=[30]), (30, 30), "unknown", 0),
        (polled(10, with_discards=[30]), (30, 30), "non-zero", 1),
        (polled(10, with_discards=[20]), (30, 30), "zero", 1),
        (polled(10), (700, 710), "unknown", 0),
    ],
)
def test_intervals_of_any_length(samples, test, overlap, coverage):
    rows = found(samples, [stores.download("test", "mlab1", *map(at, test))])
    assert (rows["test"]["overlap"], rows["test"]["coverage"]) == (overlap, pytest.approx(coverage, abs=1e-12))


def test_tests_on_complete_telemetry_off_the_ten_seconds_are_known():
    samples = polled(10, offset=3)
    tests = [stores.download(f"{n}", "mlab1", at(10 + n / 2), at(23 + n / 2)) for n in range(1000)]
    assert {row["overlap"] for row in found(samples, tests).values()} == {"zero"}


@pytest.mark.parametrize(
    ("hole", "discards"),
    [
        ([], 0),  # mlab2 itself knows all, and had none.
        ([200], 5),  # mlab1 knows more.
    ],
)
def test_of_the_machines_of_a_site_that_which_knows_most_counts(hole, discards):
    samples = polled(10, with_discards=[200]) + polled(10, hole=hole, machine="mlab2")
    rows = found(samples, [stores.download("test", "mlab2", at(200), at(215))])
    assert (rows["test"]["discards"], rows["test"]["coverage"]) == (discards, 1)
