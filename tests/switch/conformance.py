"""Play published OpenFlow cases against `brimful-switchd`: real interfaces, a real control connection.

usage: conformance.py SWITCHD CASES [VERSION], 1.3 by default. What cases send is the same in 1.4. Runs in a network
namespace of its own, in which it makes its interfaces. Prints a JSON object: cases passed and played for each category,
and the failures.
"""

import collections
import contextlib
import json
import random
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

PORTS = (1, 2, 3)
SHORTEST_FRAME_LEN = 60
PATIENCE_S = 2.0
QUIET_S = 0.02
"""How long nothing has to come where nothing should."""
LOAD_S = 2
RANDOM_FACTOR = 40
"""Loads of random addresses are 5 % above what is expected of them, which leaves chance half of the tolerance: there
are as many times more frames.
"""
HELD_UP = 0.02
"""Share of a load's time that its sender and the switch may wait for a processor before it is played again."""
ATTEMPTS = 5
ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 3, 263, 8, 4
SO_RCVBUFFORCE, RECEIVE_BYTES = 33, 64 << 20
VLAN_VALID, TPID_VALID = 1 << 4, 1 << 6
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, PACKET_IN = 0, 1, 2, 3, 10
FLOW_MOD, GROUP_MOD, MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER, BARRIER_REPLY, METER_MOD = 14, 15, 18, 19, 20, 21, 29
FLOW_STATS, TABLE_STATS, GROUP_DESCRIPTION, METER_CONFIGURATION = 1, 3, 7, 10
ALL = 0xFFFFFFFF
VERSIONS = {"1.3": 4, "1.4": 5}
"""How messages number them."""


class Failed(Exception):
    """A case is not as it should be."""


def padded(frame):
    return frame.ljust(SHORTEST_FRAME_LEN, b"\0")


class HeldUp(Failed):
    """A load that is not as it should be was held up."""


class Wire:
    """The far end of a port."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.bind((name, 0))
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
        self.name = name

    def send(self, frame):
        self.socket.send(frame)

    def receive(self, timeout):
        """Give a frame that arrives within a time, with the tag that the kernel has taken out; None where none does."""
        end = time.monotonic() + timeout
        while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
            frame, control, _, address = self.socket.recvmsg(65536, 256)
            if address[2] == PACKET_OUTGOING:
                continue
            for level, kind, data in control:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                    status, _, _, _, _, tag, tpid = struct.unpack("IIIHHHH", data[:20])
                    if status & VLAN_VALID:
                        tpid = tpid if status & TPID_VALID else 0x8100
                        frame = frame[:12] + struct.pack("!HH", tpid, tag) + frame[12:]
            return frame
        return None

    def drain(self):
        while self.receive(0) is not None:
            pass

    def count_dscp(self, counts):
        """Add what has arrived to the bytes of each DSCP; ARP has none."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame = self.socket.recv(65536, socket.MSG_DONTWAIT)
                kind, first, second = struct.unpack("!HBB", frame[12:16])
                traffic_class = {0x0800: second, 0x86DD: (first & 0xF) << 4 | second >> 4}.get(kind)
                counts[traffic_class and traffic_class >> 2] += len(frame)

    def received_bytes(self):
        # /sys shows the namespace that it was mounted in, /proc that of the process.
        for line in Path("/proc/self/net/dev").read_text().splitlines():
            name, _, counts = line.partition(":")
            if name.strip() == self.name:
                return int(counts.split()[0])
        raise Failed(f"there is no interface {self.name}")


