"""A switch that is given more than a queue lets through: its telemetry says in which seconds, the report how often."""

import contextlib
import csv
import json
import subprocess
import sys
import time

import pytest
from brimful.lab.switch import find_switch
from support import wire_lab

SETTINGS = """
telemetry = "{telemetry}"
[[switch]]
name = "edge-1"
tables = ["{rules}"]
[[switch.port]]
number = 1
interface = "ta"
speed_bps = 1_000_000
[[switch.port.queue]]
id = 0
max_rate = 1000
"""
FRAMES = 12_000
FLOOD = f"""
import socket
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("tb", 0))
for number in range({FRAMES}):
    port.send(bytes(12) + b"\\x88\\xb5" + bytes(1400))
"""


def rows_of(directory):
    return [row for path in directory.glob("*.csv") for row in csv.DictReader(path.read_text().splitlines())]


@pytest.mark.timeout(180)
def test_telemetry_and_report_tell_of_an_overload(tmp_path):
    telemetry, rules, settings = tmp_path / "telemetry", tmp_path / "rules.flows", tmp_path / "switch.toml"
    rules.write_text("actions=IN_PORT\n")
    settings.write_text(SETTINGS.format(telemetry=telemetry, rules=rules))
    with wire_lab() as lab, contextlib.ExitStack() as stack:
        switch = subprocess.Popen(lab.command([find_switch(), f"--config={settings}"]), stdout=subprocess.PIPE)
        stack.callback(switch.stdout.close)
        stack.callback(switch.wait, timeout=30)
        stack.callback(switch.terminate)
        assert switch.stdout.readline() == b"ready: edge-1\n"
        begin = time.time()
        subprocess.run(lab.command([sys.executable, "-I", "-S", "-c", FLOOD]), check=True)
        end = time.time()
        deadline = time.monotonic() + 60
        # A row is of one direction in one interval; those of the interval in which the flood ended are the last.
        while not any(float(row["timestamp"]) >= end for row in rows_of(telemetry)) and time.monotonic() < deadline:
            time.sleep(0.2)
    rows = rows_of(telemetry)
    lossy = [row for row in rows if row["direction"] == "tx" and int(row["discards"]) > 0]
    assert sum(int(row["discards"]) for row in lossy) > 1000
    assert {row["device"] for row in rows} == {"edge-1"}
    # Nothing lies outside of the intervals: they begin with the port and end with the process.
    received = [row for row in rows if row["direction"] == "rx"]
    assert sum(int(row["packets"]) + int(row["discards"]) for row in received) == FRAMES
    assert float(received[0]["timestamp"]) <= begin
    assert float(received[-1]["timestamp"]) > end
    assert received[0]["packets"] == "0"
    for row in lossy:
        assert begin <= float(row["timestamp"]) <= end + 10
    store = tmp_path / "store"
    brimful = [sys.executable, "-m", "brimful", "discards"]
    subprocess.run([*brimful, "ingest", "--differences", "--store", store, telemetry], check=True, capture_output=True)
    report = [*brimful, "report", "--store", store, "--json"]
    done = subprocess.run(report, check=True, capture_output=True, text=True, cwd=tmp_path)
    said = json.loads(done.stdout)
    discards = sum(int(row["discards"]) for row in lossy)
    assert [y for _, y in said["series"]["discards/edge-1"]["points"]] == [discards]
    finding = next(finding for finding in said["findings"] if finding["code"] == "discards-steady")
    assert finding["bins_with_discards"] == len(lossy)
