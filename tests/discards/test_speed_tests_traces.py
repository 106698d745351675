"""Traces of connections complete tests of ndt5, whichever comes first; what is no speed test is said."""

import base64
import io
import itertools
import json
import struct
import tarfile
import tempfile
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from brimful.discards.speed_tests import loading
from brimful.discards.speed_tests.completing import TRACES
from brimful.discards.speed_tests.pseudonyms import Pseudonyms
from brimful.discards.speed_tests.reading import Settings, read_source
from brimful.discards.speed_tests.rows import Tally, parse_server
from brimful.discards.speed_tests.traces import Trace
from brimful.discards.store import Partition, Store
from brimful.errors import BrimfulError
from discards.test_speed_tests import NEEDS_SHARED, SHARED, by_id, day_of, loaded, ndt5, quarantined, stored, tar
from discards.test_speed_tests_hostile import changed
from hypothesis import given, settings
from hypothesis import strategies as st
from support import brimful

PARTS = ("bytes", "sending_s", "retransmitted", "sent", "retransmission_unit")
UUID = "ndt-x_1_unsafe_0000000000000001"
TEST_ID = "ndt-x_1_0000000000000001"


def zstd(content):
    return pa.Codec("zstd").compress(content, asbytes=True)


def tcp_info(octets, retransmitted, sent, busy_us, size=224):
    """Write ``struct tcp_info`` as the kernel does; fields that nobody reads are ones."""
    content = bytearray(b"\1" * size)
    for place, form, value in (
        (100, "<I", retransmitted),
        (120, "<Q", octets),
        (136, "<I", sent),
        (168, "<Q", busy_us),
    ):
        content[place : place + struct.calcsize(form)] = struct.pack(form, value)
    return base64.b64encode(content[:size]).decode()


def snapshot(time, info):
    return {"Timestamp": time, "RawIDM": "AA==", "Attributes": [None, "AA==", info]}


def lines_of(
    uuid=UUID, start="2019-12-01T00:00:01.2Z", end="2019-12-01T00:00:12.5Z", told=(9_000_000, 31, 7000, 9_900_000)
):
    first = {"Timestamp": "0001-01-01T00:00:00Z", "Metadata": {"UUID": uuid, "Sequence": 0, "StartTime": start}}
    return [first, snapshot(start, tcp_info(0, 0, 1, 0)), snapshot(end, tcp_info(*told))]


def trace(*arguments, **options):
    return zstd(b"".join(json.dumps(line).encode() + b"\n" for line in lines_of(*arguments, **options)))


def result(**changes):
    return json.dumps(ndt5(uuid=UUID, **changes)).encode()


def stored_traces(store):
    found = []
    for path in sorted(store.path.glob("traces/site=*/day=*/*.parquet")):
        partition = Partition("traces", path.parts[-3].removeprefix("site="), day_of(path), path.stem)
        found += store.read(partition, TRACES).to_pylist()
    return found


def completed(store, test_id=TEST_ID):
    return tuple(by_id(store)[test_id][part] for part in PARTS)


