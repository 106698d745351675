"""iperf3: its report judged, and the program itself between two network namespaces."""

import copy
import json
import os
import shutil
import stat
import subprocess
import time

import pytest
from brimful.errors import UsageError
from brimful.lab import permitted
from brimful.lab.namespaces import start_keeper
from brimful.measurers.base import Settings, check_surplus
from brimful.measurers.iperf3 import Iperf3Measurer, Iperf3Options, open_iperf3
from support import InvalidTrialError, MeasureError, TrialFailedError

ONE_WAY = ["--frame-size=64", "--flows=1", "--direction=uni"]
BYTES = 18
REPORT = {
    "end": {
        "sum_sent": {"packets": 1000, "seconds": 0.2, "bytes": 18_000},
        "sum_received": {"packets": 995, "seconds": 0.2, "bytes": 990 * BYTES},
        "cpu_utilization_percent": {"host_total": 5.0},
    }
}


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """An iperf3 that prints what it is told to, and notes its arguments."""

    def fake(script):
        program = tmp_path / "iperf3"
        program.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/arguments\n{script}\n')
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return open_iperf3("10.0.0.2", Settings(tester_arguments=ONE_WAY, ip=4, timeout_s=30.0))

    return fake


def reporting(tmp_path, changes):
    report = copy.deepcopy(REPORT)
    for path, value in changes.items():
        part, _, key = path.partition(".")
        report["end"][part][key] = value
    (tmp_path / "report").write_text(json.dumps(report))
    return f"cat {tmp_path}/report"


def test_a_run_is_one_trial(tmp_path, fake):
    measurer = fake(reporting(tmp_path, {}))
    output = measurer.measure(5000.0, 0.2)
    # Five frames were under way when the server stopped to listen: nobody knows of them, so they do not count.
    assert (output.sent, output.lost) == (995, 5)
    assert output.directions[0]["unseen_at_end"] == 5
    arguments = (tmp_path / "arguments").read_text().split()
    assert {"--udp", "-4", "--blockcount=1000", "--bitrate=720000", "--length=18", "--parallel=1"} <= set(arguments)
    assert "--bidir" not in arguments


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sum_sent.seconds": 0.3}, r"stretched: sent for 300 ms instead of 200 ms"),
        ({"sum_sent.packets": 700}, r"300 of 1000 frames were not sent"),
        ({"sum_received.bytes": 1001 * BYTES}, r"1001 frames arrived of 1000"),
        ({"sum_sent.packets": 1500, "sum_sent.seconds": 0.4}, r"stretched: sent for 400 ms instead of 300 ms"),
        ({"sum_sent.packets": 2000, "sum_sent.seconds": 0.4}, r"stretched: sent for 400 ms instead of 200 ms"),
        ({"sum_sent.packets": 1200}, r"1200 frames were sent where 1000 were due"),
    ],
)
def test_a_sender_that_did_not_do_what_was_asked(tmp_path, fake, changes, reason):
    with pytest.raises(InvalidTrialError, match=reason):
        fake(reporting(tmp_path, changes)).measure(5000.0, 0.2)


def counts(packets, seconds, size=BYTES, **other):
    return {"packets": packets, "seconds": seconds, "bytes": packets * size, **other}


