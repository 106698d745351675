"""Every row of the table in the documentation on what exporters and databases write."""

import csv
import datetime
import decimal
import io
import json
import lzma
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from brimful.discards.telemetry.source import Reading
from support import ROOT
from telemetry import MIDNIGHT, put
from test_chains import total
from test_formats_in_use import BASE, RAW
from test_prometheus import answer, series

PAGE = (ROOT / "docs" / "reference" / "discards-exporters.md").read_text()
READ, REFUSED = (
    re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", rows, re.MULTILINE)
    for rows in PAGE.partition("| Read, written by |")[2].split("| Refused, written by |")
)
"""The first column of each table."""
COUNTED = [100, 103, 103, 107]
"""Seven discards."""
POLLS = [[MIDNIGHT + 60 * n, str(count)] for n, count in enumerate(COUNTED)]
TAGS = {"agent_host": "edge-1", "ifName": "xe-0", "host": "poller"}


def polls(unit=1):
    return [
        {"fields": {"ifOutDiscards": count}, "name": "interface", "tags": TAGS, "timestamp": (MIDNIGHT + 60 * n) * unit}
        for n, count in enumerate(COUNTED)
    ]


def lines(documents):
    return "".join(json.dumps(document) + "\n" for document in documents)


def table(form, nothing="", **options):
    out = io.StringIO()
    writer = csv.writer(out, **options)
    writer.writerow(["timestamp", "device", "port", "direction", "packets", "discards"])
    for number, count in enumerate(COUNTED):
        at = datetime.datetime.fromtimestamp(MIDNIGHT + 60 * number, datetime.UTC)
        writer.writerow([at.strftime(form), "edge-1", "xe-0", "tx", nothing, count])
    return out.getvalue()


def exposed(labels, unit):
    return [f"{labels} {count} {(MIDNIGHT + 60 * n) * unit}\n" for n, count in enumerate(COUNTED)]


def parquet(times, discards, name=str):
    columns = {"timestamp": times, "device": ["edge-1"] * 4, "port": ["xe-0"] * 4, "direction": ["tx"] * 4}
    out = io.BytesIO()
    columns |= {"discards": discards}
    pq.write_table(pa.table({name(key): values for key, values in columns.items()}), out)
    return out.getvalue()


NAIVE = [datetime.datetime(2022, 1, 2) + datetime.timedelta(minutes=n) for n in range(4)]
ANNOTATED = (
    "#group,false,false,true,false,true,true\n#datatype,string,long,dateTime:RFC3339,double,string,string\n"
    "#default,_result,,,,,\n,result,table,_time,_value,_field,agent_host,ifName\n"
    + "".join(f",,0,2022-01-02T00:0{n}:00Z,{count},ifOutDiscards,edge-1,xe-0\n" for n, count in enumerate(COUNTED))
    + "\n#datatype,string,long\n,result,table,_time,_value,_field,agent_host,ifName\n"
    ",,1,2022-01-02T00:00:00Z,5,ifSpeed,edge-1,xe-0\n"
)
WIDE = "time,agent_host,ifName,ifOutDiscards\n" + "".join(
    f"{(MIDNIGHT + 60 * n) * 10**9},edge-1,xe-0,{count}\n" for n, count in enumerate(COUNTED)
)
STALE = [POLLS[0], [MIDNIGHT + 30, "NaN"], *POLLS[1:]]
BOTH = [series("ifHCOutUcastPkts", POLLS), series("ifOutUcastPkts", POLLS), series("ifOutDiscards", POLLS)]
TWICE = [series("ifOutDiscards", POLLS), series("ifOutDiscards", POLLS, replica="b")]
RENAMED = [
    series("ifOutDiscards", part, ifName=name, ifIndex="7") for part, name in ((POLLS[:2], "a"), (POLLS[2:], "b"))
]
TWO_PORTS = [
    series("ifOutDiscards", POLLS),
    series("ifOutDiscards", [[at, str(int(count) + 7)] for at, count in POLLS], vdc="2"),
]
COUNTERS = "/interfaces/interface/state/counters"


def linux(name, **labels):
    return {"metric": {"__name__": name, "instance": "leaf1:9100", "device": "swp1"} | labels, "values": POLLS}


def modelled(counter, **labels):
    """Give a series as gNMIc and Telegraf expose what they got by gNMI."""
    of_collector = {"instance": "collector:9804", "source": "leaf1:57400"}
    return {"metric": {"__name__": counter} | of_collector | labels, "values": POLLS}


