"""What names of counters mean, which are none of a port, and which of two series of one counter is taken."""

import json
import random

import pytest
from brimful.discards.schema import Flag
from brimful.discards.telemetry.vocabularies import full_name, meaning_of
from telemetry import MIDNIGHT
from test_chains import polls, total, values
from test_prometheus import answer, ingest_answer, rows_of, series

COUNTERS = "interfaces/interface/state/counters"


def meant(name):
    meaning = meaning_of(name)
    return meaning and (meaning.kind, meaning.direction, meaning.width)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ifOutDiscards", ("discards", "tx", Flag.NARROW)),
        ("IF-MIB::ifHCInUcastPkts", ("unicast", "rx", Flag.WIDE)),
        ("dot3HCInPauseFrames_total", ("pause", "rx", Flag.WIDE)),
        (f"/{COUNTERS}/in-unicast-pkts", ("unicast", "rx", Flag.WIDE)),
        (f"openconfig-interfaces:{COUNTERS}/out-pkts", ("unicast", "tx", Flag.WIDE)),
        (
            "gnmic_a_openconfig_interfaces_interfaces_interface_state_counters_out_discards",
            ("discards", "tx", Flag.WIDE),
        ),
        ("/interfaces/interface/ethernet/state/counters/in-mac-pause-frames", ("pause", "rx", Flag.WIDE)),
        ("srl_nokia-interfaces:interface/statistics/in-discarded-packets", ("discards", "rx", Flag(0))),
        ("ietf-interfaces:interfaces-state/interface/statistics/out-octets", ("octets", "tx", Flag.WIDE)),
        ("node_network_receive_drop_total", ("discards", "rx", Flag.WIDE)),
        ("node_network_transmit_bytes_total", ("octets", "tx", Flag.WIDE)),
        ("net_err_in", ("errors", "rx", Flag.WIDE)),
        ("cisco_interface_receive_bytes", ("octets", "rx", Flag.WIDE)),
    ],
)
def test_names_of_counters(name, expected):
    assert meant(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "/interfaces/interface/subinterfaces/subinterface/state/counters/out-discards",
        "interfaces_interface_subinterfaces_subinterface_state_counters_out_discards",
        "/qos/interfaces/interface/output/queues/queue/state/dropped-pkts",
        f"/{COUNTERS}/in-unknown-protos",
        f"/{COUNTERS}/in-discards-rate",
        "/interface/subinterface/statistics/out-discarded-packets",
        "infra-statistics/interfaces/interface/latest/data-rate/output-drops",
        "infra-statistics/interfaces/interface/latest/generic-counters/output-queue-drops",
        "node_network_receive_multicast_total",
        "node_network_receive_dropped_total",
        "node_network_receive_nohandler_total",
        "node_qdisc_drops_total",
        "node_netstat_Udp_RcvbufErrors",
        "node_netstat_TcpExt_TCPRcvQDrop",
        "node_softnet_dropped_total",
        "instance:node_network_transmit_drop_excluding_lo:rate5m",
        "ifOutDiscardsRate",
        "in_discards",
        "ifOutQLen",
        "",
    ],
)
def test_names_that_mean_something_else(name):
    assert meant(name) is None


@pytest.mark.parametrize("path", ["", "/interfaces/interface/subinterfaces/subinterface/state/counters", "/a"])
def test_a_field_without_its_path_is_no_counter(path):
    assert meant(full_name("out_discards", path)) is None


def test_a_series_without_its_path_is_refused_with_what_to_save(tmp_path):
    labels = {"__name__": "ifcounters_out_discards", "source": "a", "name": "1"}
    summary = ingest_answer(tmp_path, answer({"metric": labels, "values": polls(1, 2, 3)}))
    (reason,) = summary.refused
    assert reason.endswith("save path, too")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.json",
            "".join(
                json.dumps(
                    {
                        "fields": {"out_discards": n, "in_discards": 7, "last_clear": "x"},
                        "name": "ifcounters",
                        "tags": {"path": f"openconfig-interfaces:/{COUNTERS}", "name": "1", "source": "a", "host": "t"},
                        "timestamp": MIDNIGHT + 60 * n,
                    }
                )
                + "\n"
                for n in range(4)
            ),
        ),
        (
            "a.csv",
            "_time,_measurement,_field,_value,path,name,source\n"
            + "".join(
                f"2022-01-02T00:0{n}:00Z,x,state/counters/out-discards,{n},/interfaces/interface,1,a\n"
                for n in range(4)
            ),
        ),
        (
            "a.csv",
            "time,path,name,source,out_discards,in_discards\n"
            + "".join(f"2022-01-02T00:0{n}:00Z,/{COUNTERS},1,a,{n},0\n" for n in range(4)),
        ),
        (
            "a.prom",
            "".join(
                f'x_interface_state_counters_out_discards{{name="1",source="a:1"}} {n} {(MIDNIGHT + 60 * n) * 1000}\n'
                for n in range(4)
            ),
        ),
    ],
    ids=["Telegraf, JSON", "InfluxDB, annotated", "InfluxDB, pivoted", "gNMIc, OpenMetrics"],
)
def test_models_in_files_of_databases(tmp_path, name, content):
    summary = ingest_answer(tmp_path, content.encode(), name)
    assert (summary.bad_lines, summary.unreadable_places) == (0, [])
    assert total(tmp_path / "store", "discards.uplink.tx") == 3
    assert {row["machine"] for row in rows_of(tmp_path / "store")} == {"1"}


