"""Every question equals its naive twin, in both modes."""

import datetime
import functools

import pytest
import stores
import twins
from brimful.discards import analysis
from brimful.discards.analysis import Mode
from hypothesis import given, settings

MODES = pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)
EXAMPLES = settings(max_examples=25)
SITE_DAY = ["site", "day"]
DAY = stores.MIDNIGHT.date()
BEFORE, AFTER = (DAY - datetime.timedelta(days=1),) * 2, (DAY, DAY)
LEAST = 2

QUESTIONS = {
    "uplink rate": lambda samples, tests, mode: analysis.daily_uplink_rate(samples, mode=mode),
    "loss ratio": lambda samples, tests, mode: analysis.daily_loss_ratio(samples, mode=mode),
    "download rate": lambda samples, tests, mode: analysis.daily_download_rate(
        tests, excluded_clients=stores.MONITORS, mode=mode
    ),
    "retransmission ratio": lambda samples, tests, mode: analysis.daily_retransmission_ratio(
        tests, excluded_clients=stores.MONITORS, mode=mode
    ),
    "cohort": lambda samples, tests, mode: analysis.clients_before_after(
        tests, BEFORE, AFTER, LEAST, excluded_clients=stores.MONITORS, mode=mode
    ),
    "overlap": lambda samples, tests, mode: analysis.test_overlap(tests, samples, mode=mode),
    "counts": lambda samples, tests, mode: analysis.daily_test_counts(analysis.test_overlap(tests, samples, mode=mode)),
    "dose response": lambda samples, tests, mode: analysis.dose_response(
        analysis.test_overlap(tests, samples, mode=mode)
    ),
}


@functools.cache
def prepared(name, mode):
    return stores.Prepared(lambda samples, tests: QUESTIONS[name](samples, tests, mode))


@MODES
@EXAMPLES
@given(rows=stores.sample_rows(metrics=(analysis.OCTETS,)))
def test_the_uplink_rate_equals_its_twin(mode, rows):
    found = prepared("uplink rate", mode).ask(samples=rows)
    stores.assert_same(found, twins.daily_uplink_rate(rows, mode), SITE_DAY)


@MODES
@EXAMPLES
@given(rows=stores.sample_rows(metrics=(analysis.DISCARDS, analysis.UNICAST)))
def test_the_loss_ratio_equals_its_twin(mode, rows):
    found = prepared("loss ratio", mode).ask(samples=rows)
    stores.assert_same(found, twins.daily_loss_ratio(rows, mode), SITE_DAY)


@MODES
@EXAMPLES
@given(rows=stores.speed_tests())
def test_the_download_rate_equals_its_twin(mode, rows):
    found = prepared("download rate", mode).ask(tests=rows)
    stores.assert_same(found, twins.daily_download_rate(rows, stores.MONITORS, mode), SITE_DAY)


@MODES
@EXAMPLES
@given(rows=stores.speed_tests())
def test_the_retransmission_ratio_equals_its_twin(mode, rows):
    found = prepared("retransmission ratio", mode).ask(tests=rows)
    kind = "server_name" if mode is Mode.REPORT else "retransmission_unit"
    expected = twins.daily_retransmission_ratio(rows, stores.MONITORS, mode)
    stores.assert_same(found, expected, [*SITE_DAY, kind])


@MODES
@EXAMPLES
@given(rows=stores.speed_tests(most=40, clients=2))
def test_the_cohort_equals_its_twin(mode, rows):
    found = prepared("cohort", mode).ask(tests=rows)
    expected = twins.clients_before_after(rows, BEFORE, AFTER, LEAST, stores.MONITORS, mode)
    keys = ["site", "period", "client", *(["machine"] if mode is Mode.REPORT else [])]
    stores.assert_same(found, expected, keys)


@MODES
@settings(max_examples=60)
@given(samples=stores.sample_rows(metrics=(analysis.DISCARDS,)), tests=stores.speed_tests())
def test_the_overlap_equals_a_check_of_every_pair(mode, samples, tests):
    found = prepared("overlap", mode).ask(samples=samples, tests=tests)
    stores.assert_same(found, twins.test_overlap(tests, samples, mode), ["test_id"])


@MODES
@EXAMPLES
@given(samples=stores.sample_rows(metrics=(analysis.DISCARDS,)), tests=stores.speed_tests(most=40, clients=1))
def test_counts_and_dose_response_follow_from_the_overlap(mode, samples, tests):
    expected = twins.test_overlap(tests, samples, mode)
    counts = [
        {"site": site, "day": day, "overlap": kind, "tests": len(rows)}
        for (site, day, kind), rows in twins.grouped(expected, "site", "day", "overlap").items()
    ]
    found = prepared("counts", mode).ask(samples=samples, tests=tests)
    stores.assert_same(found, counts, ["site", "day", "overlap"])
    found = prepared("dose response", mode).ask(samples=samples, tests=tests)
    stores.assert_same(found, twins.dose_response(expected), ["site", "client"])
