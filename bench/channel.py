"""Time the control channel of `brimful-switchd`, beside Open vSwitch (user space datapath) where it is installed.

usage: channel.py SWITCHD [NAME]...

Runs itself in a network namespace of its own. NAME is flow-mods, bundle, first-packet, round-trip, storm, meters or
fail-over; all of them without one. The same bytes go to both switches, in turns.
"""

import contextlib
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
from pathlib import Path

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SIZES = [int(size) for size in os.environ.get("SIZES", "10000 100000").split()]
PATIENCE_S = 120.0
ALL = 0xFFFFFFFF
NO_BUFFER = 0xFFFFFFFF
TO_CONTROLLER = 0xFFFFFFFD
(
    HELLO,
    ERROR,
    ECHO_REQUEST,
    ECHO_REPLY,
    PACKET_IN,
    PACKET_OUT,
    FLOW_MOD,
    GROUP_MOD,
    BARRIER,
    BARRIER_REPLY,
    METER_MOD,
    BUNDLE_CONTROL,
    BUNDLE_ADD,
) = 0, 1, 2, 3, 10, 13, 14, 15, 20, 21, 29, 33, 34
OPEN, CLOSE, COMMIT = 0, 2, 4
ADD, DELETE = 0, 3
IN_PORT, ETH_DST, ETH_TYPE, IP_DSCP, IPV4_DST = 0x80000004, 0x80000606, 0x80000A02, 0x80001001, 0x80001804


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def header(version, kind, body, transaction):
    return struct.pack("!BBHI", version, kind, 8 + len(body), transaction) + body


def matched(*fields):
    body = b"".join(struct.pack("!I", field) + value for field, value in fields)
    match = struct.pack("!HH", 1, 4 + len(body)) + body
    return match + bytes(-len(match) % 8)


def output(port, max_len=0xFFFF):
    return struct.pack("!HHIH6x", 0, 16, port, max_len)


def apply(*actions):
    actions = b"".join(actions)
    return struct.pack("!HH4x", 4, 8 + len(actions)) + actions


def flow(command, priority, match, instructions=b""):
    head = struct.pack("!QQBBHHHIIIH2x", 0, 0, 0, command, 0, 0, priority, NO_BUFFER, ALL, ALL, 0)
    return head + match + instructions


def exact(number):
    """An entry of its own addresses."""
    address = struct.pack("!IH", 0x02000000 | number >> 16, number & 0xFFFF)
    match = matched((IN_PORT, b"\0\0\0\1"), (ETH_DST, address))
    return flow(ADD, 100, match, apply(output(2)))


