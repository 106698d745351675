"""Whole ingests: the store does not depend on order, batches, repetition or on being killed; bad input is named."""

import gzip
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from brimful.discards.capacities import Capacities
from brimful.discards.schema import SAMPLES, Flag
from brimful.discards.store import Store
from brimful.discards.telemetry import ingest as ingesting
from brimful.discards.telemetry.sources import find_sources
from brimful.errors import BrimfulError, UsageError
from hypothesis import given, settings
from support import brimful
from telemetry import MIDNIGHT, SHARED, content, files_of, line1, line2, needs_samples, put, tar

DAY = 86_400
UNICAST = "switch.unicast.uplink.tx"
NAMES = ("octets.local.tx", "octets.local.tx", "unicast.local.rx", "unicast.local.tx", "discards.uplink.tx")


def rows_of(store):
    """Give all rows, sorted, as dicts."""
    found = []
    for path in sorted((Path(store) / "samples").rglob("*.parquet")):
        found += pq.ParquetFile(path).read().cast(SAMPLES).to_pylist()
    return found


@st.composite
def collections(draw):
    """Files around two midnights: polls are missed, the collector starts again, counters are set back."""
    files = []
    counters = [10**9, 2 * 10**9, 10**6, 10**6, 2**32 - 5]
    seen = list(counters)
    for begin in (MIDNIGHT - 60, MIDNIGHT - 30, MIDNIGHT, MIDNIGHT + 30, MIDNIGHT + DAY - 30, MIDNIGHT + DAY):
        polls = [[] for _ in NAMES]
        for place in range(3):
            happens = draw(st.sampled_from(["", "", "", "missed", "restart", "reset"]))
            packets = draw(st.sampled_from([(10, 10), (20_000, 10_000)]))
            steps = (packets[0] * 1400, packets[1] * 60, *packets, draw(st.sampled_from([0, 0, 7])))
            counters = [counter + step for counter, step in zip(counters, steps, strict=True)]
            counters[4] %= 2**32
            if happens == "missed":
                continue
            if happens == "reset":
                counters[2:] = [3, 4, 0]
            if happens == "restart":
                seen = list(counters)
                continue
            for samples, now, before in zip(polls, counters, seen, strict=True):
                samples.append((begin + 10 * place, (now - before) % 2**64, now))
            seen = list(counters)
        lines = [line2(f"switch.{name}", samples) for name, samples in zip(NAMES, polls, strict=True) if samples]
        if lines:
            files.append(content(*draw(st.permutations(lines))))
    return files


def write_files(directory, files):
    paths = []
    for number, data in enumerate(files):
        path = Path(directory) / f"{number}-switch.jsonl"
        path.write_bytes(data)
        paths.append(path)
    return paths


@settings(max_examples=25)
@given(collections(), st.data())
def test_the_store_does_not_depend_on_order_and_batches(files, data):
    with tempfile.TemporaryDirectory() as directory:
        paths = write_files(directory, files)
        put(f"{directory}/one", *paths)
        left = data.draw(st.permutations(paths))
        while left:
            size = data.draw(st.integers(1, len(left)))
            put(f"{directory}/two", *left[:size])
            left = left[size:]
        assert files_of(f"{directory}/one") == files_of(f"{directory}/two")
        keys = [(row["metric"], row["bin_start"]) for row in rows_of(f"{directory}/one")]
        assert len(set(keys)) == len(keys)
        assert len(keys) == sum(
            len(json.loads(line)["sample"]) for text in files for line in text.decode().splitlines()
        )


@settings(max_examples=10)
@given(collections())
def test_delivered_again_in_another_form_changes_nothing(files):
    with tempfile.TemporaryDirectory() as directory:
        paths = write_files(directory, files)
        first = put(f"{directory}/store", *paths)
        before = files_of(f"{directory}/store")
        again = put(f"{directory}/store", *paths)
        assert (again.sources_known, again.lines, again.rows_new) == (len(paths), 0, 0)
        archive = Path(directory) / "all.tgz"
        archive.write_bytes(
            tar([(f"{path.name}.gz", gzip.compress(path.read_bytes())) for path in paths], compress=True)
        )
        other = put(f"{directory}/store", archive)
        assert (other.rows_new, other.rows_known, other.rows_conflicting) == (0, first.rows_new, 0)
        assert files_of(f"{directory}/store") == before


KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[4:]
import pathlib
from brimful.discards.telemetry import ingest
from brimful.discards.store import Store
from telemetry import put

ingest.BUFFERED_ROWS, ingest.BATCH_BYTES = 10, 1
step, when, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
real = getattr(Store, step)

def counted(self, *arguments):
    global left
    left -= 1
    if left == 0 and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(self, *arguments)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

