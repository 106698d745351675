"""Tests in flat tables: of the web100 years and of M-Lab's views."""

import csv
import gzip
import io
import json
import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from brimful.discards import times, values
from brimful.discards.speed_tests import table_files
from discards.test_speed_tests import by_id, loaded, quarantined, stored, tar
from hypothesis import given
from hypothesis import strategies as st

START_US = 1_517_515_200_123_456
WEB100 = {
    "test_id": "2018/02/01/x.s2c_snaplog.gz",
    "log_time": "2018-02-01 20:00:00 UTC",
    "server_hostname": "ndt.iupui.mlab1.dfw02.measurement-lab.org",
    "remote_ip": "198.51.100.7",
    "remote_port": 50000,
    "local_ip": "192.0.2.1",
    "local_port": 3001,
    "data_direction": 1,
    "StartTimeStamp": START_US,
    "HCThruOctetsAcked": 12_500_000,
    "SndLimTimeRwin": 1_000_000,
    "SndLimTimeCwnd": 8_500_000,
    "SndLimTimeSnd": 500_000,
    "SegsRetrans": 12,
    "SegsOut": 9000,
}
SNAPSHOT = {"StartTimeStamp", "HCThruOctetsAcked", "SegsRetrans", "SegsOut"} | {
    f"SndLimTime{part}" for part in ("Rwin", "Cwnd", "Snd")
}


def web100(number=0, **changes):
    return WEB100 | {"test_id": f"t{number}"} | changes


def full_name(column, joint):
    """Name a column as an export of the whole table does."""
    if column in ("test_id", "log_time"):
        return column
    if column in ("data_direction", "server_hostname"):
        return joint.join(("connection_spec", column))
    return joint.join(("web100_log_entry", "snap" if column in SNAPSHOT else "connection_spec", column))


def write_csv(path, rows, name=lambda column: column):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([name(column) for column in rows[0]])
    writer.writerows([row.values() for row in rows])
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_parquet(path, rows, name=lambda column: column):
    pq.write_table(pa.table({name(column): [row[column] for row in rows] for column in rows[0]}), path)
    return path


def load_rows(tmp_path, rows, **options):
    return loaded(tmp_path, write_csv(tmp_path / "flat.csv", rows), **options)


def test_what_a_row_of_web100_tells(tmp_path):
    store, summary = load_rows(tmp_path, [web100()])
    assert (summary.results, summary.tests, summary.bad) == (1, 1, {})
    start = datetime(2018, 2, 1, 20, 0, 0, 123456)
    assert stored(store) == [
        {
            "site": "dfw02",
            "test_id": "t0",
            "protocol": "web100",
            "direction": "download",
            "machine": "mlab1",
            "server_name": "ndt.iupui.mlab1.dfw02.measurement-lab.org",
            "start": start,
            "end": start + timedelta(seconds=10),
            "logged": datetime(2018, 2, 1, 20),
            "client": "198.51.100.7",
            "client_port": 50000,
            "server": "192.0.2.1",
            "server_port": 3001,
            "bytes": 12_500_000,
            "sending_s": 10.0,
            "rate_bps": 1e7,
            "retransmitted": 12,
            "sent": 9000,
            "retransmission_unit": "segments",
            "congestion_control": "reno",
        }
    ]


