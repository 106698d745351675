"""Results of ndt5, ndt7 and iperf3 into a store: real ones, damaged ones, the same ones again."""

import contextlib
import errno
import gzip
import io
import json
import os
import tarfile
from datetime import datetime
from pathlib import Path

import pytest
from brimful.discards.schema import TESTS
from brimful.discards.speed_tests import merging, rows
from brimful.discards.speed_tests.loading import load
from brimful.discards.speed_tests.reading import Settings
from brimful.discards.store import Store
from brimful.errors import BrimfulError, UsageError
from invented_results import bigquery, iperf3
from support import ROOT

SHARED = Path(os.environ.get("BRIMFUL_SHARED", ROOT.parent / "shared")) / "discards"
NEEDS_SHARED = pytest.mark.skipif(not SHARED.exists(), reason="the real results are not there: set BRIMFUL_SHARED")
SERVER = rows.Server("mlab1", "bcn01", "mlab1-bcn01")
START = "2019-12-01T00:00:01.394297731Z"


def ndt5(uuid="ndt-x_1_0000000000000001", start=START, end="2019-12-01T00:00:11.394519157Z", **changes):
    download = {
        "UUID": uuid,
        "ServerIP": "192.0.2.1",
        "ServerPort": 33977,
        "ClientIP": "198.51.100.7",
        "ClientPort": 55413,
        "StartTime": start,
        "EndTime": end,
        "MeanThroughputMbps": 94.5,
    }
    return {"StartTime": start, "EndTime": end, "Control": {"UUID": "c"}, "S2C": download | changes}


def tar(path, files):
    """Write an archive of contents by name."""
    mode = "w:gz" if path.name.endswith("gz") else "w"
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


class Told:
    """What a load says of its progress."""

    def __init__(self):
        self.read = []
        self.written = []

    def reading(self, done_bytes, tests):
        self.read.append(done_bytes)

    def writing(self, done, total):
        self.written.append((done, total))


def loaded(tmp_path, *sources, store="store", progress=None, **settings):
    opened = Store.create(tmp_path / store)
    return opened, load(opened, list(sources), Settings(**settings), progress=progress or Told())


def stored(store):
    """All rows of the tests in a store, as the files have them."""
    found = []
    for site in store.sites("tests"):
        for path in sorted((store.path / "tests" / f"site={site}").glob("day=*/*.parquet")):
            table = store.read(merging.Partition("tests", site, day_of(path), "tests"), TESTS)
            ids = table["test_id"].to_pylist()
            assert table.sort_by([("start", "ascending"), ("test_id", "ascending")])["test_id"].to_pylist() == ids
            assert len(set(ids)) == len(ids)
            assert {str(start.date()) for start in table["start"].to_pylist()} == {str(day_of(path))}
            found += [row | {"site": site} for row in table.to_pylist()]
    return found


def day_of(path):
    return datetime.fromisoformat(path.parent.name.removeprefix("day=")).date()


def by_id(store):
    return {row["test_id"]: row for row in stored(store)}


def quarantined(store):
    return [line["reason"] for line in store._lines("quarantine.jsonl")]


@NEEDS_SHARED
def test_a_real_archive_of_ndt5(tmp_path):
    store, summary = loaded(tmp_path, next((SHARED / "ndt5").glob("*.tgz")))
    assert (summary.results, summary.empty, summary.bad) == (488, 10, {})
    # 158 never got beyond the control connection; of 2 more the download was announced and never began.
    assert summary.without_transfer == 160
    assert summary.kinds == {("ndt5", "download"): 175, ("ndt5", "upload"): 179}
    assert len(stored(store)) == summary.tests == summary.merged.added == 354
    assert by_id(store)["ndt-x88hx_1572945038_00000000000599C5"] == {
        "site": "bcn01",
        "test_id": "ndt-x88hx_1572945038_00000000000599C5",
        "protocol": "ndt5",
        "direction": "download",
        "machine": "mlab1",
        "server_name": "mlab1-bcn01",
        "start": datetime(2019, 12, 1, 0, 0, 1, 530809),
        "end": datetime(2019, 12, 1, 0, 0, 11, 559704),
        "logged": datetime(2019, 12, 1, 0, 0, 1, 530809),
        "client": "88.122.243.218",
        "client_port": 8490,
        "server": "91.213.30.203",
        "server_port": 42509,
        "bytes": None,
        "sending_s": 10.028895,
        "rate_bps": 34176239.89126316,
        "retransmitted": None,
        "sent": None,
        "retransmission_unit": None,
        "congestion_control": "cubic",
    }


