"""Switches on interfaces of a network namespace, a controller that speaks OpenFlow to them, and far ends of ports."""

import ctypes
import os
import select
import socket
import struct
import subprocess
import time
from pathlib import Path

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

    def message(self, patience_s=PATIENCE_S):
        """Give type, transaction and body of the next message; echoes are answered, and do not count as one."""
        until = time.monotonic() + patience_s
        while True:
            if len(self.waiting) >= 8:
                _, kind, length, transaction = struct.unpack("!BBHI", self.waiting[:8])
                if len(self.waiting) >= length:
                    body, self.waiting = self.waiting[8:length], self.waiting[length:]
                    if kind != ECHO_REQUEST:
                        return kind, transaction, body
                    self.send(header(self.version, ECHO_REPLY, body, transaction))
                    continue
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("no message came")
            self.socket.settimeout(left_s)
            received = self.socket.recv(1 << 20)
            if not received:
                raise SystemExit("the switch has closed the connection")
            self.waiting += received

    def wait(self, wanted, patience_s=PATIENCE_S):
        while True:
            kind, _, body = self.message(patience_s)
            if kind == ERROR:
                raise SystemExit(f"the switch refuses: type and code {struct.unpack('!HH', body[:4])}")
            if kind == wanted:
                return body

    def attend(self):
        """Answer what has come meanwhile, so that the switch knows that somebody is there."""
        ready, _, _ = select.select([self.socket], [], [], 0)
        if ready:
            self.waiting += self.socket.recv(1 << 20)
        while len(self.waiting) >= 8:
            _, kind, length, transaction = struct.unpack("!BBHI", self.waiting[:8])
            if len(self.waiting) < length:
                return
            body, self.waiting = self.waiting[8:length], self.waiting[length:]
            if kind == ECHO_REQUEST:
                self.send(header(self.version, ECHO_REPLY, body, transaction))

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

    @property
    def processes(self):
        return [self.process]

    def close(self):
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

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(20)


def rest(switches):
    """Wait until no switch works on what was before, such as freeing entries: it would slow the other one down."""
    before, still_s = None, 0.0
    for _ in range(100):
        time.sleep(0.1)
        paths = [Path(f"/proc/{process.pid}/stat") for switch in switches for process in switch.processes]
        # Ticks of 10 ms in user mode and in the kernel.
        now = [path.read_text().rsplit(")", 1)[1].split()[11:13] for path in paths]
        still_s = still_s + 0.1 if now == before else 0.0
        if still_s >= 0.3:
            return
        before = now


def frame(number, length=60, dscp=0):
    """A frame of IPv4 to an address of its own."""
    address = struct.pack("!IH", 0x02000000 | number >> 16, number & 0xFFFF)
    packet = struct.pack("!BBHIBBHII", 0x45, dscp << 2, length - 14, 0, 64, 253, 0, 0x0A000001, 0x0A000002)
    return (address + bytes(6) + b"\x08\x00" + packet).ljust(length, b"\0")


class Message(ctypes.Structure):
    """`struct mmsghdr`."""

    _fields_ = [
        ("name", ctypes.c_void_p),
        ("name_len", ctypes.c_uint32),
        ("vectors", ctypes.c_void_p),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_len", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("padding", ctypes.c_uint32),
        ("sent", ctypes.c_uint32),
    ]


class Vector(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = [("base", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class Volley:
    """Frames that leave together."""

    def __init__(self, frames):
        self.vectors = (Vector * len(frames))(*(Vector(one, len(one)) for one in frames))
        places = [ctypes.addressof(vector) for vector in self.vectors]
        self.messages = (Message * len(frames))(*(Message(vectors=place, vector_count=1) for place in places))
        self.send_messages = ctypes.CDLL(None, use_errno=True).sendmmsg

    def send(self, wire):
        """Give how many have left."""
        return max(self.send_messages(wire.socket.fileno(), self.messages, len(self.messages), 0), 0)


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


def make_interface(letter, number):
    """A port of a letter's switch, and its far end."""
    near, far = f"{letter}{number}", f"{letter}h{number}"
    run("ip", "link", "add", near, "type", "veth", "peer", "name", far)
    for end in (near, far):
        Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6").write_text("1")
        run("ip", "link", "set", end, "up")


def make_interfaces(letters):
    """Three ports for each letter's switch, and their far ends."""
    run("ip", "link", "set", "lo", "up")
    for letter in letters:
        for number in (1, 2, 3):
            make_interface(letter, number)
