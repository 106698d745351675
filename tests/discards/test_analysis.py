"""Every question equals its naive twin, in both modes."""

import datetime

import ibis
import pytest
import stores
import twins
from brimful.discards import analysis
from brimful.discards.analysis import Mode
from hypothesis import given, settings

MODES = pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)
EXAMPLES = settings(max_examples=40)
SITE_DAY = ["site", "day"]


@pytest.fixture(scope="module")
def backend():
    return ibis.duckdb.connect()


def ask(backend, expression):
    return backend.to_pyarrow(expression)


def of_samples(rows):
    return ibis.memtable(stores.table("samples", rows))


def of_tests(rows):
    return ibis.memtable(stores.table("tests", rows))


@MODES
@EXAMPLES
@given(rows=stores.sample_rows(metrics=(analysis.OCTETS,)))
def test_the_uplink_rate_equals_its_twin(backend, mode, rows):
    found = ask(backend, analysis.daily_uplink_rate(of_samples(rows), mode=mode))
    stores.assert_same(found, twins.daily_uplink_rate(rows, mode), SITE_DAY)


@MODES
@EXAMPLES
@given(rows=stores.sample_rows(metrics=(analysis.DISCARDS, analysis.UNICAST)))
def test_the_loss_ratio_equals_its_twin(backend, mode, rows):
    found = ask(backend, analysis.daily_loss_ratio(of_samples(rows), mode=mode))
    stores.assert_same(found, twins.daily_loss_ratio(rows, mode), SITE_DAY)


@MODES
@EXAMPLES
@given(rows=stores.speed_tests())
def test_the_download_rate_equals_its_twin(backend, mode, rows):
    found = ask(backend, analysis.daily_download_rate(of_tests(rows), excluded_clients=stores.MONITORS, mode=mode))
    stores.assert_same(found, twins.daily_download_rate(rows, stores.MONITORS, mode), SITE_DAY)


@MODES
@EXAMPLES
@given(rows=stores.speed_tests())
def test_the_retransmission_ratio_equals_its_twin(backend, mode, rows):
    question = analysis.daily_retransmission_ratio(of_tests(rows), excluded_clients=stores.MONITORS, mode=mode)
    kind = "server_name" if mode is Mode.REPORT else "retransmission_unit"
    expected = twins.daily_retransmission_ratio(rows, stores.MONITORS, mode)
    stores.assert_same(ask(backend, question), expected, [*SITE_DAY, kind])


@MODES
@EXAMPLES
@given(rows=stores.speed_tests(most=40, clients=2))
def test_the_cohort_equals_its_twin(backend, mode, rows):
    day = stores.MIDNIGHT.date()
    before, after = (day - datetime.timedelta(days=1),) * 2, (day, day)
    question = analysis.clients_before_after(
        of_tests(rows), before, after, 2, excluded_clients=stores.MONITORS, mode=mode
    )
    expected = twins.clients_before_after(rows, before, after, 2, stores.MONITORS, mode)
    keys = ["site", "period", "client", *(["machine"] if mode is Mode.REPORT else [])]
    stores.assert_same(ask(backend, question), expected, keys)


@MODES
@settings(max_examples=100)
@given(samples=stores.sample_rows(metrics=(analysis.DISCARDS,)), tests=stores.speed_tests())
def test_the_overlap_equals_a_check_of_every_pair(backend, mode, samples, tests):
    question = analysis.test_overlap(of_tests(tests), of_samples(samples), mode=mode)
    stores.assert_same(ask(backend, question), twins.test_overlap(tests, samples, mode), ["test_id"])


@EXAMPLES
@given(samples=stores.sample_rows(metrics=(analysis.DISCARDS,)), tests=stores.speed_tests(most=40, clients=1))
def test_counts_and_dose_response_follow_from_the_overlap(backend, samples, tests):
    overlap = analysis.test_overlap(of_tests(tests), of_samples(samples))
    expected = twins.test_overlap(tests, samples, Mode.CORRECT)
    counts = [
        {"site": site, "day": day, "overlap": kind, "tests": len(rows)}
        for (site, day, kind), rows in twins.grouped(expected, "site", "day", "overlap").items()
    ]
    stores.assert_same(ask(backend, analysis.daily_test_counts(overlap)), counts, ["site", "day", "overlap"])
    found = ask(backend, analysis.dose_response(overlap))
    stores.assert_same(found, twins.dose_response(expected), ["site", "client"])
