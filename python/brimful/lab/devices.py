"""The devices under test, and the input stage that lets them lose frames as real devices do.

A frame sent into a veth is received, forwarded and delivered inside the sender's own system call: such a device slows
the sender and never drops. The input stage gives every port a queue that kernel threads of the device serve::

    ta --- da -> qa --- pa  bridge or router  pb --- qb <- db --- tb
              copy  queue, thread          thread, queue  copy

Frames that find the queue full are dropped and counted at `qa` or `qb`, and the sender does not learn of it.
`docs/decisions/0002-a-device-that-drops.md` has the reasons.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from brimful.errors import UsageError
from brimful.lab import links
from brimful.lab.links import Offload
from brimful.lab.namespaces import tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimful.lab.namespaces import Namespace
    from brimful.lab.programs import Programs


SIDES = "abcdefghijklmnop"
"""A lab has as many of them as ports; the tables of names and addresses below have all."""
LEAST_PORTS, MOST_PORTS = 2, len(SIDES)


class Device(StrEnum):
    """What frames pass between the tester's ports."""

    BRIDGE = "bridge"
    ROUTER = "router"
    XDP = "xdp"
    OVS = "ovs"
    TESTPMD = "testpmd"
    SWITCH = "switch"
    PROGRAM = "program"
    CROSSBAR = "crossbar"
    WIRE = "wire"


class Input(StrEnum):
    """How the device takes frames from its ports, best first."""

    QUEUE = "queue"
    """A queue and a thread of the device; loss is counted there and hidden from the sender."""
    THREAD = "thread"
    """A thread of the device behind a short ring; the sender learns of frames that find it full."""
    PROGRAM = "program"
    """A queue that a program of the device empties; loss is the device's and hidden from the sender."""
    INLINE = "inline"
    """The device runs inside the sender's system call: it slows the sender and never drops."""
    NONE = "none"
    """There is no device."""


class Forwarder(Protocol):
    """A command of the user's that forwards."""

    each_trial: bool
    """Whether each trial has it started anew."""

    def renew(self) -> None:
        """End the command, and start it again."""
        ...

    def accept(self) -> None:
        """Take note that frames pass."""
        ...

    def failure(self) -> str | None:
        """Return, in one line, that the command has ended although it was needed."""
        ...

    def is_over(self) -> bool:
        """Say whether the command has failed: waiting for frames helps no more."""
        ...

    def left_it_to_the_kernel(self) -> bool:
        """Say whether the command has ended well and left no program behind."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """What was built, for the record."""

    input: Input
    queue_frames: int
    """How many frames wait at each port at most; 0 where that is not known."""
    work: int
    """Multiplications that every frame costs."""
    ports: tuple[str, ...]
    """The interfaces that forward, in the order of the tester's ports."""
    details: dict[str, str | int] = field(default_factory=dict)
    """What else there is to say of this device."""
    forwarder: Forwarder | None = None
    forget: tuple[str, ...] = ()
    """A program and its arguments: makes it forget the addresses that it has learned; empty where nothing does."""
    tester_options: tuple[str, ...] = ()
    """That the tester needs at these ports."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a device is built."""

    tester: Namespace
    programs: Programs
    """Those that the device starts, and the namespace that it is in."""
    ip: int
    """4 or 6."""
    mtu: int
    ports: int = LEAST_PORTS
    """How many the tester has, and the device."""

    @property
    def device(self) -> Namespace:
        """The namespace of the device."""
        return self.programs.namespace

    @property
    def tester_ports(self) -> tuple[str, ...]:
        """The tester's ports."""
        return TESTER_PORTS[: self.ports]

    @property
    def queues(self) -> tuple[str, ...]:
        """Where there is an input stage, the other ends of the interfaces that forward."""
        return tuple(f"q{side}" for side in SIDES[: self.ports])


@dataclass(frozen=True, slots=True)
class Network:
    """The addresses behind one port of the router."""

    router: str
    tester: str
    link: str
    """What the port itself reaches."""
    aggregate: str
    """Everything in here is routed to the tester, so that it can use as many addresses as it wants."""


