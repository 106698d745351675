"""Time the control channel of `brimful-switchd`, beside Open vSwitch (user space datapath) where it is installed.

usage: channel.py SWITCHD [NAME]...

Runs itself in a network namespace of its own. NAME is flow-mods, bundle, client, first-packet, round-trip, storm,
meters or fail-over; all of them without one. The same bytes go to both switches, in turns.
"""

import fcntl
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from channel_bed import (
    ADD,
    ALL,
    BARRIER,
    BARRIER_REPLY,
    BUNDLE_ADD,
    BUNDLE_CONTROL,
    CLOSE,
    COMMIT,
    ETH_TYPE,
    FLOW_MOD,
    GROUP_MOD,
    IN_PORT,
    METER_MOD,
    NO_BUFFER,
    OPEN,
    PACKET_IN,
    PACKET_OUT,
    TO_CONTROLLER,
    Brimful,
    Controller,
    OpenVSwitch,
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
    rest,
)

ROUNDS = int(os.environ.get("ROUNDS", "5"))
MOST_LOST = 5
"""Frames that may never come back before the others are not waited for."""
SIZES = [int(size) for size in os.environ.get("SIZES", "10000 100000").split()]


def spread(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def flow_mods(switches):
    """Entries a second: all flow-mods and a barrier in one go, until the barrier's reply."""
    for size in SIZES:
        data = b"".join(header(4, FLOW_MOD, exact(number), number) for number in range(size))
        data += header(4, BARRIER, b"", 8)
        times = {switch.name: [] for switch in switches}
        for _ in range(ROUNDS):
            for switch in switches:
                controller = Controller(("127.0.0.1", switch.port))
                controller.clear()
                rest(switches)
                begun = time.perf_counter()
                controller.send(data)
                controller.wait(BARRIER_REPLY)
                times[switch.name].append(time.perf_counter() - begun)
                controller.clear()
                controller.socket.close()
        report(f"{size} flow-mods", size, times)


def bundle(switches):
    """The same in one bundle of 1.4."""
    for size in SIZES:
        parts = [header(5, BUNDLE_CONTROL, struct.pack("!IHH", 1, OPEN, 3), 1)]
        for number in range(size):
            inner = header(5, FLOW_MOD, exact(number), number + 10)
            parts.append(header(5, BUNDLE_ADD, struct.pack("!I2xH", 1, 3) + inner, number + 10))
        parts.append(header(5, BUNDLE_CONTROL, struct.pack("!IHH", 1, CLOSE, 3), 2))
        parts.append(header(5, BUNDLE_CONTROL, struct.pack("!IHH", 1, COMMIT, 3), 3))
        data = b"".join(parts)
        times = {switch.name: [] for switch in switches}
        for _ in range(ROUNDS):
            for switch in switches:
                controller = Controller(("127.0.0.1", switch.port), version=5)
                controller.clear()
                rest(switches)
                begun = time.perf_counter()
                controller.send(data)
                while struct.unpack("!H", controller.wait(BUNDLE_CONTROL)[4:6])[0] != COMMIT + 1:
                    pass
                times[switch.name].append(time.perf_counter() - begun)
                controller.clear()
                controller.socket.close()
        report(f"one bundle of {size}", size, times)


def client(switches):
    """`ovs-ofctl add-flows` from a file, start and reading included. After each flow-mod it waits for a barrier,
    in a bundle only for those to its ends."""
    if shutil.which("ovs-ofctl") is None:
        print("client: ovs-ofctl is not installed")
        return
    for size in SIZES:
        with tempfile.NamedTemporaryFile("w", suffix=".flows") as file:
            for number in range(size):
                address = ":".join(f"{byte:02x}" for byte in (0x02000000 << 16 | number).to_bytes(6, "big"))
                file.write(f"priority=100,in_port=1,dl_dst={address},actions=output:2\n")
            file.flush()
            for what, options in (
                ("ovs-ofctl add-flows", ["-O", "OpenFlow13"]),
                ("ovs-ofctl --bundle add-flows", ["-O", "OpenFlow14", "--bundle"]),
            ):
                times = {switch.name: [] for switch in switches}
                for _ in range(ROUNDS):
                    for switch in switches:
                        times[switch.name].append(add_flows(switches, switch, options, file.name))
                report(f"{size} by {what}", size, times)


def add_flows(switches, switch, options, file):
    """Give the seconds that `ovs-ofctl` takes to add the flows of a file to an empty switch."""
    Controller(("127.0.0.1", switch.port)).clear()
    rest(switches)
    begun = time.perf_counter()
    subprocess.run(["ovs-ofctl", *options, "add-flows", f"tcp:127.0.0.1:{switch.port}", file], check=True)
    took_s = time.perf_counter() - begun
    Controller(("127.0.0.1", switch.port)).clear()
    return took_s


def report(what, size, times):
    for name, seconds in times.items():
        print(f"{what}, {name}: {spread([size / one for one in seconds])} a second", flush=True)
    if len(times) == 2:
        ours, theirs = times.values()
        ratios = [there / here for here, there in zip(ours, theirs, strict=False)]
        print(f"{what}: {spread(ratios)} times Open vSwitch", flush=True)


def first_packet(switches):
    """From a flow-mod's sending to the first frame that it forwards; frames are sent without a pause."""
    for switch in switches:
        controller = Controller(("127.0.0.1", switch.port))
        near, far, times = Wire(switch, 1), Wire(switch, 2, waits=False), []
        for number in range(1, 501):
            wanted = frame(number)
            change = header(4, FLOW_MOD, exact(number), number)
            begun = time.perf_counter()
            controller.send(change)
            while True:
                near.socket.send(wanted)
                received = far.receive()
                if received is not None and received[:6] == wanted[:6]:
                    break
            times.append((time.perf_counter() - begun) * 1e6)
            controller.do()
            far.drain()
        controller.clear()
        print(
            f"first frame, {switch.name}: median {statistics.median(times):.0f} us, "
            f"90 of 100 within {statistics.quantiles(times, n=10)[8]:.0f} us",
            flush=True,
        )


def round_trip(switches):
    """A frame in, to the controller, back as a packet-out, and out by another port."""
    for switch in switches:
        controller = Controller(("127.0.0.1", switch.port))
        controller.do((FLOW_MOD, flow(ADD, 0, matched(), apply(output(TO_CONTROLLER)))))
        near, far, times, lost = Wire(switch, 1), Wire(switch, 2), [], 0
        for number in range(2000):
            wanted = frame(number)
            begun = time.perf_counter()
            near.socket.send(wanted)
            try:
                body = controller.wait(PACKET_IN, patience_s=1)
            except TimeoutError:
                lost += 1
                if lost == MOST_LOST:
                    break
                continue
            data = struct.pack("!IIH6x", NO_BUFFER, 1, 16) + output(2) + body[-len(wanted) :]
            controller.send(header(4, PACKET_OUT, data, 9))
            while (received := far.receive()) is not None and received[:6] != wanted[:6]:
                pass
            times.append((time.perf_counter() - begun) * 1e6)
        controller.clear()
        said = "none came back"
        if len(times) > 1:
            tenths = statistics.quantiles(times, n=10)
            said = f"median {statistics.median(times):.0f} us, 90 of 100 within {tenths[8]:.0f} us"
        print(f"packet-in and back, {switch.name}: {said}, {lost} of {len(times) + lost} never came", flush=True)


def storm(switches):
    """What gets through beside frames that miss, which go to the controller or are dropped: the same load for both."""
    switch = switches[0]
    shares = {"dropped": [], "to the controller": []}
    near, far = Wire(switch, 1), Wire(switch, 2, waits=False)
    # 100,000 that miss and 20,000 that do not, each second.
    volley, volleys_per_s = Volley(([frame(1)] + [frame(9)] * 5) * 20), 1000
    offered = []
    for _ in range(ROUNDS):
        for what, actions in (("dropped", b""), ("to the controller", apply(output(TO_CONTROLLER)))):
            controller = Controller(("127.0.0.1", switch.port))
            controller.clear()
            controller.do((FLOW_MOD, exact(1)), (FLOW_MOD, flow(ADD, 0, matched(), actions)))
            far.drain()
            begun, volleys, sent, received = time.perf_counter(), 0, 0, 0
            while (passed := time.perf_counter() - begun) < 2:
                while volleys < passed * volleys_per_s:
                    sent += volley.send(near)
                    volleys += 1
                received += len(far.drain())
                controller.attend()
            time.sleep(0.2)
            received += len(far.drain())
            shares[what].append(received * 6 / sent)
            offered.append(sent / passed)
            controller.clear()
            controller.socket.close()
    print(f"storm: {spread(offered)} frames a second, one in six of which does not miss", flush=True)
    for what, rates in shares.items():
        print(f"storm: misses are {what}: {spread(rates)} of the other frames come out", flush=True)


def meters(switches):
    """Rates of meters over 10 s of three times as much: drop in kbit/s and in packets/s, and remark."""
    switch = switches[0]
    controller = Controller(("127.0.0.1", switch.port))
    near, far = Wire(switch, 1), Wire(switch, 2, waits=False)
    length = 1000
    for what, flags, band, wanted in (
        ("drop above 10 Mbit/s", 1, struct.pack("!HHII4x", 1, 16, 10_000, 0), 10_000),
        ("drop above 1,000 packets/s", 2, struct.pack("!HHII4x", 1, 16, 1000, 0), 1000),
        ("remark above 10 Mbit/s", 1, struct.pack("!HHIIB3x", 2, 16, 10_000, 0, 1), 10_000),
    ):
        offered = 3 * (wanted if flags == 2 else wanted * 1000 / 8 / length)
        metered = struct.pack("!HHI", 6, 8, 1) + apply(output(2))
        matching = matched((IN_PORT, b"\0\0\0\1"), (ETH_TYPE, b"\x08\0"))
        controller.do((METER_MOD, struct.pack("!HHI", 0, flags, 1) + band), (FLOW_MOD, flow(ADD, 5, matching, metered)))
        far.drain()
        sample = frame(1, length, dscp=10)
        begun, sent, frames = time.perf_counter(), 0, []
        while (passed := time.perf_counter() - begun) < 10:
            while sent < passed * offered:
                near.socket.send(sample)
                sent += 1
            frames += far.drain()
            controller.attend()
            time.sleep(0.0005)
        time.sleep(0.2)
        frames += far.drain()
        kept = [one for one in frames if one[15] >> 2 == 10]
        rate = len(kept) / 10 if flags == 2 else len(kept) * length * 8 / 10 / 1000
        rest = f", {len(frames) - len(kept)} remarked" if what.startswith("remark") else ""
        print(f"meter, {what}: {rate:.0f} of {wanted} ({(rate / wanted - 1) * 100:+.2f} %){rest}", flush=True)
        controller.do((METER_MOD, struct.pack("!HHI", 2, 0, ALL)))
        controller.clear()


def set_link(name, up):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, 0x8914, struct.pack("16sH14x", name.encode(), int(up)))