def test_all_spellings_and_formats_of_a_table_give_the_same(tmp_path):
    many = [web100(n, StartTimeStamp=START_US + n * 3_600_000_000, data_direction=n % 2) for n in range(60)]
    plain, _ = load_rows(tmp_path, many)
    assert len(stored(plain)) == 60
    nested = pa.table(
        {
            "test_id": [row["test_id"] for row in many],
            "log_time": pa.array([datetime(2018, 2, 1, 20, tzinfo=UTC)] * 60),
            "web100_log_entry": [
                {
                    "snap": {column: row[column] for column in row if column in SNAPSHOT},
                    "connection_spec": {
                        column: row[column] for column in row if column not in SNAPSHOT | {"test_id", "log_time"}
                    },
                }
                for row in many
            ],
        }
    )
    pq.write_table(nested, tmp_path / "nested.parquet")
    sources = [
        write_csv(tmp_path / "dots.csv.gz", many, lambda column: full_name(column, ".")),
        write_parquet(tmp_path / "underscores.parquet", many, lambda column: full_name(column, "_")),
        tmp_path / "nested.parquet",
        tar(tmp_path / "all.tgz", {"a/flat.csv": (tmp_path / "flat.csv").read_bytes()}),
        tar(tmp_path / "parquet.tar", {"a/flat.parquet": (tmp_path / "nested.parquet").read_bytes()}),
    ]
    for source in sources:
        _, summary = loaded(tmp_path, source)
        assert (summary.bad, summary.merged.added, summary.merged.repeated, summary.merged.conflicts) == ({}, 0, 60, 0)
        store, _ = loaded(tmp_path, source, store=f"store-{source.name}")
        assert stored(store) == stored(plain)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"HCThruOctetsAcked": "many"}, "bytes cannot be read"),
        ({"HCThruOctetsAcked": "1.5"}, "bytes cannot be read"),
        ({"HCThruOctetsAcked": 2**64}, "bytes cannot be read"),
        ({"HCThruOctetsAcked": -1}, "bytes is negative"),
        ({"StartTimeStamp": ""}, "start is missing"),
        ({"StartTimeStamp": "soon"}, "start cannot be read"),
        ({"StartTimeStamp": START_US // 1_000_000}, "starts before 2000"),
        ({"StartTimeStamp": START_US * 1000}, "starts before 2000"),
        ({"StartTimeStamp": 10**18 - 1}, "starts before 2000"),
        ({"SndLimTimeCwnd": 8_500_000_000}, "lasts longer than an hour"),
        ({"SndLimTimeCwnd": -8_500_000}, "a time span is negative"),
        ({"SndLimTimeCwnd": "inf"}, "sending cannot be read"),
        ({"SndLimTimeCwnd": ""}, "the end is missing"),
        ({"log_time": "soon"}, "logged cannot be read"),
        ({"data_direction": 2}, "direction is neither"),
        ({"data_direction": ""}, "direction is neither"),
        ({"server_hostname": "www.example.org"}, "the server is not known"),
        ({"server_hostname": ""}, "the server is not known"),
        ({"test_id": ""}, "test_id is missing"),
        ({"remote_port": 70_000}, "client_port is out of range"),
        ({"SegsOut": "?"}, "sent cannot be read"),
    ],
)
def test_rows_that_cannot_be_right_are_quarantined_and_the_others_are_in(tmp_path, changes, reason):
    rows = [web100(0), web100(1, **changes), web100(2)]
    store, summary = load_rows(tmp_path, rows)
    assert (summary.results, summary.tests, summary.bad.total()) == (3, 2, 1)
    assert set(by_id(store)) == {"t0", "t2"}
    (line,) = store._lines("quarantine.jsonl")
    assert line["reason"].startswith(reason)
    assert line["line"] == 3
    assert json.loads(line["text"])["remote_ip"] == "198.51.100.7"


def test_lines_that_are_no_rows(tmp_path):
    source = write_csv(tmp_path / "flat.csv", [web100(0), web100(1)])
    lines = source.read_bytes().split(b"\r\n")
    source.write_bytes(b"\n".join([*lines[:2], b"a,b", b'x,"', b"\xff\xfe" * 40, lines[2], b""]))
    store, _ = loaded(tmp_path, source)
    assert set(by_id(store)) == {"t0", "t1"}
    assert set(quarantined(store)) == {"has another number of columns than the header"}
    assert [line["line"] for line in store._lines("quarantine.jsonl")] == [3, 4, 5]