TESTER_PORTS = tuple(f"t{side}" for side in SIDES)
CABLES = {port: f"d{side}" for port, side in zip(TESTER_PORTS, SIDES, strict=True)}
"""Port of the tester: the device's end of its cable."""
TESTER_MACS = tuple(f"02:62:66:00:00:{0x1A + index:02x}" for index in range(len(SIDES)))
ROUTER_MACS = tuple(f"02:62:66:00:00:{0x0A + index:02x}" for index in range(len(SIDES)))

# RFC 2544 section C.2.2 (198.18.0.0/15) and RFC 5180 section 8 (2001:2::/48), both cut in half.
NETWORKS = {
    4: (
        Network("198.18.0.1", "198.18.0.2", "198.18.0.0/24", "198.18.0.0/16"),
        Network("198.19.0.1", "198.19.0.2", "198.19.0.0/24", "198.19.0.0/16"),
    ),
    6: (
        Network("2001:2::1", "2001:2::2", "2001:2::/64", "2001:2::/49"),
        Network("2001:2:0:8000::1", "2001:2:0:8000::2", "2001:2:0:8000::/64", "2001:2:0:8000::/49"),
    ),
}

ETHERNET_LEN = 18
"""Header and frame check sequence, which an MTU does not count."""
DEFAULT_MTU = 1500
LARGEST_MTU = 9216
DEFAULT_WORK = 10_000
"""Measured: with this, one core of tester offers about twice what one core of device forwards."""
QUEUE_FRAMES = 4000
"""Measured: outlasts the pauses of a virtual CPU; the bare ring loses frames to them at any load."""
_RING_FRAMES = 256
"""VETH_RING_SIZE of `drivers/net/veth.c`."""
_AGEING_CENTISECONDS = 8_640_000
# A message to the kernel has 16 KiB, and an instruction 8 bytes.
_MULTIPLICATIONS_OF_A_PROGRAM = 2000
_CLASSIFIERS = ("matchall", "u32 match u32 0 0")


def build_wire(place: Place) -> Settings:
    """Join the tester's ports directly, each one to the next."""
    tester, mtu, ports = place.tester, place.mtu, place.tester_ports
    if place.ports % 2:
        message = f"lab:wire joins its ports in pairs: ports={place.ports} leaves one over, give an even number"
        raise UsageError(message)
    ends = [f"name {port} mtu {mtu} address {mac}" for port, mac in zip(ports, TESTER_MACS, strict=False)]
    cables = zip(ends[::2], ends[1::2], strict=True)
    links.configure(tester, [f"link add {end} type veth peer {peer}" for end, peer in cables])
    links.silence(tester, ports)
    links.configure(tester, [f"link set dev {name} up" for name in ports])
    return Settings(Input.NONE, 0, 0, ())


def build_bridge(place: Place, *, work: int) -> Settings:
    """Put a Linux bridge between the tester's ports."""
    device = place.device
    settings = build_ports(place, work=work)
    # Never `br`: ip takes it for `brd`. Snooping would send MLD and IGMP queries during trials.
    bridge = f"type bridge stp_state 0 forward_delay 0 mcast_snooping 0 ageing_time {_AGEING_CENTISECONDS}"
    links.configure(device, [f"link add name br0 {bridge}"])
    links.silence(device, ["br0"])
    masters = [f"link set dev {port} master br0" for port in settings.ports]
    links.configure(device, [*masters, "link set dev br0 up"])
    known = zip(TESTER_MACS, settings.ports, strict=False)
    links.configure_bridge(device, [f"fdb replace {mac} dev {port} master static" for mac, port in known])
    forget = (tool("ip"), "link", "set", "dev", "br0", "type", "bridge", "fdb_flush")
    return replace(settings, forget=forget)


def build_router(place: Place, *, work: int) -> Settings:
    """Put a Linux router between the tester's ports."""
    device, ip = place.device, place.ip
    settings = build_ports(place, work=work)
    values = {"net/ipv4/ip_forward": 1}
    for name in ("all", "default", *settings.ports):
        for parameter in ("rp_filter", "send_redirects", "accept_redirects"):
            values[f"net/ipv4/conf/{name}/{parameter}"] = 0
    if ip == 6:
        # First: IPv6 forwarding makes every interface with multicast join the routers' groups and report that by MLD.
        links.configure(device, [f"link set dev {name} multicast off" for name in links.read_counters(device)])
        values["net/ipv6/conf/all/forwarding"] = 1
    links.set_kernel_parameters(device, values)
    commands: list[str] = []
    for port, mac, network in zip(settings.ports, TESTER_MACS, NETWORKS[ip], strict=False):
        if ip == 4:
            commands.append(f"address add {network.router}/24 dev {port}")
        else:
            # An address on the port would join a group too; forwarding needs none.
            commands.append(f"address add {network.router}/128 dev lo")
            commands.append(f"route replace {network.link} dev {port}")
        commands.append(f"neighbour replace {network.tester} lladdr {mac} dev {port} nud permanent")
        commands.append(f"route replace {network.aggregate} via {network.tester} dev {port}")
    links.configure(device, ["link set dev lo up", *commands])
    return settings