def fail_over(switches):
    """From the fall of a watched port to the first frame by the next bucket, and how many frames were lost."""
    switch = switches[0]
    controller = Controller(("127.0.0.1", switch.port))
    bucket = b"".join(struct.pack("!HHII4x", 32, 0, port, ALL) + output(port) for port in (2, 3))
    group = struct.pack("!HBxI", 0, 3, 1) + bucket
    to_group = apply(struct.pack("!HHI", 22, 8, 1))
    controller.do((GROUP_MOD, group), (FLOW_MOD, flow(ADD, 1, matched((IN_PORT, b"\0\0\0\1")), to_group)))
    near, times, lost = Wire(switch, 1), [], []
    for _ in range(20):
        ways = {port: Wire(switch, port, waits=False) for port in (2, 3)}
        seen, sent, fallen, came = set(), 0, None, None
        begun = time.perf_counter()
        while (passed := time.perf_counter() - begun) < 0.3:
            if fallen is None and passed > 0.1:
                fallen = time.perf_counter()
                set_link(ways[2].name, False)
            while sent < (time.perf_counter() - begun) * 20000:
                near.socket.send(frame(sent))
                sent += 1
            for port, wire in ways.items():
                try:
                    while (received := wire.receive()) is not None:
                        seen.add(received[:6])
                        if port == 3 and came is None:
                            came = time.perf_counter()
                except OSError:
                    # The one that has fallen.
                    pass
        times.append((came - fallen) * 1000)
        lost.append(sent - len(seen))
        set_link(ways[2].name, True)
        controller.attend()
        time.sleep(0.3)
    controller.do((GROUP_MOD, struct.pack("!HBxI", 2, 0, 0xFFFFFFFC)))
    print(f"fail-over: {spread(times)} ms, {spread(lost)} frames of 20,000 a second lost", flush=True)


PARTS = {
    "flow-mods": flow_mods,
    "bundle": bundle,
    "client": client,
    "first-packet": first_packet,
    "round-trip": round_trip,
    "storm": storm,
    "meters": meters,
    "fail-over": fail_over,
}


def main():
    if "BRIMFUL_NAMESPACE" not in os.environ:
        os.environ["BRIMFUL_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    switchd, *names = sys.argv[1:]
    make_interfaces("bo")
    with tempfile.TemporaryDirectory() as folder:
        switches = [Brimful(switchd, folder)]
        if shutil.which("ovs-vswitchd") and "ALONE" not in os.environ:
            switches.append(OpenVSwitch(folder))
        try:
            for name in names or PARTS:
                PARTS[name](switches)
        finally:
            for switch in switches:
                switch.close()


if __name__ == "__main__":
    main()