@NEEDS_SHARED
def test_a_real_archive_of_ndt7(tmp_path):
    archive = next((SHARED / "ndt7").glob("*.tgz"))
    store, summary = loaded(tmp_path, archive)
    assert (summary.results, summary.empty, summary.bad, summary.without_transfer) == (114, 0, {}, 0)
    assert summary.kinds == {("ndt7", "download"): 57, ("ndt7", "upload"): 57}
    assert summary.sites == {"syd03"}
    found = by_id(store)
    with tarfile.open(archive) as members:
        for member in members:
            result = json.loads(gzip.decompress(members.extractfile(member).read()))
            upload = "Upload" in result
            transfer = result["Upload" if upload else "Download"]
            last = transfer["ServerMeasurements"][-1]["TCPInfo"]
            row = found[transfer["UUID"]]
            octets = last["BytesReceived" if upload else "BytesAcked"]
            assert row["bytes"] == octets
            assert row["rate_bps"] == pytest.approx(octets * 8 / (last["ElapsedTime"] / 1e6), rel=1e-15)
            assert (row["retransmitted"], row["sent"]) == (
                (None, None) if upload else (last["TotalRetrans"], last["SegsOut"])
            )
            assert (row["client"], row["client_port"]) == (result["ClientIP"], result["ClientPort"])


@NEEDS_SHARED
def test_real_results_outside_of_archives(tmp_path):
    files = sorted([*(SHARED / "ndt5").glob("*.json"), *(SHARED / "ndt7").glob("*.json")])
    store, summary = loaded(tmp_path, *files, server=SERVER)
    assert (summary.results, summary.without_transfer, summary.bad) == (8, 1, {})
    assert summary.kinds == {
        ("ndt5", "download"): 4,
        ("ndt5", "upload"): 4,
        ("ndt7", "download"): 2,
        ("ndt7", "upload"): 1,
    }
    found = by_id(store)
    # Numbers from the files by hand; "_unsafe" is not in the ids.
    parts = ("bytes", "sending_s", "rate_bps", "retransmitted", "sent", "retransmission_unit", "congestion_control")
    assert [found["ndt-rczlq_1666977535_0000000000169594"][part] for part in parts] == [
        *(273_499_688, 10.0, 218.32357147346343 * 1e6, 224, 189_770, "segments", "cubic"),
    ]
    assert [found["ndt-m9pcq_1652405655_000000000014FD28"][part] for part in parts] == [
        *(534_734, 10.144, 0.4230442008110187 * 1e6, 0, 423, "segments", "cubic"),
    ]
    assert [found["ndt-rczlq_1666977535_000000000016912D"][part] for part in parts] == [
        *(95_049_504, 9.919546, 8 * 95_049_504 / 9.919546, 1455, 67_854, "segments", "bbr"),
    ]
    assert found["ndt-rczlq_1666977535_000000000016912D"]["client"] == "2a01:cb08:1a7:dd00:a0ec:8867:9871:afb"
    assert [found["ndt-knwp4_1583603744_0000000000005CF2"][part] for part in parts] == [
        *(3_356_080, 10.000111, 8 * 3_356_080 / 10.000111, None, None, None, "bbr"),
    ]


def test_what_is_in_is_not_read_again_and_changes_nothing(tmp_path):
    first = tar(tmp_path / "x-mlab1-bcn01-ndt.tgz", {"a.json": json.dumps(ndt5()).encode()})
    store, _ = loaded(tmp_path, first)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").glob("tests/*/*/*")}
    _, summary = loaded(tmp_path, first)
    assert (summary.sources, summary.known_sources, summary.results) == (1, 1, 0)
    again = tar(tmp_path / "y-mlab1-bcn01-ndt.tgz", {"b/a.json.gz": gzip.compress(json.dumps(ndt5()).encode())})
    _, summary = loaded(tmp_path, again)
    assert (summary.known_sources, summary.merged.added, summary.merged.repeated) == (0, 0, 1)
    assert summary.merged.partitions == summary.merged.conflicts == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").glob("tests/*/*/*")} == before
    assert len(store.ingested()) == 2


def test_the_latest_of_two_contents_is_kept_and_counted(tmp_path):
    for name, rate in (("a", 10.0), ("b", 20.0)):
        content = json.dumps(ndt5(MeanThroughputMbps=rate)).encode()
        store, summary = loaded(tmp_path, tar(tmp_path / f"{name}-mlab1-bcn01.tar", {"r.json": content}))
    assert (summary.merged.added, summary.merged.conflicts) == (0, 1)
    assert [row["rate_bps"] for row in stored(store)] == [20e6]


