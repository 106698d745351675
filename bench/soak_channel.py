"""Run a switch under load while its controllers are busy: nothing may be lost, and its memory may not grow.

usage: soak_channel.py SWITCHD

Runs itself in a network namespace of its own, for MINUTES (30). One controller adds and deletes a thousand entries a
second among entries that stay, two others ask for all statistics each second, and frames to entries that stay are sent
at half the rate that the switch forwards here, or at KPPS thousand a second.
"""

import contextlib
import multiprocessing
import os
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

from channel_bed import (
    ADD,
    ALL,
    FLOW_MOD,
    NO_BUFFER,
    Brimful,
    Controller,
    Volley,
    Wire,
    apply,
    exact,
    flow,
    frame,
    header,
    make_interfaces,
    matched,
    output,
)

MINUTES = float(os.environ.get("MINUTES", "30"))
STAYING, COMING = 1000, 10_000
CHANGES_PER_S = 1000
VOLLEY = 32
MULTIPART = 18
FLOWS, AGGREGATE, TABLES, PORTS = 1, 2, 3, 4
DELETE_STRICT = 4
LATEST_S = 0.001


def coming(number, command):
    address = struct.pack("!IH", 0x02010000 | number >> 16, number & 0xFFFF)
    match = matched((0x80000004, b"\0\0\0\1"), (0x80000606, address))
    if command == ADD:
        return flow(ADD, 100, match, apply(output(2)))
    head = struct.pack("!QQBBHHHIIIH2x", 0, 0, 0, DELETE_STRICT, 0, 0, 100, NO_BUFFER, ALL, ALL, 0)
    return head + match


def change(port, end):
    """A window of entries that moves on: one more, one less."""
    controller, number = Controller(("127.0.0.1", port)), COMING
    controller.do(*((FLOW_MOD, coming(one, ADD)) for one in range(COMING)))
    begun, changed = time.monotonic(), 0
    while (now := time.monotonic()) < end.value:
        due = int((now - begun) * CHANGES_PER_S) - changed
        messages = []
        for _ in range(due // 2):
            messages += [(FLOW_MOD, coming(number, ADD)), (FLOW_MOD, coming(number - COMING, DELETE_STRICT))]
            number += 1
        if messages:
            controller.do(*messages)
        changed += len(messages)
        controller.attend()
        time.sleep(0.01)
    print(f"soak: {changed / (time.monotonic() - begun):.0f} flow-mods a second", flush=True)


def poll(port, end):
    """All statistics, each second; every answer has to come."""
    controller, asked = Controller(("127.0.0.1", port)), 0
    filters = struct.pack("!B3xII4xQQ", 0xFF, ALL, ALL, 0, 0) + matched()
    while time.monotonic() < end.value:
        for kind, body in ((FLOWS, filters), (AGGREGATE, filters), (TABLES, b""), (PORTS, struct.pack("!I4x", ALL))):
            controller.send(header(4, MULTIPART, struct.pack("!HH4x", kind, 0) + body, asked))
            while struct.unpack("!HH", controller.wait(MULTIPART + 1)[:4]) != (kind, 0):
                pass
            asked += 1
        next_turn = time.monotonic() + 1
        while time.monotonic() < min(next_turn, end.value):
            controller.attend()
            time.sleep(0.05)
    print(f"soak: {asked} statistics asked for and answered", flush=True)


def send(near, rate, seconds):
    """Frames to entries that stay, at a rate or as many as go; give how many, and for how long at most none was sent.

    What could not be sent in time, as this process did not run, is left out but for a millisecond of it: made up for,
    it would be a burst of more than the rate.
    """
    volleys = [
        Volley([frame(number % STAYING) for number in range(at, at + VOLLEY)]) for at in range(0, STAYING, VOLLEY)
    ]
    begun, sent, left_out, turn = time.perf_counter(), 0, 0.0, 0
    last, longest = 0.0, 0.0
    while (passed := time.perf_counter() - begun) < seconds:
        if rate is not None:
            due = passed * rate - left_out
            if sent >= due:
                time.sleep(0.0005)
                continue
            left_out += max(due - sent - LATEST_S * rate, 0)
        sent += volleys[turn % len(volleys)].send(near)
        turn += 1
        longest, last = max(longest, passed - last), passed
    return sent, longest


def arrived(name):
    # Of this namespace, unlike /sys.
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith(f"{name}:"))
    return int(line.split(":")[1].split()[1])


def settled(name):
    """How many have arrived once no more come."""
    count = arrived(name)
    while True:
        time.sleep(0.3)
        if arrived(name) == count:
            return count
        count = arrived(name)


def memory_kib(process):
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def soak(switch, seconds):
    controller = Controller(("127.0.0.1", switch.port))
    controller.clear()
    controller.do(*((FLOW_MOD, exact(number)) for number in range(STAYING)))
    controller.socket.close()
    near = Wire(switch, 1)
    if "KPPS" in os.environ:
        rate = float(os.environ["KPPS"]) * 1000
    else:
        before = settled("bh2")
        send(near, None, 2)
        rate = (settled("bh2") - before) / 2 / 2
    before = settled("bh2")
    end = multiprocessing.Value("d", time.monotonic() + seconds)
    others = [multiprocessing.Process(target=what, args=(switch.port, end)) for what in (change, poll, poll)]
    for process in others:
        process.start()
    sent, sizes, gaps = 0, [], []
    for _ in range(10):
        more, longest = send(near, rate, seconds / 10)
        sent += more
        gaps.append(longest)
        sizes.append(memory_kib(switch.process.pid))
    for process in others:
        process.join()
    lost = sent - (settled("bh2") - before)
    failed = [process.exitcode for process in others if process.exitcode]
    print(f"soak: {sent / seconds:.0f} frames a second for {seconds:.0f} s, {lost} of {sent} lost")
    print(f"soak: the sender paused for at most, in ms of each tenth: {', '.join(f'{1e3 * gap:.0f}' for gap in gaps)}")
    print(f"soak: memory after each tenth in MiB: {', '.join(f'{size / 1024:.1f}' for size in sizes)}")
    grown = growth(sizes)
    if lost or failed or grown > 0.05:
        raise SystemExit(f"soak: failed: {lost} frames lost, memory {grown:+.1%}, {len(failed)} controllers failed")


def growth(sizes):
    """Give the share by which memory grew from the first half of its sizes to the second.

    What grows once has grown in the first half. Freed memory comes and goes, as the switch keeps it for a while.
    """
    half = len(sizes) // 2
    return statistics.median(sizes[half:]) / statistics.median(sizes[:half]) - 1


def main():
    if "BRIMFUL_NAMESPACE" not in os.environ:
        os.environ["BRIMFUL_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    make_interfaces("b")
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Brimful(sys.argv[1], folder)) as switch:
        soak(switch, MINUTES * 60)


if __name__ == "__main__":
    main()
