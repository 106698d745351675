"""Tables of other sources, and the flat one of 2018."""

import csv
import datetime
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from brimful.discards.schema import SAMPLES, Flag
from brimful.discards.telemetry.source import Reading
from telemetry import MIDNIGHT, content, files_of, line1, put

HEAD = "timestamp,device,port,direction,octets,packets,discards\n"
HOST, SWITCH = "mlab1.dfw02.measurement-lab.org", "s1.dfw02.measurement-lab.org"


def ingest_text(tmp_path, text, name="a.csv", **options):
    data = text.encode() if isinstance(text, str) else text
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return put(tmp_path / "store", tmp_path / name, **options)


def rows_of(store):
    return [row for path in sorted((store / "samples").rglob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def at(second):
    return datetime.datetime(2022, 1, 2) + datetime.timedelta(seconds=second)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_what_was_counted_since_the_row_before(tmp_path, name):
    text = HEAD + (
        "2022-01-02T00:05:00Z,edge-1,xe-0/0/1,tx,1000,10,0\n"
        "2022-01-02 00:10:00,edge-1,xe-0/0/1,out,2000,20,3\n"
        f"{MIDNIGHT + 1200},edge-1,xe-0/0/1,TX,4000,40,\n"
        "2022-01-02T01:05:00+01:00,edge-1,xe-0/0/1,in,7,1,0\n"
    )
    summary = ingest_text(tmp_path, text, name)
    assert (summary.lines, summary.rows_new, summary.refused) == (4, 11, {})
    (path,) = files_of(tmp_path / "store")
    assert path == "site=edge-1/day=2022-01-02/xe-0%2F0%2F1.parquet"
    table = pq.read_table(tmp_path / "store" / "samples" / path, partitioning=None)
    assert table.cast(SAMPLES).schema == SAMPLES
    octets = [row for row in table.to_pylist() if row["metric"] == "switch.octets.uplink.tx"]
    assert [(row["bin_start"], row["bin_end"], row["value"], row["flags"]) for row in octets] == [
        (at(0), at(300), 1000, Flag.UNANCHORED),
        (at(300), at(600), 2000, 0),
        (at(600), at(1200), 4000, Flag.MISSED_POLL),
    ]
    assert {row["machine"] for row in table.to_pylist()} == {"xe-0/0/1"}
    discards = [row for row in table.to_pylist() if row["metric"] == "switch.discards.uplink.tx"]
    assert [row["value"] for row in discards] == [0, 3]


def test_counters(tmp_path):
    text = "timestamp,device,port,direction,discards,scope\n" + "".join(
        f"{MIDNIGHT + second},edge,1,tx,{counter},local\n" for second, counter in ((60, 2**32 - 5), (120, 5), (180, 2))
    )
    ingest_text(tmp_path, text, reading=Reading(counters=True))
    rows = rows_of(tmp_path / "store")
    assert {row["metric"] for row in rows} == {"switch.discards.local.tx"}
    assert [(row["value"], row["flags"]) for row in rows] == [
        (None, Flag.UNANCHORED),
        (10, Flag.WRAPPED),
        (None, Flag.RESET),
    ]


def test_late_rows_shorten_the_bins_after_them(tmp_path):
    lines = [f"{MIDNIGHT + second},edge,1,tx,{3000 - second},1,0\n" for second in range(300, 3000, 300)]
    ingest_text(tmp_path, HEAD + "".join(lines))
    expected = rows_of(tmp_path / "store")
    other = tmp_path / "other"
    other.mkdir()
    for number, part in enumerate((lines[::2], lines[1::2])):
        ingest_text(other, HEAD + "".join(part), name=f"{number}.csv")
    assert rows_of(other / "store") == expected


def test_parquet_of_native_types(tmp_path):
    table = pa.table(
        {
            "timestamp": pa.array([at(10), at(20)], pa.timestamp("ms", tz="UTC")),
            "device": ["edge", "edge"],
            "port": ["1", "1"],
            "direction": ["tx", "tx"],
            "octets": pa.array([2**63, None], pa.uint64()),
            "discards": pa.array([1.0, 2.0]),
            "more": [1, 2],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    summary = put(tmp_path / "store", tmp_path / "a.parquet")
    assert (summary.lines, summary.rows_new, summary.bad_lines) == (2, 3, 0)
    octets = rows_of(tmp_path / "store")[2]
    assert (octets["reported"], octets["value"], octets["usable"]) == (2**63, None, False)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("yesterday,edge,1,tx,1,1,1", "timestamp is no time: write it like 2026-03-01 00:01:00, or in Unix time"),
        ("1999-01-01,edge,1,tx,1,1,1", "a timestamp is before 2009"),
        ("2222-01-01,edge,1,tx,1,1,1", "a timestamp is in the future"),
        (f"{MIDNIGHT},,1,tx,1,1,1", "device has no name, or one of more than 80 characters"),
        (f"{MIDNIGHT},edge,{'x' * 81},tx,1,1,1", "port has no name, or one of more than 80 characters"),
        (f"{MIDNIGHT},edge,1,up,1,1,1", "direction is none of rx, tx, in, out"),
        (f"{MIDNIGHT},edge,1,tx,-{2**64},1,1", "octets is no count"),
        (f"{MIDNIGHT},edge,1,tx,1,x,1", "packets is no count"),
        (f"{MIDNIGHT},edge,1,tx,1,1,1.5", "discards is no count"),
        (f"{MIDNIGHT},edge,1,tx", "has 4 columns, not 7"),
    ],
)
def test_a_bad_row_is_refused_and_the_others_are_taken(tmp_path, line, reason):
    good = [f"{MIDNIGHT + second},edge,1,tx,1,1,1\n" for second in (10, 20)]
    summary = ingest_text(
        tmp_path, HEAD + good[0] + line + "\n" + good[1], reading=Reading(latest_s=2e9, counters=False)
    )
    assert summary.refused == {reason: 1}
    assert (summary.lines, summary.rows_new) == (3, 6)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a,b\n1,2\n", "for M-Lab's flat table it lacks hostname"),
        ("a.csv", b"timestamp,device,port,direction\n", "for the generic table it lacks one of octets"),
        ("a.csv", b"timestamp,device,direction,discards\n", "for the generic table it lacks port"),
        ("a.csv", b"timestamp,timestamp\n", "two columns are called timestamp"),
        ("a.csv", b"\xff\xfe\x00", "codec can't decode"),
        ("a.parquet", b"PAR1", "Parquet"),
        ("a.parquet", b"", "is empty"),
    ],
)
def test_other_files_are_named(tmp_path, name, data, reason):
    summary = ingest_text(tmp_path, data, name)
    (problem,) = summary.unreadable_places
    assert reason in problem
    assert "\n" not in problem
    assert summary.too_many_bad


