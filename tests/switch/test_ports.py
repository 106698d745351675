"""Ports and queues that come and go while frames pass, captures at ports, and mirrors, between real hosts."""

import contextlib
import json
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from brimful.cli.switch import switch as command
from brimful.errors import MeasureError, UsageError
from brimful.lab.switch import find_switch
from brimful.switch import ask, capture_to, read_frame
from click.testing import CliRunner
from hosts import PLAIN, PYTHON, switch, wait_until

BACK_ENDS = ["packet", "packet-blocks", "xdp-native", "xdp-generic"]
DATAGRAMS = 1500
SO_RCVBUFFORCE = 33
RECEIVE = f"""
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
    own.setsockopt(socket.SOL_SOCKET, {SO_RCVBUFFORCE}, 64 << 20)
    own.bind(("10.9.0.2", 9000))
    own.settimeout(5)
    print("ready", flush=True)
    count = 0
    try:
        while count < {DATAGRAMS}:
            own.recv(100)
            count += 1
    except TimeoutError:
        pass
    print(count, flush=True)
"""
SEND = f"""
import socket, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
    for _ in range({DATAGRAMS}):
        own.sendto(bytes(32), ("10.9.0.2", 9000))
        time.sleep(0.001)
"""
MAIN = "import sys; sys.argv[0] = 'brimful'; from brimful.cli import main; sys.exit(main())"


def run(*arguments):
    done = CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def numbers(own):
    return [port["port"] for port in ask(own.control, "status")["switches"][0]["ports"]]


def add(own, *arguments):
    try:
        run("port", "add", "--control", own.control, *arguments)
    except UsageError as error:
        if "no permission to attach an XDP program" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_hosts_reach_each_other_by_ports_that_were_added(bed, tmp_path, back_end):
    with switch(bed, tmp_path, PLAIN, ports=1) as own:
        for _ in range(2):
            add(own, "--back-end", back_end, "2=s2")
            assert numbers(own) == [1, 2]
            for version, address, near in ((4, "10.9.0.2", "10.9.0.1"), (6, "fd00::2", "fd00::1")):
                assert bed.talk("tcp", str(version), address, near) == {"tcp": True}
            assert own.port(2)["received_frames"] > 0
            # Its interface is free at once: for another port, and for another back end.
            run("port", "remove", "--control", own.control, "s2")
            assert numbers(own) == [1]
        run("port", "add", "--control", own.control, "7=s2")
        assert numbers(own) == [1, 7]
        with pytest.raises(UsageError, match=r"interface s2 is a port already: remove it first"):
            run("port", "add", "--control", own.control, "8=s2")
        with pytest.raises(UsageError, match=r"there is no port 9: there are 1 \(s1\), 7 \(s2\)"):
            run("port", "remove", "--control", own.control, 9)
        with pytest.raises(UsageError, match="absent"):
            run("port", "add", "--control", own.control, "9=absent")


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_nothing_is_lost_at_other_ports(bed, tmp_path, back_end):
    rules = PLAIN + "in_port=3,actions=output:1\nin_port=4,actions=output:3\n"
    near, far = bed.hosts
    with contextlib.ExitStack() as stack:
        try:
            own = stack.enter_context(switch(bed, tmp_path, rules, back_end))
        except AssertionError as error:
            if "no permission to attach an XDP program" in str(error):
                pytest.skip(str(error))
            raise
        receiver = subprocess.Popen(far.command([*PYTHON, "-c", RECEIVE]), stdout=subprocess.PIPE, text=True)
        stack.enter_context(receiver)
        stack.callback(receiver.kill)
        assert receiver.stdout.readline() == "ready\n"
        with subprocess.Popen(near.command([*PYTHON, "-c", SEND])) as sender:
            changes = 0
            while sender.poll() is None:
                add(own, "--back-end", back_end, "3=s3", "4=s4")
                run("queue", "add", "--control", own.control, "3", 5, "--max-rate", 500)
                run("queue", "remove", "--control", own.control, "s3", 5)
                run("port", "remove", "--control", own.control, 3, "s4")
                changes += 1
        assert changes > 1
        assert int(receiver.stdout.readline()) == DATAGRAMS
        assert numbers(own) == [1, 2]


