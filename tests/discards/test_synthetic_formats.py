"""The formats of one synthetic world hold the same, and are those of the real samples."""

import collections
import datetime
import gzip
import itertools
import json
import os
import re
import tarfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from brimful.discards.schema import SAMPLES, TESTS
from brimful.discards.store import Store
from brimful.discards.synthetic.config import Config, Delivery, Tests
from brimful.discards.synthetic.faults import Bad, faults
from brimful.discards.synthetic.generate import RENDERINGS, generate
from discards import naive_readers
from support import ROOT

SHARED = Path(os.environ.get("BRIMFUL_SHARED", ROOT.parent / "shared")) / "discards" / "switch"
DAY = datetime.date(2018, 2, 14)
WORLD = Config(
    seed=5,
    first_day=DAY,
    last_day=DAY + datetime.timedelta(1),
    only_sites=("dfw02",),
    machines=2,
    delivery=Delivery(
        missing_hours=0.1,
        missed_polls=2e-3,
        duplicated_hours=0.1,
        conflicting_hours=0.2,
        bad_samples=1.0,
        wrapping_counters=1.0,
    ),
    tests=Tests(scale=0.05),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    out = tmp_path_factory.mktemp("world")
    generate(WORLD, frozenset(RENDERINGS), out, workers=1, progress=lambda _: None)
    return out


@pytest.fixture(scope="module")
def tables(world):
    """What each rendering says of the metrics that all have."""
    v1, v2 = naive_readers.read_v1(world / "v1"), naive_readers.read_v2(world / "v2")
    flat, store = naive_readers.read_flat(world / "flat"), naive_readers.read_store(world / "store")
    return {"v1": v1, "v2": v2, "flat": flat, "store": store}


def test_renderings_say_the_same_once_they_are_cleaned(tables):
    of_all = {
        name: {key: value for key, value in rows.items() if key[1] in WORLD.metrics} for name, rows in tables.items()
    }
    assert len(of_all["flat"]) > 80_000
    assert of_all["v1"] == of_all["v2"] == of_all["flat"] == of_all["store"]


def test_both_generations_say_the_same_of_all_metrics_they_share(tables):
    polled = {metric for _, metric, _ in tables["v2"]}
    assert len(polled) == 14
    assert tables["v2"] == {key: value for key, value in tables["v1"].items() if key[1] in polled}


def test_the_world_has_all_kinds_of_trouble(tables):
    found = [faults(WORLD, "dfw02", machine, day) for day in WORLD.days for machine in WORLD.machine_names]
    assert {sample.kind for one in found for sample in one.bad.values()} == set(Bad)
    assert any(not one.hours.all() for one in found)
    assert sum(len(one.missed) for one in found) > 50
    assert sum(len(one.conflicts) for one in found) > 5
    halves = [value for value in tables["v1"].values() if value % 1]
    assert halves
    assert {value % 1 for value in halves} == {0.5}


def test_stores_flag_what_was_delivered_with_other_values(world):
    of_v1, of_store = set(), set()
    naive_readers.read_v1(world / "v1", of_v1)
    naive_readers.read_store(world / "store", of_store)
    assert of_store == {key for key in of_v1 if key[1] in WORLD.metrics}
    assert len(of_store) > 20


def test_counters_wrap_at_32_bits_and_some_are_above_what_doubles_hold(world):
    counters = collections.defaultdict(list)
    for _, content in naive_readers.members(world / "v2"):
        for line in content.splitlines():
            row = json.loads(line)
            counters[row["metric"]] += [sample["counter"] for sample in row["sample"]]
    discards = counters["switch.discards.uplink.tx"]
    assert max(discards) > 2**32 - 1000
    assert min(discards) < 2**31
    assert max(max(series) for series in counters.values()) > 2**53


def test_hours_that_come_twice_come_in_a_later_archive(world):
    for generation in ("v1", "v2"):
        names = [name for name, _ in naive_readers.members(world / generation)]
        counted = collections.Counter(names)
        assert set(counted.values()) == {1, 2}
        contents = collections.defaultdict(set)
        for name, content in naive_readers.members(world / generation):
            contents[name].add(content)
        assert any(len(versions) == 2 for versions in contents.values())


def test_v1_files_span_from_one_export_to_the_next(world):
    spans = collections.defaultdict(set)
    for name, _ in naive_readers.members(world / "v1"):
        host, span = name.split("/")[-2:]
        spans[host].add(tuple(re.findall(r"\d{8}T\d\d:\d\d:\d\d", span)))
    for files in map(sorted, spans.values()):
        assert all(end == start for (_, end), (start, _) in itertools.pairwise(files))
        assert len(files) < 48


@pytest.fixture
def fixture(request):
    path = SHARED / request.param
    if not path.exists():
        pytest.skip(f"the real sample {path.name} is not there: set BRIMFUL_SHARED")
    return path.read_bytes()


@pytest.mark.parametrize("fixture", ["discov1-switch.json.gz"], indirect=True)
def test_v1_has_the_form_of_the_real_file(world, fixture):
    real = gzip.decompress(fixture).decode()
    whole = [
        (name, gzip.decompress(content).decode())
        for name, content in naive_readers.members(world / "v1")
        if json.loads(gzip.decompress(content).splitlines()[0])["sample"][360:]
    ]
    name, made = whole[0]
    assert re.fullmatch(
        r"switch/2018/02/1\d/mlab\d\.dfw02\.measurement-lab\.org/201802\d\dT\d\d:00:00-to-201802\d\dT\d\d:00:00"
        r"-switch\.json\.gz",
        name,
    )
    assert _skeleton(made) == _skeleton(real)


@pytest.mark.parametrize("fixture", ["discov2-switch.jsonl"], indirect=True)
def test_v2_has_the_form_of_the_real_file(world, fixture):
    made = [(name, content.decode()) for name, content in naive_readers.members(world / "v2")]
    name, content = made[200]
    assert re.fullmatch(
        r"switch/2018/02/1\d/mlab\d-dfw02\.mlab-oti\.measurement-lab\.org/2018-02-\d\dT\d\d:\d[05]:00-to-"
        r"2018-02-\d\dT\d\d:\d[05]:00-switch\.jsonl",
        name,
    )
    assert _skeleton(content) == _skeleton(fixture.decode())
    timestamps = [sample["timestamp"] for sample in json.loads(content.splitlines()[0])["sample"]]
    assert timestamps[0] % 300 == 0
    assert len(timestamps) == 30


def _skeleton(text):
    """A file without its numbers and hosts: keys, types, spaces, how many samples of which metrics."""
    lines = []
    for line in text.splitlines(keepends=True):
        row = json.loads(line)
        numbers = re.sub(r"\d+(\.\d+)?", lambda match: "f" if match[1] else "i", line)
        samples = re.findall(r"\{[^{}]*\}", numbers)
        names = {text[:5] for text in (row["hostname"], row["experiment"][:2])}
        lines.append((row["metric"], list(row), len(row["sample"]), set(samples), len(names), line[-1]))
    return sorted(lines, key=str)


def test_archives_are_named_and_marked_as_by_the_uploader(world):
    for archive in (world / "v1").rglob("*.tgz"):
        assert re.fullmatch(r"201802\d\dT\d{6}\.\d{6}Z-switch-mlab[12]-dfw02-utilization\.tgz", archive.name)
        assert archive.parent.as_posix().endswith(f"utilization/switch/2018/02/{archive.name[6:8]}")
        with tarfile.open(archive) as opened:
            assert opened.next().pax_headers["MLAB.datatype"] == "switch"


def test_stores_open_and_have_the_columns(world):
    store = Store.open(world / "store")
    assert store.sites("samples") == store.sites("tests") == ["dfw02"]
    for name, schema in (("samples", SAMPLES), ("tests", TESTS)):
        for file in (world / "store" / name).rglob("*.parquet"):
            assert pq.ParquetFile(file).schema_arrow.equals(schema)
            rows = pq.ParquetFile(file).read().to_pylist()
            keys = [
                (row["metric"], row["bin_start"]) if name == "samples" else (row["start"], row["test_id"])
                for row in rows
            ]
            assert keys == sorted(keys)


def test_tests_are_the_same_in_flat_tables_and_stores(world):
    flat = {row["test_id"]: row for row in pq.read_table(world / "tests").to_pylist()}
    stored = [
        row
        for file in (world / "store" / "tests").rglob("*.parquet")
        for row in pq.ParquetFile(file).read().to_pylist()
    ]
    assert len(stored) == len(flat) > 500
    for row in stored:
        same = flat[row["test_id"]]
        sending_us = same["SndLimTimeRwin"] + same["SndLimTimeCwnd"] + same["SndLimTimeSnd"]
        start = row["start"].replace(tzinfo=datetime.UTC)
        assert round(start.timestamp() * 1e6) == same["StartTimeStamp"]
        assert row["end"] - row["start"] == datetime.timedelta(microseconds=sending_us)
        assert row["rate_bps"] == pytest.approx(8e6 * same["HCThruOctetsAcked"] / sending_us)
        assert (row["client"], row["server_name"]) == (same["remote_ip"], same["server_hostname"])
        assert row["machine"] in same["server_hostname"]
        assert (row["retransmitted"], row["sent"]) == (same["SegsRetrans"], same["SegsOut"])
        assert row["logged"] == same["log_time"].replace(tzinfo=None)
