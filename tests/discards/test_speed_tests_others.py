"""Results of Ookla's speedtest, and results that are refused with what to do instead."""

import gzip
import json
from datetime import datetime

import pytest
from brimful.discards.speed_tests import mapping
from invented_results import iperf3
from test_speed_tests import loaded, quarantined, stored
from test_speed_tests_as_written import SERVER, logged, with_plan

OOKLA = {
    "type": "result",
    "timestamp": "2026-03-01T08:00:20Z",
    "ping": {"jitter": 1.0, "latency": 12.4, "low": 11.9, "high": 14.1},
    "download": {"bandwidth": 11_000_000, "bytes": 96_000_000, "elapsed": 9004, "latency": {"iqm": 20.1}},
    "upload": {"bandwidth": 3_700_000, "bytes": 35_000_000, "elapsed": 7500},
    "packetLoss": 0,
    "isp": "Example",
    "interface": {"internalIp": "10.0.0.5", "name": "eth0", "isVpn": False, "externalIp": "198.51.100.7"},
    "server": {"id": 1234, "host": "speedtest.example.net", "port": 8080, "name": "Example", "ip": "203.0.113.1"},
    "result": {"id": "d5ac8c40", "url": "https://www.speedtest.net/result/c/d5ac8c40", "persisted": True},
}
PROGRESS = [
    {"type": "testStart", "timestamp": "2026-03-01T08:00:00Z", "isp": "Example", "server": OOKLA["server"]},
    {"type": "ping", "timestamp": "2026-03-01T08:00:01Z", "ping": {"latency": 12.4, "progress": 0.4}},
    {"type": "download", "timestamp": "2026-03-01T08:00:03Z", "download": {"bandwidth": 1, "bytes": 2, "elapsed": 3}},
    {"type": "upload", "timestamp": "2026-03-01T08:00:12Z", "upload": {"bandwidth": 1, "bytes": 2, "elapsed": 3}},
    {"type": "log", "timestamp": "2026-03-01T08:00:12Z", "message": "x", "level": "info"},
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps(OOKLA)),
        ("a.json", json.dumps(OOKLA, indent=4)),
        ("a.jsonl", "".join(json.dumps(line) + "\n" for line in [*PROGRESS, OOKLA])),
        ("a.json", "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [*PROGRESS, OOKLA])),
    ],
)
def test_a_result_of_ookla_is_a_download_and_an_upload(tmp_path, name, text):
    store, summary = logged(tmp_path, text, name)
    assert (summary.results, summary.tests, summary.bad.total()) == (1, 2, 0)
    upload, download = sorted(stored(store), key=lambda row: row["direction"] == "download")
    assert (upload["start"], upload["end"]) == (datetime(2026, 3, 1, 8, 0, 12, 500_000), datetime(2026, 3, 1, 8, 0, 20))
    assert (download["start"], download["end"]) == (
        datetime(2026, 3, 1, 8, 0, 3, 496_000),
        datetime(2026, 3, 1, 8, 0, 12, 500_000),
    )
    assert (download["rate_bps"], download["bytes"], download["sending_s"]) == (88e6, 96_000_000, 9.004)
    assert (download["client"], download["test_id"], download["protocol"]) == (
        "198.51.100.7",
        "ookla-d5ac8c40-download",
        "ookla",
    )


@pytest.mark.parametrize(
    "change",
    [
        {"timestamp": "yesterday"},
        {"timestamp": 5},
        {"download": {"bandwidth": -1, "bytes": 1, "elapsed": 1}},
        {"download": {"bandwidth": 1, "bytes": "many", "elapsed": 1}},
        {"upload": 3},
        {"interface": "eth0"},
        {"result": []},
    ],
)
def test_a_damaged_result_is_bad(tmp_path, change):
    store, summary = logged(tmp_path, json.dumps(OOKLA | change))
    assert (summary.tests, summary.bad.total()) == (0, 1)
    assert quarantined(store)[0].startswith("is no result of Ookla's speedtest: ")


