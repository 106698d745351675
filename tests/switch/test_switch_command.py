"""`brimful switch` against a switch that runs between two interfaces of a lab."""

import json
import struct
import subprocess
import time

import pytest
from brimful.cli.switch import switch as command
from brimful.errors import MeasureError, UsageError
from brimful.lab.switch import find_switch
from click.testing import CliRunner
from support import wire_lab

TABLES = (
    "meter=1,pktps,bands=type=drop,rate=1000\n"
    "group_id=7,type=all,bucket=actions=output:2\n"
    "priority=10,in_port=1,tcp,nw_dst=10.0.0.0/8,actions=set_field:02:00:00:00:00:09->eth_dst,goto_table:1\n"
    "priority=1,in_port=1,actions=drop\n"
    "table=1,actions=group:7\n"
)


def run(*arguments):
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture(scope="module")
def control(tmp_path_factory):
    path = tmp_path_factory.mktemp("switch") / "s.sock"
    with wire_lab() as lab:
        arguments = ["--port=1=ta", "--port=2=tb", f"--control={path}"]
        process = subprocess.Popen(lab.command([find_switch(), *arguments]), stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "ready: switch\n"
            yield path
        finally:
            process.terminate()
            process.wait(timeout=20)
            process.stdout.close()


@pytest.fixture
def loaded(control, tmp_path):
    path = tmp_path / "rules.flows"
    path.write_text(TABLES)
    assert run("load", "--control", control, path).exit_code == 0
    return control


def test_what_was_loaded_is_dumped(loaded, tmp_path):
    dumped = run("dump", "--control", loaded).output
    assert len(dumped.splitlines()) == 5
    again = tmp_path / "again.flows"
    again.write_text(dumped)
    run("load", "--control", loaded, again)
    assert run("dump", "--control", loaded).output == dumped
    assert "n_packets=0" in run("dump", "--control", loaded, "--counters").output
    records = run("dump", "--control", loaded, "--tab").output
    assert records.count("{flow_entry,") == 3


def test_tables_and_frames_name_ports_by_their_interfaces(control, tmp_path):
    named = tmp_path / "named.flows"
    named.write_text('in_port="ta",actions=output:tb\n')
    run("load", "--control", control, named)
    assert run("dump", "--control", control).output == "in_port=1,actions=output:2\n"
    assert run("trace", "--control", control, "in_port=ta").output.splitlines()[1].startswith("out of port 2, queue 0:")
    named.write_text("in_port=tc,actions=output:tb\n")
    with pytest.raises(UsageError, match='in_port is "tc"'):
        run("load", "--control", control, named)


def test_a_bad_file_changes_nothing(loaded, tmp_path):
    before = run("dump", "--control", loaded).output
    for text, expected in [
        ("in_port=1,foo=1,actions=drop\n", "bad.flows:1:11: there is no match field foo (OpenFlow error 4/6)"),
        ("actions=drop\ntable=5,actions=goto_table:5\n", "bad.flows:2:1: "),
        ("actions=group:99\n", "bad.flows:1:1: "),
    ]:
        bad = tmp_path / "bad.flows"
        bad.write_text(text)
        with pytest.raises(UsageError) as raised:
            run("load", "--control", loaded, bad)
        assert expected in str(raised.value), str(raised.value)
        assert "OpenFlow error" in str(raised.value)
    assert run("dump", "--control", loaded).output == before


def test_a_trace_names_the_entries_that_a_frame_meets(loaded):
    lines = run("trace", "--control", loaded, "in_port=1,tcp,nw_dst=10.1.2.3").output.splitlines()
    assert lines[0].startswith("table 0: priority=10,in_port=1,")
    assert lines[1] == "table 1: table=1,actions=group:7"
    assert lines[2] == "out of port 2, queue 0: 128 bytes"
    assert lines[3] == "  eth_dst=02:00:00:00:00:09 (was 00:00:00:00:00:00)"
    assert {"  eth_src=00:00:00:00:00:00", "  nw_dst=10.1.2.3", "  nw_ttl=64"} <= set(lines)
    assert sum("(was" in line for line in lines) == 1
    digits = run("trace", "--control", loaded, "--hex", "in_port=1,tcp,nw_dst=10.1.2.3").output.splitlines()[-1]
    assert digits.startswith("  020000000009000000000000")
    assert run("trace", "--control", loaded, "in_port=2").output.splitlines() == [
        "table 0: no entry: dropped",
        "nothing leaves",
    ]


def test_a_frame_of_a_capture_is_traced(loaded, tmp_path):
    frame = bytes(12) + b"\x08\x06" + bytes(46)
    capture = tmp_path / "one.pcap"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    capture.write_bytes(header + struct.pack("<IIII", 0, 0, 60, 60) + frame)
    traced = run("trace", "--control", loaded, "--capture", capture, "in_port=1").output
    assert traced.splitlines()[0] == "table 0: priority=1,in_port=1,actions=drop"
    with pytest.raises(UsageError, match="has 1 frames, no frame 2"):
        run("trace", "--control", loaded, "--capture", capture, "--frame", 2, "in_port=1")


def test_the_status_counts_ports_and_tables(loaded):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        status = json.loads(run("status", "--control", loaded, "--json").output)
        if all(port["has_link"] for port in status["ports"]):
            break
    assert [port["interface"] for port in status["ports"]] == ["ta", "tb"]
    assert (status["groups"], status["meters"]) == (1, 1)
    assert [(table["table"], table["entries"]) for table in status["tables"]][:2] == [(0, 2), (1, 1)]
    assert "port 1 (ta, up)" in run("status", "--control", loaded).output
    assert "table 0: 2 entries, " in run("explain", "--control", loaded, 0).output


def test_no_switch_is_told_in_one_line(tmp_path):
    with pytest.raises(MeasureError, match=r"no switch answers at .*: start brimful-switchd"):
        run("status", "--control", tmp_path / "absent.sock")


def test_genflow_writes_either_syntax(tmp_path):
    specification = tmp_path / "spec"
    specification.write_text("{test3,[{num_flows,3},{match,{1.0,eth_dst,16#ffffff}},allow_arp]}.")
    tab = run("genflow", "--seed", 5, specification).output
    assert len(tab.splitlines()) == 2 * (3 + 2)
    ovs = run("genflow", "--seed", 5, "--syntax", "ovs", specification).output
    assert len(ovs.splitlines()) == 2 * (3 + 2)
    with pytest.raises(UsageError, match="there is no table absent"):
        run("genflow", "--name", "absent", specification)