def build_ports(place: Place, *, work: int) -> Settings:
    """Join the tester's ports to ports of the device behind its input stage."""
    device = place.device
    classifier = find_classifier(device)
    # The interface that forwards has the address that the tester sees as the device's, wherever it sits.
    end_macs = ROUTER_MACS if classifier is None else tuple(mac.replace("02:", "06:", 1) for mac in ROUTER_MACS)
    ends = lay_cables(place, end_macs)
    settings = _queue_input(place, classifier) if classifier else _thread_input(place, ends)
    applied = work if work and _add_work(device, settings.ports, work) else 0
    return replace(settings, work=applied)


def lay_cables(place: Place, end_macs: Sequence[str] = ROUTER_MACS) -> tuple[str, ...]:
    """Join the tester's ports to the device's ends, which it returns."""
    tester, device, mtu = place.tester, place.device, place.mtu
    ports = place.tester_ports
    ends = tuple(CABLES[port] for port in ports)
    for port, mac, end, end_mac in zip(ports, TESTER_MACS, ends, end_macs, strict=False):
        peer = f"peer name {end} mtu {mtu} address {end_mac} netns {device.keeper.pid}"
        links.configure(tester, [f"link add name {port} mtu {mtu} address {mac} type veth {peer}"])
    links.silence(tester, ports)
    links.silence(device, ends)
    links.configure(tester, [f"link set dev {port} up" for port in ports])
    links.configure(device, [f"link set dev {end} up" for end in ends])
    return ends


def _queue_input(place: Place, classifier: str) -> Settings:
    device, mtu, queues = place.device, place.mtu, place.queues
    ports = [f"p{side}" for side in SIDES[: place.ports]]
    for queue, port, mac in zip(queues, ports, ROUTER_MACS, strict=False):
        peer = f"peer name {port} mtu {mtu} address {mac}"
        links.configure(device, [f"link add name {queue} mtu {mtu} type veth {peer}"])
    links.silence(device, [*queues, *ports])
    links.configure(device, [f"link set dev {name} up" for name in (*queues, *ports)])
    threaded = _receive_in_threads(device, ports, senders_in=device, senders=queues)
    commands: list[str] = []
    for side, queue in zip(SIDES, queues, strict=False):
        rule = f"ingress protocol all prio 1 {classifier} action mirred egress"
        commands += [
            f"qdisc add dev d{side} clsact",
            f"qdisc add dev {queue} clsact",
            # A copy belongs to no socket: the queue holds none of the sender's buffer and cannot slow it.
            f"filter add dev d{side} {rule} mirror dev {queue} drop",
            f"filter add dev {queue} {rule} redirect dev d{side}",
        ]
    links.configure_traffic_control(device, commands)
    if not threaded:
        return Settings(Input.INLINE, 0, 0, tuple(ports))
    if _queue_is_safe(os.uname().release):
        queueing = [f"qdisc add dev {queue} root pfifo limit {QUEUE_FRAMES}" for queue in queues]
        links.configure_traffic_control(device, queueing)
        return Settings(Input.QUEUE, _RING_FRAMES + QUEUE_FRAMES, 0, tuple(ports))
    return Settings(Input.QUEUE, _RING_FRAMES, 0, tuple(ports))


def _thread_input(place: Place, ends: Sequence[str]) -> Settings:
    if _receive_in_threads(place.device, ends, senders_in=place.tester, senders=place.tester_ports):
        return Settings(Input.THREAD, _RING_FRAMES, 0, tuple(ends))
    return Settings(Input.INLINE, 0, 0, tuple(ends))