def test_octets_that_are_no_utf_8_cost_nothing_else(tmp_path):
    source = write_csv(tmp_path / "flat.csv", [web100(0), web100(1, local_ip="?"), web100(2)])
    source.write_bytes(source.read_bytes().replace(b",?,", b",\xff,"))
    store, summary = loaded(tmp_path, source)
    assert summary.bad == {}
    assert [by_id(store)[f"t{n}"]["server"] for n in range(3)] == ["192.0.2.1", "ÿ", "192.0.2.1"]


@pytest.mark.parametrize("content", [b"", b"\n", b"test_id,log_time\n"])
def test_tables_without_rows(tmp_path, content):
    source = tmp_path / "flat.csv"
    source.write_bytes(content)
    store, summary = loaded(tmp_path, source)
    assert (summary.results, summary.empty, summary.tests, summary.bad) == (1, 1, 0, {})
    assert stored(store) == []


def test_damaged_and_unknown_tables(tmp_path):
    whole = write_parquet(tmp_path / "whole.parquet", [web100()]).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "cut.csv.gz").write_bytes(
        write_csv(tmp_path / "a.csv.gz", [web100(n) for n in range(9)]).read_bytes()[:-20]
    )
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    store, summary = loaded(tmp_path, *(tmp_path / name for name in ("cut.parquet", "cut.csv.gz", "other.csv")))
    damaged, unknown, cut = sorted(quarantined(store))
    assert (damaged, cut) == ("is damaged or ends early", "the compressed data are cut off")
    assert unknown.startswith(
        "is no known table: of the web100 table it lacks test_id, connection_spec.data_direction, "
    )
    assert summary.bad.total() == 4
    # What was whole before the cut is in.
    assert 0 < summary.tests < 9


def test_no_more_than_a_thousand_of_a_reason_are_kept(tmp_path):
    store, summary = load_rows(tmp_path, [web100(n, data_direction=7) for n in range(1500)])
    assert summary.bad.total() == 1500
    assert len(quarantined(store)) == 1000


def test_a_table_that_cannot_be_read_at_all_is_quarantined_in_a_line(tmp_path):
    store, summary = load_rows(tmp_path, [{"a": n} for n in range(1500)])
    assert summary.bad.total() == 1500
    (reason,) = quarantined(store)
    assert reason.startswith("is no known table")


def test_numbers_of_databases(tmp_path):
    row = web100()
    columns = {
        name: pa.array([Decimal(value)], pa.decimal128(38, 9)) if isinstance(value, int) else pa.array([value])
        for name, value in row.items()
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    store, summary = loaded(tmp_path, tmp_path / "a.parquet")
    assert (summary.tests, quarantined(store)) == (1, [])
    assert stored(store) == stored(load_rows(tmp_path, [row], store="plain")[0])


def test_batches_are_numbered_on(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "BATCH_ROWS", 10)
    rows = [web100(n, data_direction=1 if n != 25 else 3) for n in range(40)]
    store, summary = loaded(tmp_path, write_parquet(tmp_path / "flat.parquet", rows))
    assert summary.tests == 39
    assert [line["line"] for line in store._lines("quarantine.jsonl")] == [26]


def test_rows_of_the_unified_view(tmp_path):
    row = {
        "a.UUID": "ndt-a_1_1",
        "a.TestTime": "2022-11-30 12:00:00.5 UTC",
        "a.CongestionControl": "cubic",
        "a.MeanThroughputMbps": 12.5,
        "server.Machine": "mlab2",
        "server.Site": "par04",
        "client.IP": "2001:DB8::1",
    }
    store, _ = loaded(tmp_path, write_csv(tmp_path / "u.csv", [row], lambda column: column.replace(".", "_")))
    (found,) = stored(store)
    assert (found["protocol"], found["rate_bps"], found["client"]) == ("ndt5", 12.5e6, "2001:db8::1")
    assert found["end"] - found["start"] == timedelta(seconds=10)
    assert found["server_name"] == "mlab2-par04"


# Values, and their naive twin.

TEXTS = st.one_of(
    st.none(),
    st.integers(-(10**19), 10**19).map(str),
    st.floats().map(str),
    st.text(alphabet=" +-.0123456789eExX_,", max_size=8),
)


def naive_number(text):
    if text is None or text.strip() in ("", "nan", "-"):
        return None
    match = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text.strip(), re.ASCII)
    number = float(match[0]) if match else math.inf
    return number if math.isfinite(number) else "bad"


