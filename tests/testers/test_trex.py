"""TRex: program, the public TRex client, its RPC over ZeroMQ, and a stand-in for the server."""

import copy
import importlib.util
import json
import os
import signal
import subprocess
import time

import pytest
from brimful.measurers.base import Settings
from brimful.measurers.trex import open_trex
from stand_in import Faults, Port, StandIn
from support import InvalidTrialError, MeasureError, brimful

CLIENT = "BRIMFUL_TREX_PATH" in os.environ or importlib.util.find_spec("lbr_trex_client") is not None
pytestmark = pytest.mark.skipif(not CLIENT, reason="no TRex client: install lbr-trex-client or set BRIMFUL_TREX_PATH")

DURATION_S = 0.1
LOAD = 100_000.0
SENT = 10_000
TRAFFIC = ["--frame-size=64", "--flows=1", "--direction=bi"]


@pytest.fixture
def server():
    stand_in = StandIn()
    yield stand_in
    stand_in.close()


@pytest.fixture
def connect(server):
    opened = []

    def connect(*words, traffic=TRAFFIC, ip=4):
        place = [f"sync-port={server.sync_port}", f"async-port={server.async_port}", "rpc-timeout=1"]
        # A stall of this machine must not look like a fault of the server.
        spec = ",".join(["127.0.0.1", *place, "settle=0.02", "max-stretch=5", *words])
        opened.append(open_trex(spec, Settings(tester_arguments=[*traffic], ip=ip, timeout_s=30.0)))
        return opened[-1]

    yield connect
    for measurer in opened:
        measurer.close()


@pytest.fixture(scope="module")
def shared():
    """One server and one program for all tests that need no options: starting the client takes a second."""
    server = StandIn()
    place = f"sync-port={server.sync_port},async-port={server.async_port},rpc-timeout=1"
    measurer = open_trex(
        f"127.0.0.1,{place},settle=0.02,max-stretch=5", Settings(tester_arguments=TRAFFIC, ip=4, timeout_s=30.0)
    )
    yield server, measurer
    measurer.close()
    assert release_is_complete(server)
    server.close()


@pytest.fixture
def good(shared):
    server, measurer = shared
    server.faults = Faults()
    server.calls.clear()
    yield server, measurer
    for port in server.ports:
        if port.owner == "bob":
            port.owner = ""
            port.streams.clear()


def release_is_complete(server):
    return all(
        (port.owner, port.streams, port.burst, port.promiscuous) == ("", {}, None, False) for port in server.ports
    )


def test_ports_take_frames_for_any_address_while_they_are_held(server, connect):
    server.ports[1].promiscuous = True
    measurer = connect()
    measurer.measure(LOAD, DURATION_S)
    assert [port.promiscuous for port in server.ports] == [True, True]
    measurer.close()
    assert [port.promiscuous for port in server.ports] == [False, True], "as they were before"


def test_a_trial_is_counted_for_each_direction(good):
    server, measurer = good
    description = measurer.describe()
    assert description.name == "TRex v0.0-stand-in at 127.0.0.1"
    assert (description.load_unit, description.conversion_factor) == ("frames/s", 2)
    assert description.max_load == 14_880_952
    assert description.traffic["directions"] == ["port 0 to port 1", "port 1 to port 0"]
    server.faults.capacity_pps = 60_000
    output = measurer.measure(LOAD, DURATION_S)
    assert (output.sent, output.lost, output.intended) == (2 * SENT, 2 * 4000, 2 * SENT)
    assert [(way["sent"], way["lost"]) for way in output.directions] == [(SENT, 4000), (SENT, 4000)]
    assert output.warnings == []
    assert output.extra["trex"]["cpu_util_percent"] == 12.5
    assert server.read_while_sending == 0
    starts = server.called("start_traffic")
    assert [start["mul"] for start in starts] == [{"type": "pps", "value": LOAD, "op": "abs"}] * 2
    assert {(start["duration"], start["force"]) for start in starts} == {(DURATION_S, False)}


def test_one_session_serves_all_trials_in_compressed_messages(good):
    server, measurer = good
    before = server.compressed
    for _ in range(3):
        measurer.measure(LOAD, DURATION_S)
    assert server.called("acquire") == []
    assert server.compressed - before > 20
    assert server.read_while_sending == 0


def test_one_direction(server, connect):
    measurer = connect(traffic=["--frame-size=1518", "--flows=1", "--direction=uni"])
    assert measurer.describe().conversion_factor == 1
    output = measurer.measure(LOAD, DURATION_S)
    assert (output.sent, len(output.directions)) == (SENT, 1)
    assert {call["port_id"] for call in server.called("start_traffic")} == {0}


