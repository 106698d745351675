"""Tests of several streams beside tests of one: told apart when they are read, and compared in the report."""

import datetime
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from brimful.discards import record, schema
from brimful.discards.engine import connect_duckdb
from brimful.discards.speed_tests import rows
from brimful.discards.store import Partition, Store
from brimful.report.discards import model, summary
from invented_results import iperf3
from test_speed_tests import loaded, stored

DAY = datetime.date(2022, 1, 2)
NOON = datetime.datetime.combine(DAY, datetime.time(12))
SECOND = datetime.timedelta(seconds=1)


def samples():
    return [
        {
            "machine": "1",
            "metric": "switch.discards.uplink.tx",
            "bin_start": NOON + number * 10 * SECOND,
            "bin_end": NOON + (number + 1) * 10 * SECOND,
            "span_s": 10.0,
            "value": 5.0 if number % 2 else 0.0,
            "flags": 0,
            "usable": True,
        }
        for number in range(300)
    ]


def speed_tests(ratios):
    """Tests in single bins: of each protocol, those with discards have a share of the rate of those without."""
    random = np.random.default_rng(3)
    tests = []
    for number in range(200):
        protocol = list(ratios)[number // 2 % len(ratios)]
        rate = 3e8 * (ratios[protocol] if number % 2 else 1.0) * math.exp(random.normal(0, 0.05))
        tests.append(
            {
                "test_id": f"{number:03}",
                "protocol": protocol,
                "direction": "download",
                "machine": "1",
                "server_name": "1",
                "start": NOON + (number * 10) * SECOND,
                "end": NOON + (number * 10 + 10) * SECOND,
                "logged": NOON,
                "client": "192.0.2.7",
                "sending_s": 10.0,
                "rate_bps": rate,
            }
        )
    return tests


def analysed(tmp_path, ratios):
    store = Store.create(tmp_path / "store")
    store.write(Partition("samples", "probe", DAY, "1"), pa.Table.from_pylist(samples(), schema.SAMPLES))
    store.write(Partition("tests", "probe", DAY, "tests"), pa.Table.from_pylist(speed_tests(ratios), schema.TESTS))
    return record.analyse(
        connect_duckdb(store, memory_limit="300MB", threads=1),
        record.Settings(),
        store="store",
        command=["brimful"],
        started="2026-01-02T03:04:05+00:00",
    )


@pytest.mark.parametrize(
    ("ratios", "expected", "told"),
    [
        ({"iperf3": 0.6, "iperf3 -P 8": 0.6}, {"one": 0.6, "several": 0.6}, "the results are similar"),
        ({"iperf3": 0.6, "iperf3 -P 8": 0.95}, {"one": 0.6, "several": 0.95}, "the results differ"),
        ({"ndt7": 0.6, "iperf3 -P 2": 0.7, "iperf3 -P 16": 0.7}, {"one": 0.6, "several": 0.7}, "the results differ"),
        ({"iperf3 -P 8": 0.6}, {"several": 0.6}, "too few to set beside them"),
    ],
)
def test_both_kinds_are_set_beside_each_other(tmp_path, ratios, expected, told):
    run = analysed(tmp_path, ratios)
    (found,) = [finding for finding in run.findings if finding.code == "streams"]
    assert {kind: data["ratio"] for kind, data in found.data.items()} == pytest.approx(expected, rel=0.05)
    assert told in found.text
    assert any(found.text in texts for _, texts in summary.findings(model.build(run)))


def test_without_tests_of_several_streams_nothing_is_said_of_them(tmp_path):
    assert not [one for one in analysed(tmp_path, {"iperf3": 0.6}).findings if one.code == "streams"]


@pytest.mark.parametrize(("streams", "protocol"), [(1, "iperf3"), (8, "iperf3 -P 8")])
def test_iperf3_says_how_many_streams_it_had(tmp_path, streams, protocol):
    result = iperf3(reverse=1)
    result["start"]["test_start"]["num_streams"] = streams
    result["start"]["connected"] *= streams
    (tmp_path / "iperf3.json").write_text(json.dumps(result))
    store, _ = loaded(tmp_path, tmp_path / "iperf3.json", server=rows.parse_server("probe-fra"))
    (row,) = stored(store)
    assert (row["protocol"], row["test_id"]) == (protocol, "iperf3-abc")