def test_archives_in_archives_are_read_and_other_files_left_out(tmp_path):
    inner = tar(tmp_path / "z-ndt5-mlab3-lga0t-ndt.tgz", {"a.json": json.dumps(ndt5()).encode(), "a.pcap": b"\0"})
    store, summary = loaded(tmp_path, tar(tmp_path / "all.tar", {"in/" + inner.name: inner.read_bytes()}))
    assert summary.results == 1
    assert [(row["site"], row["machine"]) for row in stored(store)] == [("lga0t", "mlab3")]


def test_an_archive_that_ends_early_gives_what_is_whole(tmp_path):
    results = {
        f"{number}.json": json.dumps(ndt5(uuid=f"u{number}", Pad=os.urandom(3000).hex())).encode()
        for number in range(20)
    }
    whole = tar(tmp_path / "x-mlab1-bcn01.tgz", results).read_bytes()
    cut = tmp_path / "cut-mlab1-bcn01.tgz"
    cut.write_bytes(whole[: len(whole) // 2])
    store, summary = loaded(tmp_path, cut)
    assert 5 < len(stored(store)) < 20
    assert summary.bad_share > 0.01
    assert quarantined(store)
    _, summary = loaded(tmp_path, tmp_path / "x-mlab1-bcn01.tgz")
    assert len(stored(store)) == 20
    assert summary.bad_share == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "is not JSON"),
        (b"\xff\x00\xfe", "is not JSON"),
        (b'{"x":' * 100_000, "is not JSON"),
        (b"{}", "is no result of a known speed test"),
        (b"1", "has a wrong type"),
        (b"null", "has a wrong type"),
        (json.dumps(ndt5(ClientPort="many")).encode(), "has a wrong type: Expected `int"),
        (json.dumps(ndt5(ClientPort=70000)).encode(), "has a wrong type: Expected `int`"),
        (json.dumps(ndt5(MeanThroughputMbps=-1)).encode(), "has a wrong type"),
        (json.dumps(ndt5(EndTime="yesterday")).encode(), "a time is missing or is none"),
        (json.dumps(ndt5(EndTime=None)).encode(), "a time is missing or is none"),
        (json.dumps(ndt5(start="1970-01-18T00:00:01Z")).encode(), "starts before 2000"),
        (json.dumps(ndt5(end="2019-11-01T00:00:01Z")).encode(), "ends before it starts"),
        (json.dumps(ndt5(end="2019-12-01T03:00:01Z")).encode(), "lasts longer than an hour"),
        (json.dumps(ndt5(TCPInfo={"BytesAcked": 2**70})).encode(), "has a wrong type"),
    ],
)
def test_what_cannot_be_used_is_quarantined_and_the_rest_is_in(tmp_path, content, reason):
    files = {"bad.json": content, "good.json": json.dumps(ndt5()).encode()}
    store, summary = loaded(tmp_path, tar(tmp_path / "x-mlab1-bcn01.tar", files))
    assert (summary.results, summary.bad.total(), summary.tests) == (2, 1, 1)
    (line,) = store._lines("quarantine.jsonl")
    assert line["reason"].startswith(reason)
    assert line["member"].endswith("bad.json")
    assert line["text"] == content.decode(errors="replace")[: rows.KEPT_TEXT]


def test_results_of_a_server_that_nobody_named(tmp_path):
    source = tmp_path / "result.json"
    source.write_text(json.dumps(ndt5()))
    store, summary = loaded(tmp_path, source)
    assert quarantined(store) == ["the server is not known: give it with --server"]
    # With the server it is another source: what was missing is in.
    _, summary = loaded(tmp_path, source, server=SERVER)
    assert summary.merged.added == 1


def test_sources_that_cannot_be_opened_do_not_cost_the_others(tmp_path, monkeypatch):
    sources = [
        tar(tmp_path / f"{n}-mlab1-bcn01.tar", {f"{n}.json": json.dumps(ndt5(f"u{n}")).encode()}) for n in (1, 2)
    ]
    opened = Path.open

    def refuse(path, *arguments, **options):
        if path == sources[0]:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    store, summary = loaded(tmp_path, *sources)
    assert set(by_id(store)) == {"u2"}
    assert summary.bad == {(str(sources[0]), "cannot be opened: Permission denied"): 1}
    monkeypatch.undo()
    loaded(tmp_path, *sources)
    assert set(by_id(store)) == {"u1", "u2"}


