"""Hosts with the settings of the kernel in namespaces of their own, joined by a switch, a bridge or Open vSwitch."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimful.lab.namespaces import Namespace, start_keeper
from brimful.lab.switch import find_switch
from brimful.switch import ask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TALK = str(Path(__file__).with_name("hosts_talk.py"))
PYTHON = [sys.executable, "-I", "-S"]
ETHTOOL = """
import array, fcntl, socket, struct, sys
value = array.array("I", [int(sys.argv[2]), int(sys.argv[3])])
request = struct.pack("16sP16x", sys.argv[1].encode(), value.buffer_info()[0])
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
    fcntl.ioctl(own, 0x8946, request)
"""
SET_TSO, SET_GSO, SET_GRO = 0x1F, 0x24, 0x2C
PLAIN = "in_port=1,actions=output:2\nin_port=2,actions=output:1\n"
"""Two hosts at ports 1 and 2."""
TAGGED = """
in_port=1,actions=push_vlan:0x8100,set_field:4103->vlan_vid,output:3
in_port=2,actions=push_vlan:0x8100,set_field:4103->vlan_vid,output:4
in_port=3,dl_vlan=7,actions=pop_vlan,output:1
in_port=4,dl_vlan=7,actions=pop_vlan,output:2
"""
"""The same with tags on a cable between ports 3 and 4."""


def rewriting(table: str) -> str:
    """Have each host know the other by an address of its own making, as a translator of addresses does."""
    lines = []
    for line in table.split():
        match, _, actions = line.partition(",actions=")
        port = int(match.removeprefix("in_port=").partition(",")[0])
        lines.append(f"priority=1,{match},actions={actions}")
        if port > 2:
            continue
        other = 3 - port
        for kind, fields, prefix in ((0x0800, "ip", "10.9.0."), (0x86DD, "ipv6", "fd00::")):
            written = "".join(
                f"set_field:{prefix}{value}->{fields}_{side}," for side, value in (("src", 90 + port), ("dst", other))
            )
            lines.append(f"priority=2,{match},dl_type={kind:#06x},actions={written}{actions}")
    return "\n".join(lines) + "\n"


class Bed:
    """Two hosts and what joins them, each in a namespace of its own."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        def namespace(role: str, beside: Namespace | None = None) -> Namespace:
            keeper = start_keeper("hosts", role, beside=beside)
            stack.callback(keeper.close)
            return keeper.namespace

        self.stack = stack
        self.middle = namespace("middle")
        self.hosts = [namespace(f"host{number}", self.middle) for number in (1, 2)]
        for number in (1, 2):
            self.join(number)
        self.ip(self.middle, "link", "add", "s3", "type", "veth", "peer", "name", "s4")
        for name in ("s3", "s4", "lo"):
            self.ip(self.middle, "link", "set", name, "up")

    def join(self, number: int) -> None:
        """Give a host its interface, whose other end is that of the switch."""
        host, other = self.hosts[number - 1], 3 - number
        near, address = f"s{number}", f"02:00:00:00:00:0{number}"
        self.ip(
            self.middle,
            *("link", "add", near, "type", "veth", "peer", "name", "eth0"),
            *("address", address, "netns", str(host.keeper.pid)),
        )
        self.ip(self.middle, "link", "set", near, "up")
        self.ip(host, "link", "set", "lo", "up")
        self.ip(host, "address", "add", f"10.9.0.{number}/24", "dev", "eth0")
        self.ip(host, "address", "add", f"fd00::{number}/64", "dev", "eth0", "nodad")
        self.ip(host, "link", "set", "eth0", "up")
        for last in (other, 90 + other):
            link_layer = f"02:00:00:00:00:0{other}"
            self.ip(host, "neigh", "replace", f"10.9.0.{last}", "lladdr", link_layer, "dev", "eth0")
            self.ip(host, "neigh", "replace", f"fd00::{last}", "lladdr", link_layer, "dev", "eth0")

    def tunnel(self) -> None:
        """Give the hosts interfaces of VXLAN, whose frames are to be summed and segmented in their tunnel."""
        for number, host in enumerate(self.hosts, 1):
            other = 3 - number
            self.ip(
                host,
                *("link", "add", "vx0", "address", f"02:00:00:00:01:0{number}", "type", "vxlan", "id", "5"),
                *("dstport", "4789", "local", f"10.9.0.{number}", "remote", f"10.9.0.{other}", "dev", "eth0"),
            )
            self.ip(host, "address", "add", f"10.8.0.{number}/24", "dev", "vx0")
            self.ip(host, "address", "add", f"fd08::{number}/64", "dev", "vx0", "nodad")
            self.ip(host, "link", "set", "vx0", "up")
            for last in (f"10.8.0.{other}", f"fd08::{other}"):
                self.ip(host, "neigh", "replace", last, "lladdr", f"02:00:00:00:01:0{other}", "dev", "vx0")

    def elsewhere(self) -> Namespace:
        """Return a namespace that nothing is in."""
        keeper = start_keeper("hosts", "elsewhere", beside=self.middle)
        self.stack.callback(keeper.close)
        return keeper.namespace

    @staticmethod
    def ip(namespace: Namespace, *arguments: str) -> None:
        """Run ip in a namespace."""
        namespace.run(["ip", *arguments])

    @staticmethod
    def set_offload(namespace: Namespace, interface: str, command: int, value: int) -> None:
        """Do what `ethtool -K` does, by a command of linux/ethtool.h."""
        namespace.run([*PYTHON, "-c", ETHTOOL, interface, str(command), str(value)])

    def bridge(self) -> None:
        """Join the hosts by the kernel's bridge."""
        self.ip(self.middle, "link", "add", "br0", "type", "bridge")
        for name in ("s1", "s2", "br0"):
            self.ip(self.middle, "link", "set", name, *(("master", "br0") if name != "br0" else ("up",)))

    def talk(self, *arguments: str, timeout: float = 20) -> dict[str, Any]:
        """Have the hosts talk to each other, and return what they say of it."""
        near, far = self.hosts
        command = [*PYTHON, TALK, *arguments]
        with subprocess.Popen(
            far.command([*command, "serve"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stdout is not None
                assert server.stdout.readline() == "ready\n", server.stderr and server.stderr.read()
                done = subprocess.run(
                    near.command([*command, "ask"]), capture_output=True, text=True, timeout=timeout, check=False
                )
            finally:
                server.terminate()
        if done.returncode:
            return {"failed": done.stderr.strip().splitlines()[-1:]}
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@contextlib.contextmanager
def open_bed() -> Iterator[Bed]:
    """Make the namespaces, and remove them."""
    with contextlib.ExitStack() as stack:
        yield Bed(stack)


class Switch:
    """A running switch, and how it is asked."""

    def __init__(self, process: subprocess.Popen[str], control: Path) -> None:
        self.process = process
        self.control = control

    def port(self, number: int) -> dict[str, Any]:
        """Return the status of a port."""
        answer = ask(self.control, "status")
        ports = answer["switches"][0]["ports"]
        found: dict[str, Any] = next(port for port in ports if port["port"] == number)
        return found

    def processor_s(self) -> float:
        """Return how much processor time it has had."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextlib.contextmanager
def switch(
    bed: Bed, directory: Path, table: str, back_end: str = "packet", *, ports: int = 2, options: Sequence[str] = ()
) -> Iterator[Switch]:
    """Run a switch between the hosts."""
    rules, control = directory / "rules.flows", directory / "switch.sock"
    rules.write_text(table)
    joined = [f"--port={number}=s{number}" for number in range(1, ports + 1)]
    command = [find_switch(), *joined, f"--back-end={back_end}", f"--control={control}", f"--tables={rules}", *options]
    log = directory / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(bed.middle.command(command), stdout=subprocess.PIPE, stderr=errors, text=True)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready: switch\n", log.read_text()
            yield Switch(process, control)
        finally:
            process.terminate()


def wait_until(condition: Any, what: str) -> None:
    """Wait for something that comes within 20 s."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"not within 20 s: {what}"
        time.sleep(0.02)