def test_what_linux_counts_is_said(tmp_path):
    found = [
        {"metric": {"__name__": f"node_network_transmit_{name}_total", "instance": "h:9100", "device": "eth0"}, **more}
        for name in ("drop", "packets")
        for more in [{"values": polls(1, 2, 4)}]
    ]
    summary = ingest_answer(tmp_path, answer(*found))
    assert len(summary.notes) == 2
    assert "tc -s qdisc" in summary.notes[0]
    assert "all kinds" in summary.notes[1]
    assert total(tmp_path / "store", "discards.uplink.tx") == 3


def test_the_start_of_a_host_decides_what_was_counted(tmp_path):
    labels = {"instance": "h:9100", "device": "eth0"}
    drops = {"metric": {"__name__": "node_network_transmit_drop_total"} | labels, "values": polls(5, 6, 9, 9)}
    starts = [MIDNIGHT - 500, MIDNIGHT - 500, MIDNIGHT + 150, MIDNIGHT + 150]
    boots = {"metric": {"__name__": "node_boot_time_seconds", "instance": "h:9100"}, "values": polls(*starts)}
    ingest_answer(tmp_path, answer(drops, boots))
    assert values(tmp_path / "store", "discards.uplink.tx") == [None, 1, None, 0]


def test_replicas_are_said_once(tmp_path):
    found = [
        series(name, polls(1, 2, 3, begin=MIDNIGHT + begin), replica=replica)
        for name in ("ifOutDiscards", "ifInDiscards")
        for begin, replica in ((0, "a"), (5, "b"))
    ]
    (note,) = ingest_answer(tmp_path, answer(*found)).notes
    assert '{replica="a"} and {replica="b"}' in note


def test_unicast_packets_are_better_than_all(tmp_path):
    both = [
        {"metric": {"__name__": f"/{COUNTERS}/out-{name}", "source": "a", "name": "1"}, "values": polls(*found)}
        for name, found in {"pkts": (100, 200, 300), "unicast-pkts": (10, 20, 30)}.items()
    ]
    summary = ingest_answer(tmp_path, answer(*both))
    assert (total(tmp_path / "store", "unicast.uplink.tx"), summary.repeated_samples, summary.notes) == (20, 3, [])


def replica(name, found, begin, **labels):
    return series("ifOutDiscards", polls(*found, begin=MIDNIGHT + begin), replica=name, **labels)


@pytest.mark.parametrize("seed", range(20))
def test_replicas_that_agree_count_once_and_fill_gaps(tmp_path, seed):
    """Each value is what was counted between two samples of either, and they leave no gap."""
    chance = random.Random(seed)
    rate, reset_s = chance.choice([0.0, 0.1, 3.0]), chance.choice([None, 2000])
    at_second, counter = [], 1000
    for second in range(3700):
        counter = 0 if second == reset_s else counter + int(rate) + (chance.random() < rate % 1)
        at_second.append(counter)
    offset = chance.randrange(1, 60)
    lost = range(chance.randrange(1, 60), chance.randrange(60))
    found = [
        replica("a", [None if place in lost else at_second[60 * place] for place in range(60)], 0),
        replica("b", [at_second[60 * place + offset] for place in range(60)], offset),
    ]
    summary = ingest_answer(tmp_path, answer(*found))
    assert (summary.refused, summary.repeated_samples > 0) == ({}, True)
    _, *rows = sorted(rows_of(tmp_path / "store"), key=lambda row: row["bin_end"])
    for row in rows:
        begin, end = (round(row[name].timestamp()) - MIDNIGHT for name in ("bin_start", "bin_end"))
        if reset_s is None or not begin < reset_s <= end:
            assert row["value"] == at_second[end] - at_second[begin]
    assert max(row["span_s"] for row in rows) <= 60 + 2 * 60
    assert sum(row["span_s"] for row in rows) >= 59 * 60


@pytest.mark.parametrize(
    ("other", "labels"),
    [
        ([50, 51, 52, 53], {}),
        ([100, 101, 102, 103], {"ifIndex": "2"}),
        ([100, 100, 100, 100], {}),
        ([100, 101, 102, 90], {}),
        ([100], {}),
    ],
    ids=["other counter", "other index", "stands still", "falls", "one sample"],
)
def test_series_that_do_not_agree_are_refused(tmp_path, other, labels):
    first = replica("a", [100, 101, 102, 103, 110, 120, 130], 0, ifIndex="1")
    summary = ingest_answer(
        tmp_path, answer(first, replica("b", other + [other[-1]] * 3, 30, **({"ifIndex": "1"} | labels)))
    )
    assert summary.rows_new == 0
    assert sum(summary.refused.values()) == 2


def test_two_ports_under_one_description_are_refused(tmp_path):
    lines = [
        f'ifOutDiscards{{instance="a",ifAlias="core"}} {value} {MIDNIGHT + 60 * n}\n'
        for n in range(5)
        for value in (5, 70 + n)
    ]
    summary = ingest_answer(tmp_path, "".join(lines).encode(), "a.openmetrics")
    assert list(summary.refused) == [
        "has two numbers at one time, time after time: these are two ports; save what tells them apart"
    ]