SPEEDTEST_CLI = {
    "download": 93_120_000.5,
    "upload": 29_610_000.2,
    "ping": 12.3,
    "server": {"id": "1234", "host": "a:8080", "sponsor": "b", "lat": "1.0"},
    "timestamp": "2026-03-01T08:00:00.000000Z",
    "bytes_sent": 37_000_000,
    "bytes_received": 116_000_000,
    "client": {"ip": "198.51.100.7", "isp": "Example"},
}
LIBRESPEED = [SPEEDTEST_CLI | {"download": 93, "upload": 29.61, "server": {"name": "a", "url": "b"}, "jitter": 1}]
PSCHEDULER = {"succeeded": True, "intervals": [{"streams": []}], "summary": {"summary": {"throughput-bits": 1e9}}}
FLENT = {"version": 4, "metadata": {"NAME": "tcp_download"}, "x_values": [0.0], "results": {"TCP download": [93.1]}}
NDT7_EVENTS = [{"Key": name, "Value": {"Test": "download"}} for name in ("connected", "measurement", "complete")]
IPERF_2 = "20260301080000,198.51.100.7,50694,203.0.113.1,5001,1,0.0-10.0,179175484,143340387\n"


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("a.json", json.dumps(SPEEDTEST_CLI), "use speedtest of Ookla or iperf3"),
        ("a.json", json.dumps(LIBRESPEED), "use speedtest of Ookla or iperf3"),
        ("a.json", json.dumps(PSCHEDULER), "give those in a table, with --columns"),
        ("a.csv", IPERF_2, "use iperf3 --json"),
        ("a.csv", IPERF_2.replace("20260301080000,", "20260301080000.123+0000,") * 2, "use iperf3 --json"),
        ("a.json", json.dumps(FLENT), "is of flent"),
        ("a.flent.gz", gzip.compress(json.dumps(FLENT).encode()), "is of flent"),
        ("a.json", "".join(json.dumps(event) + "\n" for event in NDT7_EVENTS), "take the files of the server"),
        ("a.json", json.dumps(with_plan(protocol="UDP")), "leave out --udp"),
        ("a.json", json.dumps(with_plan(bidir=1)), "with --reverse"),
    ],
)
def test_other_results_are_refused_with_what_to_do(tmp_path, name, text, advice):
    store, summary = logged(tmp_path, text, name)
    assert summary.tests == 0
    assert all(advice in reason for reason in quarantined(store))
    assert quarantined(store)


def test_rows_of_a_table_may_have_columns_of_these_names(tmp_path):
    row = {"type": "result", "timestamp": 1_772_323_200, "download": 93.5, "upload": "x", "result": 5, "intervals": [1]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "columns.toml").write_text(
        'protocol = {value = "own"}\ndirection = {value = "download"}\nstart = "timestamp"\n'
        'duration = {value = 10, unit = "s"}\nrate = {column = "download", unit = "Mbit/s"}\n'
    )
    columns = mapping.read_mappings(tmp_path / "columns.toml")
    store, summary = loaded(tmp_path, tmp_path / "a.jsonl", server=SERVER, mappings=columns)
    assert (summary.tests, [one["rate_bps"] for one in stored(store)]) == (1, [93.5e6])


def test_iperf3_with_threads_is_as_before(tmp_path):
    """From 3.16 on each stream has a thread of its own; the sums are as they were."""
    document = iperf3(reverse=1)
    end = document["end"] | {"streams": [{"sender": {"sender": False, "socket": n}} for n in (5, 7)]}
    start = document["start"] | {"version": "iperf 3.20", "tcp_mss_default": 1448, "target_bitrate": 0}
    store, _ = logged(tmp_path, json.dumps(document | {"start": start, "end": end}))
    assert [row["direction"] for row in stored(store)] == ["download"]
