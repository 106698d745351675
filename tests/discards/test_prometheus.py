"""Answers of Prometheus to range queries of the SNMP exporter's counters."""

import gzip
import json

import pyarrow.parquet as pq
import pytest
from brimful.discards.schema import WIDTHS, Flag
from telemetry import MIDNIGHT, files_of, put


def series(name, values, **labels):
    labels = {"__name__": name, "instance": "edge-1:161", "ifName": "xe-0/0/1", "job": "snmp"} | labels
    return {"metric": {key: value for key, value in labels.items() if value}, "values": values}


def answer(*found, **more):
    return {"status": "success", "data": {"resultType": "matrix", "result": list(found)}} | more


def ingest_answer(tmp_path, content, name="a.json"):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return put(tmp_path / "store", tmp_path / name)


def rows_of(store):
    return [row for path in sorted((store / "samples").rglob("*.parquet")) for row in pq.read_table(path).to_pylist()]


GOOD = [[MIDNIGHT + 15, "100"], [MIDNIGHT + 30, "1.5e+2"], [MIDNIGHT + 45.5, "175"]]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_counters_become_what_was_counted(tmp_path, name):
    summary = ingest_answer(tmp_path, answer(series("ifHCOutOctets", GOOD)), name)
    assert (summary.lines, summary.samples, summary.rows_new, summary.bad_lines) == (1, 3, 3, 0)
    assert list(files_of(tmp_path / "store")) == ["site=edge-1/day=2022-01-02/xe-0%2F0%2F1.parquet"]
    rows = rows_of(tmp_path / "store")
    assert [(row["value"], row["span_s"], row["counter"], row["flags"] & ~WIDTHS) for row in rows] == [
        (None, 15, 100, Flag.UNANCHORED),
        (50, 15, 150, 0),
        (25, 15.5, 175, 0),
    ]


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("ifHCInOctets", "switch.octets.uplink.rx"),
        ("ifHCOutUcastPkts", "switch.unicast.uplink.tx"),
        ("ifHCInMulticastPkts", "switch.multicast.uplink.rx"),
        ("ifHCOutBroadcastPkts", "switch.broadcast.uplink.tx"),
        ("ifOutDiscards", "switch.discards.uplink.tx"),
        ("ifInErrors", "switch.errors.uplink.rx"),
    ],
)
def test_counters_are_known_by_their_name(tmp_path, name, metric):
    ingest_answer(tmp_path, answer(series(name, GOOD)))
    assert {row["metric"] for row in rows_of(tmp_path / "store")} == {metric}


def test_scope_and_port_come_from_labels(tmp_path):
    ingest_answer(tmp_path, answer(series("ifOutDiscards", GOOD, scope="local", ifName="", ifIndex="7")))
    (row, *_) = rows_of(tmp_path / "store")
    assert (row["machine"], row["metric"]) == ("7", "switch.discards.local.tx")


def test_counters_of_32_bits_begin_again_and_others_are_set_back(tmp_path):
    polls = [[MIDNIGHT + 10, str(2**32 - 4)], [MIDNIGHT + 20, "6"], [MIDNIGHT + 30, "2"]]
    summary = ingest_answer(tmp_path, answer(series("ifOutDiscards", polls)))
    assert summary.flags == {"wrapped": 1, "reset": 1, "unanchored": 1}
    assert [row["value"] for row in rows_of(tmp_path / "store")] == [None, 10, None]


def test_ranges_saved_one_after_the_other_are_one(tmp_path):
    ingest_answer(tmp_path, answer(series("ifHCOutOctets", GOOD)))
    whole = files_of(tmp_path / "store")
    (tmp_path / "parts").mkdir()
    ingest_answer(tmp_path / "parts", answer(series("ifHCOutOctets", GOOD[1:])), "b.json")
    ingest_answer(tmp_path / "parts", answer(series("ifHCOutOctets", GOOD[:2])), "a.json")
    assert files_of(tmp_path / "parts" / "store") == whole


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (series("", GOOD), "is no counter of an interface; save ifHCOutOctets and its like themselves, not their rate"),
        (
            series("up", GOOD),
            "is no counter of an interface; save ifHCOutOctets and its like themselves, not their rate",
        ),
        (
            series("ifOutErrors", GOOD, instance=""),
            "has no label that names its device in short: none of agent_host, instance, source, sysName, hostname, "
            "device, host",
        ),
        (
            series("ifOutErrors", GOOD, ifName=""),
            "has no label that names its port in short: none of ifName, ifDescr, ifIndex, ifAlias",
        ),
        (series("ifOutErrors", GOOD, scope="x"), "scope is neither uplink nor local"),
        (series("ifOutErrors", []), "has no samples"),
        (series("ifOutErrors", [[MIDNIGHT, "-1"]]), "a value is no counter: left out"),
        (series("ifOutErrors", [[MIDNIGHT, "1e30"]]), "a value is no counter: left out"),
        (series("ifOutErrors", [[MIDNIGHT, "x"]]), "a value is no counter: left out"),
        (series("ifOutErrors", [[MIDNIGHT, "1.5"]]), "a value is no counter: left out"),
    ],
)
def test_a_bad_series_is_refused_and_the_others_are_taken(tmp_path, bad, reason):
    summary = ingest_answer(tmp_path, answer(bad, series("ifHCOutOctets", GOOD)))
    assert summary.refused == {reason: 1}
    assert (summary.lines, summary.rows_new) == (2, 3)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"[]", "is empty"),
        (b"{}", "is JSON of no known form: save the answer of /api/v1/query_range, or write rows with timestamp"),
        (b'{"status":"\xff"}', "is no JSON: "),
        ({"status": "error", "error": "query timed out"}, "is the answer to a query that failed: query timed out"),
        (answer(), "has no series"),
        ({"status": "success", "data": {"resultType": "vector", "result": []}}, "holds a vector; save the answer of"),
    ],
)
def test_other_files_are_named(tmp_path, content, reason):
    (problem,) = ingest_answer(tmp_path, content).unreadable_places
    assert problem.startswith(f"{tmp_path}/a.json: {reason}")