def test_four_ports_are_two_pairs(connect, server):
    server.ports.extend([Port(2), Port(3)])
    output = connect("ports=0:1:2:3").measure(LOAD, DURATION_S)
    assert [way["name"] for way in output.directions] == [
        "port 0 to port 1",
        "port 1 to port 0",
        "port 2 to port 3",
        "port 3 to port 2",
    ]
    assert output.sent == 4 * SENT


def test_flows_are_counted_apart(server, connect):
    server.faults = Faults(capacity_pps=60_000, misrouted=5, foreign=500)
    output = connect("count=flow", traffic=["--frame-size=imix", "--flows=2", "--direction=bi"]).measure(
        LOAD, DURATION_S
    )
    for way in output.directions:
        assert sum(flow["sent"] for flow in way["flows"]) == way["sent"] == SENT
        assert sum(flow["received"] for flow in way["flows"]) == way["received"] == 5995
        assert len(way["flows"]) == 2
        assert way["misrouted"] == 5
    assert output.lost == 2 * 4005
    assert [warning["code"] for warning in output.warnings] == ["misrouted", "misrouted"]


def test_the_field_engine_varies_the_source_port(server, connect):
    connect(traffic=["--frame-size=64", "--flows=1000", "--direction=uni", "--vlan=7"]).measure(LOAD, DURATION_S)
    (added,) = server.called("add_stream")
    variable, write = added["stream"]["vm"]["instructions"]
    assert (variable["min_value"], variable["max_value"], variable["op"]) == (1024, 2023, "inc")
    assert (write["pkt_offset"], write["is_big_endian"]) == (14 + 4 + 20, True)


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        (Faults(unsent=3), "port 0 to port 1: 3 of 10000 frames were not sent: the tester is too slow"),
        (Faults(surplus=200), "10200 frames were sent where 10000 were due"),
        (Faults(down={1}), "the link of TRex port 1 is down"),
        (Faults(at_end=lambda server: server.faults.down.add(0)), "the link of TRex port 0 is down"),
        (Faults(at_end=StandIn.steal), "owned"),
        (Faults(at_end=StandIn.restart), "API handler|connection to the server"),
        (Faults(at_end=lambda server: server.count(0, "opackets", -1_000_000)), "went backwards by 990000"),
        (Faults(receive_errors=2), "port 1 counted 2 receive errors: lost by the tester"),
        (Faults(send_errors=1), "port 0 counted 1 send errors"),
        (Faults(foreign=500), "500 more frames received than sent"),
    ],
)
def test_a_spoiled_trial_is_invalid_and_says_why(good, faults, reason):
    server, measurer = good
    measurer.describe()
    server.faults = copy.deepcopy(faults)
    with pytest.raises(InvalidTrialError, match=reason) as caught:
        measurer.measure(LOAD, DURATION_S)
    assert "\n" not in str(caught.value)
    assert all(port.burst is None for port in server.ports)


def test_a_stretched_trial_is_stopped_and_invalid(server, connect):
    measurer = connect("max-stretch=0.05")
    measurer.describe()
    server.faults.stretch_s = 60.0
    with pytest.raises(InvalidTrialError, match=r"stretched: still sending .* ms after the 0.1 s of the trial"):
        measurer.measure(LOAD, DURATION_S)
    assert all(port.burst is None for port in server.ports)


def test_the_trial_after_a_spoiled_one_is_good(good):
    server, measurer = good
    for fault in (StandIn.restart, lambda server: server.count(1, "ipackets", -50_000)):
        server.faults = Faults(at_end=fault)
        with pytest.raises(InvalidTrialError):
            measurer.measure(LOAD, DURATION_S)
        assert measurer.measure(LOAD, DURATION_S).sent == 2 * SENT


def test_what_is_within_bounds_counts(server, connect):
    measurer = connect("ignore-receive-errors")
    server.faults = Faults(unsent=1, foreign=3, receive_errors=2, queue_full=4)
    output = measurer.measure(LOAD, DURATION_S)
    assert (output.sent, output.lost) == (2 * (SENT - 1), 0)
    assert [warning["code"] for warning in output.warnings] == ["foreign-frames", "foreign-frames", "queue-full"]


def test_a_dead_port_is_loss_with_a_warning(good):
    server, measurer = good
    server.faults = Faults(dead_ports=frozenset({1}))
    output = measurer.measure(LOAD, DURATION_S)
    assert [way["lost"] for way in output.directions] == [0, SENT]
    assert [warning["code"] for warning in output.warnings] == ["nothing-arrived"]
    assert "port 1 to port 0" in output.warnings[0]["text"]