def events(path, **tags):
    tags = {"interface_name": "Ethernet1", "source": "leaf1:57400", "subscription-name": "sub1"} | tags
    return [
        {"name": "sub1", "timestamp": (MIDNIGHT + 60 * n) * 10**9, "tags": tags, "values": {path: str(count)}}
        for n, count in enumerate(COUNTED)
    ]


def notifications():
    """Give what ``gnmic subscribe`` prints: counters one by one, and as a whole."""
    for n, count in enumerate(COUNTED):
        at = {"source": "leaf1:57400", "subscription-name": "default", "timestamp": (MIDNIGHT + 60 * n) * 10**9}
        path = "interfaces/interface[name=Ethernet1/1]/state/counters"
        whole = {"in-discards": "9", "out-discards": str(count)} if n % 2 else {"in-octets": "9"}
        values = {"interfaces/interface/state/counters": whole}
        yield at | {"updates": [{"Path": path, "values": values}]}
        yield at | {
            "prefix": "openconfig:interfaces/interface[name=Ethernet1/1]",
            "updates": [{"Path": "state/counters/out-discards", "values": {"state/counters/out-discards": count}}],
        }
        yield {"sync-response": True}


SAI = "SAI_PORT_STAT_IF_OUT_DISCARDS"


def sai():
    """Give what ``gnmic subscribe`` prints of SONiC's counters: those of a port, or one."""
    for n, count in enumerate(COUNTED):
        path = "COUNTERS/Ethernet0" if n % 2 else f"COUNTERS/Ethernet0/{SAI}"
        counters = {SAI: str(count), "SAI_PORT_STAT_IF_OUT_QLEN": "0"} if n % 2 else str(count)
        at = {"source": "leaf1:50051", "target": "COUNTERS_DB", "timestamp": (MIDNIGHT + 60 * n) * 10**9}
        yield at | {"updates": [{"Path": path, "values": {path: counters}}]}


def points(front, field):
    return "".join(
        f"{front} {field}={count}i,other=5i {(MIDNIGHT + 60 * n) * 10**9}\n" for n, count in enumerate(COUNTED)
    )


VECTOR = {"status": "success", "data": {"resultType": "vector", "result": []}}

EXPORTED = [
    {
        "metric": {"__name__": "ifOutDiscards", "instance": "edge-1", "ifName": "xe-0"},
        "values": [*COUNTED, None],
        "timestamps": [(MIDNIGHT + 60 * n) * 1000 for n in range(5)],
    }
]
PREFIXED = exposed('interface_ifOutDiscards_total{agent_host="e",ifName="x",instance="poller:9273"}', 1000)
MEANS = [[at, f"{float(count) + 0.5}"] for at, count in POLLS]
POINTS = "".join(
    f'interface,agent_host=edge\\ 1,ifName=xe-0 ifOutDiscards={count}i,ifAlias="a, b" {(MIDNIGHT + 60 * n) * 10**9}\n'
    for n, count in enumerate(COUNTED)
)
ANSWERED = {
    "name": "interface",
    "tags": {"agent_host": "edge-1", "ifName": "xe-0"},
    "columns": ["time", "ifOutDiscards"],
    "values": [[f"2022-01-02T00:0{n}:00Z", count] for n, count in enumerate(COUNTED)],
}
ONE_CSV = "name,tags,time,ifOutDiscards\n" + "".join(
    f'interface,"agent_host=edge-1,ifName=xe-0",{(MIDNIGHT + 60 * n) * 10**9},{count}\n'
    for n, count in enumerate(COUNTED)
)
ROWS_OF_TABLE = [
    {"timestamp": MIDNIGHT + 60 * n, "device": "edge-1", "port": "xe-0", "direction": "tx", "discards": str(count)}
    for n, count in enumerate(COUNTED)
]
FOREIGN = [{"target": "edge-1.ifOutDiscards", "datapoints": [[100, MIDNIGHT]]}]
EXCEL = "sep=;\n" + table("%d.%m.%Y %H:%M:%S", "5,0", delimiter=";").replace("xe-0", "Zürich")
TABS = "# from the core\n\n" + table("%Y-%m-%d %H:%M", delimiter="\t").replace("timestamp", "TIMESTAMP")
DOUBLED = "".join(f"{line},{line[:1]},{line[:1]}\n" for line in table("%Y-%m-%dT%H:%M:%SZ").split("\r\n") if line)
SAME_HEADER = table("%Y-%m-%dT%H:%M:%SZ").replace(
    "\n2022-01-02T00:02", "\n" + table("").splitlines(keepends=True)[0] + "2022-01-02T00:02"
)
OTHER_HEADER = "timestamp,device,port,direction,discards,packets\n"
FAILED_POLL = f"{table('%Y-%m-%dT%H:%M:%SZ')}2022-01-02T00:09:00Z,edge-1,xe-0,tx,N/A,-\n"

