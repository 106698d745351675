"""The report on devices as people have them: some counters are not there, one probe is the only client."""

import datetime
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from brimful.discards import analysis, daily, record
from brimful.discards.engine import connect_duckdb
from brimful.discards.schema import TESTS
from brimful.discards.store import Partition, Store
from brimful.discards.telemetry.source import Reading
from brimful.report.discards import figures, model, summary, tables
from brimful.statistics.within import compare_within
from telemetry import MIDNIGHT, put

DAY = datetime.date(2022, 1, 2)
HEAD = "timestamp,device,port,direction,scope,octets,packets,discards,pause\n"
EVERY = 300


def rows_of(device, direction="tx", scope="uplink", octets="", packets="", discards="", pause=""):
    """Six hours of one port; what is not given is not exported."""
    count = {"octets": octets, "packets": packets, "discards": discards, "pause": pause}

    def cell(name, number):
        found = count[name]
        return found(number) if callable(found) else found

    return "".join(
        f"{MIDNIGHT + EVERY * (number + 1)},{device},1,{direction},{scope},"
        + ",".join(str(cell(name, number)) for name in count)
        + "\n"
        for number in range(72)
    )


def sometimes(number):
    return 100 if number % 6 == 5 else 0


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("devices")
    text = (
        HEAD
        + rows_of("alone", discards=sometimes)
        + rows_of("idle", octets=10**6, packets=0, discards=sometimes)
        + rows_of("traffic", octets=10**6, packets=1000)
        + rows_of("inbound", packets=1000, discards=0)
        + rows_of("inbound", direction="rx", discards=1000)
        + rows_of("inbound", direction="tx", scope="local", discards=sometimes)
        + rows_of("paused", packets=1000, discards=0, pause=7)
        + rows_of("paused", direction="rx", discards=0, pause=sometimes)
        + rows_of("probe", packets=10_000, discards=sometimes)
    )
    (directory / "a.csv").write_text(text)
    store = directory / "store"
    put(store, directory / "a.csv", reading=Reading(counters=False))
    write_tests(Store.open(store))
    return record.analyse(
        connect_duckdb(Store.open(store), memory_limit="300MB", threads=1),
        record.Settings(),
        store="store",
        command=["brimful"],
        started="2026-01-01T00:00:00+00:00",
    )


