"""What the TRex program decides by itself: its options, its frames, its verdicts, the clients it finds."""

import ast
import dataclasses
import re
import struct
from pathlib import Path

import pytest
from brimful.errors import UsageError
from brimful.measurers.base import Settings
from brimful.measurers.trex import open_trex, trex_program
from brimful.measurers.trex.trex_program import frames
from brimful.measurers.trex.trex_program.__main__ import parse
from brimful.measurers.trex.trex_program.errors import CannotMeasureError, SpoiledError
from brimful.measurers.trex.trex_program.judging import Counted, Watched, check_stretch, judge
from hypothesis import given
from hypothesis import strategies as st
from support import MeasureError

SOURCES = sorted(Path(trex_program.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_program_is_for_older_pythons_and_needs_nothing(source):
    tree = ast.parse(source.read_text(), feature_version=(3, 8))
    imported = {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 0
    } | {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not imported & {"brimful", "msgspec", "trex"}


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("lab1,port=0", r"'port=0' \(did you mean 'ports'\?\) is none of .*force.*ports="),
        ("lab1,ports=", "'ports=' is none of"),
        ("lab1,count", "count"),
    ],
)
def test_an_unknown_option_is_a_usage_error(spec, complaint):
    with pytest.raises(UsageError, match=complaint):
        open_trex(spec, Settings(tester_arguments=[], ip=4, timeout_s=1.0))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--flows=70000"], r"--flows 70000: .* use 1 to 64512"),
        (["--flows=0"], r"--flows 0: "),
        (["--ports=0:1:2"], r"--ports: .*'0:1:2'"),
        (["--ports=1:1"], r"--ports: .*'1:1'"),
        (["--frames=5"], r"unrecognized arguments: --frames=5"),
        (["--settle=-1"], r"--settle: .*'-1'"),
        (["--ip=6", "--flows=2"], r"several flows over IPv6 need count=flow"),
    ],
)
def test_wrong_options_are_named_in_one_line(capsys, words, complaint):
    with pytest.raises(SystemExit, match="2"):
        parse(["--server=lab1", *words])
    said = capsys.readouterr().err
    assert re.search(complaint, said)
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "ip", "vlan", "expected"),
    [
        ("64", 4, None, [(64, 1)]),
        ("66", 6, None, [(66, 1)]),
        ("imix", 4, None, [(64, 7), (594, 4), (1518, 1)]),
        ("imix", 6, 9, [(70, 7), (594, 4), (1518, 1)]),
        ("63", 4, None, "use imix, or 64 to 9234"),
        ("65", 6, None, "use imix, or 66 to 9234"),
        ("big", 4, None, "--frame-size big"),
    ],
)
def test_frame_sizes(text, ip, vlan, expected):
    if isinstance(expected, str):
        with pytest.raises(CannotMeasureError, match=expected):
            frames.sizes(text, ip, vlan)
    else:
        assert frames.sizes(text, ip, vlan) == expected


def test_without_a_size_frames_are_as_small_as_can_be():
    assert parse(["--server=lab1", "--ip=6", "--vlan=9"]).frame_size == "70"
    assert parse(["--server=lab1", "--vlan=9"]).frame_size == "64"


def ones_sum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(data[0::2]) * 256 + sum(data[1::2])
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


ADDRESSES = {4: ("198.18.0.2", "198.19.0.2"), 6: ("2001:2::2", "2001:2:0:8000::2")}


@given(
    st.sampled_from([4, 6]),
    st.sampled_from([None, 1, 4094]),
    st.integers(0, 64511),
    st.integers(0, 9000),
    st.booleans(),
)
def test_frames_are_what_their_headers_say(ip, vlan, flow, beyond, checksum):
    size = min(frames.smallest(ip, vlan) + beyond, frames.LARGEST_FRAME)
    source, destination = ADDRESSES[ip]
    data = frames.frame(size, ip=ip, vlan=vlan, source=source, destination=destination, flow=flow, checksum=checksum)
    assert len(data) == size - 4
    if vlan:
        assert struct.unpack("!HH", data[12:16]) == (0x8100, vlan)
        data = data[:12] + data[16:]
    packet = data[14:]
    if ip == 4:
        assert data[12:14] == b"\x08\x00"
        assert ones_sum(packet[:20]) == 0xFFFF
        assert struct.unpack("!H", packet[2:4])[0] == len(packet)
        addresses, datagram = packet[12:20], packet[20:]
    else:
        assert data[12:14] == b"\x86\xdd"
        assert struct.unpack("!H", packet[4:6])[0] == len(packet) - 40
        addresses, datagram = packet[8:40], packet[40:]
    assert struct.unpack("!HHH", datagram[:6]) == (1024 + flow, 9, len(datagram))
    assert frames.source_port_offset(ip, vlan) == size - 4 - len(datagram)
    if checksum:
        assert ones_sum(addresses + struct.pack("!HH", 17, len(datagram)) + datagram) == 0xFFFF
    else:
        assert datagram[6:8] == b"\0\0"