WRITTEN = {
    "SNMP exporter, Prometheus": ("a.json", json.dumps(answer(*BOTH)), 7),
    "Prometheus, stale": ("a.json", json.dumps(answer(series("ifOutDiscards", STALE))), 7),
    "Prometheus, rate": ("a.json", json.dumps(answer(series("", POLLS))), "is no counter of an interface"),
    "Prometheus, mean": (
        "a.json",
        json.dumps(answer(series("ifOutDiscards", MEANS))),
        "a mean or a rate is no counter",
    ),
    "Prometheus, without the envelope": (
        "a.json",
        lines([[series("ifOutDiscards", part)] for part in (POLLS[:2], POLLS[2:])]),
        7,
    ),
    "Prometheus, instant": ("a.json", json.dumps(VECTOR), "save the answer of /api/v1/query_range"),
    "Prometheus, two replicas": ("a.json", json.dumps(answer(*TWICE)), 7),
    "Prometheus, two ports": ("a.json", json.dumps(answer(*TWO_PORTS)), '{vdc=""} and {vdc="2"}'),
    "Prometheus, renamed port": ("a.json", json.dumps(answer(*RENAMED)), 7),
    "SNMP exporter, no ifName": (
        "a.json",
        json.dumps(answer(series("ifOutDiscards", POLLS, ifName="", ifAlias="to the core"))),
        7,
    ),
    "node_exporter": ("a.json", json.dumps(answer(linux("node_network_transmit_drop_total"))), 7),
    "node_exporter, ethtool": (
        "a.json",
        json.dumps(answer(linux("node_ethtool_transmitted_dropped_total"))),
        "have another meaning with each driver: save node_network_transmit_drop_total",
    ),
    "node_exporter, sockets": (
        "a.json",
        json.dumps(answer(linux("node_netstat_Udp_RcvbufErrors"), linux("node_softnet_dropped_total", cpu="0"))),
        "is no counter of an interface",
    ),
    "Telegraf, net": ("a.lp", points("net,host=leaf1,interface=swp1", "drop_out"), 7),
    "gNMIc, events": ("a.json", json.dumps(events(f"{COUNTERS}/out-discards"), indent=1), 7),
    "gNMIc, notifications": ("a.json", "".join(json.dumps(one, indent=1) + "\n" for one in notifications()), 7),
    "gNMIc, Prometheus": (
        "a.json",
        json.dumps(answer(modelled("interfaces_interface_state_counters_out_discards", interface_name="Ethernet1"))),
        7,
    ),
    "gNMIc, subinterfaces": (
        "a.json",
        json.dumps(events("/interfaces/interface/subinterfaces/subinterface/state/counters/out-discards")),
        "has no counters of interfaces",
    ),
    "gNMIc, SR Linux": ("a.json", json.dumps(events("/interface/statistics/out-discarded-packets")), 7),
    "Telegraf, gNMI": (
        "a.lp",
        points(f"ifcounters,path=openconfig-interfaces:{COUNTERS},host=h,name=Ethernet1,source=leaf1", "out_discards"),
        7,
    ),
    "Telegraf, gNMI, Prometheus": (
        "a.json",
        json.dumps(answer(modelled("ifcounters_out_discards", name="Ethernet1", path=COUNTERS))),
        7,
    ),
    "Telegraf, gNMI, IOS XE": (
        "a.lp",
        points(
            "a,name=Gi1,source=leaf1,path=Cisco-IOS-XE-interfaces-oper:interfaces/interface/statistics", "out_discards"
        ),
        7,
    ),
    "Telegraf, gNMI, IOS XR": (
        "a.lp",
        points(
            "a,interface_name=Te0/0/0/1,source=leaf1,path=Cisco-IOS-XR-infra-statsd-oper:infra-statistics/interfaces/"
            "interface/latest/generic-counters",
            "output_drops",
        ),
        7,
    ),
    "Telegraf, JTI": (
        "a.lp",
        points("/interfaces/,device=leaf1,host=h,/interfaces/interface/@name=xe-0/0/1", f"{COUNTERS}/out-discards"),
        7,
    ),
    "junos_exporter, cisco_exporter": (
        "a.json",
        json.dumps(answer(modelled("junos_interface_transmit_drops", target="leaf1", name="xe-0/0/1"))),
        7,
    ),
    "show interfaces": (
        "a.json",
        json.dumps({"interfaces": {"Ethernet1": {"interfaceCounters": {"outDiscards": 7}}}}),
        "without times: write a row with timestamp, device, port",
    ),
    "SONiC, gNMIc": ("a.json", lines(sai()), 7),
    "SONiC, Telegraf": ("a.lp", points("gnmi,path=COUNTERS_DB:/COUNTERS/Ethernet0,source=leaf1", SAI), 7),
    "SONiC, exporters": (
        "a.json",
        json.dumps(answer(linux("sonic_interface_transmit_errs_total", type="discard", device="Ethernet0"))),
        7,
    ),
    "SONiC, redis": (
        "a.json",
        json.dumps({"COUNTERS:oid:0x1000000000002": {"type": "hash", "value": {SAI: "7"}}}),
        "is of SONiC's COUNTERS_DB, without times",
    ),
    "SONiC, portstat": (
        "a.json",
        json.dumps({"Ethernet0": {"STATE": "U", "RX_OK": "1,204", "RX_DRP": "0", "TX_OK": "7", "TX_DRP": "7"}}),
        "is of portstat, which says no times",
    ),
    "ip -s -j link": (
        "a.json",
        json.dumps([{"ifindex": 2, "ifname": "eth0", "stats64": {"tx": {"bytes": 5, "dropped": 7}}}]),
        "is of ip -s link, which says neither when nor where",
    ),
    "MKTXP": (
        "a.json",
        json.dumps(answer(modelled("mktxp_interface_tx_drop_total", name="ether1", routerboard_name="r1"))),
        7,
    ),
    "promtool, dump": (
        "a.prom",
        "".join(exposed('{__name__="ifOutDiscards", instance="e:1", ifName="a\\"b"}', 1000)),
        7,
    ),
    "OpenMetrics": ("a.openmetrics", "".join(exposed('ifOutDiscards{instance="e",ifName="x"}', 1)) + "# EOF\n", 7),
    "VictoriaMetrics, export": ("a.jsonl", lines(EXPORTED), 7),
    "Telegraf, Prometheus": ("a.prom", "".join(PREFIXED), 7),
    "Telegraf, JSON": ("a.json", lines(polls(10**9)), 7),
    "Telegraf, JSON batch": ("a.json", lines([{"metrics": polls()}]), 7),
    "Telegraf, JSON list": ("a.json", json.dumps(polls(), indent=1), 7),
    "Telegraf, JSON cut": ("a.json", lines(polls())[:-30], 3),
    "InfluxDB, line protocol": ("a.lp", POINTS, 7),
    "InfluxDB 1, JSON": ("a.json", json.dumps({"results": [{"statement_id": 0, "series": [ANSWERED]}]}), 7),
    "InfluxDB 1, CSV": ("a.csv", ONE_CSV, 7),
    "InfluxDB, annotated CSV": ("a.csv", ANNOTATED, 7),
    "InfluxDB, pivoted CSV": ("a.csv", WIDE, 7),
    "InfluxDB, mean": ("a.csv", re.sub(r"(,[0-9]+)\n", r"\1.5\n", WIDE), "a mean or a rate is no counter"),
    "Grafana, CSV": ("a.csv", "Time,edge-1 discards\n2022-01-02 00:00:00,3 pps\n", "it lacks hostname, metric"),
    "collectd, CSV": ("a.csv", "epoch,value\n1641081600.1,3\n", "it lacks hostname, metric, timestamp"),
    "Graphite, netdata": ("a.json", json.dumps(FOREIGN), "write rows with timestamp, device, port"),
    "Zabbix, history": (
        "a.json",
        json.dumps({"jsonrpc": "2.0", "result": [{"itemid": "7", "clock": "1641081600", "value": "7", "ns": "0"}]}),
        "is history of Zabbix, which says neither device nor port",
    ),
    "rrdtool, xport": (
        "a.json",
        json.dumps({"meta": {"start": MIDNIGHT, "step": 300, "legend": ["OUTDISCARDS"]}, "data": [[0.01]]}),
        "is of rrdtool xport: its means over steps are rates",
    ),
    "LibreNMS, RRD": ("a.csv", "timestamp,OUTDISCARDS\n1641081600,0.01\n", "it lacks hostname, metric, value"),
    "BigQuery, CSV": ("a.csv", table("%Y-%m-%d %H:%M:%S UTC"), 7),
    "BigQuery, NUMERIC": (
        "a.parquet",
        parquet(
            pa.array(NAIVE, pa.timestamp("us", "UTC")), pa.array(map(decimal.Decimal, COUNTED), pa.decimal128(38, 9))
        ),
        7,
    ),
    "BigQuery, JSON": ("a.json", lines(ROWS_OF_TABLE), 7),
    "Snowflake, Parquet": ("a.parquet", parquet(pa.array(NAIVE), COUNTED, str.upper), 7),
    "Snowflake, CSV": ("a.csv", table("%Y-%m-%d %H:%M:%S.000 +0000"), 7),
    "Trino, CSV": ("a.csv", table("%Y-%m-%d %H:%M:%S.000 Europe/Berlin"), 7),
    "PostgreSQL, CSV": ("a.csv", table("%Y-%m-%d %H:%M:%S+00", "\\N"), 7),
    "ClickHouse, CSV": ("a.csv", table("%Y-%m-%d %H:%M:%S", quoting=csv.QUOTE_ALL), 7),
    "MySQL, CSV": ("a.csv", table("%Y-%m-%d %H:%M:%S", "NULL"), 7),
    "pandas, Parquet": ("a.parquet", parquet(pa.array(NAIVE, pa.timestamp("ns")), pa.array([100.0, 103, 103, 107])), 7),
    "pandas, float32": (
        "a.parquet",
        parquet(pa.array(NAIVE), pa.array([2.0**24 + 2] * 4, pa.float32())),
        "discards is no count",
    ),
    "Excel, CSV": ("a.csv", "\ufeff" + table("%Y-%m-%d %H:%M:%S"), 7),
    "Excel, semicolons": ("a.csv", EXCEL.encode("latin-1"), 7),
    "spreadsheets, dates": ("a.csv", table("%m/%d/%Y %H:%M"), "write it like 2026-03-01 00:01:00"),
    "spreadsheets, tabs": ("a.tsv", TABS, 7),
    "spreadsheets, thousands": (
        "a.csv",
        re.sub("(10[0-9])\r", r"\1.000\r", table("%Y-%m-%dT%H:%M:%SZ", delimiter=";")),
        "discards is no count",
    ),
    "spreadsheets, rounded": (
        "a.csv",
        re.sub("10([0-9])\r", r"1.0000\1E+12\r", table("%Y-%m-%dT%H:%M:%SZ")),
        "discards is no count",
    ),
    "spreadsheets, units": (
        "a.csv",
        table("%Y-%m-%dT%H:%M:%SZ").replace("discards", "discards (1/s)"),
        "column discards (1/s) has a unit: call it discards",
    ),
    "spreadsheets, doubled": ("a.csv", DOUBLED, 7),
    "programs": (
        "a.csv",
        re.sub(
            "2022.{16}",
            lambda at: f"{round(1e3 * datetime.datetime.fromisoformat(at[0]).timestamp())}",
            table("%Y-%m-%dT%H:%M:%SZ"),
        ),
        7,
    ),
    "cat, same header": ("a.csv", SAME_HEADER, 7),
    "cat, other header": ("a.csv", OTHER_HEADER + SAME_HEADER, "is behind another header"),
    "failed polls": ("a.csv", FAILED_POLL, 7),
    "gzip, bzip2, xz, Zstandard": ("a.csv.xz", lzma.compress(table("%Y-%m-%dT%H:%M:%SZ").encode()), 7),
    "PowerShell": ("a.csv", ("\ufeff" + table("%Y-%m-%d %H:%M:%S")).encode("utf-16-le"), 7),
    "M-Lab, today": ("a.json", lines([RAW]), 3),
    "M-Lab, 2018": ("a.json", lines([BASE]), 3),
}


def test_the_tables_have_a_row_for_each_and_no_other():
    assert [name for name, (_, _, wanted) in WRITTEN.items() if not isinstance(wanted, str)] == READ
    assert [name for name, (_, _, wanted) in WRITTEN.items() if isinstance(wanted, str)] == REFUSED


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written(tmp_path, name):
    file, content, wanted = WRITTEN[name]
    (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    zone = "Europe/Berlin" if name == "MySQL, CSV" else None
    summary = put(tmp_path / "store", tmp_path / file, reading=Reading(counters=True, zone=zone))
    if isinstance(wanted, str):
        assert wanted in " ".join([*summary.refused, *summary.unreadable_places])
        assert summary.rows_new == 0
    else:
        assert (summary.unreadable_places, total(tmp_path / "store", "discards.uplink.tx")) == ([], wanted)
        assert summary.bad_lines == ("annotated" in name or "cut" in name)