def test_the_file_of_settings_is_followed(bed, tmp_path):
    config, control, log = tmp_path / "switch.toml", tmp_path / "s.sock", tmp_path / "log"
    rules = tmp_path / "rules.flows"
    rules.write_text(PLAIN)

    def write(*ports, more=""):
        tables = "".join(f"[[switch.port]]\nnumber = {number}\ninterface = '{name}'\n" for number, name in ports)
        config.write_text(f"control = '{control}'\n[[switch]]\nname = 'edge'\ntables = ['{rules}']\n{tables}{more}")

    def status():
        return ask(control, "status")["switches"][0]["ports"]

    def followed(expected):
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: [(port["port"], port["interface"]) for port in status()] == expected, str(expected))

    write((1, "s1"))
    with log.open("w") as errors:
        words = bed.middle.command([find_switch(), f"--config={config}"])
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
    with process:
        try:
            assert process.stdout.readline() == "ready: edge\n", log.read_text()
            write((1, "s1"), (2, "s2"))
            followed([(1, "s1"), (2, "s2")])
            assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}
            before = status()[0]["received_frames"]
            write(
                (1, "s1"), (2, "s2"), more="[[switch.port.queue]]\nid = 4\n[[switch.mirror]]\nports = [1]\noutput = 2\n"
            )
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: [queue["queue"] for queue in status()[1]["queues"]] == [0, 4], "queue 4")
            assert status()[1]["mirror_of"] == [1]
            assert status()[0]["received_frames"] >= before > 0
            # Names change places: both ports are others then.
            write((1, "s2"), (2, "s1"))
            followed([(1, "s2"), (2, "s1")])
            assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}
            write((1, "s2"), (2, "s1"), (3, "absent"))
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: "edge: port 3: " in log.read_text(), "what cannot be opened is named")
            assert len(status()) == 2
        finally:
            process.terminate()


def test_a_port_that_is_set_down_is_shown_so(bed, tmp_path):
    with switch(bed, tmp_path, PLAIN) as own:
        wait_until(lambda: own.port(2)["has_link"], "the link")
        bed.ip(bed.middle, "link", "set", "s2", "down")
        wait_until(lambda: not own.port(2)["has_link"], "no link")
        assert "port 2 (s2, down)" in run("status", "--control", own.control).output


def test_a_renamed_interface_stays_the_port(bed, tmp_path):
    with switch(bed, tmp_path, PLAIN) as own:
        for words in (["down"], ["name", "renamed"]):
            bed.ip(bed.middle, "link", "set", "s2", *words)
        wait_until(lambda: not own.port(2)["has_link"], "no link")
        bed.ip(bed.middle, "link", "set", "renamed", "up")
        wait_until(lambda: own.port(2)["has_link"], "the link")
        assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}


class Capture:
    """The blocks of a pcapng file."""

    def __init__(self, data):
        self.frames, self.kinds, at = [], [], 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            assert struct.unpack_from("<I", data, at + length - 4) == (length,)
            self.kinds.append(kind)
            if kind == 6:
                upper, lower, captured, whole = struct.unpack_from("<IIII", data, at + 12)
                assert captured == whole
                options = at + 28 + (captured + 3) // 4 * 4
                assert struct.unpack_from("<HH", data, options) == (2, 4)
                (way,) = struct.unpack_from("<I", data, options + 4)
                self.frames.append((upper << 32 | lower, way, data[at + 28 : at + 28 + captured]))
            at += length
        assert at == len(data)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_frames_of_both_ways_are_captured(bed, tmp_path, back_end):
    file = tmp_path / "one.pcapng"
    with contextlib.ExitStack() as stack:
        try:
            own = stack.enter_context(switch(bed, tmp_path, PLAIN, back_end))
        except AssertionError as error:
            if "no permission to attach an XDP program" in str(error):
                pytest.skip(str(error))
            raise
        words = ["switch", "capture", "s1", f"--control={own.control}", "-w", file, "--filter", "udp"]
        process = subprocess.Popen([sys.executable, "-c", MAIN, *words], stderr=subprocess.PIPE, text=True)
        stack.enter_context(process)
        stack.callback(process.kill)
        wait_until(lambda: own.port(1)["captures"] == 1, "a capture")
        begun = time.time_ns()
        assert "udp" in bed.talk("udp", "4", "10.9.0.2", "10.9.0.1")
        ended = time.time_ns()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        said = process.stderr.read()
        assert own.port(1)["captures"] == 0
    capture = Capture(file.read_bytes())
    assert capture.kinds[:2] == [0x0A0D0D0A, 1]
    assert capture.kinds[-1] == 5
    assert said == f"{file}: {len(capture.frames)} frames of port 1 (s1), 0 more found no room\n"
    # The other host answers.
    assert {way for _, way, _ in capture.frames} == {1, 2}
    assert all(begun <= moment <= ended for moment, _, _ in capture.frames)
    assert {(frame[12:14], frame[23]) for _, _, frame in capture.frames} == {(b"\x08\x00", 17)}
    assert read_frame(file, 1) == capture.frames[0][2]