def test_a_damaged_compressed_table_is_named(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((HEAD + "1,2,3\n" * 1000).encode())[:-20])
    assert put(tmp_path / "store", tmp_path / "a.csv.gz").unreadable == 1


SAMPLES_1 = [(MIDNIGHT + second, float(second) + 0.25) for second in range(0, 50, 10)]


def flat(samples):
    return [(HOST, SWITCH, "switch.octets.uplink.tx", second, value) for second, value in samples]


def as_csv(rows):
    out = io.StringIO()
    csv.writer(out).writerows([("hostname", "experiment", "metric", "timestamp", "value"), *rows])
    return out.getvalue()


def test_the_flat_table_equals_the_files_that_it_was_made_of(tmp_path):
    (tmp_path / "a-switch.json").write_bytes(
        content(line1("switch.octets.uplink.tx", [*SAMPLES_1, (MIDNIGHT + 50, 0)]))
    )
    put(tmp_path / "files", tmp_path / "a-switch.json")
    ingest_text(tmp_path, as_csv(flat(SAMPLES_1)))
    assert files_of(tmp_path / "store") == files_of(tmp_path / "files")
    columns = zip(*flat(SAMPLES_1), strict=True)
    names = ("hostname", "experiment", "metric", "timestamp", "value")
    pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), tmp_path / "flat.parquet")
    put(tmp_path / "parquet", tmp_path / "flat.parquet")
    assert files_of(tmp_path / "parquet") == files_of(tmp_path / "files")