setattr(Store, step, counted)
put("store", *sorted(pathlib.Path("in").iterdir()), workers=1)
"""


def many_files():
    files, counter = [], 100
    for begin in range(MIDNIGHT - 120, MIDNIGHT + 120, 30):
        samples = []
        for at in range(begin, begin + 30, 10):
            counter += 5
            # A poll is missed across midnight.
            if at != MIDNIGHT:
                samples.append((at, 5 if at != MIDNIGHT + 10 else 10, counter))
        files.append(content(*(line2(f"switch.{name}.uplink.tx", samples) for name in ("unicast", "octets"))))
    return files


@pytest.mark.parametrize(
    ("step", "when", "count"),
    [
        *(("write", "before", 1), ("write", "after", 1), ("write", "after", 2), ("write", "before", 3)),
        *(("note_ingested", "before", 1), ("note_ingested", "after", 2)),
    ],
)
def test_a_killed_ingest_goes_on(tmp_path, monkeypatch, step, when, count):
    monkeypatch.setattr(ingesting, "BUFFERED_ROWS", 10)
    monkeypatch.setattr(ingesting, "BATCH_BYTES", 1)
    # The later day is in before the one that it depends on.
    files = many_files()
    for name, part in (("later", files[4:]), ("in", files[:4])):
        (tmp_path / name).mkdir()
        write_files(tmp_path / name, part)
    later, paths = (sorted((tmp_path / name).iterdir()) for name in ("later", "in"))
    put(tmp_path / "store", *later, workers=1)
    put(tmp_path / "whole", *later, *paths, workers=1)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, step, when, str(count), *sys.path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert killed.returncode == -9, killed.stderr
    assert len(Store(tmp_path / "store").ingested()) < len(files)
    summary = put(tmp_path / "store", *later, *paths, workers=1)
    assert summary.sources_new > 0
    assert files_of(tmp_path / "store") == files_of(tmp_path / "whole")
    assert len(Store(tmp_path / "store").ingested()) == len(files)


def test_a_half_written_ledger_is_completed(tmp_path):
    paths = write_files(tmp_path, many_files())
    put(tmp_path / "store", *paths)
    ledger = tmp_path / "store" / "ingested.jsonl"
    ledger.write_bytes(ledger.read_bytes()[:-20])
    before = files_of(tmp_path / "store")
    summary = put(tmp_path / "store", *paths)
    assert (summary.sources_new, summary.sources_known, summary.rows_new) == (1, len(paths) - 1, 0)
    assert files_of(tmp_path / "store") == before
    assert len(Store(tmp_path / "store").ingested()) == len(paths)


def test_the_store_is_what_the_schema_says(tmp_path):
    paths = write_files(tmp_path, many_files())
    put(tmp_path / "store", *paths)
    assert sorted(files_of(tmp_path / "store")) == [
        "site=dfw02/day=2022-01-01/mlab1.parquet",
        "site=dfw02/day=2022-01-02/mlab1.parquet",
    ]
    for path in (tmp_path / "store" / "samples").rglob("*.parquet"):
        table = pq.ParquetFile(path).read()
        assert table.cast(SAMPLES).schema == SAMPLES
        keys = [(row["machine"], row["metric"], row["bin_start"]) for row in table.to_pylist()]
        assert keys == sorted(set(keys))
    across = next(row for row in rows_of(tmp_path / "store") if row["flags"] & Flag.MISSED_POLL)
    assert (across["span_s"], across["value"]) == (20, 10)


def test_the_later_of_two_versions_wins_and_conflicts_are_counted(tmp_path):
    def deliver(value, name):
        path = tmp_path / name
        path.write_bytes(content(line1(UNICAST, [(MIDNIGHT, value), (MIDNIGHT + 10, 1.0), (MIDNIGHT + 20, 0.0)])))
        return path

    first, second = deliver(5.0, "a-switch.json"), deliver(6.0, "b-switch.json")
    summary = put(tmp_path / "store", first, second)
    assert (summary.rows_new, summary.rows_known, summary.rows_conflicting) == (2, 1, 1)
    rows = rows_of(tmp_path / "store")
    assert [(row["value"], row["flags"]) for row in rows] == [(6.0, Flag.CONFLICT), (1.0, 0)]
    put(tmp_path / "other", first)
    late = put(tmp_path / "other", second)
    assert (late.rows_new, late.rows_known, late.rows_conflicting) == (0, 1, 1)
    assert files_of(tmp_path / "other") == files_of(tmp_path / "store")


def test_lower_capacities_lower_the_ceiling(tmp_path):
    path = tmp_path / "a-switch.json"
    path.write_bytes(
        content(line1("switch.octets.uplink.tx", [(MIDNIGHT, 2e9), (MIDNIGHT + 10, 1e9), (MIDNIGHT + 20, 0)]))
    )
    assert put(tmp_path / "a", path).flags == {}
    assert put(tmp_path / "b", path, ceilings=Capacities.parse("1Gbps")).flags == {"ceiling": 1}


def test_a_directory_stands_for_its_telemetry(tmp_path):
    write_files(tmp_path, many_files()[:2])
    (tmp_path / "readme.txt").write_text("no telemetry")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("a table")
    assert len(find_sources([tmp_path])) == 2
    assert len(find_sources([tmp_path / "tables"])) == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no file in it ends in"):
        find_sources([tmp_path / "empty"])
    with pytest.raises(UsageError, match="cannot tell what it holds"):
        find_sources([tmp_path / "readme.txt"])


def test_workers_and_batches_do_not_matter(tmp_path, monkeypatch):
    paths = write_files(tmp_path, many_files())
    put(tmp_path / "a", *paths, workers=1)
    monkeypatch.setattr(ingesting, "BATCH_BYTES", 1)
    monkeypatch.setattr(ingesting, "BUFFERED_ROWS", 7)
    put(tmp_path / "b", *paths, workers=4)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def bad_sources(directory):
    """Sources with something of everything that can be wrong."""
    good = content(line2(UNICAST, [(MIDNIGHT + 10, 5, 105), (MIDNIGHT + 20, 6, 111)]))
    switch = content(line2(UNICAST, [(MIDNIGHT + 10, 5, 105)], switch="s1-lga02.measurement-lab.org"))
    clock = content(line2(UNICAST, [((MIDNIGHT + 10) * 1000, 5, 105)]))
    archive = [("good-switch.jsonl", good), ("clock-switch.jsonl", clock), ("empty-switch.jsonl", b"")]
    archive += [
        ("cut-switch.jsonl.gz", gzip.compress(good)[:-9]),
        ("types-switch.jsonl", good.replace(b":5,", b':"5",')),
    ]
    directory.mkdir()
    (directory / "a.tgz").write_bytes(tar(archive, compress=True))
    (directory / "b-switch.jsonl").write_bytes(switch + good.replace(b"mlab1", b"mlab2"))
    (directory / "c.tar").write_bytes(tar([("x-switch.jsonl", good.replace(b"mlab1", b"mlab3"))])[:700])


def test_bad_input_is_counted_and_named(tmp_path):
    bad_sources(tmp_path / "in")
    summary = put(tmp_path / "store", *find_sources([tmp_path / "in"]))
    assert (summary.sources_new, summary.lines, summary.rows_new) == (3, 6, 4)
    assert summary.refused == {
        "timestamps are in milliseconds, not in seconds": 1,
        "Expected `int`, got `str` - at `$.sample[...].value`": 1,
        "is of another switch: s1-lga02.measurement-lab.org is not that of mlab1-dfw02.mlab-oti.measurement-lab.org": 1,
    }
    assert [text.removeprefix(str(tmp_path)) for text in summary.unreadable_places] == [
        "/in/a.tgz: empty-switch.jsonl: is empty",
        "/in/a.tgz: cut-switch.jsonl.gz: the compressed data are cut off",
        "/in/c.tar: is cut off",
    ]
    assert summary.bad_lines == 6
    assert summary.too_many_bad
    lines = [json.loads(line) for line in Path(summary.quarantine).read_text().splitlines()]
    assert len(lines) == 6
    assert all(set(line) == {"source", "member", "line", "reason", "text"} for line in lines)
    types = next(line for line in lines if line["member"] == "types-switch.jsonl")
    assert types["line"] == 1
    assert '"value":"5"' in types["text"]
    again = put(tmp_path / "store", *find_sources([tmp_path / "in"]))
    assert (again.sources_known, again.bad_lines, again.quarantine) == (3, 0, None)


def test_a_source_that_is_not_there_does_not_stop_the_others(tmp_path):
    (path,) = write_files(tmp_path, many_files()[:1])
    summary = put(tmp_path / "store", tmp_path / "none-switch.json", path)
    assert summary.unreadable_places == [f"{tmp_path}/none-switch.json: cannot be read: No such file or directory"]
    assert summary.sources_new == 1
    assert len(Store(tmp_path / "store").ingested()) == 1


def test_a_full_disk_loses_nothing_that_is_in(tmp_path, monkeypatch):
    paths = write_files(tmp_path, many_files())
    put(tmp_path / "store", *paths[:2])
    before = files_of(tmp_path / "store")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(BrimfulError, match="No space left on device; make room"):
            put(tmp_path / "store", *paths)
    assert files_of(tmp_path / "store") == before
    put(tmp_path / "store", *paths)
    put(tmp_path / "whole", *paths)
    assert files_of(tmp_path / "store") == files_of(tmp_path / "whole")


def test_a_damaged_partition_is_named(tmp_path):
    paths = write_files(tmp_path, many_files())
    put(tmp_path / "store", *paths[:-1])
    for path in (tmp_path / "store" / "samples").rglob("*.parquet"):
        path.write_bytes(b"PAR1 and nothing")
    with pytest.raises(BrimfulError, match="cannot read"):
        put(tmp_path / "store", paths[-1])


@needs_samples
def test_the_real_samples(tmp_path):
    summary = put(tmp_path / "store", SHARED / "discov1-switch.json.gz", SHARED / "discov2-switch.jsonl")
    assert (summary.lines, summary.samples, summary.repeated_samples) == (40, 24 * 361 + 480, 24)
    assert (summary.rows_new, summary.refused, summary.unreadable) == (24 * 360 + 480, {}, 0)
    assert summary.missing_bins == {}
    # The first difference of discards was set by hand, and with it the counter, which then stands back to 0.
    assert summary.flags == {"reset": 4, "mislabelled": 60, "unanchored": 20}
    table = pq.ParquetFile(tmp_path / "store/samples/site=dfw07/day=2021-12-14/mlab2.parquet").read()
    delivered = {}
    for line in (SHARED / "discov2-switch.jsonl").read_text().splitlines():
        series = json.loads(line)
        delivered.setdefault(series["metric"], []).append([(s["value"], s["counter"]) for s in series["sample"]])
    octets = sorted(delivered.pop("switch.octets.local.tx"))
    delivered |= {"switch.octets.local.tx": [octets[0]], "switch.octets.local.rx": [octets[1]]}
    assert set(table["metric"].to_pylist()) == set(delivered)
    for metric, (samples,) in delivered.items():
        rows = table.filter(pa.compute.equal(table["metric"].cast(pa.string()), metric)).to_pylist()
        assert [row["counter"] for row in rows] == [counter for _, counter in samples]
        values = [value for value, _ in samples]
        if ".discards." in metric:
            assert [row["value"] for row in rows] == [1, None, *values[2:]]
            assert [row["flags"] for row in rows[:3]] == [Flag.UNANCHORED, Flag.RESET | Flag.UNANCHORED, 0]
            assert rows[1]["reported"] is None
        else:
            assert [row["value"] for row in rows] == values
        for before, row in itertools.pairwise(rows):
            assert row["bin_start"] == before["bin_end"]
            if row["value"] is not None:
                assert row["value"] == row["counter"] - before["counter"]


def test_the_command_says_what_it_did(tmp_path, snapshot):
    bad_sources(tmp_path / "in")
    first = brimful("discards", "ingest", "--store", "store", "in", cwd=tmp_path, check=1)
    assert first.stderr == ""
    assert first.stdout == snapshot
    second = brimful("discards", "ingest", "--store", "store", "in", cwd=tmp_path, check=0)
    assert second.stdout == snapshot
    again = brimful("discards", "ingest", "--store", "other", "in", "--json", "--max-bad", "60%", cwd=tmp_path, check=1)
    summary = json.loads(again.stdout)
    assert (summary["rows_new"], summary["bad_lines"]) == (4, 6)
    brimful("discards", "ingest", "--store", "third", "in", "--max-bad", "80%", cwd=tmp_path, check=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none-switch.json"], "none-switch.json: is not there"),
        (["readme.txt"], "readme.txt: cannot tell what it holds"),
        (["x-switch.json", "--capacity", "10"], "10: is neither a capacity like 10Gbps nor a table"),
        (["x-switch.json", "--max-bad", "2"], "ratio '2' is not between 0 and 1"),
    ],
)
def test_wrong_use_is_one_line(tmp_path, arguments, message):
    for name in ("readme.txt", "x-switch.json"):
        (tmp_path / name).touch()
    finished = brimful("discards", "ingest", "--store", "store", *arguments, cwd=tmp_path, check=2)
    assert finished.stderr.startswith(f"brimful: error: {message}")
    assert finished.stderr.count("\n") == 1
    assert not (tmp_path / "store").exists()


def test_capacities_are_kept_in_the_store(tmp_path):
    path = tmp_path / "a-switch.json"
    path.write_bytes(
        content(line1("switch.octets.uplink.tx", [(MIDNIGHT, 2e9), (MIDNIGHT + 10, 1e9), (MIDNIGHT + 20, 0)]))
    )
    (tmp_path / "sites.csv").write_text("site,since,capacity\n*,2016-01-01,10Gbps\ndfw02,2018-06-01,1Gbps\n")
    brimful("discards", "ingest", "--store", "s", path, "--capacity", "sites.csv", cwd=tmp_path, check=0)
    kept = Capacities.of_store(Store.open(tmp_path / "s"))
    assert kept.entries == Capacities.read(tmp_path / "sites.csv").entries
    (over, fine) = rows_of(tmp_path / "s")
    assert (over["usable"], fine["usable"]) == (False, True)