@NEEDS_SHARED
def test_a_real_archive_of_traces(tmp_path):
    archive = next((SHARED / "tcpinfo").glob("*.tgz"))
    store, summary = loaded(tmp_path, archive)
    assert (summary.results, summary.empty, summary.traces, summary.bad) == (364, 2, 362, {})
    # Seven connections lasted longer than a file: they have three each.
    assert (summary.matches.matched, summary.matches.waiting, summary.tests) == (0, 348, 0)
    kept = {row["test_id"]: row for row in stored_traces(store)}
    assert len(kept) == 348
    assert kept["ndt-q5zbq_1555433454_0000000000002CD1"] == {
        "test_id": "ndt-q5zbq_1555433454_0000000000002CD1",
        "start": datetime(2019, 5, 16, 0, 43, 28, 734000),
        "end": datetime(2019, 5, 16, 0, 43, 47, 564000),
        "bytes": 136_076,
        "sending_s": 18.827,
        "retransmitted": 48,
        "sent": 152,
    }
    assert kept["ndt-q5zbq_1555433454_0000000000002B94"]["end"] == datetime(2019, 5, 16, 0, 27, 59, 704000)
    # What the kernel says elsewhere of the same must agree: each of these is read nowhere but here.
    for member, lines in real_snapshots(archive):
        said = base64.b64decode(lines[-1]["Attributes"][2])
        bytes_sent, bytes_retransmitted = struct.unpack_from("<QQ", said, 200)
        (data_segments,) = struct.unpack_from("<I", said, 156)
        row = kept[lines[0]["Metadata"]["UUID"]]
        assert row["bytes"] <= bytes_sent - bytes_retransmitted + 1, member  # the SYN counts as one
        assert row["sent"] >= data_segments
        assert bool(row["retransmitted"]) >= bool(bytes_retransmitted)
        assert row["sending_s"] <= (row["end"] - row["start"]).total_seconds() + 1


def real_snapshots(archive):
    with tarfile.open(archive) as members:
        for member in members:
            if member.size:
                content = pa.CompressedInputStream(members.extractfile(member), "zstd").read()
                yield member.name, [json.loads(line) for line in content.splitlines()]


@NEEDS_SHARED
def test_a_real_trace_completes_the_test_of_its_connection(tmp_path):
    uuid = "ndt-q5zbq_1555433454_0000000000002CD1"
    test = json.dumps(ndt5(uuid, "2019-05-16T00:43:28.7Z", "2019-05-16T00:43:38.7Z")).encode()
    results = tar(tmp_path / "x-ndt5-mlab4-arn02-ndt.tgz", {"a.json": test})
    store, summary = loaded(tmp_path, results, next((SHARED / "tcpinfo").glob("*.tgz")))
    assert (summary.matches.matched, summary.matches.waiting, summary.completed) == (1, 347, 1)
    assert completed(store, uuid) == (136_076, 18.827, 48, 152, "segments")


@NEEDS_SHARED
def test_a_real_file_of_sidestream_is_told_and_left_out(tmp_path):
    _, summary = loaded(tmp_path, SHARED / "web100" / "sidestream-files.tar.gz")
    assert (summary.results, summary.observed, summary.tests, summary.bad) == (6, 6, 0, {})


@NEEDS_SHARED
@pytest.mark.parametrize("directory", ["ndt5", "ndt7", "tcpinfo", "web100"])
def test_nothing_real_is_passed_over(tmp_path, directory):
    for source in sorted((SHARED / directory).iterdir()):
        _, summary = loaded(tmp_path, source, store=f"store-{source.name}", server=parse_server("mlab1-bcn01"))
        assert summary.results > 0
        assert not summary.bad
        assert summary.tests + summary.traces + summary.observed + summary.without_transfer > 0


@pytest.mark.parametrize("first", ["test", "trace", "both"])
def test_a_test_is_complete_once_both_are_in(tmp_path, first):
    test = tar(tmp_path / "a-mlab1-bcn01.tar", {"a.json": result()})
    seen = tar(tmp_path / "b-mlab1-bcn01.tar", {"a.00000.jsonl.zst": trace()})
    sources = {"test": [[test], [seen]], "trace": [[seen], [test]], "both": [[test, seen]]}[first]
    for together in sources:
        store, summary = loaded(tmp_path, *together)
    assert summary.completed == 1
    assert completed(store) == (9_000_000, 9.9, 31, 7000, "segments")
    assert by_id(store)[TEST_ID]["rate_bps"] == 94.5e6
    assert (summary.matches.matched, summary.matches.waiting) == ((0, 0) if first == "trace" else (1, 0))
    # The same once more, in other sources: nothing is written.
    before = {path: path.stat().st_mtime_ns for path in store.path.rglob("*.parquet")}
    both = {"again/a.json": result(), "again/a.jsonl.zst": trace()}
    _, summary = loaded(tmp_path, tar(tmp_path / "c-mlab1-bcn01.tar", both))
    assert (summary.merged.repeated, summary.merged.conflicts, summary.merged.added, summary.completed) == (1, 0, 0, 0)
    assert {path: path.stat().st_mtime_ns for path in store.path.rglob("*.parquet")} == before