def test_a_file_of_another_kind_is_bad(tmp_path):
    (tmp_path / "notes.txt").write_text("Speed tests of Tuesday")
    store, summary = loaded(tmp_path, tmp_path / "notes.txt")
    assert summary.bad.total() == 1
    assert quarantined(store)


def test_empty_results_are_not_bad(tmp_path):
    source = tar(tmp_path / "x-mlab1-bcn01.tar", {"a.json": b"", "b.json": b"\n", "c.json.gz": gzip.compress(b"")})
    _, summary = loaded(tmp_path, source)
    assert (summary.results, summary.empty, summary.bad_share) == (3, 3, 0)


def test_tests_without_an_id_get_one_that_stays(tmp_path):
    files = {f"{port}.json": json.dumps(ndt5(uuid="", ClientPort=port)).encode() for port in (1, 2)}
    store, _ = loaded(tmp_path, tar(tmp_path / "x-mlab1-bcn01.tar", files))
    ids = {row["test_id"] for row in stored(store)}
    assert len(ids) == 2
    _, summary = loaded(tmp_path, tar(tmp_path / "y-mlab1-bcn01.tar", files))
    assert summary.merged.repeated == 2 or summary.known_sources == 1
    assert {row["test_id"] for row in stored(store)} == ids


def test_a_load_that_was_killed_goes_on(tmp_path, monkeypatch):
    sources = [
        tar(
            tmp_path / f"{day}-mlab1-bcn01.tar",
            {
                f"{number}.json": json.dumps(
                    ndt5(f"u{day}-{number}", f"2019-12-{day:02}T00:00:01Z", f"2019-12-{day:02}T00:00:11Z")
                ).encode()
                for number in range(5)
            },
        )
        for day in range(1, 7)
    ]
    write = Store.write
    left = 3

    def fail_at_the_fourth(self, *arguments):
        nonlocal left
        if not left:
            message = "killed"
            raise BrimfulError(message)
        left -= 1
        write(self, *arguments)

    monkeypatch.setattr(merging, "WRITERS", 1)
    monkeypatch.setattr(Store, "write", fail_at_the_fourth)
    with pytest.raises(BrimfulError, match="killed"):
        loaded(tmp_path, *sources)
    monkeypatch.setattr(Store, "write", write)
    killed, summary = loaded(tmp_path, *sources)
    assert (summary.merged.added, summary.merged.repeated) == (15, 15)
    whole, _ = loaded(tmp_path, *sources, store="other")
    assert stored(killed) == stored(whole)
    _, summary = loaded(tmp_path, *sources)
    assert summary.known_sources == 6


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(UsageError, match="is not there"):
        loaded(tmp_path, tmp_path / "absent.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no file in it ends in .json"):
        loaded(tmp_path, tmp_path / "empty")


@NEEDS_SHARED
def test_real_snapshot_logs_of_web100(tmp_path):
    # The file is an archive that is not compressed, whatever its name says.
    store, summary = loaded(
        tmp_path, SHARED / "web100" / "web100-files.tar.gz", server=rows.parse_server("mlab3-vie01")
    )
    assert (summary.results, summary.bad) == (2, {})
    found = by_id(store)
    download = found["20170509T13:45:13.590210000Z_eb.measurementlab.net:44160.s2c_snaplog"]
    assert download == {
        "site": "vie01",
        "test_id": "20170509T13:45:13.590210000Z_eb.measurementlab.net:44160.s2c_snaplog",
        "protocol": "web100",
        "direction": "download",
        "machine": "mlab3",
        "server_name": "mlab3-vie01",
        "start": datetime(2017, 5, 9, 13, 45, 28, 77095),
        "end": datetime(2017, 5, 9, 13, 45, 38, 946651),
        "logged": datetime(2017, 5, 9, 13, 45, 13, 590210),
        # The one that its .meta file names, and the port that its name has.
        "client": "45.56.98.222",
        "client_port": 44160,
        "server": "213.208.152.37",
        "server_port": 40105,
        "bytes": 53734,
        "sending_s": 10.869521,
        "rate_bps": 8 * 53734 / 10.869521,
        "retransmitted": 32,
        "sent": 74,
        "retransmission_unit": "segments",
        "congestion_control": "reno",
    }
    upload = found["20170509T13:45:13.590210000Z_eb.measurementlab.net:48716.c2s_snaplog"]
    assert (upload["bytes"], upload["sending_s"], upload["client_port"]) == (1_971_039, 13.348832, 48716)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\0" * 100, "is no snapshot log"),
        (
            b"v\n\n/read\nX 0 4 4\n\n/tune\n----End-Of-Header---- -1 -1\n----Begin-Snap-Data----\n\0",
            "is no snapshot log",
        ),
        (
            b"v\n\n/read\nX 0 4 4\n\n/tune\n----End-Of-Header---- -1 -1\n----Begin-Snap-Data----\n\0\0\0\0",
            "is a snapshot log without the variable StartTimeSec",
        ),
    ],
)
def test_snapshot_logs_that_are_none(tmp_path, content, reason):
    files = {"a.s2c_snaplog": content, "b.c2s_snaplog.gz": gzip.compress(b"")}
    store, summary = loaded(tmp_path, tar(tmp_path / "x-mlab1-bcn01.tgz", files))
    assert (summary.results, summary.empty, summary.bad.total()) == (2, 1, 1)
    assert quarantined(store)[0].startswith(reason)