class Controller:
    """A controller of one switch."""

    def __init__(self, connection, version="1.3"):
        self.version = VERSIONS[version]
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self.waiting = b""
        self.transaction = 100
        self.packet_ins = []
        self.passed_over = []
        """Messages that came while another one was waited for."""
        self.send(HELLO, b"")

    def send(self, kind, body, transaction=None):
        self.transaction += 1
        transaction = self.transaction if transaction is None else transaction
        self.connection.sendall(struct.pack("!BBHI", self.version, kind, 8 + len(body), transaction) + body)
        return transaction

    def message(self, timeout):
        """Give the next message; echoes are answered, packet-ins kept."""
        end = time.monotonic() + timeout
        while True:
            if len(self.waiting) >= 8:
                version, kind, length, transaction = struct.unpack("!BBHI", self.waiting[:8])
                if len(self.waiting) >= length:
                    if kind != HELLO and version != self.version:
                        raise Failed(f"message {kind} is of version {version}")
                    body, self.waiting = self.waiting[8:length], self.waiting[length:]
                    if kind == ECHO_REQUEST:
                        self.send(ECHO_REPLY, body, transaction)
                    elif kind == PACKET_IN:
                        self.packet_ins.append(body)
                        return kind, transaction, body
                    elif kind != HELLO:
                        return kind, transaction, body
                    continue
            if not select.select([self.connection], [], [], max(0, end - time.monotonic()))[0]:
                return None
            received = self.connection.recv(65536)
            if not received:
                raise Failed("the switch closed the connection")
            self.waiting += received

    def wait_for(self, wanted, transaction):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            message = self.message(end - time.monotonic())
            if message is None:
                break
            kind, its, body = message
            if kind == ERROR:
                raise Failed(f"error {struct.unpack('!HH', body[:4])}")
            if (kind, its) == (wanted, transaction):
                return body
            self.passed_over.append(message)
        raise Failed(f"no message {wanted} came")

    def barrier(self):
        self.wait_for(BARRIER_REPLY, self.send(BARRIER, b""))

    def multipart(self, number, body=b""):
        transaction = self.send(MULTIPART_REQUEST, struct.pack("!HH4x", number, 0) + body)
        whole = b""
        while True:
            reply = self.wait_for(MULTIPART_REPLY, transaction)
            whole += reply[8:]
            if not struct.unpack("!HH", reply[:4])[1] & 1:
                return whole

    def clear(self):
        wildcard = struct.pack("!HH4x", 1, 4)
        everything = struct.pack("!QQBBHHHIIIH2x", 0, 0, 0xFF, 3, 0, 0, 0, ALL, ALL, ALL, 0)
        self.send(FLOW_MOD, everything + wildcard)
        self.send(GROUP_MOD, struct.pack("!HBxI", 2, 0, 0xFFFFFFFC))
        self.send(METER_MOD, struct.pack("!HHI", 2, 0, ALL))
        self.barrier()
        self.packet_ins.clear()
        self.passed_over.clear()

    def flows(self):
        """Give table, priority, match and instructions of every entry."""
        request = struct.pack("!B3xII4xQQ", 0xFF, ALL, ALL, 0, 0) + struct.pack("!HH4x", 1, 4)
        left, found = self.multipart(FLOW_STATS, request), []
        while left:
            length, table = struct.unpack("!HB", left[:3])
            (priority,) = struct.unpack("!H", left[12:14])
            found.append((table, priority, left[48:length]))
            left = left[length:]
        return found

    def structures(self, number, request=b""):
        """Give what a list of structures holds behind their lengths."""
        left, found = self.multipart(number, request), []
        while left:
            (length,) = struct.unpack("!H", left[:2])
            found.append(left[2:length])
            left = left[length:]
        return found

    def table(self, number):
        """Give how many frames a table has looked up and matched."""
        left = self.multipart(TABLE_STATS)
        for at in range(0, len(left), 24):
            if left[at] == number:
                return struct.unpack("!QQ", left[at + 8 : at + 24])
        raise Failed(f"there is no table {number}")