@given(st.lists(TEXTS, max_size=20))
def test_numbers_agree_with_their_twin(words):
    read = values.numbers(pa.array(words, pa.string()))
    found = ["bad" if bad else value for value, bad in zip(read.values.to_pylist(), read.bad, strict=True)]
    assert found == [naive_number(word) for word in words]


def naive_count(text):
    if text is not None and re.fullmatch(r"-?\d{1,18}", text.strip(), re.ASCII):
        return int(text)
    number = naive_number(text)
    if number in (None, "bad"):
        return number
    return int(number) if number == int(number) and abs(number) < 2**53 else "bad"


def test_what_is_not_a_number_is_nothing_beside_what_cannot_be_read():
    read = values.numbers(pa.array(["NaN", "x", "1.5"]))
    assert (read.values.to_pylist(), read.bad.tolist()) == ([None, None, 1.5], [False, True, False])


@given(st.lists(TEXTS, max_size=20))
def test_counts_agree_with_their_twin(words):
    read = values.counts(pa.array(words, pa.string()))
    found = ["bad" if bad else value for value, bad in zip(read.values.to_pylist(), read.bad, strict=True)]
    assert found == [naive_count(word) for word in words]


def naive_time(word):
    time = datetime.fromisoformat(word.removesuffix(" UTC"))
    return (time.replace(tzinfo=time.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@given(st.lists(st.datetimes(datetime(1990, 1, 1), datetime(2110, 1, 1)), min_size=1, max_size=5), st.data())
def test_times_in_words_agree_with_their_twin(moments, data):
    endings = data.draw(st.lists(st.sampled_from(["", "Z", " UTC", "+00:00", "+02:00", "-05:30"]), min_size=1))
    words = [
        moment.isoformat(sep=data.draw(st.sampled_from("T "))) + endings[place % len(endings)]
        for place, moment in enumerate(moments)
    ] + [None]
    read = times.times(pa.array(words))
    assert not read.bad.any()
    assert read.us.to_pylist() == [None if word is None else naive_time(word) for word in words]


@pytest.mark.parametrize(
    ("written", "factor", "wanted"),
    [
        (["1517515200"], 1e6, 1_517_515_200_000_000),
        (["1517515200.25"], 1e6, 1_517_515_200_250_000),
        (["1517515200123"], 1e3, 1_517_515_200_123_000),
        (["1517515200123456789"], 1e-3, 1_517_515_200_123_456),
        ([1_517_515_200], 1e6, 1_517_515_200_000_000),
        ([1_517_515_200.5], 1e6, 1_517_515_200_500_000),
        ([datetime(2018, 2, 1, 20, tzinfo=UTC)], None, 1_517_515_200_000_000),
        ([datetime(2018, 2, 1, 20)], None, 1_517_515_200_000_000),
    ],
)
def test_times_in_units(written, factor, wanted):
    read = times.times(pa.array(written), unit_us=factor)
    assert abs(read.us[0].as_py() - wanted) <= (1 if factor == 1e-3 else 0)
    assert not read.bad.any()


def test_whole_numbers_are_exact_to_the_last_digit():
    assert values.counts(pa.array(["123456789012345678", "x"])).values.to_pylist() == [123456789012345678, None]
    assert values.counts(pa.array([2**62, 2**62 + 1], pa.uint64())).values.to_pylist() == [2**62, None]