def test_captures_end_by_count_by_time_and_with_their_port(bed, tmp_path):
    with switch(bed, tmp_path, PLAIN) as own:
        file = str(tmp_path / "some.pcapng")
        captured = capture_to(file, own.control, {"port": "1", "seconds": 0.2})
        assert (captured.port, captured.interface, captured.lost) == (1, "s1", 0)
        with subprocess.Popen(
            [sys.executable, "-c", MAIN, "switch", "capture", "2", f"--control={own.control}", "-w", "-", "--count=3"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            wait_until(lambda: own.port(2)["captures"] == 1, "a capture")
            assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}
            written, said = process.communicate(timeout=20)
        assert len(Capture(written).frames) == 3
        assert said == b"standard output: 3 frames of port 2 (s2), 0 more found no room\n"
        with subprocess.Popen(
            [sys.executable, "-c", MAIN, "switch", "capture", "2", f"--control={own.control}", "-w", file],
            stderr=subprocess.PIPE,
        ) as process:
            wait_until(lambda: own.port(2)["captures"] == 1, "a capture")
            run("port", "remove", "--control", own.control, 2)
            assert process.wait(timeout=20) == 0


def test_captures_that_cannot_be_are_told_in_one_line(bed, tmp_path):
    with switch(bed, tmp_path, PLAIN) as own:
        for wanted, expected in [
            ({"port": "9"}, "there is no port 9: there are 1 \\(s1\\), 2 \\(s2\\)"),
            ({"port": "1", "filter": "in_port=1"}, "in_port is not in a frame"),
            ({"port": "1", "filter": "foo=1"}, "there is no match field foo"),
        ]:
            with pytest.raises(UsageError, match=expected):
                capture_to(str(tmp_path / "x"), own.control, wanted)
        assert not Path(tmp_path / "x").exists()
        with pytest.raises(MeasureError, match="/dev/full: No space left on device: the capture ended after 0 frames"):
            capture_to("/dev/full", own.control, {"port": "1"})
        wait_until(lambda: own.port(1)["captures"] == 0, "the capture has ended")
        # Hosts send frames of their own accord, but none of this kind.
        words = ["switch", "capture", "1", f"--control={own.control}", "-w", tmp_path / "y", "--filter=dl_type=0x88b5"]
        process = subprocess.Popen([sys.executable, "-c", MAIN, *words], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: own.port(1)["captures"] == 1, "a capture")
    with process:
        assert process.wait(timeout=20) == 3
        assert process.stderr.read().endswith("y: the switch ended after 0 frames\n")
    assert Capture((tmp_path / "y").read_bytes()).frames == []


def test_a_mirror_gets_what_a_port_takes_and_sends(bed, tmp_path):
    with switch(bed, tmp_path, PLAIN, ports=3) as own:
        run("mirror", "--control", own.control, "s3", "s1")
        assert own.port(3)["mirror_of"] == [1]
        before = own.port(1), own.port(3)
        assert bed.talk("udp", "4", "10.9.0.2", "10.9.0.1") != {}

        def passed():
            one, three = own.port(1), own.port(3)
            both = sum(one[way] - before[0][way] for way in ("received_frames", "sent_frames"))
            return both, three["sent_frames"] - before[1]["sent_frames"]

        wait_until(lambda: passed()[0] == passed()[1] > 0, "as many copies as frames")
        assert "gets copies of ports 1" in run("status", "--control", own.control).output
        run("mirror", "--control", own.control, 3)
        assert own.port(3)["mirror_of"] == []
        with pytest.raises(UsageError, match="port 3 cannot get copies of its own frames"):
            run("mirror", "--control", own.control, 3, 1, 3)
        assert json.loads(run("status", "--control", own.control, "--json").output)["ports"][2]["mirror_of"] == []
