"""Real frames among more ports than two: counted to the frame, by the port that sent and the one they were for."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from brimful.errors import UsageError
from brimful.lab import Lab, links, permitted
from brimful.measurers.base import InvalidTrialError, Settings, TrialOutput
from brimful.measurers.stations import port_count
from brimful.measurers.tester import open_lab_measurer
from support import brimful

ATTEMPTS = 20
"""A busy machine spoils some trials."""
LOAD, DURATION_S, FRAMES = 400.0, 0.5, 200
"""Of each port that sends."""


def trial(device: str, *arguments: str, prepare: Callable[[Lab], None] = lambda _: None) -> TrialOutput:
    """Perform a trial that the sender kept its schedule in."""
    settings = Settings(timeout_s=20.0, tester_arguments=["--max-stall=1s", *arguments])
    measurer = open_lab_measurer(device, settings)
    try:
        prepare(measurer._lab)
        for _ in range(ATTEMPTS):
            try:
                return measurer.measure(LOAD, DURATION_S)
            except InvalidTrialError as error:
                reason = error
    finally:
        measurer.close()
    pytest.fail(f"{ATTEMPTS} trials in a row were invalid: {reason}")


def matrix(output: TrialOutput) -> dict[tuple[str, str], int]:
    return {(way["from"], way["to"]): way["sent"] for way in output.directions}


@pytest.mark.parametrize(
    "device", ["switch,ports=8", "bridge,ports=4", "ovs,ports=4", "bridge,ports=4,senders=2,receivers=2"]
)
def test_a_full_mesh_loses_no_frame_and_starves_no_port(own_interfaces, device):
    output, count = trial(device, "--pattern=mesh"), port_count(f"lab:{device}")
    assert (output.intended, output.sent, output.lost) == (count * FRAMES, count * FRAMES, 0)
    assert (output.duplicated, output.reordered, output.late) == (0, 0, 0)
    # Open vSwitch floods some frames of flows that its data path has not taken over yet.
    may_flood = device.startswith("ovs")
    assert {warning["code"] for warning in output.warnings} <= ({"misrouted-frames"} if may_flood else set())
    ports = output.extra["ports"]
    assert [port["name"] for port in ports] == [f"t{side}" for side in "abcdefgh"[:count]]
    for port in ports:
        assert (port["sent"], port["lost"], port["received"]) == (FRAMES, 0, FRAMES)
        assert may_flood or port["misrouted"] == 0
    assert len(output.directions) == count * (count - 1)
    shares = {way["sent"] for way in output.directions}
    assert shares <= {FRAMES // (count - 1), FRAMES // (count - 1) + 1}
    assert output.extra["slip_frames"] >= 1


def test_threads_that_share_a_port_send_what_one_would(own_interfaces):
    output = trial("wire,senders=4", "--flows=4", "--back-end=packet", "--frame-size=imix")
    assert matrix(output) == {("ta", "tb"): FRAMES, ("tb", "ta"): FRAMES}
    assert (output.lost, output.duplicated, output.reordered) == (0, 0, 0)
    sent = [cost["sent"] for cost in output.extra["cost"] if cost["thread"] == "sender"]
    assert (len(sent), sum(sent)) == (4, 2 * FRAMES)
    assert all(count >= FRAMES / 2 - 12 for count in sent), "each but for a turn of the sizes"


def test_threads_that_share_a_port_send_its_broadcasts(own_interfaces):
    sent = {}

    def frames_of_ports(measurer) -> int:
        return sum(measurer._lab.counters()[port]["tx_packets"] for port in ("ta", "tb"))

    for every in (10, 0):
        options = [
            "--flows=4",
            "--back-end=packet",
            "--max-stall=1s",
            *([f"--broadcast-every={every}"] if every else []),
        ]
        measurer = open_lab_measurer("wire,senders=4", Settings(timeout_s=20.0, tester_arguments=options))
        try:
            for _ in range(ATTEMPTS):
                before = frames_of_ports(measurer)
                with contextlib.suppress(InvalidTrialError):
                    output = measurer.measure(LOAD, DURATION_S)
                    break
            sent[every] = frames_of_ports(measurer) - before
        finally:
            measurer.close()
        assert (output.sent, output.lost, output.duplicated) == (2 * FRAMES, 0, 0)
    # Beside frames from which devices learn, of which trials have a few more or less.
    assert sent[10] - sent[0] == pytest.approx(2 * FRAMES / 10, abs=8)


def test_senders_that_cannot_share_are_wrong_usage():
    for device, arguments, reason in [
        ("wire,senders=3", [], "--senders 3: 2 of the ports send, and as many threads for each"),
        ("wire,senders=4", ["--flows=3"], "give --flows 2 or a multiple"),
        ("wire,senders=two", [], "two"),
        ("wire,receivers=3", [], "--receivers 3: there are 2 ports, and one thread receives for each at most"),
    ]:
        with pytest.raises(UsageError, match=reason):
            trial(device, *arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {("ta", "tb"): 200, ("tb", "ta"): 200, ("tc", "td"): 200, ("td", "tc"): 200}),
        (["--pattern=many-to-one"], {("tb", "ta"): 200, ("tc", "ta"): 200, ("td", "ta"): 200}),
        (["--pattern=one-to-many"], {("ta", "tb"): 67, ("ta", "tc"): 67, ("ta", "td"): 66}),
        (["--pattern=halves"], {("ta", "tc"): 100, ("ta", "td"): 100, ("tb", "td"): 100, ("tb", "tc"): 100}),
        (["--pattern=flows:1>2,3>2=50%"], {("ta", "tb"): 200, ("tc", "tb"): 100}),
        (
            ["--port-shares=100%/20%/50%/10%"],
            {("ta", "tb"): 200, ("tb", "ta"): 40, ("tc", "td"): 100, ("td", "tc"): 20},
        ),
    ],
)
def test_each_pattern_sends_what_it_says(own_interfaces, arguments, expected):
    output = trial("bridge,ports=4", *arguments)
    assert matrix(output) == expected
    assert (output.sent, output.lost) == (sum(expected.values()), 0)


def test_a_dead_port_is_named_and_the_others_lose_nothing(own_interfaces):
    def disable(lab: Lab) -> None:
        device = lab._keepers[1].namespace
        links.configure_bridge(device, ["link set dev pc state 0"])

    output = trial("bridge,ports=4", "--pattern=mesh", prepare=disable)
    assert (output.sent, output.lost) == (4 * FRAMES, sum(way["sent"] for way in output.directions if is_of_tc(way)))
    assert all(way["lost"] == (way["sent"] if is_of_tc(way) else 0) for way in output.directions)
    (warning,) = (note["text"] for note in output.warnings if note["code"] == "starved-ports")
    expected = "1 of 4 ports had less than half of its share: tc (nothing that it sent arrived; received nothing)"
    assert warning == expected


def is_of_tc(way: dict[str, Any]) -> bool:
    return "tc" in (way["from"], way["to"])


def test_a_search_reports_its_ports_and_is_verified(own_interfaces, tmp_path):
    goal = "loss=0,trial=0.5s,initial=0.2s,sum=0.5s,width=50%"
    words = ["-m", "lab:bridge,ports=4", "--pattern", "mesh", "--min-load", "100pps", "--max-load", "400pps"]
    more = ["--goal", goal, "--tester-option=--max-stall=1s", "--on-invalid", "retry:20", "--out", "run"]
    # The max load meets the goal: an irregular result.
    brimful("search", *words, *more, cwd=tmp_path, check=1)
    shown = brimful("report", "run", "--html", "page.html", cwd=tmp_path, check=0).stdout
    shown += brimful("report", "run", cwd=tmp_path, check=0).stdout
    assert "Frames received in it, by the port that sent them (rows) and the port they were for" in shown
    assert "The greatest slip between ports was" in shown
    page = (tmp_path / "page.html").read_text()
    assert 'id="matrix"' in page
    assert "mesh, 4 ports" in page
    brimful("verify", "run", cwd=tmp_path, check=0)


def test_two_ports_may_send_different_loads(own_interfaces):
    output = trial("bridge", "--port-shares=100%/20%")
    assert matrix(output) == {("ta", "tb"): 200, ("tb", "ta"): 40}
    assert output.lost == 0
    assert "ports" not in output.extra


@pytest.mark.parametrize("device", ["bridge,ports=3", "bridge,ports=4,work=0"])
def test_the_ceiling_of_a_tester_with_many_ports_is_measured_along_cables(own_interfaces, monkeypatch, device):
    settings = Settings(timeout_s=20.0, tester_arguments=["--pattern=mesh", "--port-shares=100%" + "/50%" * 2])
    if device != "bridge,ports=3":
        settings = Settings(timeout_s=20.0, tester_arguments=["--pattern=mesh"])
    monkeypatch.setattr("brimful.measurers.tester.highest_offered", lambda ceiling, _: ceiling)
    measurer = open_lab_measurer(device, settings)
    try:
        assert measurer.calibrate() > 0
    finally:
        measurer.close()


@pytest.mark.parametrize(
    ("device", "arguments", "complaint"),
    [
        ("bridge,ports=4", ["--pattern=ring"], "write pairs, mesh, one-to-many, many-to-one, halves or a list"),
        ("bridge,ports=3", [], "--pattern pairs: 3 ports leave one over; give an even number, or another pattern"),
        ("bridge,ports=3", ["--pattern=halves"], "--pattern halves: 3 ports leave one over"),
        ("bridge,ports=4", ["--pattern=flows:1>5"], "1>5: there are 4 ports"),
        ("bridge,ports=4", ["--pattern=flows:1>2=70%,1>3=70%"], "port 1 sends more than 100% of the load"),
        ("bridge,ports=4", ["--port-shares=100%/20%"], "--port-shares has 2 shares: give 4, one for each port"),
        ("bridge", ["--port-shares=100%/0%"], "`0%` is no share of the load"),
        (
            "bridge,ports=4",
            ["--pattern=mesh", "--direction=uni"],
            "says which port sends to which; leave the direction",
        ),
        ("bridge,ports=4", ["--destination-ip=198.18.0.9"], "--destination-ip: each of 4 ports sends to the addresses"),
        ("bridge,ports=4", ["--source-mac=02:00:00:00:00:01"], "--source-mac is given 1 times: give it 4 times"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_lab_is_made(monkeypatch, device, arguments, complaint):
    monkeypatch.setattr("brimful.measurers.tester.open_lab", lambda *_, **__: pytest.fail("a lab was made"))
    with pytest.raises(UsageError, match=r"^brimful-tester: [^\n]*$") as raised:
        open_lab_measurer(device, Settings(timeout_s=20.0, tester_arguments=arguments))
    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["search", "-m", "lab:bridge,ports=4", "--pattern", "ring"], "write pairs, mesh"),
        (["search", "-m", "lab:bridge,ports=17"], "ports is 17: use 2 to 16"),
        (["search", "-m", "tester:eth1"], "name two ports, or up to 16, like tester:eth1,eth2"),
        (["search", "-m", "sim:hard", "--pattern", "mesh"], "--pattern: measurer 'sim:hard' would not be told"),
        (
            ["search", "-m", "iperf3:::1", "--pattern", "mesh"],
            "--pattern: only lab: and tester: have ports of their own",
        ),
        (["delay", "-m", "lab:bridge,ports=4", "--load", "1kpps"], "a delay is measured between two"),
    ],
)
def test_wrong_arguments_of_commands_end_with_one_line(tmp_path, words, complaint):
    if words[0] == "delay" and permitted() is not None:
        pytest.skip("no labs here")
    finished = brimful(*words, cwd=tmp_path)
    assert finished.returncode == 2
    assert complaint in finished.stderr
    assert len(finished.stderr.splitlines()) == 1