def write_tests(store):
    """A probe that is slow while there are discards, and uploads through the device that discards what it receives."""
    random = np.random.default_rng(7)
    for site, direction in (("probe", "download"), ("inbound", "upload")):
        rows = []
        for number in range(48):
            interval = 6 * (number // 2) % 72 + (5 if number % 2 else 2)
            start = datetime.datetime(2022, 1, 2) + datetime.timedelta(
                seconds=EVERY * interval + 40 + 10 * (number // 24)
            )
            rate = (190e6 if number % 2 else 300e6) * math.exp(random.normal(0, 0.05))
            row = dict.fromkeys(TESTS.names) | {
                "test_id": f"{site}-{number}",
                "protocol": "iperf3",
                "direction": direction,
                "machine": "probe1",
                "server_name": f"probe1-{site}",
                "start": start,
                "end": start + datetime.timedelta(seconds=10),
                "logged": start,
                "client": "192.0.2.7",
                "bytes": int(rate * 10 / 8),
                "sending_s": 10.0,
                "rate_bps": rate,
            }
            rows.append(row)
        rows.sort(key=lambda row: (row["start"], row["test_id"]))
        store.write(Partition("tests", site, DAY, "tests"), pa.Table.from_pylist(rows, TESTS))


def findings(run, code):
    return {finding.subject: finding for finding in run.findings if finding.code == code}


def series(run, name):
    return next((dict(one.points) for one in run.series if one.name == name), None)


@pytest.mark.parametrize("site", ["alone", "idle"])
def test_discards_are_counted_without_packets(run, site):
    assert list(series(run, f"discards/{site}").values()) == [1200]
    # A sample of 300 s counts in equal parts in its 30 bins.
    assert list(series(run, f"bins_with_discards/{site}").values()) == [pytest.approx(1 / 6, rel=1e-5)]
    assert not series(run, f"loss_ratio/{site}")
    assert "save ifHCOutUcastPkts" in findings(run, "ratio-unknown")[site].text
    assert ("never moved" in findings(run, "ratio-unknown")[site].text) == (site == "idle")


def test_without_a_counter_of_discards_nothing_is_said_of_them(run):
    assert not series(run, "discards/traffic")
    assert "traffic" in findings(run, "discards-unknown")
    assert "traffic" not in findings(run, "discards-none")


def test_inbound_discards_are_said_and_set_against_uploads(run):
    found = findings(run, "discards-inbound")["inbound"]
    assert found.data["counted"] == 72_000
    assert (
        "72,000 packets that came in on the uplink were discarded, on 1 of 1 day, in 100 % of the samples" in found.text
    )
    assert findings(run, "discards-machines")["inbound"].data["counted"] == 1200
    assert findings(run, "affected-uploads")["inbound"].data == {"tests": 48, "with_discards": 48, "share": 1.0}
    assert findings(run, "discards-inbound-none")["paused"].text.startswith("paused: no packets that came in")
    view = model.build(run)
    (text,) = [one for one in summary.sentences(view) if "72,000" in one]
    assert "Of what they received, 72,000 packets were discarded." in text


def test_only_where_it_is_known_it_is_said_that_there_were_none(run):
    assert list(findings(run, "discards-inbound-none")) == ["paused"]


def test_pause_frames_have_a_finding_a_column_and_a_figure(run):
    assert findings(run, "pauses-sent")["paused"].data["counted"] == 7 * 72
    assert findings(run, "pauses-received")["paused"].data["counted"] == 1200
    view = model.build(run)
    (sites,) = [table for table in tables.make_tables(view) if table.key == "sites"]
    row = next(row for row in sites.rows if row[0] == "paused")
    assert dict(zip(sites.names, row, strict=True))["pauses sent"] == "504"
    keys = {page.key for page in figures.make_pages(view)}
    assert {"8-inbound-discards", "9-machine-discards", "10-pauses-received", "11-pauses-sent"} <= keys


def test_one_probe_is_compared_with_itself(run):
    found = findings(run, "within-clients")["probe"]
    assert (found.data["clients"], found.data["tests_with"], found.data["tests_without"]) == (1, 24, 24)
    assert found.data["ratio"] == pytest.approx(190 / 300, rel=0.06)
    assert found.data["interval"][1] < 0.7
    assert found.data["p_value"] < 0.001
    assert "compared within 1 client, hour of the day by hour of the day" in found.text
    assert "probe" not in findings(run, "dose-response")


def test_the_permutation_test_keeps_its_level():
    random = np.random.default_rng(3)
    rejected = 0
    for seed in range(60):
        tests = [
            {
                "client": "a",
                "hour": n % 6,
                "with_discards": bool(n % 2 ^ (n // 12) % 2),
                "log_rate": random.normal(8 + n % 6, 0.2),
            }
            for n in range(48)
        ]
        rejected += compare_within(tests, seed=seed).p_value < 0.05
    assert rejected <= 8


def test_a_handful_of_tests_is_not_compared():
    tests = [{"client": "a", "hour": 1, "with_discards": n < 4, "log_rate": 8.0} for n in range(20)]
    assert compare_within(tests, seed=1).ratio is None


def test_six_days_are_six_days(tmp_path):
    polls = [[MIDNIGHT + 7 + 600 * number, str(number)] for number in range(6 * 144)]
    labels = {"__name__": "ifOutDiscards", "instance": "edge-1", "ifName": "xe-0"}
    content = {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": labels, "values": polls}]}}
    (tmp_path / "a.json").write_text(json.dumps(content))
    put(tmp_path / "store", tmp_path / "a.json")
    engine = connect_duckdb(Store.open(tmp_path / "store"), memory_limit="300MB", threads=1)
    rows = engine.per_site(lambda samples, _: analysis.daily_loss_ratio(samples)).to_pylist()
    (found,) = daily.coverage(rows)
    assert (found.data["days"], found.data["days_with_telemetry"]) == (6, 6)
    assert found.text.endswith("of 6 days.")


@pytest.mark.parametrize("offset", [0, 5, 7, 30, 59])
def test_six_days_of_differences_are_six_days(tmp_path, offset):
    """The first row says what was counted since a row that is not there: it may reach into the day before."""
    times = range(MIDNIGHT + offset, MIDNIGHT + 6 * 86400 + (offset > 0), 600)
    lines = [f"{at},edge-1,xe-0,{way},{place % 3}\n" for place, at in enumerate(times) for way in ("tx", "rx")]
    (tmp_path / "a.csv").write_text("timestamp,device,port,direction,discards\n" + "".join(lines))
    put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=False))
    engine = connect_duckdb(Store.open(tmp_path / "store"), memory_limit="300MB", threads=1)
    rows = engine.per_site(lambda samples, _: analysis.daily_loss_ratio(samples)).to_pylist()
    (found,) = daily.coverage(rows)
    assert (found.data["days"], found.data["days_with_telemetry"]) == (6, 6)
    assert len(rows) == 6
    assert sum(row["discards"] for row in rows) == pytest.approx(sum(place % 3 for place, _ in enumerate(times)))
    others = engine.per_site(lambda samples, _: analysis.daily_other_counts(samples)).to_pylist()
    assert len({row["day"] for row in others}) == 6


def test_captions_do_not_speak_of_what_others_published(run):
    captions = [page.caption for page in figures.make_pages(model.build(run))]
    assert captions
    assert not [caption for caption in captions if "10 s" in caption or "publish" in caption]