def test_a_trace_changes_no_other_tests(tmp_path):
    told = {"TCPInfo": {"BytesAcked": 5, "TotalRetrans": 1, "SegsOut": 2, "BusyTime": 3_000_000}}
    upload = ndt5() | {"S2C": None, "C2S": ndt5(uuid="up")["S2C"]}
    ndt7 = {"ClientIP": "192.0.2.7", "Download": ndt5(uuid="seven")["S2C"]}
    files = {"a.json": result(**told), "b.json": json.dumps(upload).encode(), "c.json": json.dumps(ndt7).encode()}
    files["d.json"] = json.dumps(ndt5(uuid="alone")).encode()
    store, _ = loaded(tmp_path, tar(tmp_path / "a-mlab1-bcn01.tar", files))
    before = stored(store)
    assert completed(store) == (5, 3.0, 1, 2, "segments")
    traces = {f"{uuid}.jsonl.zst": trace(uuid) for uuid in (UUID, "up", "seven", "other")}
    _, summary = loaded(tmp_path, tar(tmp_path / "b-mlab1-bcn01.tar", traces))
    assert (summary.matches.matched, summary.matches.waiting, summary.completed) == (3, 1, 0)
    assert stored(store) == before


def test_a_connection_that_did_not_tell_how_long_it_was_sending(tmp_path):
    files = {"a.json": result(), "a.jsonl.zst": trace(told=(10, 0, 2, 0))}
    store, _ = loaded(tmp_path, tar(tmp_path / "a-mlab1-bcn01.tar", files))
    assert completed(store) == (10, 10.000222, 0, 2, "segments")


def test_the_last_snapshot_may_leave_out_what_did_not_change(tmp_path):
    last = {"Timestamp": "2019-12-01T00:00:13Z", "Attributes": [None, "AA=="]}
    content = zstd("\n".join(json.dumps(line) for line in [*lines_of(), last, last | {"Attributes": None}]).encode())
    store, _ = loaded(tmp_path, tar(tmp_path / "a-mlab1-bcn01.tar", {"a.jsonl.zst": content}))
    (row,) = stored_traces(store)
    assert (row["bytes"], row["end"]) == (9_000_000, datetime(2019, 12, 1, 0, 0, 12, 500_000))


def test_many_traces_are_merged_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "MERGE_TRACES", 2)
    files = {
        f"{part}.jsonl.zst": trace(end=f"2019-12-01T00:{part}:00Z", told=(part, 0, 1, 1)) for part in range(10, 15)
    }
    store, summary = loaded(tmp_path, tar(tmp_path / "a-mlab1-bcn01.tar", {"a.json": result()} | files))
    assert (summary.traces, summary.matches.matched, summary.matches.waiting, summary.completed) == (5, 1, 0, 1)
    assert completed(store)[0] == 14


def test_pseudonyms_do_not_part_tests_and_traces(tmp_path):
    key = Pseudonyms.from_file(tmp_path / "key")
    files = {"a.json": result(), "a.jsonl.zst": trace()}
    store, summary = loaded(tmp_path, tar(tmp_path / "a-mlab1-bcn01.tar", files), pseudonyms=key)
    assert summary.completed == 1
    assert completed(store)[0] == 9_000_000


NUMBERS = st.integers(0, 3)
ITEMS = st.lists(
    st.one_of(st.tuples(st.just("test"), NUMBERS), st.tuples(NUMBERS, st.integers(0, 2))), min_size=2, max_size=14
)
"""Tests by number; traces by the number of their test, and how many files of the connection came before."""


