"""A week of changes in minutes: flows, groups and ports of a switch under load change, and no other frame is lost.

usage: soak_changes.py SWITCHD

Runs itself in a network namespace of its own. CHANGES=20000 flow-mods and group-mods, PER_S=2000 a second, while the
interface of port 3 is deleted and made again, and the port removed and added. Frames from port 1 to port 2 are sent at
80 % of what the switch forwards here, or at KPPS thousand a second; some more go to port 3, and may be lost.
"""

import contextlib
import itertools
import multiprocessing
import os
import struct
import sys
import tempfile
import time
from pathlib import Path

from brimful.switch import ask
from channel_bed import (
    ADD,
    ALL,
    ETH_DST,
    FLOW_MOD,
    GROUP_MOD,
    IN_PORT,
    Brimful,
    Controller,
    Wire,
    apply,
    flow,
    frame,
    make_interface,
    make_interfaces,
    matched,
    output,
    run,
)
from soak_channel import STAYING, coming, growth, memory_kib, send, settled

CHANGES = int(os.environ.get("CHANGES", "20000"))
PER_S = int(os.environ.get("PER_S", "2000"))
SHARE = 0.8
PARTS = 10
MOST_GROWTH = 0.1
MODIFY, DELETE_GROUP, DELETE_STRICT = 1, 2, 4
ALL_BUCKETS, SELECT = 0, 1
# The group that frames pass, and the first of those that come and go.
KEPT_GROUP, FIRST_GROUP = 1, 1000
# Flows and groups that are there at a time.
WINDOW = 500
TURNS_TOGETHER = 8
PAUSE_S = 0.5


def group(command, number, kind, outputs):
    buckets = b"".join(struct.pack("!HHII4x", 32, kind == SELECT, ALL, ALL) + output(port) for port in outputs)
    return struct.pack("!HBxI", command, kind, number) + buckets


def staying(number, action):
    """An entry of its own addresses."""
    address = struct.pack("!IH", 0x02000000 | number >> 16, number & 0xFFFF)
    return flow(ADD, 100, matched((IN_PORT, b"\0\0\0\1"), (ETH_DST, address)), apply(action))


def changes(turn):
    """A window of flows and groups moves on by one, and the group that frames pass gets other buckets."""
    return [
        (GROUP_MOD, group(ADD, FIRST_GROUP + turn + WINDOW, ALL_BUCKETS, [2, 3])),
        (FLOW_MOD, coming(turn + WINDOW, ADD)),
        (GROUP_MOD, group(MODIFY, KEPT_GROUP, SELECT, [2] * (turn % 3 + 1))),
        (FLOW_MOD, coming(turn, DELETE_STRICT)),
        (GROUP_MOD, group(DELETE_GROUP, FIRST_GROUP + turn, ALL_BUCKETS, [])),
    ]


def change(port, end):
    """All changes, at their rate."""
    controller, done, begun = Controller(("127.0.0.1", port)), 0, time.monotonic()
    turns = iter(range(CHANGES // len(changes(0))))
    while together := list(itertools.islice(turns, TURNS_TOGETHER)):
        messages = [message for turn in together for message in changes(turn)]
        controller.do(*messages)
        done += len(messages)
        controller.attend()
        time.sleep(max(begun + done / PER_S - time.monotonic(), 0))
    print(f"soak: {done} flow-mods and group-mods, {done / (time.monotonic() - begun):.0f} a second", flush=True)
    end.value = 1


def come_and_go(control, end):
    """The interface of port 3 is deleted and made again; every other time the port is removed and added as well."""
    turns = 0
    while not end.value:
        run("ip", "link", "delete", "b3")
        make_interface("b", 3)
        if turns % 2:
            ask(control, "remove_port", port="3")
            ask(control, "add_port", port={"number": 3, "interface": "b3"})
        turns += 1
        time.sleep(PAUSE_S)
    print(f"soak: port 3 went and came {turns} times", flush=True)


def aim_at_it(switch, end):
    """Frames to the port that comes and goes."""
    near, sent = Wire(switch, 1), 0
    while not end.value:
        sent += near.socket.send(frame(STAYING)) > 0
        time.sleep(0.001)
    print(f"soak: {sent} frames to port 3", flush=True)


def load(near):
    """Frames a second that are asked for."""
    if "KPPS" in os.environ:
        return float(os.environ["KPPS"]) * 1000
    before = settled("bh2")
    send(near, None, 2)
    return (settled("bh2") - before) / 2 * SHARE


def soak(switch, control):
    controller = Controller(("127.0.0.1", switch.port))
    controller.clear()
    kept = struct.pack("!HHI", 22, 8, KEPT_GROUP)
    controller.do(
        (GROUP_MOD, group(ADD, KEPT_GROUP, SELECT, [2])),
        *((FLOW_MOD, staying(number, kept if number % 2 else output(2))) for number in range(STAYING)),
        (FLOW_MOD, staying(STAYING, output(3))),
    )
    controller.socket.close()
    near = Wire(switch, 1)
    rate, before = load(near), settled("bh2")
    end = multiprocessing.Value("b", 0)
    work = ((change, switch.port), (come_and_go, control), (aim_at_it, switch))
    others = [multiprocessing.Process(target=what, args=(about, end)) for what, about in work]
    for process in others:
        process.start()
    begun, sent, sizes = time.monotonic(), 0, [memory_kib(switch.process.pid)]
    while others[0].is_alive():
        sent += send(near, rate, CHANGES / PER_S / PARTS)[0]
        sizes.append(memory_kib(switch.process.pid))
    took = time.monotonic() - begun
    end.value = 1
    for process in others:
        process.join()
    lost = sent - (settled("bh2") - before)
    failed = [process.exitcode for process in others if process.exitcode]
    print(f"soak: {sent / took:.0f} frames a second for {took:.0f} s, {lost} of {sent} lost")
    print(
        f"soak: memory at the beginning and after each part in MiB: {', '.join(f'{kib / 1024:.1f}' for kib in sizes)}"
    )
    grown = growth(sizes[1:])
    if lost or failed or grown > MOST_GROWTH:
        raise SystemExit(f"soak: failed: {lost} frames lost, memory {grown:+.1%}, {len(failed)} processes failed")


def main():
    if "BRIMFUL_NAMESPACE" not in os.environ:
        os.environ["BRIMFUL_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    make_interfaces("b")
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "s.sock"
        with contextlib.closing(Brimful(sys.argv[1], folder, f"--control={control}")) as switch:
            soak(switch, control)


if __name__ == "__main__":
    main()
