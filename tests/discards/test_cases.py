"""The smallest inputs that once gave wrong answers, with the right ones."""

import json

import pytest
from brimful.discards.capacities import Capacities
from brimful.discards.telemetry.source import Reading
from telemetry import SHARED, put
from test_chains import total, values

CASES = SHARED.parent.parent / "cases" / "telemetry"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not there: set BRIMFUL_SHARED")


def ingested(tmp_path, name, **options):
    return put(tmp_path / "store", CASES / name, **options)


def test_a_reboot(tmp_path):
    ingested(tmp_path, "reboot.json")
    assert values(tmp_path / "store", "unicast.uplink.tx") == [None, 100, None, 100]


def test_a_poll_of_zeros(tmp_path):
    ingested(tmp_path, "zero-poll.csv", reading=Reading(counters=True))
    assert total(tmp_path / "store", "discards.uplink.tx") == 3
    assert total(tmp_path / "store", "unicast.uplink.tx") == 4000


def test_two_ports_of_one_name(tmp_path):
    summary = ingested(tmp_path, "twins.json")
    assert not (tmp_path / "store" / "samples").exists()
    assert sum(summary.refused.values()) == 2
    (reason,) = summary.refused
    assert '{ifIndex="1"} and {ifIndex="2"}' in reason


def test_a_sample_that_is_not_a_number(tmp_path):
    summary = ingested(tmp_path, "nan.json")
    assert total(tmp_path / "store", "discards.uplink.tx") == 2
    assert (summary.left_out, summary.bad_lines) == ({"are NaN, null or stale": 1}, 0)


def test_times_of_bigquery(tmp_path):
    summary = ingested(tmp_path, "bigquery-times.csv")
    assert (summary.rows_new, total(tmp_path / "store", "discards.uplink.tx")) == (1, 1)


def test_counters_that_wrap_more_than_once(tmp_path):
    summary = ingested(tmp_path, "wraps.json", ceilings=Capacities.parse("10Gbps"))
    assert (total(tmp_path / "store", "octets.uplink.tx"), summary.flags["wraps"]) == (0, 3)


def test_nothing_but_discards(tmp_path):
    ingested(tmp_path, "discards-alone.json")
    assert json.loads((CASES / "discards-alone.json").read_text())["status"] == "success"
    assert total(tmp_path / "store", "discards.uplink.tx") == 11