def item_of(item):
    """Give a file of an item: connections 0 and 1 begin the day before their tests do, test 3 tells all itself."""
    number = item[1] if item[0] == "test" else item[0]
    if item[0] == "test":
        told = {"TCPInfo": {"BytesAcked": 1, "TotalRetrans": 2, "SegsOut": 3}} if number == 3 else {}
        return json.dumps(ndt5(f"u{number}", "2019-12-01T00:00:00.1Z", "2019-12-01T00:00:10.1Z", **told)).encode()
    start = "2019-11-30T23:59:59.9Z" if number < 2 else "2019-12-01T00:00:00.2Z"
    part = item[1]
    # Of idle connections nothing changes but the time.
    busy_us = 0 if number == 1 and part == 0 else 9_000_000
    return trace(f"u{number}", start, f"2019-12-01T00:0{part}:30Z", (1000 + part, number, 100, busy_us))


def twin(items):
    """Complete the slow and obvious way, knowing all."""
    found = {}
    for number in {number for kind, number in items if kind == "test"}:
        parts = [part for kind, part in items if kind == number]
        if number == 3:
            found[f"u{number}"] = (1, 10.0, 2, 3, "segments")
        elif parts:
            part = max(parts)
            sending_s = 10.0 if number == 1 and part == 0 else 9.0
            found[f"u{number}"] = (1000 + part, sending_s, number, 100, "segments")
        else:
            found[f"u{number}"] = (None, 10.0, None, None, None)
    return found


@settings(max_examples=40, deadline=None)
@given(ITEMS, st.integers(1, 4))
def test_the_order_and_the_loads_do_not_matter(items, per_load):
    bounds = [*range(0, len(items), per_load), len(items)]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        store = Store.create(path / "store")
        for first, after in itertools.pairwise(bounds):
            files = {
                f"{place}{'.json' if items[place][0] == 'test' else '.jsonl.zst'}": item_of(items[place])
                for place in range(first, after)
            }
            _, summary = loaded(path, tar(path / f"{first}-mlab1-bcn01.tar", files))
            assert (summary.merged.conflicts, summary.bad) == (0, {})
        assert {name: tuple(row[part] for part in PARTS) for name, row in by_id(store).items()} == twin(items)
        connections = {number: part for number, part in sorted(item for item in items if item[0] != "test")}
        assert {row["test_id"]: row["bytes"] for row in stored_traces(store)} == {
            f"u{number}": 1000 + part for number, part in connections.items()
        }


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
def test_a_load_that_was_killed_is_done_again(tmp_path, monkeypatch, writes):
    test = tar(tmp_path / "a-mlab1-bcn01.tar", {"a.json": result(), "a.jsonl.zst": trace(told=(1, 2, 3, 4))})
    loaded(tmp_path, test)
    later = {"b.json": json.dumps(ndt5("v")).encode(), "b.jsonl.zst": trace("v")}
    later["a.00001.jsonl.zst"] = trace(end="2019-12-01T00:10:00Z")
    source = tar(tmp_path / "b-mlab1-bcn01.tar", later)
    write = Store.write
    left = writes

    def fail(self, *arguments):
        nonlocal left
        if not left:
            message = "killed"
            raise BrimfulError(message)
        left -= 1
        write(self, *arguments)

    monkeypatch.setattr(Store, "write", fail)
    if writes < 3:
        with pytest.raises(BrimfulError, match="killed"):
            loaded(tmp_path, source)
    else:
        loaded(tmp_path, source)  # three files are all that change
    monkeypatch.setattr(Store, "write", write)
    store, _ = loaded(tmp_path, source)
    assert completed(store) == completed(store, "v") == (9_000_000, 9.9, 31, 7000, "segments")


