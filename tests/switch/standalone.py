"""What `brimful-switchd --fail-mode standalone` does without a controller. usage: standalone.py SWITCHD

Runs in a network namespace of its own, in which it makes its interfaces; fails at the first thing that is not as it
should be.
"""

import socket
import subprocess
import sys
import time
from pathlib import Path

from conformance import PORTS, Controller, Failed, Wire, ip

PATIENCE_S = 20.0
ONE, TWO = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")


def frame(destination, source):
    return destination + source + b"\x88\xb5" + bytes(46)


def arrives(wire, wanted, within_s=PATIENCE_S):
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if wire.receive(end - time.monotonic()) == wanted:
            return True
    return False


def main():
    ip("link", "set", "lo", "up")
    for port in PORTS:
        ip("link", "add", f"s{port}", "type", "veth", "peer", "name", f"h{port}")
        for name in (f"s{port}", f"h{port}"):
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            ip("link", "set", name, "up", "promisc", "on")
    listener = socket.create_server(("127.0.0.1", 0))
    place = f"tcp:127.0.0.1:{listener.getsockname()[1]}"
    # Nobody answers there until a controller is wanted.
    listener.close()
    ports = [f"--port={port}=s{port}" for port in PORTS]
    command = [sys.argv[1], *ports, f"--controller={place}", "--fail-mode=standalone"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            check({port: Wire(f"h{port}") for port in PORTS}, int(place.rpartition(":")[2]))
        finally:
            process.terminate()


def check(wires, port):
    end = time.monotonic() + PATIENCE_S
    while True:
        wires[1].send(frame(TWO, ONE))
        if arrives(wires[2], frame(TWO, ONE), 0.2):
            break
        if time.monotonic() > end:
            raise Failed("no frame comes out without a controller")
    if not arrives(wires[3], frame(TWO, ONE)):
        raise Failed("a frame to an unknown address is not flooded")
    wires[2].send(frame(ONE, TWO))
    if not arrives(wires[1], frame(ONE, TWO)):
        raise Failed("an answer does not arrive")
    wires[3].drain()
    for _ in range(3):
        wires[1].send(frame(TWO, ONE))
        if not arrives(wires[2], frame(TWO, ONE)):
            raise Failed("a frame to a known address does not arrive")
    if arrives(wires[3], frame(TWO, ONE), 0.2):
        raise Failed("a frame to a known address is flooded")
    with socket.create_server(("127.0.0.1", port), reuse_port=False) as listener:
        listener.settimeout(PATIENCE_S)
        controller = Controller(listener.accept()[0])
        controller.barrier()
        if controller.flows() != []:
            raise Failed("a controller finds entries that are not its own")
        wires[2].drain()
        wires[1].send(frame(TWO, ONE))
        if arrives(wires[2], frame(TWO, ONE), 0.2):
            raise Failed("frames go on with a controller that has no entries")


if __name__ == "__main__":
    main()
