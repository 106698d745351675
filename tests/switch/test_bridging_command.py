"""`brimful switch` on a bridge that has learned: `trace` through NORMAL and meters, and a port that is set down."""

import subprocess
import sys
import time

import pytest
from brimful.cli.switch import switch as command
from brimful.lab.switch import find_switch
from click.testing import CliRunner
from support import wire_lab

PORTS = (1, 2, 3)
HOST = "02:00:00:00:00:0{}"
SEND = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as own:
    own.bind((sys.argv[1], 0))
    own.send(bytes.fromhex(sys.argv[2]))
"""
TABLES = """
meter=1,pktps,bands=type=drop,rate=1
priority=2,dl_type=0x88b5,actions=meter:1,NORMAL
priority=1,actions=NORMAL
"""
SET_DOWN = """
import socket, struct, sys
number, config = int(sys.argv[1]), int(sys.argv[2])
with socket.create_connection(("127.0.0.1", 6653)) as own:
    file = own.makefile("rb")

    def send(kind, body=b""):
        own.sendall(struct.pack("!BBHI", 4, kind, 8 + len(body), 1) + body)

    def wait_for(wanted):
        while True:
            _, kind, length, _ = struct.unpack("!BBHI", file.read(8))
            body = file.read(length - 8)
            if kind in (1, wanted):
                assert kind == wanted, body
                return body

    send(0)
    send(18, struct.pack("!HH4x", 13, 0))
    ports = wait_for(19)[8:]
    at = next(at for at in range(0, len(ports), 64) if struct.unpack_from("!I", ports, at) == (number,))
    send(16, struct.pack("!I4x6s2xIII4x", number, ports[at + 8 : at + 14], config, 1, 0))
    send(20)
    wait_for(21)
"""
"""Hello, which port has which address, that port set down (1) or up again (0), and a barrier."""


def run(*arguments):
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False).output


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A switch of three ports, each with an interface whose other end is a host's, and the socket that rules it."""
    directory = tmp_path_factory.mktemp("bridge")
    control, tables = directory / "s.sock", directory / "tables"
    tables.write_text(TABLES)
    with wire_lab() as lab:
        for port in PORTS:
            pair = f"ip link add p{port} type veth peer h{port} && ip link set p{port} up && ip link set h{port} up"
            subprocess.run(lab.command(["sh", "-c", pair]), check=True)
        options = [f"--port={port}=p{port}" for port in PORTS]
        options += [f"--control={control}", f"--tables={tables}", "--controller=ptcp:6653"]
        process = subprocess.Popen(lab.command([find_switch(), *options]), stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "ready: switch\n"
            yield lab, control
        finally:
            process.terminate()
            process.wait(timeout=20)
            process.stdout.close()


def traced(control, ending, *matches):
    """Give the ports that a frame leaves by, once they are as many as is said: links and lessons take a moment."""
    deadline = time.monotonic() + 20
    while True:
        lines = run("trace", "--control", control, ",".join(matches)).splitlines()
        ports = sorted(int(line.split()[3].rstrip(",")) for line in lines if line.startswith("out of port"))
        if ports == ending or time.monotonic() > deadline:
            return lines, ports
        time.sleep(0.05)


def test_normal_floods_what_it_does_not_know_and_follows_what_it_learned(place):
    lab, control = place
    to_second = ("in_port=1", f"eth_src={HOST.format(1)}", f"eth_dst={HOST.format(2)}")
    assert traced(control, [2, 3], *to_second)[1] == [2, 3]
    # What is only traced teaches nothing.
    assert traced(control, [1, 3], "in_port=2", f"eth_dst={HOST.format(1)}")[1] == [1, 3]
    frame = (HOST.format(1) + HOST.format(2)).replace(":", "") + "88b6" + "00" * 46
    subprocess.run(lab.command([sys.executable, "-I", "-c", SEND, "h2", frame]), check=True)
    lines, ports = traced(control, [2], *to_second)
    assert ports == [2]
    assert lines[0] == "table 0: priority=1,actions=output:NORMAL"
    assert traced(control, [], "in_port=2", f"eth_dst={HOST.format(2)}")[0][-1] == "nothing leaves"
    assert traced(control, [1, 3], "in_port=2", f"eth_dst={HOST.format(1)}")[1] == [1, 3]


def test_a_meter_lets_through_what_is_traced_however_often(place):
    _, control = place
    asked = ("in_port=1", "dl_type=0x88b5", f"eth_dst={HOST.format(3)}")
    for _ in range(5):
        lines, ports = traced(control, [2, 3], *asked)
        assert ports == [2, 3]
        assert lines[0].startswith("table 0: priority=2,eth_type=0x88b5,actions=meter:1,")
    assert "n_packets=0" in next(
        line for line in run("dump", "--control", control, "--counters").splitlines() if "0x88b5" in line
    )


def test_a_port_that_a_controller_sets_down_is_told_from_one_without_a_link(place):
    lab, control = place
    script = [sys.executable, "-I", "-c", SET_DOWN, "3"]
    subprocess.run(lab.command([*script, "1"]), check=True)
    try:
        shown = run("status", "--control", control)
        assert "port 3 (p3, set down): " in shown
        assert "port 1 (p1, up): " in shown
        # Nothing is sent there either.
        assert traced(control, [2], "in_port=1", f"eth_dst={HOST.format(9)}")[1] == [2]
    finally:
        subprocess.run(lab.command([*script, "0"]), check=True)
    assert "port 3 (p3, up): " in run("status", "--control", control)
    subprocess.run(lab.command(["ip", "link", "set", "h3", "down"]), check=True)
    deadline = time.monotonic() + 20
    while "port 3 (p3, down): " not in (shown := run("status", "--control", control)):
        assert time.monotonic() < deadline, shown
        time.sleep(0.05)