def altered(**changes):
    first, *others = lines_of()
    return zstd("\n".join(json.dumps(line) for line in [first | changes, *others]).encode())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not compressed", "is no trace of a connection"),
        (trace()[:-9], "the compressed data are cut off"),
        (zstd(b"{"), "is no trace of a connection"),
        (zstd(b"[]\n{}"), "is no trace of a connection"),
        (zstd(b"\n"), "is no trace of a connection"),
        (zstd(json.dumps(lines_of()[0]).encode()), "is no trace of a connection, or has no snapshot"),
        (altered(Metadata=None), "is no trace of a connection"),
        (altered(Metadata={"UUID": 1, "StartTime": ""}), "is no trace of a connection"),
        (altered(Metadata={"UUID": "u", "StartTime": "never"}), "a time is missing or is none"),
        (altered(Metadata={"UUID": "u", "StartTime": "2019-12-02T00:00:00Z"}), "ends before it starts"),
        (altered(Metadata={"UUID": "u", "StartTime": "1970-01-01T00:00:00Z"}), "starts before 2000"),
        (trace(told=(2**63, 0, 0, 0)), "counts more than 2^62"),
        (zstd(json.dumps(lines_of()[0]).encode() + b"\n" + b"\xff"), "is no trace of a connection"),
        *(
            (
                zstd("\n".join(json.dumps(x) for x in [lines_of()[0], snapshot("2019-12-02", info)]).encode()),
                "does not tell how long",
            )
            for info in (tcp_info(1, 1, 1, 1, size=168), "???", "é")
        ),
    ],
)
def test_traces_that_cannot_be_used(tmp_path, content, reason):
    files = {"bad.jsonl.zst": content, "good.jsonl.zst": trace(), "empty.jsonl.zst": b"", "none.jsonl.zst": zstd(b"")}
    store, summary = loaded(tmp_path, tar(tmp_path / "x-mlab1-bcn01.tar", files))
    assert (summary.results, summary.traces, summary.empty, summary.bad.total()) == (4, 1, 2, 1)
    (said,) = quarantined(store)
    assert said.startswith(reason)


def test_traces_of_a_server_that_nobody_named(tmp_path):
    (tmp_path / "a.jsonl.zst").write_bytes(trace())
    store, _ = loaded(tmp_path, tmp_path / "a.jsonl.zst")
    assert quarantined(store) == ["the server is not known: give it with --server"]
    _, summary = loaded(tmp_path, tmp_path / "a.jsonl.zst", server=parse_server("mlab1-bcn01"))
    assert summary.traces == 1


@given(st.randoms(use_true_random=False))
def test_no_trace_ends_the_load(random):
    content = zstd("\n".join(json.dumps(changed(line, random)) for line in lines_of()).encode())
    if random.random() < 0.3:
        place = random.randrange(len(content))
        content = content[:place] + bytes([random.randrange(256)]) + content[place + 1 :]
    tally = Tally("a")
    found = list(
        read_source(Path("a.jsonl.zst"), io.BytesIO(content), Settings(server=parse_server("mlab1-bcn01")), tally)
    )
    assert all(isinstance(one, Trace) for one in found)
    assert tally.results == 1 == tally.traces + tally.empty + tally.bad.total()
    assert tally.traces == len(found)


SIDESTREAM = b"K: cid PollTime LocalAddress\nC: 1 2017-02-03-12:00:03Z 192.0.2.1\nC: 2 2017-02-03-12:00:08Z 192.0.2.1\n"


def test_sources_without_a_speed_test(tmp_path, snapshot):
    tar(tmp_path / "pictures.tar", {"a.png": b"\0", "b.pcap": b"\0"})
    (tmp_path / "flat.csv").write_text("test_id,log_time\n")
    (tmp_path / "a.web100").write_bytes(SIDESTREAM)
    (tmp_path / "b.web100").write_bytes(b"nothing of the kind\n")
    tar(tmp_path / "t-mlab1-bcn01.tgz", {"a.jsonl.zst": trace(), "b.jsonl.zst": trace("other"), "a.json": result()})

    def told(*sources, check):
        return brimful("discards", "tests", "--store", "store", *sources, cwd=tmp_path, check=check).stdout

    text = [told("flat.csv", "a.web100", "t-mlab1-bcn01.tgz", check=0), told("pictures.tar", "b.web100", check=1)]
    assert "\n".join(text) == snapshot
