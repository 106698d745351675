"""Every command of the how-to on SNMP polling is run, with stand-ins for device, Prometheus and speed tests."""

import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import urllib.parse

import pytest
from invented_results import iperf3
from support import BRIMFUL, ROOT

PAGE = (ROOT / "docs" / "how-to" / "discards-snmp.md").read_text()
PROMETHEUS, POLL, INGEST, TESTS, REPORT = re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
BEGIN = 1772323200  # 2026-03-01T00:00:00Z
DROPS = BEGIN + 7000
"""One packet a second is dropped from here on for 100 s."""
COUNTERS = {
    "ifHCOutOctets": lambda at: 5 * 10**9 + 1000 * (at - BEGIN),
    "ifHCOutUcastPkts": lambda at: at - BEGIN,
    "ifOutDiscards": lambda at: min(max(at - DROPS, 0), 100),
}
RUNS = (600, 6600, 7090, 7300, 10_000)
"""Seconds after the beginning at which tests of 10 s start."""


def stand_in(directory, name, text):
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def shell(tmp_path):
    """Runs commands with a clock of its own, a device that answers snmpget, and iperf3 results."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tmp_path / "iperf3.json").write_text(json.dumps(iperf3(reverse=1)))
    stand_in(tools, "brimful", " ".join(map(str, BRIMFUL)) + ' "$@"')
    stand_in(tools, "date", "echo $NOW")
    asked = 'case "$*" in *ifHCOutOctets.512*ifHCOutUcastPkts.512*ifOutDiscards.512) ;; *) exit 1 ;; esac'
    stand_in(tools, "snmpget", f"{asked}\nprintf '%s\\n' $OCTETS $PACKETS $DISCARDS")
    stand_in(tools, "iperf3", f'sed "s/1517515200/$NOW/; s/\\"abc\\"/\\"run$NOW\\"/" {tmp_path}/iperf3.json')

    def run(commands, now=BEGIN):
        values = dict(
            zip(("OCTETS", "PACKETS", "DISCARDS"), (str(read(now)) for read in COUNTERS.values()), strict=True)
        )
        environment = os.environ | values | {"PATH": f"{tools}:{os.environ['PATH']}", "NOW": str(now)}
        done = subprocess.run(
            ["sh", "-euc", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


class Prometheus(http.server.BaseHTTPRequestHandler):
    """Answers the query of the page with samples of every 60 s, scraped 7 s after the minute."""

    def do_GET(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        selector = re.fullmatch(r'\{__name__=~"(.*)",instance="edge1",ifName="xe-0/0/1"\}\[1d\]', asked["query"])
        assert asked["time"] == "2026-03-02T00:00:00Z"
        result = [
            {
                "metric": {"__name__": name, "instance": "edge1", "ifName": "xe-0/0/1", "job": "snmp"},
                "values": [[at, str(read(at))] for at in range(BEGIN + 7, BEGIN + 12_000, 60)],
            }
            for name, read in COUNTERS.items()
            if re.fullmatch(selector[1], name)
        ]
        content = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def prometheus():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prometheus) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def affected(tmp_path):
    lines = (tmp_path / "tainted.csv").read_text().splitlines()
    names = lines[0].replace('"', "").split(",")
    rows = [dict(zip(names, line.replace('"', "").split(","), strict=True)) for line in lines[1:]]
    return [int(row["test_id"].removeprefix("iperf3-run")) - BEGIN for row in rows], rows


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_from_prometheus_to_a_report(shell, prometheus, tmp_path):
    shell(PROMETHEUS.replace("http://prometheus:9090", prometheus))
    for run in RUNS:
        shell(TESTS, now=BEGIN + run)
    report = shell(REPORT)
    assert "edge1: discards overlapped 1 of 5 downloads (20 %)." in report
    starts, rows = affected(tmp_path)
    # Dropped were 100 packets from 7000 to 7100; 60 s end at 7027, 7087 and 7147.
    assert starts == [7090]
    assert (float(rows[0]["discards"]), float(rows[0]["coverage"])) == (13, 1)
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_from_the_counters_of_a_device_to_a_report(shell, tmp_path):
    for second in range(0, 12_000, 300):
        shell(POLL, now=BEGIN + second)
    table = (tmp_path / "edge1.csv").read_text().splitlines()
    assert table[:2] == [
        "timestamp,device,port,direction,octets,packets,discards",
        f"{BEGIN},edge1,xe-0/0/1,tx,5000000000,0,0",
    ]
    assert len(table) == 41
    stand_in(tmp_path / "tools", "snmpget", "echo Timeout >&2; exit 1")
    with pytest.raises(AssertionError, match="Timeout"):
        shell(POLL, now=BEGIN + 12_000)
    assert (tmp_path / "edge1.csv").read_text().splitlines() == table
    shell(INGEST)
    for run in RUNS:
        shell(TESTS, now=BEGIN + run)
    report = shell(REPORT)
    # The interval from 6900 to 7200 has them all.
    assert "edge1: discards overlapped 1 of 5 downloads (20 %)." in report
    starts, rows = affected(tmp_path)
    assert starts == [7090]
    assert (float(rows[0]["discards"]), float(rows[0]["coverage"])) == (100, 1)
