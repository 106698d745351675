"""Interfaces, their settings and their counters, through `ip`, `tc` and `bridge`."""

from __future__ import annotations

import json
import sys
from enum import IntEnum
from typing import TYPE_CHECKING

from brimful.lab.namespaces import tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from brimful.lab.namespaces import Namespace

InterfaceCounters = dict[str, int]
"""`rx_packets`, `tx_packets`, `rx_dropped`, `tx_dropped`, and `queue_dropped` where there is a queue."""

_SHOWN = (("rx", "packets"), ("tx", "packets"), ("rx", "dropped"), ("tx", "dropped"))

# Runs inside the namespace: an interface is only visible to a socket that was made there. SIOCETHTOOL is 0x8946.
_OFFLOAD_PROGRAM = """
import array, fcntl, socket, struct, sys
command, value = int(sys.argv[1]), int(sys.argv[2])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    for name in sys.argv[3:]:
        request = array.array("B", struct.pack("II", command, value))
        fcntl.ioctl(control, 0x8946, struct.pack("16sP16x", name.encode(), request.buffer_info()[0]))
"""

# sysfs shows the namespace of the process that mounts it; the mount is private to this one program.
_THREADED_SCRIPT = """
mount -t sysfs none /sys || exit 1
for name; do echo 1 >"/sys/class/net/$name/threaded" || exit 1; done
"""


class Offload(IntEnum):
    """Commands of `linux/ethtool.h` that switch an offload on or off."""

    SEGMENTATION = 0x1F  # ETHTOOL_STSO
    RECEIVE_COALESCING = 0x2C  # ETHTOOL_SGRO


def configure(namespace: Namespace, commands: Iterable[str]) -> None:
    """Run commands of `ip`, all or nothing but the first that fails."""
    namespace.run([tool("ip"), "-batch", "-"], text="\n".join(commands) + "\n")


def configure_bridge(namespace: Namespace, commands: Iterable[str]) -> None:
    """Run commands of `bridge`."""
    namespace.run([tool("bridge"), "-batch", "-"], text="\n".join(commands) + "\n")


def configure_traffic_control(namespace: Namespace, commands: Iterable[str]) -> None:
    """Run commands of `tc`."""
    namespace.run([tool("tc"), "-batch", "-"], text="\n".join(commands) + "\n")


def silence(namespace: Namespace, interfaces: Iterable[str]) -> None:
    """Keep interfaces from sending anything of their own: no link-local address, so no DAD, RS or MLD."""
    text = "".join(f"link set dev {name} addrgenmode none\n" for name in interfaces)
    # Fails only where the kernel has no IPv6, and then there is nothing to silence.
    namespace.attempt([tool("ip"), "-force", "-batch", "-"], text=text)


def set_kernel_parameters(namespace: Namespace, values: Mapping[str, int]) -> None:
    """Set values below `/proc/sys`, given by their path there."""
    script = "".join(f"echo {value} >/proc/sys/{path} || exit 1\n" for path, value in values.items())
    namespace.run(["sh"], text=script)


def switch_on(namespace: Namespace, offload: Offload, interfaces: Iterable[str]) -> None:
    """Switch an offload on."""
    _switch(namespace, offload, 1, interfaces)


def switch_off(namespace: Namespace, offload: Offload, interfaces: Iterable[str]) -> None:
    """Switch an offload off."""
    _switch(namespace, offload, 0, interfaces)


def _switch(namespace: Namespace, offload: Offload, value: int, interfaces: Iterable[str]) -> None:
    program = [sys.executable, "-I", "-S", "-c", _OFFLOAD_PROGRAM]
    namespace.run([*program, str(int(offload)), str(value), *interfaces])


def give_threads(namespace: Namespace, interfaces: Iterable[str]) -> bool:
    """Let kernel threads of their own receive for these interfaces; return whether the system allows it."""
    unshare = [tool("unshare"), "--mount", "--", "sh", "-c", _THREADED_SCRIPT, "sh"]
    return namespace.attempt([*unshare, *interfaces]).returncode == 0


def read_counters(namespace: Namespace) -> dict[str, InterfaceCounters]:
    """Return the counters of every interface but `lo`."""
    links = json.loads(namespace.run([tool("ip"), "-json", "-statistics", "link", "show"]))
    queues = json.loads(namespace.run([tool("tc"), "-json", "-statistics", "qdisc", "show"]) or "[]")
    counters: dict[str, InterfaceCounters] = {}
    for link in links:
        if link["ifname"] == "lo":
            continue
        counters[link["ifname"]] = {f"{way}_{what}": int(link["stats64"][way][what]) for way, what in _SHOWN}
    for queue in queues:
        # The ingress hook also counts as dropped what it handed on as a copy; only a real queue loses frames.
        if queue["kind"] == "pfifo":
            counters[queue["dev"]]["queue_dropped"] = int(queue.get("drops", 0))
    return counters
