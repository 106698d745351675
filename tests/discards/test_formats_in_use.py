"""What databases, programs and people write: times, numbers, marks of encodings, tables of M-Lab as they are."""

import codecs
import datetime
import decimal
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from brimful.discards import times
from brimful.discards.capacities import Capacities
from brimful.discards.identity import device_of
from brimful.discards.telemetry.ingest import judge_again
from brimful.discards.telemetry.source import Reading
from brimful.errors import UsageError
from invented_results import iperf3
from telemetry import MIDNIGHT, put
from test_chains import polls, total, values
from test_prometheus import answer, ingest_answer, rows_of, series
from test_speed_tests import loaded, quarantined, stored
from test_speed_tests_tables import full_name, web100

NEW_YEAR = 1_546_300_800
HEAD = "timestamp,device,port,direction,discards\n"


@pytest.mark.parametrize(
    ("written", "offset_s"),
    [
        ("2019-01-01 00:00:00 UTC", 0),
        ("2019-01-01 00:00:00.25 UTC", 0.25),
        ("2019-01-01 00:00:00.123456789 UTC", 0.123456),
        ("2019-01-01T00:00:00Z", 0),
        ("2019-01-01T00:00:00.000000000Z", 0),
        ("2019-01-01 00:00:00.000 +0000", 0),
        ("2019-01-01 00:00:00.000 -0800", 8 * 3600),
        ("2019-01-01 00:00:00+01", -3600),
        ("2019-01-01 00:00:00 +0000 UTC", 0),
        ("2019-01-01 00:00", 0),
        ("2019/1/1 0:00:00", 0),
        ("2019-01-01 00:00:00,5", 0.5),
        ("2019-01-01", 0),
        ("1546300800", 0),
        ("1.5463008E9", 0),
        ("1546300800.5", 0.5),
    ],
)
def test_times_are_read_alike_for_telemetry_and_tests(tmp_path, written, offset_s):
    # A second form in the same column must not change the first.
    read = times.times(pa.array([written, "2019-01-01T00:00:00+00:00", None]))
    assert (read.us[0].as_py(), read.bad.any()) == (round((NEW_YEAR + offset_s) * 1e6), False)
    (tmp_path / "a.csv").write_text(f'{HEAD}"{written}",edge,1,tx,3\n')
    assert put(tmp_path / "store", tmp_path / "a.csv").rows_new == 1
    (row,) = rows_of(tmp_path / "store")
    assert row["bin_end"].replace(tzinfo=datetime.UTC).timestamp() == NEW_YEAR + offset_s


@pytest.mark.parametrize(
    "written", ["01/02/2019 03:04", "2019-13-01", "2019-01-01 00:00:00 CET", "soon", "inf", "1e999"]
)
def test_what_may_mean_two_times_is_none(written):
    read = times.times(pa.array([written]))
    assert (read.bad.tolist(), read.us.to_pylist()) == ([True], [None])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_local_times_that_the_clocks_show_twice_or_never_are_counted(tmp_path, kind):
    local = ["2019-10-27 01:30:00", "2019-10-27 02:30:00", "2019-10-27 03:30:00", "2019-03-31 02:30:00"]
    if kind == "csv":
        (tmp_path / "a.csv").write_text(HEAD + "".join(f"{one},edge,1,tx,1\n" for one in local))
    else:
        columns = {"device": ["edge"] * 4, "port": ["1"] * 4, "direction": ["tx"] * 4, "discards": [1] * 4}
        naive = [datetime.datetime.fromisoformat(one) for one in local]
        pq.write_table(pa.table({"timestamp": pa.array(naive, pa.timestamp("us"))} | columns), tmp_path / "a.parquet")
    summary = put(tmp_path / "store", tmp_path / f"a.{kind}", reading=Reading(counters=False, zone="Europe/Berlin"))
    assert summary.left_out == {"time is a local time that the clocks show twice or never": 2}
    assert (summary.bad_lines, summary.rows_new) == (0, 2)
    ends = [row["bin_end"] for row in rows_of(tmp_path / "store")]
    assert ends == [datetime.datetime(2019, 10, 26, 23, 30), datetime.datetime(2019, 10, 27, 2, 30)]