GOOD = Counted(sending_port=0, receiving_port=1, sent=1000, received=990, send_errors=0, receive_errors=0)


def verdict(counted, **options):
    return judge([counted], 1000.0, 1.0, **{"unsent_allowed": 2, "trust_receive_errors": True, **options})


def test_a_good_trial():
    reply = verdict(GOOD)
    assert (reply["sent"], reply["lost"], reply["warnings"]) == (1000, 10, [])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sent": 997}, "3 of 1000 frames were not sent"),
        ({"sent": 1014}, "1014 frames were sent where 1000 were due"),
        ({"sent": -1}, "of frames sent went backwards by 1"),
        ({"received": -1}, "of frames received went backwards by 1"),
        ({"received": "N/A"}, "gives no counter of frames received, but 'N/A'"),
        ({"received": 1021}, "21 more frames received than sent"),
        ({"receive_errors": 1}, "port 1 counted 1 receive errors"),
        ({"send_errors": 1}, "port 0 counted 1 send errors"),
        ({"misrouted": -1}, "misrouted went backwards"),
    ],
)
def test_each_reason_to_doubt_a_trial(change, complaint):
    with pytest.raises(SpoiledError, match=complaint):
        verdict(dataclasses.replace(GOOD, **change))


@pytest.mark.parametrize("change", [{"sent": 998}, {"sent": 1013}, {"received": 1020}])
def test_just_within_the_bounds(change):
    counted = dataclasses.replace(GOOD, **change)
    assert verdict(counted)["lost"] == max(0, counted.sent - counted.received)


def test_receive_errors_can_be_ignored():
    assert verdict(dataclasses.replace(GOOD, receive_errors=1), trust_receive_errors=False)["lost"] == 10


@pytest.mark.parametrize(
    ("still_sending_s", "stopped_s", "complaint"),
    [
        (0.0, 1.01, None),
        (1.04, 1.05, None),
        (1.06, 1.07, "stretched: still sending 60 ms after the 1 s"),
        (0.0, 1.2, "held up for 200 ms"),
        (1.01, 1.07, "held up for 60 ms"),
    ],
)
def test_what_was_seen_of_the_end_of_sending(still_sending_s, stopped_s, complaint):
    watched = Watched(still_sending_s, stopped_s)
    if complaint is None:
        check_stretch(watched, 1.0, 0.05)
    else:
        with pytest.raises(SpoiledError, match=complaint):
            check_stretch(watched, 1.0, 0.05)


def test_a_python_that_is_not_there():
    with pytest.raises(UsageError, match="'TRex at lab1' cannot be started: No such file"):
        open_trex("lab1,python=/nonexistent/python", Settings(tester_arguments=[], ip=4, timeout_s=1.0)).describe()


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        (None, r"there is no TRex client in .*: give the directory that TRex was unpacked to"),
        ("import imp_of_old", r"does not load with Python 3.* \(No module named 'imp_of_old'\); choose another"),
        ("STLClient = STLStream = 1", r"has no STLPktBuilder, STLTXCont, STLFlowStats, STLScVmRaw, TRexError: use one"),
        (
            "class STLClient: pass\nSTLStream = STLPktBuilder = STLTXCont = STLFlowStats = STLScVmRaw = None\n"
            "TRexError = ValueError",
            r"the TRex client is not used as it wants to be, or answers strangely: TypeError\('STLClient\(\) takes no",
        ),
        ("print('noise on the output'); raise OSError('two\\nlines')", r"\(two lines\)"),
    ],
)
def test_a_client_that_is_not_there_or_broken(tmp_path, module, complaint):
    if module is not None:
        place = tmp_path / "automation/trex_control_plane/interactive/trex/stl"
        place.mkdir(parents=True)
        place.joinpath("__init__.py").touch()
        place.parent.joinpath("__init__.py").touch()
        place.joinpath("api.py").write_text(module)
    measurer = open_trex(f"lab1,trex-path={tmp_path}", Settings(tester_arguments=[], ip=4, timeout_s=20.0))
    with pytest.raises(MeasureError, match=complaint) as caught:
        measurer.describe()
    assert "\n" not in str(caught.value)
    measurer.close()
