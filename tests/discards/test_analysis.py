"""Every question equals its naive twin, in both modes."""

import datetime
import functools

import pytest
import questions
import stores
import twins
from brimful.discards import analysis
from brimful.discards.modes import Mode
from hypothesis import given, settings

MODES = pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)
EXAMPLES = settings(max_examples=25)
TODAY = stores.MIDNIGHT.date()
BEFORE, AFTER = (TODAY - datetime.timedelta(days=1),) * 2, (TODAY, TODAY)
LEAST = 2
QUESTIONS = questions.all_questions(TODAY, LEAST, stores.MONITORS)


@functools.cache
def prepared(name, mode):
    return stores.Prepared(lambda samples, tests: QUESTIONS[name](samples, tests, mode))


def check(name, mode, expected, **rows):
    questions.assert_same(name, prepared(name, mode).ask(**rows).to_pylist(), expected)


@MODES
@EXAMPLES
@given(rows=stores.sample_rows(metrics=(analysis.OCTETS,)))
def test_the_uplink_rate_equals_its_twin(mode, rows):
    check("daily_uplink_rate", mode, twins.daily_uplink_rate(rows, mode), samples=rows)


@MODES
@EXAMPLES
@given(rows=stores.sample_rows(metrics=(analysis.DISCARDS, analysis.UNICAST)))
def test_the_loss_ratio_equals_its_twin(mode, rows):
    check("daily_loss_ratio", mode, twins.daily_loss_ratio(rows, mode), samples=rows)


@MODES
@EXAMPLES
@given(rows=stores.speed_tests())
def test_the_download_rate_equals_its_twin(mode, rows):
    check("daily_download_rate", mode, twins.daily_download_rate(rows, stores.MONITORS, mode), tests=rows)


@MODES
@EXAMPLES
@given(rows=stores.speed_tests())
def test_the_retransmission_ratio_equals_its_twin(mode, rows):
    expected = twins.daily_retransmission_ratio(rows, stores.MONITORS, mode)
    check("daily_retransmission_ratio", mode, expected, tests=rows)


@MODES
@EXAMPLES
@given(rows=stores.speed_tests(most=40, clients=2))
def test_the_cohort_equals_its_twin(mode, rows):
    expected = twins.clients_before_after(rows, BEFORE, AFTER, LEAST, stores.MONITORS, mode)
    check("clients_before_after", mode, expected, tests=rows)


@MODES
@settings(max_examples=60)
@given(samples=stores.sample_rows(metrics=(analysis.DISCARDS,)), tests=stores.speed_tests())
def test_the_overlap_equals_a_check_of_every_pair(mode, samples, tests):
    check("test_overlap", mode, twins.test_overlap(tests, samples, mode), samples=samples, tests=tests)


@MODES
@pytest.mark.parametrize("seed", range(4))
def test_the_overlap_with_pollers_off_the_ten_seconds_equals_a_check_of_every_pair(mode, seed):
    samples, tests = stores.dense(seed)
    check("test_overlap", mode, twins.test_overlap(tests, samples, mode), samples=samples, tests=tests)


@MODES
@EXAMPLES
@given(samples=stores.sample_rows(metrics=(analysis.DISCARDS,)), tests=stores.speed_tests(most=40, clients=1))
def test_counts_and_dose_response_follow_from_the_overlap(mode, samples, tests):
    overlap = twins.test_overlap(tests, samples, mode)
    check("daily_test_counts", mode, twins.daily_test_counts(overlap), samples=samples, tests=tests)
    check("dose_response", mode, twins.dose_response(overlap), samples=samples, tests=tests)


@pytest.mark.parametrize(
    ("bins", "nearest_rank", "median"),
    [
        (1, 1, 1),
        (2, 1, 1.5),
        (3, 2, 2),
        (100, 49, 50.5),
        (101, 49, 51),
        (102, 50, 51.5),
        (202, 98, 101.5),
        (203, 99, 102),
    ],
)
def test_the_middle_of_whole_numbers_is_the_known_one(bins, nearest_rank, median):
    def sample(number):
        start = stores.MIDNIGHT + (number * 37 % bins) * stores.TEN_S
        place = {"site": "dfw01", "day": start.date(), "machine": "mlab1", "metric": analysis.OCTETS}
        return place | {
            "bin_start": start,
            "bin_end": start,
            "span_s": 10.0,
            "value": number * 1.25,
            "flags": 0,
            "usable": True,
        }

    rows = [sample(number) for number in range(1, bins + 1)]
    for mode, expected in ((Mode.REPORT, nearest_rank), (Mode.CORRECT, median)):
        (row,) = prepared("daily_uplink_rate", mode).ask(samples=rows).to_pylist()
        assert (row["rate_bps"], row["bins"]) == (pytest.approx(expected, rel=1e-12), bins)


@pytest.mark.parametrize(
    ("discards", "packets", "in_report"),
    [(1, 101, True), (15, 1000, False), (1, 100, False), (5, 5, False), (0, 9, True)],
)
def test_the_report_drops_days_of_much_loss_and_we_do_not(discards, packets, in_report):
    start = stores.MIDNIGHT
    place = {"site": "dfw01", "day": start.date(), "machine": "mlab1", "bin_start": start, "bin_end": start}
    counted = {analysis.DISCARDS: float(discards), analysis.UNICAST: float(packets)}
    rows = [
        place | {"metric": metric, "span_s": 10.0, "value": value, "flags": 0, "usable": True}
        for metric, value in counted.items()
    ]
    assert prepared("daily_loss_ratio", Mode.REPORT).ask(samples=rows).num_rows == in_report
    (row,) = prepared("daily_loss_ratio", Mode.CORRECT).ask(samples=rows).to_pylist()
    assert row["loss_ratio"] == discards / packets


@MODES
@pytest.mark.parametrize(("before", "after"), [(2, 2), (2, 1), (1, 2), (3, 2)])
def test_a_cohort_has_enough_tests_in_both_periods(mode, before, after):
    minute = datetime.timedelta(minutes=1)
    starts = [stores.MIDNIGHT - number * minute for number in range(1, before + 1)]
    starts += [stores.MIDNIGHT + number * minute for number in range(after)]
    length = datetime.timedelta(seconds=10)
    tests = [
        stores.download(f"test-{number}", "mlab1", start, start + length) | {"server_name": "mlab1.dfw01"}
        for number, start in enumerate(starts)
    ]
    found = prepared("clients_before_after", mode).ask(tests=tests).to_pylist()
    expected = {"before": before, "after": after} if min(before, after) >= LEAST else {}
    assert {row["period"]: row["tests"] for row in found} == expected