def _receive_in_threads(
    device: Namespace, ports: Sequence[str], *, senders_in: Namespace, senders: Sequence[str]
) -> bool:
    # veth has a ring and NAPI only with GRO on, and uses them for a peer that does no segmentation offload.
    links.switch_on(device, Offload.RECEIVE_COALESCING, ports)
    links.switch_off(senders_in, Offload.SEGMENTATION, senders)
    strangers = _receiving_threads(ports)
    if links.give_threads(device, ports):
        _keep_off_the_tester(_receiving_threads(ports) - strangers)
        return True
    links.switch_off(device, Offload.RECEIVE_COALESCING, ports)
    return False


def tester_cpus(device: Device) -> tuple[int, ...]:
    """Return the CPUs that are the tester's alone: one that sends and one that receives, where a device leaves two.

    Without a device, all that the tester sends is received where it can be. A device gets a CPU first. Where there is
    but one, no program has it alone.
    """
    cpus = sorted(os.sched_getaffinity(0))
    left = len(cpus) if device is Device.WIRE else len(cpus) - 1
    return tuple(cpus[: min(left, 2)]) if len(cpus) > 1 else ()


def device_cpus() -> list[int]:
    """Return the CPUs that the tester leaves to a device; all where there is but one."""
    cpus = os.sched_getaffinity(0)
    return sorted(cpus.difference(tester_cpus(Device.BRIDGE)))


def _receiving_threads(ports: Sequence[str]) -> set[int]:
    """Return the kernel threads that receive for interfaces with these names, of any lab."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name = (process / "comm").read_text().strip()
            if any(name.startswith(f"napi/{port}-") for port in ports):
                found.add(int(process.name))
    return found


def _keep_off_the_tester(threads: set[int]) -> None:
    """Move the device's threads to other CPUs than the tester's; only root may, and without it they share.

    A sender wakes the device's thread with every frame, and the scheduler likes to wake it where the sender runs: the
    two then take turns on one CPU, and what is measured is the tester.
    """
    cpus = device_cpus()
    for index, thread in enumerate(sorted(threads)):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(thread, {cpus[index % len(cpus)]})


def find_classifier(device: Namespace) -> str | None:
    """Return a classifier that this kernel has and that takes every frame, tried out on `lo`."""
    if device.attempt([tool("tc"), "qdisc", "add", "dev", "lo", "clsact"]).returncode != 0:
        return None
    for classifier in _CLASSIFIERS:
        words = f"filter add dev lo ingress protocol all prio 1 {classifier} action mirred egress mirror dev lo drop"
        if device.attempt([tool("tc"), *words.split()]).returncode == 0:
            device.attempt([tool("tc"), "qdisc", "del", "dev", "lo", "clsact"])
            return classifier
    return None


def _add_work(device: Namespace, ports: Sequence[str], work: int) -> bool:
    """Let every frame cost N multiplications, which depend on each other and touch no memory."""
    whole, rest = divmod(work, _MULTIPLICATIONS_OF_A_PROGRAM)
    parts = [_MULTIPLICATIONS_OF_A_PROGRAM] * whole + [rest] * (rest > 0)
    commands: list[str] = []
    for port in ports:
        commands.append(f"qdisc add dev {port} clsact")
        commands += [
            f"filter add dev {port} ingress protocol all prio 1 bpf bytecode {_program(part)}" for part in parts
        ]
    done = device.attempt([tool("tc"), "-batch", "-"], text="\n".join(commands) + "\n")
    return done.returncode == 0


def _program(multiplications: int) -> str:
    """Give a program of classic BPF that matches no frame, as `tc` reads it.

    >>> _program(2)
    '"4,0 0 0 7,36 0 0 3,36 0 0 3,6 0 0 0"'
    """
    load, multiply, no_match = "0 0 0 7", "36 0 0 3", "6 0 0 0"
    return f'"{multiplications + 2},{",".join([load, *[multiply] * multiplications, no_match])}"'


def _queue_is_safe(release: str) -> bool:
    """Say whether a queue in front of the ring can be used.

    Linux 6.16 taught veth to stop a queue instead of dropping (commit dc82a33297fc), and its first versions could leave
    the queue stopped; 6.18 is the oldest that was tried. Before 6.16 the ring drops in spite of the queue.
    """
    found = re.match(r"(\d+)\.(\d+)", release)
    return found is not None and (int(found[1]), int(found[2])) >= (6, 18)