FORMS = {
    # Client and server, and what was seen of 1000 frames that were to take 0.25 s.
    "3.12 to 3.12": [counts(1000, 0.250152), counts(1000, 0.250209), counts(1010, 0.249922), counts(1000, 0.253723)],
    "3.12 to 3.22": [counts(997, 0.252387), counts(997, 0.252755), counts(1009, 0.252387), counts(1000, 0.252755)],
    # From 3.18 on a client ends at the end of an interval; of an older server's packets it knows the bytes.
    "3.18 to 3.12": [
        counts(1200, 0.300477),
        counts(1200, 0.300782),
        counts(1201, 0.300477) | {"packets": 0},
        counts(1201, 0.300782),
    ],
    # A sending thread that has counted a packet, and not yet its bytes.
    "3.22 to 3.22": [
        counts(1201, 0.300512) | {"bytes": 1200 * BYTES},
        counts(1201, 0.300571),
        counts(1206, 0.300512),
        counts(1206, 0.300571),
    ],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("both_ways", [False, True])
def test_any_age_of_client_and_server(tmp_path, fake, form, both_ways):
    measurer = fake(f"cat {tmp_path}/report")
    if both_ways:
        measurer = open_iperf3("10.0.0.2", Settings(tester_arguments=["--frame-size=64"], ip=4, timeout_s=30.0))
    parts = ("sum_sent", "sum_received", "sum_sent_bidir_reverse", "sum_received_bidir_reverse")
    (tmp_path / "report").write_text(json.dumps({"end": dict(zip(parts, FORMS[form], strict=True))}))
    output = measurer.measure(4000.0, 0.25)
    assert "--interval=0.1" in (tmp_path / "arguments").read_text()
    assert output.lost == 0
    assert [way["arrived"] for way in output.directions] == [way["sent"] for way in output.directions]
    # A trial that went on weighs what it lasted: nobody sent more than this load.
    lasted_s = max(0.25, output.effective_duration_s or 0.0)
    assert lasted_s == pytest.approx(0.25 if form.startswith("3.12") else 0.3, rel=0.02)
    check_surplus(output, 4000.0, 0.25, measurer.describe())


@pytest.mark.parametrize(
    "end",
    [
        {"sum_sent": {"packets": "x"}},
        {"sum_sent": {"packets": -5}},
        {"sum_sent": {"seconds": None}},
        {"sum_sent": {"seconds": 0}},
        {"sum_received": {"packets": float("nan")}},
        {"sum_received": {"bytes": float("inf")}},
        {"sum_received": 7},
    ],
)
def test_counts_that_cannot_be(tmp_path, fake, end):
    report = copy.deepcopy(REPORT)
    for part, values in end.items():
        report["end"][part] = {**report["end"][part], **values} if isinstance(values, dict) else values
    (tmp_path / "report").write_text(json.dumps(report))
    with pytest.raises(TrialFailedError, match="no counts that can be"):
        fake(f"cat {tmp_path}/report").measure(5000.0, 0.2)


@pytest.mark.parametrize(
    ("spec", "ip", "server", "version"),
    [
        ("[::1]", 4, "::1", "-6"),
        ("::1,port=5202", 4, "::1", "-6"),
        ("[fe80::1%eth0]", 6, "fe80::1%eth0", "-6"),
        ("192.0.2.1", 4, "192.0.2.1", "-4"),
        ("far.example", 6, "far.example", "-6"),
    ],
)
def test_an_address_says_which_internet_protocol_it_is(tmp_path, fake, spec, ip, server, version):
    fake("exit 1")
    measurer = open_iperf3(spec, Settings(tester_arguments=["--direction=uni"], ip=ip, timeout_s=30.0))
    assert measurer.describe().traffic["frame_size"] == (64 if version == "-4" else 82)
    with pytest.raises(TrialFailedError):
        measurer.measure(5000.0, 0.2)
    arguments = (tmp_path / "arguments").read_text().split()
    assert arguments[arguments.index("--client") + 1] == server
    assert version in arguments


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        ({"packets": 0, "bytes": 0}, (1000, 1000)),
        ({"packets": 800, "bytes": 800 * BYTES}, (1000, 200)),
        ({"packets": 1000, "bytes": 1000 * BYTES}, (1000, 0)),
    ],
)
def test_frames_that_the_receiver_never_heard_of_are_lost_when_they_are_many(tmp_path, fake, received, expected):
    output = fake(reporting(tmp_path, {f"sum_received.{key}": value for key, value in received.items()})).measure(
        5000.0, 0.2
    )
    assert (output.sent, output.lost) == expected


@pytest.mark.parametrize(
    ("script", "error", "reason"),
    [
        ("""echo '{"error": "unable to connect to server: refused"}'""", MeasureError, "start `iperf3 -s` there"),
        ("""echo '{"error": "the server is busy running a test"}'""", InvalidTrialError, "busy"),
        ("echo '[]'", TrialFailedError, r"its report is no JSON object: \[\]"),
        ("echo broken; echo so it is >&2", TrialFailedError, "no JSON came back; it said: so it is"),
        ("""echo '{"end": {"sum": {}}}'""", TrialFailedError, "lacks 'sum_sent'; use iperf3 3.10"),
    ],
)
def test_errors_of_iperf3(fake, script, error, reason):
    with pytest.raises(error, match=reason) as caught:
        fake(script).measure(5000.0, 0.2)
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)