def test_rows_are_numbered_as_lines_of_the_file(tmp_path):
    bad = f"{MIDNIGHT},edge,1,tx"
    ingest_text(tmp_path, HEAD + f"{bad}\n{bad},1,1,1\n{bad},x,1,1\n{bad}\n{bad},y,1,1\n")
    lines = [json.loads(line) for line in (tmp_path / "store" / "quarantine.jsonl").read_text().splitlines() if line]
    assert sorted((line["line"], line["reason"]) for line in lines) == [
        (2, "has 4 columns, not 7"),
        (4, "octets is no count"),
        (5, "has 4 columns, not 7"),
        (6, "octets is no count"),
    ]


def test_bad_rows_of_the_flat_table(tmp_path):
    good = flat(SAMPLES_1)
    bad = [
        (HOST, "s1.lga01.x", "switch.octets.uplink.tx", MIDNIGHT, 1),
        (HOST, SWITCH, "nonsense", MIDNIGHT, 1),
        (HOST, SWITCH, "switch.octets.uplink.tx", "never", 1),
        (HOST, SWITCH, "switch.octets.uplink.tx", MIDNIGHT, "many"),
    ]
    summary = ingest_text(tmp_path, as_csv(good[:2] + bad + good[2:]))
    assert summary.refused == {
        f"is of another switch: s1.lga01.x is not that of {HOST}": 1,
        "has no metric of a switch": 1,
        "timestamp is no time in whole seconds": 1,
        "a value is not a count: this sample is left out": 1,
    }
    assert summary.rows_new == len(good)
    text = (tmp_path / "store" / "quarantine.jsonl").read_text()
    assert '"line": 4' in text
    assert "nonsense" in text


@pytest.mark.parametrize(
    ("written", "counted"),
    [
        (["1.000", "1.100", "12.500"], 0),
        (["1,000", "1,100", "12,500"], 0),
        (["12,000", "13,000", "14,000"], 0),
        (["998", "1.000", "1.002"], 0),
        (["900,000", "1000,000", "1200,000"], 300),
        (["9,0", "10,0", "12,0"], 3),
        (["0,5", "1,0", "1,5", "2,0", "2,5"], 0),
    ],
)
def test_points_and_commas_between_semicolons_are_read_in_one_way_or_not_at_all(tmp_path, written, counted):
    rows = [f"{MIDNIGHT + 60 * place};edge;1;tx;{one}\n" for place, one in enumerate(written)]
    (tmp_path / "a.csv").write_text("timestamp;device;port;direction;discards\n" + "".join(rows))
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    values = [row["value"] for row in rows_of(tmp_path / "store")]
    assert sum(value for value in values if value is not None) == counted
    assert (summary.bad_lines > 0) == (counted == 0)


@pytest.mark.parametrize(
    ("columns", "ports"),
    [
        ("ifName", ["a"]),
        ("IFDESCR", ["a"]),
        ("ifAlias", ["a"]),
        ("ifIndex", ["a"]),
        ("ifAlias,ifName", ["b"]),
        ("ifIndex,ifDescr", ["b"]),
        ("ifName,port", ["b"]),
    ],
)
def test_a_port_has_the_name_that_there_is(tmp_path, columns, ports):
    names = ",".join("ab"[: columns.count(",") + 1])
    rows = [f"{MIDNIGHT + 60 * place},edge,{names},tx,{100 + place}\n" for place in range(3)]
    (tmp_path / "a.csv").write_text(f"timestamp,device,{columns},direction,discards\n" + "".join(rows))
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert summary.bad_lines == 0
    assert sorted({row["machine"] for row in rows_of(tmp_path / "store")}) == ports