def test_exported_rows_of_the_tables_of_mlab(tmp_path):
    unified = bigquery(
        id="u",
        raw=None,
        a={"UUID": "u", "TestTime": "2022-11-30 12:00:00 UTC", "MeanThroughputMbps": 7.5, "CongestionControl": "bbr"},
        client={"IP": "198.51.100.1", "Port": "7"},
    )
    source = tmp_path / "export.jsonl.gz"
    source.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in (bigquery(), unified)).encode()))
    store, summary = loaded(tmp_path, source)
    assert (summary.results, summary.bad) == (2, {})
    found = by_id(store)
    row = found["ndt-rczlq_1666977535_000000000016912D"]
    assert (row["site"], row["machine"], row["client"], row["client_port"]) == ("par04", "mlab2", "2a01:cb08::1", 63384)
    assert (row["bytes"], row["retransmitted"], row["start"].microsecond) == (95_049_504, 1455, 945636)
    assert (found["u"]["protocol"], found["u"]["rate_bps"], found["u"]["bytes"]) == ("ndt7", 7.5e6, None)
    # The same as one JSON list, which bq prints.
    listed = tmp_path / "export.json"
    listed.write_text(json.dumps([bigquery(), unified], indent=1))
    _, summary = loaded(tmp_path, listed)
    assert (summary.results, summary.merged.repeated) == (2, 2)


def test_results_of_iperf3(tmp_path):
    source = tmp_path / "iperf3.json"
    source.write_text(json.dumps(iperf3(reverse=1), indent="\t"))
    store, _ = loaded(tmp_path, source, server=rows.parse_server("probe-fra"))
    (row,) = stored(store)
    assert (row["site"], row["machine"], row["direction"], row["test_id"]) == ("fra", "probe", "download", "iperf3-abc")
    assert (row["client"], row["server"]) == ("10.0.0.2", "10.0.0.1")
    assert (row["bytes"], row["sending_s"], row["rate_bps"]) == (1_447_000, 10.01, 1.1564e6)
    assert (row["retransmitted"], row["sent"], row["retransmission_unit"]) == (3, 1000, "segments")
    assert row["end"] == datetime(2018, 2, 1, 20, 0, 10, 10000)
    source.write_text(json.dumps(iperf3()) + "\n" + json.dumps({"start": {}, "error": "unable to connect"}))
    _, summary = loaded(tmp_path, source, server=rows.parse_server("probe-fra"), store="other")
    assert (summary.kinds, summary.without_transfer) == ({("iperf3", "upload"): 1}, 1)


def test_progress_ends_at_all_bytes_and_all_partitions(tmp_path):
    content = json.dumps(ndt5()).encode()
    sources = [tar(tmp_path / f"{number}-mlab1-bcn0{number}.tar", {"a.json": content}) for number in range(3)]
    told = Told()
    loaded(tmp_path, *sources, progress=told)
    assert told.read[-1] == sum(source.stat().st_size for source in sources)
    assert told.read == sorted(told.read)
    assert told.written == [(3, 3)]


def test_a_store_is_written_by_one_program(tmp_path):
    store = Store.create(tmp_path / "store")
    with contextlib.ExitStack() as stack:
        stack.enter_context(store.place.writing())
        with pytest.raises(UsageError, match="another program"):
            loaded(tmp_path, tar(tmp_path / "x.tar", {"a.json": b"{}"}))