def test_a_run_without_end_is_ended(tmp_path, monkeypatch, fake):
    measurer = fake(f"echo $$ >{tmp_path}/pid; exec sleep 60")
    monkeypatch.setattr(measurer, "_timeout_s", 0.5)
    with pytest.raises(InvalidTrialError, match="stretched: iperf3 had not finished"):
        measurer.measure(5000.0, 0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize(
    ("spec", "traffic", "ip", "complaint"),
    [
        ("h,ports=1", ONE_WAY, 4, "'ports' is none of port="),
        ("h,port=x", ONE_WAY, 4, "write numbers"),
        ("h", ["--frame-size=61"], 4, "over IPv4 iperf3 can send frames of 62 to"),
        ("h", ["--frame-size=64"], 6, "over IPv6 iperf3 can send frames of 82 to"),
        ("h", ["--frame-size=imix"], 4, "--frame-size imix"),
        ("h", [*ONE_WAY, "--vlan=5"], 4, "--vlan: iperf3 cannot send such traffic"),
        ("h", ["--flows=129"], 4, "at most 128 streams"),
        ("[::1]:5202", ONE_WAY, 4, r"'\[::1\]:5202' is no server; write HOST, an address or \[ADDRESS\], and port="),
        ("host:5202", ONE_WAY, 4, "is no server"),
        ("[::1", ONE_WAY, 4, "is no server"),
        ("-R", ONE_WAY, 4, "is no server"),
        (",port=1", ONE_WAY, 4, "is no server"),
        ("192.0.2.1", ONE_WAY, 6, "192.0.2.1 is an address of IPv4, and --ip is 6"),
        ("[::1]", ONE_WAY, 4, "over IPv6 iperf3 can send frames of 82 to"),
    ],
)
def test_what_iperf3_cannot_do_is_said_before(fake, spec, traffic, ip, complaint):
    fake("exit 1")
    with pytest.raises(UsageError, match=complaint):
        open_iperf3(spec, Settings(tester_arguments=traffic, ip=ip, timeout_s=1.0))


@pytest.mark.parametrize(("ip", "least"), [(4, 64), (6, 82)])
def test_without_a_size_frames_are_as_small_as_can_be(fake, ip, least):
    fake("exit 1")
    assert (
        open_iperf3("h", Settings(tester_arguments=[], ip=ip, timeout_s=1.0)).describe().traffic["frame_size"] == least
    )


def test_a_machine_without_iperf3(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UsageError, match="iperf3 is not installed here"):
        open_iperf3("h", Settings(tester_arguments=ONE_WAY, ip=4, timeout_s=1.0))


@pytest.fixture
def namespaces():
    """Two namespaces joined by a link; a server in the second, gone after a minute in any case."""
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    if (reason := permitted()) is not None:
        pytest.skip(reason)
    near = start_keeper("iperf3", "near")
    far = start_keeper("iperf3", "far", beside=near.namespace)
    try:
        address = f"peer name vb netns {far.namespace.keeper.pid}"
        near.namespace.run(["ip", "link", "add", "va", "type", "veth", *address.split()])
        for namespace, name, own in ((near.namespace, "va", "198.18.0.1"), (far.namespace, "vb", "198.18.0.2")):
            namespace.run(
                ["ip", "-batch", "-"], text=f"addr add {own}/24 dev {name}\nlink set {name} up\nlink set lo up\n"
            )
        with subprocess.Popen(
            far.namespace.command(["timeout", "60", "iperf3", "--server"]), stdout=subprocess.PIPE, text=True
        ) as server:
            yield near.namespace, far.namespace
            server.terminate()
    finally:
        far.close()
        near.close()


def between(namespace, *, both_ways=False, streams=1, patience_s=5.0):
    # Bounds that a busy machine does not break: what is tested is the counting.
    options = Iperf3Options(
        server="198.18.0.2",
        datagram_bytes=18,
        streams=streams,
        both_ways=both_ways,
        max_stretch_s=patience_s,
        prefix=tuple(namespace.command([])),
    )
    measurer = Iperf3Measurer(options, timeout_s=patience_s)
    deadline = time.monotonic() + 20
    while True:
        try:
            measurer.measure(1000.0, 0.01)
            return measurer
        except MeasureError:
            assert time.monotonic() < deadline, "the server of the test does not answer"
            time.sleep(0.05)


@pytest.mark.parametrize(("both_ways", "streams"), [(False, 1), (True, 1), (False, 3)])
def test_between_namespaces(namespaces, both_ways, streams):
    near, _ = namespaces
    output = between(near, both_ways=both_ways, streams=streams).measure(2000.0, 0.25)
    assert len(output.directions) == 1 + both_ways
    for way in output.directions:
        assert both_ways or 500 <= way["offered"] <= 530
        assert way["arrived"] + way["lost"] == way["sent"] <= way["offered"]


def test_frames_that_a_queue_dropped_are_lost(namespaces):
    near, _ = namespaces
    measurer = between(near)
    # The queue passes about two frames of three.
    near.run(["tc", "qdisc", "add", "dev", "va", "root", "tbf", "rate", "640kbit", "burst", "1600", "limit", "3000"])
    output = measurer.measure(2000.0, 0.5)
    (queue,) = json.loads(near.run(["tc", "-s", "-j", "qdisc", "show", "dev", "va"]))
    assert queue["drops"] > 100
    # Apart from what was still queued at the end, and from segments of the control connection.
    assert output.lost == pytest.approx(queue["drops"], abs=70)


def test_a_path_that_is_cut(namespaces):
    near, far = namespaces
    measurer = between(near, patience_s=0.5)
    far.run(["ip", "link", "set", "vb", "down"])
    with pytest.raises(MeasureError, match=r"start `iperf3 -s` there|stretched"):
        measurer.measure(2000.0, 0.1)