class Controller:
    """One connection to a switch."""

    def __init__(self, address, version=4):
        self.version = version
        self.socket = connected(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting = b""
        bitmap = struct.pack("!HHI", 1, 8, 1 << version)
        self.send(header(version, HELLO, bitmap, 1))
        while self.message()[0] != HELLO:
            pass

    def send(self, data):
        self.socket.sendall(data)

    def message(self):
        """Give type, transaction and body of the next message; echoes are answered."""
        while True:
            if len(self.waiting) >= 8:
                _, kind, length, transaction = struct.unpack("!BBHI", self.waiting[:8])
                if len(self.waiting) >= length:
                    body, self.waiting = self.waiting[8:length], self.waiting[length:]
                    if kind != ECHO_REQUEST:
                        return kind, transaction, body
                    self.send(header(self.version, ECHO_REPLY, body, transaction))
                    continue
            self.socket.settimeout(PATIENCE_S)
            received = self.socket.recv(1 << 20)
            if not received:
                raise SystemExit("the switch has closed the connection")
            self.waiting += received

    def wait(self, wanted):
        while True:
            kind, _, body = self.message()
            if kind == ERROR:
                raise SystemExit(f"the switch refuses: type and code {struct.unpack('!HH', body[:4])}")
            if kind == wanted:
                return body

    def do(self, *messages):
        """Send messages and a barrier, and wait for its reply."""
        data = b"".join(header(self.version, kind, body, 7) for kind, body in messages)
        self.send(data + header(self.version, BARRIER, b"", 8))
        self.wait(BARRIER_REPLY)

    def clear(self):
        self.do((FLOW_MOD, struct.pack("!QQBBHHHIIIH2x", 0, 0, 0xFF, DELETE, 0, 0, 0, ALL, ALL, ALL, 0) + matched()))


def connected(address):
    end = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(address, timeout=PATIENCE_S)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


class Brimful:
    """`brimful-switchd` on the namespace's interfaces."""

    name = "brimful"
    port = 6701

    def __init__(self, switchd, folder, *options):
        ports = [f"--port={number}=b{number}" for number in (1, 2, 3)]
        command = [switchd, *ports, f"--controller=ptcp:{self.port}", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline().startswith("ready"):
            raise SystemExit("brimful-switchd does not start")

    def end(self):
        self.process.terminate()
        self.process.wait(20)


class OpenVSwitch:
    """Open vSwitch with its user space datapath, files in a folder of its own."""

    name = "Open vSwitch"
    port = 6702

    def __init__(self, folder):
        self.environment = os.environ | {
            "OVS_RUNDIR": folder,
            "OVS_LOGDIR": folder,
            "OVS_DBDIR": folder,
            "OVS_SYSCONFDIR": folder,
        }
        database = f"{folder}/conf.db"
        run("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
        self.processes = [
            self.start("ovsdb-server", database, f"--remote=punix:{folder}/db.sock", "--log-file=/dev/null")
        ]
        time.sleep(0.5)
        self.control = ("ovs-vsctl", f"--db=unix:{folder}/db.sock", "--timeout=20")
        run(*self.control, "--no-wait", "init")
        self.processes.append(self.start("ovs-vswitchd", f"unix:{folder}/db.sock", "--log-file=/dev/null"))
        bridge = ["--", "set", "bridge", "br0", "datapath_type=netdev", "protocols=OpenFlow13,OpenFlow14"]
        self.tell("add-br", "br0", *bridge, "fail-mode=secure")
        for number in (1, 2, 3):
            self.tell("add-port", "br0", f"o{number}", "--", "set", "interface", f"o{number}", f"ofport={number}")
        self.tell("set-controller", "br0", f"ptcp:{self.port}")
        self.tell("set", "controller", "br0", "inactivity_probe=60000")

    def start(self, *command):
        return subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL)

    def tell(self, *arguments):
        subprocess.run([*self.control, *arguments], check=True, env=self.environment)

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(20)


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
        for turn in range(ROUNDS):
            for switch in switches:
                # Open vSwitch takes a quarter of a minute for the large one: once is enough.
                if size > 50000 and turn > 0 and switch.name == OpenVSwitch.name:
                    continue
                controller = Controller(("127.0.0.1", switch.port), version=5)
                controller.clear()
                begun = time.perf_counter()
                controller.send(data)
                while struct.unpack("!H", controller.wait(BUNDLE_CONTROL)[4:6])[0] != COMMIT + 1:
                    pass
                times[switch.name].append(time.perf_counter() - begun)
                controller.clear()
                controller.socket.close()
        report(f"one bundle of {size}", size, times)


def report(what, size, times):
    for name, seconds in times.items():
        print(f"{what}, {name}: {spread([size / one for one in seconds])} a second", flush=True)
    if len(times) == 2:
        ours, theirs = times.values()
        ratios = [there / here for here, there in zip(ours, theirs, strict=False)]
        print(f"{what}: {spread(ratios)} times Open vSwitch", flush=True)


def frame(number, length=60, dscp=0):
    """A frame of IPv4 to an address of its own."""
    address = struct.pack("!IH", 0x02000000 | number >> 16, number & 0xFFFF)
    packet = struct.pack("!BBHIBBHII", 0x45, dscp << 2, length - 14, 0, 64, 253, 0, 0x0A000001, 0x0A000002)
    return (address + bytes(6) + b"\x08\x00" + packet).ljust(length, b"\0")


class Wire:
    """The far end of a port."""

    def __init__(self, switch, port, waits=True):
        self.name = f"{'b' if switch.name == 'brimful' else 'o'}h{port}"
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((self.name, 0))
        self.socket.setsockopt(263, 23, 1)  # PACKET_IGNORE_OUTGOING
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.settimeout(5 if waits else 0)

    def receive(self):
        """Give the next frame; None where there is none yet."""
        try:
            return self.socket.recv(2048)
        except (BlockingIOError, TimeoutError):
            return None

    def drain(self):
        frames = []
        while (received := self.receive()) is not None:
            frames.append(received)
        return frames


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
        near, far, times = Wire(switch, 1), Wire(switch, 2), []
        for number in range(2000):
            wanted = frame(number)
            begun = time.perf_counter()
            near.socket.send(wanted)
            body = controller.wait(PACKET_IN)
            data = struct.pack("!IIH6x", NO_BUFFER, 1, 16) + output(2) + body[-len(wanted) :]
            controller.send(header(4, PACKET_OUT, data, 9))
            while (received := far.receive()) is not None and received[:6] != wanted[:6]:
                pass
            times.append((time.perf_counter() - begun) * 1e6)
        controller.clear()
        print(
            f"packet-in and back, {switch.name}: median {statistics.median(times):.0f} us, "
            f"90 of 100 within {statistics.quantiles(times, n=10)[8]:.0f} us",
            flush=True,
        )


def storm(switches):
    """What gets through beside frames that miss, which go to the controller or are dropped: the same load for both."""
    switch = switches[0]
    controller = Controller(("127.0.0.1", switch.port))
    shares = {"dropped": [], "to the controller": []}
    near, far = Wire(switch, 1), Wire(switch, 2, waits=False)
    miss, good = frame(9), frame(1)
    for _ in range(ROUNDS):
        for what, actions in (("dropped", b""), ("to the controller", apply(output(TO_CONTROLLER)))):
            controller.clear()
            controller.do((FLOW_MOD, exact(1)), (FLOW_MOD, flow(ADD, 0, matched(), actions)))
            far.drain()
            begun, sent, received = time.perf_counter(), 0, 0
            while (passed := time.perf_counter() - begun) < 2:
                # 100,000 that miss and 20,000 that do not, each second.
                while sent < passed * 20000:
                    near.socket.send(good)
                    for _ in range(5):
                        near.socket.send(miss)
                    sent += 1
                controller.socket.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    controller.socket.recv(1 << 20)
            time.sleep(0.2)
            received = len(far.drain())
            shares[what].append(received / passed)
            controller.socket.setblocking(True)
            controller.waiting = b""
            controller.socket.close()
            controller = Controller(("127.0.0.1", switch.port))
    for what, rates in shares.items():
        print(f"storm: misses are {what}: {spread(rates)} other frames a second come out", flush=True)
    controller.clear()


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
        time.sleep(0.3)
    controller.do((GROUP_MOD, struct.pack("!HBxI", 2, 0, 0xFFFFFFFC)))
    print(f"fail-over: {spread(times)} ms, {spread(lost)} frames of 20,000 a second lost", flush=True)


PARTS = {
    "flow-mods": flow_mods,
    "bundle": bundle,
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
    run("ip", "link", "set", "lo", "up")
    for letter in "bo":
        for number in (1, 2, 3):
            near, far = f"{letter}{number}", f"{letter}h{number}"
            run("ip", "link", "add", near, "type", "veth", "peer", "name", far)
            for end in (near, far):
                Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6").write_text("1")
                run("ip", "link", "set", end, "up")
    with tempfile.TemporaryDirectory() as folder:
        switches = [Brimful(switchd, folder)]
        if shutil.which("ovs-vswitchd") and "ALONE" not in os.environ:
            switches.append(OpenVSwitch(folder))
        try:
            for name in names or PARTS:
                PARTS[name](switches)
        finally:
            for switch in switches:
                switch.end()


if __name__ == "__main__":
    main()
