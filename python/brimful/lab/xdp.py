"""The XDP forwarder: a program of a few instructions in the kernel, attached by `brimful-forwarder`."""

from __future__ import annotations

from dataclasses import replace

from brimful.errors import MeasureError, UsageError
from brimful.lab import devices, links
from brimful.lab.devices import ETHERNET_LEN, Place, Settings
from brimful.lab.links import Offload
from brimful.lab.programs import Ending, find_own_program

_LARGEST_MTU = 3506
"""With native XDP, drivers/net/veth.c has a frame in one page of 4 KiB."""
_FORWARDER = "brimful-forwarder"


def find_forwarder() -> str:
    """Return the path of the forwarder that was installed with this package."""
    found = find_own_program(_FORWARDER)
    if found is None:
        message = f"lab:xdp needs the program {_FORWARDER}, which comes with brimful: reinstall brimful"
        raise MeasureError(message)
    return found


def build_forwarder(place: Place, *, work: int) -> Settings:
    """Let the kernel pass frames between the ports behind the input stage."""
    if place.mtu > _LARGEST_MTU:
        message = f"lab:xdp takes frames of at most {_LARGEST_MTU + ETHERNET_LEN} bytes: send shorter ones"
        raise UsageError(message)
    forwarder = find_forwarder()
    settings = devices.build_ports(place, work=0)
    arguments = ["--work", str(work), *settings.ports]
    if not let_drivers_redirect(place, settings):
        arguments.insert(0, "--generic")
    program = place.programs.start(_FORWARDER, [forwarder, *arguments], Ending.INPUT)
    attachment = "native" if "XDP native" in program.wait_for("joined ") else "generic"
    return replace(settings, work=work, details={"attachment": attachment})


def let_drivers_redirect(place: Place, settings: Settings) -> bool:
    """Make ports take what XDP programs in their drivers redirect; say whether they do.

    The programs run in the threads of the input stage. A veth takes redirected frames only when its peer has NAPI: with
    GRO, the other end of each port has it, and what is redirected into `pb` comes out of `qb` in the same thread.
    """
    if all(port in devices.CABLES.values() for port in settings.ports):
        # Without an input stage the other ends are the tester's, and how those receive is the tester's business.
        return False
    links.switch_on(place.device, Offload.RECEIVE_COALESCING, place.queues)
    return True