def test_numbers_of_databases_are_counts(tmp_path):
    columns = {
        "timestamp": pa.array([decimal.Decimal(MIDNIGHT + 60), decimal.Decimal(MIDNIGHT + 120)], pa.decimal128(38, 9)),
        "device": pa.array(["edge", "edge"]).dictionary_encode(),
        "port": ["1", "1"],
        "direction": ["tx", "tx"],
        "octets": pa.array([decimal.Decimal(2**60 + 1), decimal.Decimal(2**60 + 8)], pa.decimal128(38, 9)),
        "discards": pa.array([decimal.Decimal(3), None], pa.decimal128(20, 0)),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    summary = put(tmp_path / "store", tmp_path / "a.parquet", reading=Reading(counters=True))
    assert (summary.bad_lines, values(tmp_path / "store", "octets.uplink.tx")) == (0, [None, 7])


@pytest.mark.parametrize("nothing", ["", "NaN", "null", "NULL", "None", "\\N", "N/A", "-"])
def test_what_stands_for_nothing_is_no_bad_row(tmp_path, nothing):
    text = "timestamp,device,port,direction,packets,discards\n" + f"{MIDNIGHT},edge,1,tx,5,{nothing}\n"
    (tmp_path / "a.csv").write_text(text)
    summary = put(tmp_path / "store", tmp_path / "a.csv")
    assert (summary.bad_lines, summary.rows_new) == (0, 1)


MARKED = [("utf-8", codecs.BOM_UTF8), ("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)]


@pytest.mark.parametrize(("encoding", "mark"), MARKED)
def test_marks_of_encodings(tmp_path, encoding, mark):
    def marked(text):
        return mark + text.encode(encoding)

    (tmp_path / "a.csv").write_bytes(marked(f"{HEAD}{MIDNIGHT},edge,1,tx,3\n"))
    (tmp_path / "a.json").write_bytes(marked(json.dumps(answer(series("ifOutErrors", polls(1, 2))))))
    (tmp_path / "b.jsonl").write_bytes(marked(json.dumps(RAW) + "\n"))
    summary = put(tmp_path / "store", *(tmp_path / name for name in ("a.csv", "a.json", "b.jsonl")))
    assert (summary.unreadable_places, summary.bad_lines) == ([], 0)
    (tmp_path / "x-mlab1-fra01.json").write_bytes(marked(json.dumps(iperf3(), indent=1)))
    _, found = loaded(tmp_path, tmp_path / "x-mlab1-fra01.json", store="tests")
    assert (found.tests, found.bad.total()) == (1, 0)


def test_a_log_of_several_documents(tmp_path):
    runs = [iperf3(reverse=1) for _ in range(3)]
    for number, run in enumerate(runs):
        run["start"] = run["start"] | {"cookie": f"c{number}"}
    texts = [json.dumps(run, indent=4) for run in runs]
    log = tmp_path / "x-mlab1-fra01.json"
    log.write_text("\n".join([texts[0], texts[1], "iperf3: interrupt - the client has terminated", texts[2], ""]))
    store, found = loaded(tmp_path, log)
    assert (found.tests, found.bad.total(), quarantined(store)) == (3, 1, ["is not JSON"])
    log.write_text("".join(texts))
    assert loaded(tmp_path, log, store="joined")[1].tests == 3


def test_good_rows_before_a_cut(tmp_path):
    lines = [f"{MIDNIGHT + 20 + 10 * place},edge,1,tx,{place * 7919 % 1000}\n" for place in range(2000)]
    whole = gzip.compress((HEAD + "".join(lines)).encode())
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    summary = put(tmp_path / "store", tmp_path / "a.csv.gz")
    assert summary.unreadable_places == [f"{tmp_path}/a.csv.gz: the compressed data are cut off"]
    assert 500 < summary.rows_new < 1500
    expected = [float(place * 7919 % 1000) for place in range(summary.rows_new)]
    assert values(tmp_path / "store", "discards.uplink.tx") == expected
    rows = gzip.compress("".join(json.dumps(nested_web100(n)) + "\n" for n in range(900)).encode())
    (tmp_path / "b.jsonl.gz").write_bytes(rows[: len(rows) // 2])
    assert 100 < loaded(tmp_path, tmp_path / "b.jsonl.gz", store="tests")[1].tests < 800


def test_good_polls_of_an_agent_before_a_cut(tmp_path):
    tags = {"agent_host": "edge", "ifName": "1"}
    polls = [
        {"fields": {"ifOutDiscards": place * 7919 % 1000}, "tags": tags, "timestamp": MIDNIGHT + 10 * place}
        for place in range(2000)
    ]
    whole = gzip.compress("".join(json.dumps(poll) + "\n" for poll in polls).encode())
    (tmp_path / "a.json.gz").write_bytes(whole[: len(whole) // 2])
    summary = put(tmp_path / "store", tmp_path / "a.json.gz")
    assert summary.unreadable_places == [f"{tmp_path}/a.json.gz: the compressed data are cut off"]
    assert 500 < summary.rows_new < 1500


def test_counters_without_saying_so_are_asked_about(tmp_path):
    lines = [f"{MIDNIGHT + 60 * place},edge,1,tx,{place // 2}\n" for place in range(300)]
    (tmp_path / "a.csv").write_text(HEAD + "".join(lines))
    with pytest.raises(UsageError, match=r"a\.csv: discards rises .* say --counters, or --differences"):
        put(tmp_path / "store", tmp_path / "a.csv", reading=Reading())
    assert not (tmp_path / "store" / "samples").exists()
    put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert total(tmp_path / "store", "discards.uplink.tx") == 149
    put(tmp_path / "other", tmp_path / "a.csv", reading=Reading(counters=False))
    assert total(tmp_path / "other", "discards.uplink.tx") == sum(place // 2 for place in range(300))


def test_differences_of_a_quiet_port_are_not_asked_about(tmp_path):
    lines = [f"{MIDNIGHT + 60 * place},edge,1,tx,{place // 299}\n" for place in range(300)]
    (tmp_path / "a.csv").write_text(HEAD + "".join(lines))
    assert put(tmp_path / "store", tmp_path / "a.csv", reading=Reading()).rows_new == 300


def test_another_way_to_read_a_known_source_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text(f"{HEAD}{MIDNIGHT + 60},edge,1,tx,5\n{MIDNIGHT + 120},edge,1,tx,7\n")
    put(tmp_path / "store", tmp_path / "a.csv")
    assert put(tmp_path / "store", tmp_path / "a.csv").sources_known == 1
    with pytest.raises(UsageError, match="read as differences; to read it as counters, ingest into a new store"):
        put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    with pytest.raises(UsageError, match="read as times in UTC; to read it as times in Europe/Berlin"):
        put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(zone="Europe/Berlin"))


def test_another_capacity_judges_all_samples_again(tmp_path):
    (tmp_path / "a.csv").write_text(
        "timestamp,device,port,direction,octets\n"
        f"{MIDNIGHT + 60},edge,1,tx,1000\n{MIDNIGHT + 120},edge,1,tx,3000000000\n"
    )
    put(tmp_path / "store", tmp_path / "a.csv")
    assert [row["usable"] for row in rows_of(tmp_path / "store")] == [True, True]
    from brimful.discards.store import Store

    store = Store.open(tmp_path / "store")
    assert judge_again(store, Capacities.parse("100Mbps"), 1) == 1
    assert [row["usable"] for row in rows_of(tmp_path / "store")] == [True, False]
    assert judge_again(store, Capacities.parse("10Gbps"), 1) == 1
    assert [row["usable"] for row in rows_of(tmp_path / "store")] == [True, True]
    assert judge_again(store, Capacities.parse("10Gbps"), 1) == 0


def test_results_of_another_server_are_not_put_beside_the_first(tmp_path):
    from brimful.discards.speed_tests.rows import parse_server

    (tmp_path / "a.json").write_text(json.dumps(iperf3()))
    loaded(tmp_path, tmp_path / "a.json", server=parse_server("probe1-edge1"))
    with pytest.raises(UsageError, match="is in the store already, with another --server"):
        loaded(tmp_path, tmp_path / "a.json", server=parse_server("probe1-edge2"))
    assert loaded(tmp_path, tmp_path / "a.json", server=parse_server("probe1-edge1"))[1].known_sources == 1


@pytest.mark.parametrize(
    ("address", "device"),
    [
        ("edge-1:161", "edge-1"),
        ("edge-1", "edge-1"),
        ("192.0.2.1:9116", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("2001:db8::2", "2001:db8::2"),
        ("[2001:db8::1]:161", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("edge-1:name", "edge-1:name"),
        ("https://edge-1:443/x", "https://edge-1:443/x"),
    ],
)
def test_only_a_port_is_cut_off_an_address(tmp_path, address, device):
    assert device_of(address) == device
    ingest_answer(tmp_path, answer(series("ifOutErrors", polls(1, 2), instance=address)))
    (tmp_path / "a.csv").write_text(f"{HEAD}{MIDNIGHT},{address},1,tx,3\n")
    put(tmp_path / "store", tmp_path / "a.csv")
    from brimful.discards.store import Store

    assert Store.open(tmp_path / "store").sites("samples") == [device]


def test_a_port_with_a_new_index_is_the_same_port(tmp_path):
    old = series("ifOutDiscards", polls(5, 6, 7), ifIndex="3")
    new = series("ifOutDiscards", polls(900, 901, begin=MIDNIGHT + 600), ifIndex="9")
    summary = ingest_answer(tmp_path, answer(new, old))
    assert (summary.bad_lines, values(tmp_path / "store", "discards.uplink.tx")) == (0, [None, 1, 1, None, 1])
    lines = [
        f"{MIDNIGHT + 60 * n},edge,1,tx,{one},{index}\n"
        for n, (one, index) in enumerate([(5, 3), (6, 3), (900, 9), (901, 9)])
    ]
    (tmp_path / "a.csv").write_text("timestamp,device,port,direction,discards,ifIndex\n" + "".join(lines))
    put(tmp_path / "table", tmp_path / "a.csv", reading=Reading(counters=True))
    assert values(tmp_path / "table", "discards.uplink.tx") == [None, 1, None, 1]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ({"ifIndex": "2"}, '{ifIndex=""} and {ifIndex="2"}'),
        ({"job": "other"}, '{job="snmp"} and {job="other"}'),
        ({"instance": "edge-1:9116"}, '{instance="edge-1:161"} and {instance="edge-1:9116"}'),
        ({"replica": "b"}, '{replica=""} and {replica="b"}'),
    ],
)
def test_two_series_of_one_port_are_refused_with_both_labels(tmp_path, labels, told):
    first, second = series("ifOutDiscards", polls(100, 101)), series("ifOutDiscards", polls(5, 5), **labels)
    summary = ingest_answer(tmp_path, answer(first, second, series("ifOutErrors", polls(1, 2))))
    (reason,) = summary.refused
    assert (summary.refused[reason], summary.rows_new) == (2, 2)
    assert told in reason


def test_two_series_of_one_port_in_two_files_are_refused(tmp_path):
    ingest_answer(tmp_path, answer(series("ifOutDiscards", polls(100, 101), ifIndex="1")), "1.json")
    other = answer(series("ifOutDiscards", polls(5, 5), ifIndex="2"))
    (reason,) = ingest_answer(tmp_path, other, "2.json").refused
    assert '{ifIndex="1"} and {ifIndex="2"}' in reason
    later = answer(series("ifOutDiscards", polls(500, 501, begin=MIDNIGHT + 900), ifIndex="2"))
    assert ingest_answer(tmp_path, later, "3.json").refused == {}
    assert values(tmp_path / "store", "discards.uplink.tx") == [None, 1, None, 1]


def test_two_ports_of_one_name_in_a_table_are_refused(tmp_path):
    lines = [f"{MIDNIGHT + 60 * n},edge,1,tx,{one},{index}\n" for n, (one, index) in enumerate([(100, 1), (5, 2)] * 3)]
    (tmp_path / "a.csv").write_text("timestamp,device,port,direction,discards,ifIndex\n" + "".join(lines))
    summary = put(tmp_path / "store", tmp_path / "a.csv", reading=Reading(counters=True))
    assert summary.refused == {"is of two ports with one name, ifIndex 1 and ifIndex 2: give each a name of its own": 6}


HOST, SWITCH = "mlab1.yul02.measurement-lab.org", "s1.yul02.measurement-lab.org"
AT = 1_549_753_200
V2_HOST = "mlab2-dfw07.mlab-oti.measurement-lab.org"


def line_of(metric, samples, host=HOST, **names):
    return {"metric": metric, "hostname": host, "experiment": SWITCH, "sample": samples} | names


DISCARDS = "switch.discards.uplink.tx"
BASE = line_of(
    DISCARDS, [{"timestamp": "2019-02-09 23:00:00 UTC", "value": "1.0"}, {"timestamp": str(AT + 10), "value": "2"}]
)
V2 = line_of(
    DISCARDS,
    [
        {"timestamp": str(1_700_000_010 + 10 * n), "value": str(n), "counter": str(100 + n * (n + 1) // 2)}
        for n in (1, 2)
    ],
    host=V2_HOST,
    experiment="s1-dfw07.measurement-lab.org",
)
RAW = {"id": "x", "date": "2023-11-14", "raw": {"Metrics": [V2]}}
AS_THEY_ARE = {
    "base_tables.switch": (BASE | {"test_id": "a", "parse_time": "2019-02-10 01:00:00 UTC"}, 3, AT),
    "parsed again": (BASE | {"parse_time": "2021-02-10 01:00:00 UTC"}, 3, AT - 10),
    "without experiment": ({name: value for name, value in BASE.items() if name != "experiment"}, 3, AT),
    "utilization.switch": (RAW, 3, 1_700_000_010),
    "raw.Metric": ({"raw": {"Metric": DISCARDS, "Hostname": V2_HOST, "Sample": V2["sample"]}}, 3, 1_700_000_010),
    "dotted": ({"raw.Metric": DISCARDS, "raw.Hostname": V2_HOST, "raw.Sample": V2["sample"]}, 3, 1_700_000_010),
    "derived": (
        {
            "date": "2023-11-14",
            "a": {
                "Machine": "mlab2",
                "Site": "dfw07",
                "CollectionTime": "2023-11-14 22:13:40 UTC",
                "SwitchDiscardsUplinkTx": "3",
                "SwitchDiscardsUplinkTxCounter": "103",
                "SwitchOctetsUplinkRx": None,
            },
            "parser": {"Version": "1"},
        },
        3,
        1_700_000_010,
    ),
}


@pytest.mark.parametrize("name", AS_THEY_ARE)
@pytest.mark.parametrize("form", ["lines", "list", "parquet"])
def test_tables_of_m_lab_as_they_are(tmp_path, name, form):
    row, discards, first = AS_THEY_ARE[name]
    if form == "parquet":
        path = tmp_path / "a.parquet"
        pq.write_table(pa.Table.from_pylist([row]), path)
    else:
        path = tmp_path / "a.json"
        path.write_text(json.dumps(row) + "\n" if form == "lines" else json.dumps([row], indent=1))
    summary = put(tmp_path / "store", path)
    assert (summary.bad_lines, summary.unreadable_places) == (0, [])
    rows = rows_of(tmp_path / "store")
    assert sum(one["value"] for one in rows) == discards
    assert rows[0]["bin_start"].replace(tzinfo=datetime.UTC).timestamp() == first
    assert {one["metric"] for one in rows} == {DISCARDS}


def nested_web100(number=0):
    row = web100(number)
    out = {}
    for column, value in row.items():
        *outer, last = full_name(column, ".").split(".")
        into = out
        for part in outer:
            into = into.setdefault(part, {})
        into[last] = str(value) if isinstance(value, int) else value
    return out


def test_web100_rows_in_json(tmp_path):
    (tmp_path / "a.json").write_text("".join(json.dumps(nested_web100(n)) + "\n" for n in range(3)))
    store, summary = loaded(tmp_path, tmp_path / "a.json")
    assert (summary.results, summary.tests, summary.bad.total()) == (3, 3, 0)
    assert {(row["client"], row["machine"], row["direction"]) for row in stored(store)} == {
        ("198.51.100.7", "mlab1", "download")
    }


def test_rows_in_json_of_other_tables(tmp_path):
    from brimful.discards.speed_tests.mapping import read_mappings
    from brimful.discards.speed_tests.rows import parse_server

    (tmp_path / "columns.toml").write_text(
        'protocol = {value = "own"}\ndirection = {value = "download"}\n'
        'start = "when"\nduration = {value = 10, unit = "s"}\n'
    )
    (tmp_path / "a.jsonl").write_text('{"when": "2019-10-27 01:30:00"}\n{"when": "2019-10-27 02:30:00"}\n')
    store, summary = loaded(
        tmp_path,
        tmp_path / "a.jsonl",
        mappings=read_mappings(tmp_path / "columns.toml"),
        server=parse_server("probe1-edge1"),
        zone="Europe/Berlin",
    )
    assert (summary.tests, quarantined(store)) == (1, ["start is a local time that the clocks show twice or never"])
    assert stored(store)[0]["start"] == datetime.datetime(2019, 10, 26, 23, 30)


def test_a_summary_without_times_is_refused(tmp_path):
    summary = {"ServerFQDN": "x", "ClientIP": "192.0.2.7", "Download": {"UUID": "u", "MeanThroughputMbps": 93.2}}
    (tmp_path / "x-mlab1-fra01.json").write_text(json.dumps(summary))
    store, found = loaded(tmp_path, tmp_path / "x-mlab1-fra01.json")
    assert found.bad_share == 1
    assert quarantined(store) == [
        "does not say when it ran, as the summary of ndt7-client: take the files of the server"
    ]