def test_a_server_that_is_gone_spoils_the_trial_and_ends_the_run(server, connect):
    measurer = connect()
    measurer.describe()
    server.faults.at_end = lambda server: setattr(server.faults, "silent", True)
    with pytest.raises(InvalidTrialError, match=r"TRex at 127.0.0.1: .*(server|connected)"):
        measurer.measure(LOAD, DURATION_S)
    with pytest.raises(MeasureError, match=r"no TRex server answers at 127.0.0.1") as caught:
        measurer.measure(LOAD, DURATION_S)
    assert type(caught.value) is MeasureError


def test_ports_of_somebody_else_are_left_alone(server, connect):
    server.steal()
    with pytest.raises(MeasureError, match=r"ports 0, 1 cannot be acquired .*taken by 'bob'.*with force"):
        connect().describe()
    assert [port.owner for port in server.ports] == ["bob", "bob"]
    assert {call["force"] for call in server.called("acquire")} == {False}


def test_ports_that_are_stolen_end_the_run(good):
    server, measurer = good
    server.faults = Faults(at_end=StandIn.steal)
    with pytest.raises(InvalidTrialError):
        measurer.measure(LOAD, DURATION_S)
    with pytest.raises(MeasureError, match="taken by 'bob'") as caught:
        measurer.measure(LOAD, DURATION_S)
    assert type(caught.value) is MeasureError
    assert [port.owner for port in server.ports] == ["bob", "bob"]


def test_force_takes_the_ports(server, connect):
    server.steal()
    assert connect("force").measure(LOAD, DURATION_S).sent == 2 * SENT


def test_traffic_of_nobody_is_left_alone(server, connect):
    server.start_for_nobody(1)
    with pytest.raises(MeasureError, match="port 1 is sending already; stop that, or take it away with force"):
        connect().describe()
    assert [port.owner for port in server.ports] == ["", ""]


def test_ports_that_are_not_there(connect):
    with pytest.raises(MeasureError, match="has no port 5: it has 0, 1"):
        connect("ports=0:5").describe()


def test_a_load_above_the_line_rate_is_refused_by_the_server(good):
    _, measurer = good
    with pytest.raises(InvalidTrialError, match="required bandwidth"):
        measurer.measure(20e6, DURATION_S)


def test_versions_that_do_not_fit(server, connect):
    server.faults.api_major = 9
    with pytest.raises(MeasureError, match=r"different versions \(.*'9\.0'.*'5\.1'\); point trex-path"):
        connect().describe()


def program(server):
    """The process of its own, as `CommandMeasurer` starts it."""
    command = open_trex(
        f"127.0.0.1,sync-port={server.sync_port},async-port={server.async_port},settle=0.02",
        Settings(tester_arguments=[], ip=4, timeout_s=1.0),
    )._command
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("end", ["end of input", signal.SIGINT, signal.SIGTERM])
def test_whatever_ends_it_traffic_stops_and_ports_are_released(server, end):
    with program(server) as process:
        process.stdin.write(json.dumps({"op": "measure", "id": 1, "load": 1000, "duration_s": 60}).encode() + b"\n")
        process.stdin.flush()
        deadline = time.monotonic() + 20
        while not all(port.burst for port in server.ports):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        if end == "end of input":
            process.stdin.close()
        else:
            process.send_signal(end)
        assert process.wait(20) == 0
        assert process.stdout.read() == b""
    assert release_is_complete(server)


def test_a_search_finds_the_capacity(server, tmp_path):
    server.faults.capacity_pps = 200_000
    spec = f"trex:127.0.0.1,sync-port={server.sync_port},async-port={server.async_port},settle=0,max-stretch=5"
    goal = "name=ndr,loss=0%,exceed=0%,trial=0.05s,sum=0.05s,initial=0.05s,width=10%"
    done = brimful(
        "search", "-m", spec, "--goal", goal, "--max-load", "1Mpps", "--json", "--quiet", cwd=tmp_path, check=0
    )
    found = json.loads(done.stdout)["goal_results"][0]
    assert found["lower_bound"] <= 200_000 <= found["upper_bound"]
    assert release_is_complete(server)


@pytest.mark.skipif(importlib.util.find_spec("lbr_trex_client") is None, reason="lbr-trex-client is not installed")
def test_an_installation_is_found_by_its_path(connect):
    place = importlib.util.find_spec("lbr_trex_client").submodule_search_locations[0]
    assert connect(f"trex-path={place}").measure(LOAD, DURATION_S).sent == 2 * SENT


def test_no_server_is_said_in_one_line():
    measurer = open_trex(
        "127.0.0.1,sync-port=1,async-port=2,rpc-timeout=1", Settings(tester_arguments=[], ip=4, timeout_s=20.0)
    )
    with pytest.raises(MeasureError, match=r"no TRex server answers at 127.0.0.1:1 .*start it with") as caught:
        measurer.describe()
    assert "\n" not in str(caught.value)
    measurer.close()