class Bench:
    """A switch, its controller, and the far ends of its ports; `others` are more places of controllers."""

    def __init__(self, switchd, *others, version="1.3"):
        ip("link", "set", "lo", "up")
        for port in PORTS:
            ip("link", "add", f"s{port}", "type", "veth", "peer", "name", f"h{port}")
            for name in (f"s{port}", f"h{port}"):
                Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
                ip("link", "set", name, "up", "promisc", "on")
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(20)
        ports = [f"--port={port}=s{port}" for port in PORTS]
        places = (f"tcp:127.0.0.1:{listener.getsockname()[1]}", *others)
        controllers = [f"--controller={place}" for place in places]
        self.process = subprocess.Popen([switchd, *ports, *controllers, "--dpid=1"], stdout=subprocess.PIPE)
        self.controller = Controller(listener.accept()[0], version)
        self.wires = {port: Wire(f"h{port}") for port in PORTS}

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=20)

    def waited_s(self):
        """Give how long this process and the threads of the switch have waited for a processor."""
        tasks = [Path("/proc/self"), *Path(f"/proc/{self.process.pid}/task").iterdir()]
        return sum(int((task / "schedstat").read_text().split()[1]) for task in tasks) / 1e9

    def play(self, case):
        """Play a case; again where other processes spoilt its load."""
        for attempt in range(ATTEMPTS):
            try:
                return self.attempt(case)
            except HeldUp:
                if attempt == ATTEMPTS - 1:
                    raise

    def attempt(self, case):
        self.controller.clear()
        for message in case["messages"]:
            whole = bytes.fromhex(message["hex"])
            self.controller.send(whole[1], whole[8:])
            self.controller.barrier()
        self.compare_flows(case)
        self.compare("OFPGroupMod", self.controller.structures(GROUP_DESCRIPTION), case)
        self.compare("OFPMeterMod", self.controller.structures(METER_CONFIGURATION, struct.pack("!I4x", ALL)), case)
        for wire in self.wires.values():
            wire.drain()
        for step in case["steps"]:
            if "throughput" in step:
                self.check_load(step)
            else:
                self.check_step(step)

    def compare_flows(self, case):
        mods = [bytes.fromhex(message["hex"]) for message in case["messages"] if "OFPFlowMod" in message["json"]]
        given = sorted((whole[24], struct.unpack("!H", whole[30:32])[0], whole[48:]) for whole in mods)
        found = sorted(self.controller.flows())
        if found != given:
            raise Failed(f"the entries come back as {found} instead of {given}")

    def compare(self, kind, found, case):
        """Groups and meters: a modification and a description differ in their first two bytes alone."""
        given = sorted(bytes.fromhex(one["hex"])[10:] for one in case["messages"] if kind in one["json"])
        if sorted(found) != given:
            raise Failed(f"{kind} comes back as {found} instead of {given}")

    def check_step(self, step):
        tables = {number: self.controller.table(number) for number in step.get("table_miss", [])}
        self.controller.packet_ins.clear()
        self.wires[1].send(bytes.fromhex(step["ingress"]["hex"]))
        if "egress" in step:
            self.expect("port 2", self.wires[2].receive(PATIENCE_S), step["egress"])
        elif "packet_in" in step:
            self.expect("packet-in", self.packet_in(), step["packet_in"])
        for output in step.get("outputs", ()):
            port = output["port"]
            self.expect(f"port {port}", self.wires[port].receive(PATIENCE_S), output)
        for number, (lookups, matches) in tables.items():
            self.wait_until_missed(number, lookups, matches)
        for port, wire in self.wires.items():
            other = wire.receive(QUIET_S / len(PORTS))
            if other is not None:
                raise Failed(f"port {port} sent {other.hex()} besides")
        self.controller.message(0)
        if len(self.controller.packet_ins) > ("packet_in" in step):
            raise Failed(f"the controller was told of {self.controller.packet_ins[-1].hex()} besides")

    def packet_in(self):
        message = self.controller.message(PATIENCE_S)
        if message is None or message[0] != PACKET_IN:
            return None
        body = message[2]
        (matched,) = struct.unpack("!H", body[18:20])
        return body[16 + (matched + 7) // 8 * 8 + 2 :]

    def expect(self, place, found, wanted):
        wanted = padded(bytes.fromhex(wanted["hex"]))
        if found is None or padded(found) != wanted:
            raise Failed(f"{place} gave {found and found.hex()} instead of {wanted.hex()}")

    def wait_until_missed(self, number, lookups, matches):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            now = self.controller.table(number)
            if now == (lookups + 1, matches):
                return
        raise Failed(f"table {number} counts {now} after {(lookups, matches)}")

    def check_load(self, step):
        """Frames leave at the rates that the case has; a group gets more, so that chance matters less."""
        ingress, text = step["ingress"], json.dumps(step["ingress"]["text"])
        factor = RANDOM_FACTOR if ingress["randomised"] else 1
        template, rate = bytes.fromhex(ingress["hex"]), ingress["packets_per_s"] * factor
        before = {port: self.wires[port].received_bytes() for port in (2, 3)}
        counts = collections.Counter()
        waited_s, late_s = self.waited_s(), 0.0
        begun, sent = time.monotonic(), 0
        while (passed := time.monotonic() - begun) < LOAD_S:
            late_s = max(late_s, passed - sent / rate)
            while sent < passed * rate:
                self.wires[1].send(randomised(template, text) if ingress["randomised"] else template)
                sent += 1
            self.wires[2].count_dscp(counts)
            time.sleep(0.0005)
        time.sleep(0.2)
        self.wires[2].count_dscp(counts)
        held_up_s = max(late_s, self.waited_s() - waited_s)
        for wanted in step["throughput"]:
            fields = [field["OXMTlv"] for field in wanted["OFPMatch"]["oxm_fields"]]
            fields = {field["field"]: field["value"] for field in fields}
            port = fields["in_port"]
            if "ip_dscp" in fields:
                bits = counts[fields["ip_dscp"]] * 8
            else:
                bits = (self.wires[port].received_bytes() - before[port]) * 8
            kbps = wanted["kbps"] * factor if "kbps" in wanted else wanted["pktps"] * len(template) * 8 / 1000
            found = bits / 1000 / LOAD_S
            if abs(found - kbps) > kbps * 0.1:
                text = (
                    f"port {port} sent {found:.0f} kbit/s instead of {kbps:.0f} of {fields}, held up {held_up_s:.2f} s"
                )
                raise (HeldUp if held_up_s > HELD_UP * LOAD_S else Failed)(text)


def randomised(frame, text):
    frame = bytearray(frame)
    if "EUI(randint" in text:
        frame[0:6], frame[6:12] = random.randbytes(6), random.randbytes(6)
        frame[6] &= 0xFE
    if "IPAddress(randint" in text:
        places = {0x0800: (26, 8), 0x86DD: (22, 32), 0x0806: (28, 4)}
        kind = int.from_bytes(frame[12:14], "big")
        at, length = places[kind]
        frame[at : at + length] = random.randbytes(length)
        if kind == 0x0806:
            frame[38:42] = random.randbytes(4)
    return bytes(frame)


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def main():
    switchd, cases, version = sys.argv[1], Path(sys.argv[2]), (sys.argv[3:] or ["1.3"])[0]
    random.seed(1)
    counts, failures = {}, []
    bench = Bench(switchd, version=version)
    try:
        for path in sorted(cases.rglob("*.json")):
            category = path.relative_to(cases).parts[0]
            for case in json.loads(path.read_text()):
                count = counts.setdefault(category, [0, 0])
                count[1] += 1
                try:
                    bench.play(case)
                    count[0] += 1
                except Failed as failed:
                    failures.append(f"{path.name}: {case['description']}: {failed}")
    finally:
        bench.end()
    sys.stdout.write(json.dumps({"counts": counts, "failures": failures}))


if __name__ == "__main__":
    main()
