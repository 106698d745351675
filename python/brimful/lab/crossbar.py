"""A switch of known truth for tests of congestion: a program of ours between TAPs that are the tester's ports."""

from __future__ import annotations

import sys
from pathlib import Path

from brimful.lab import links
from brimful.lab.devices import TESTER_MACS, Input, Place, Settings
from brimful.lab.programs import Ending

_PROGRAM = Path(__file__).with_name("crossbar_program.py")
_HELD_FRAMES = 8
"""That wait at a port which the program does not read: more are refused, and the sender knows."""
QUEUES = ("output", "input", "hold")


def build_crossbar(place: Place, *, queues: str, rate: int, frames: int, weight: int) -> Settings:
    """Have the program make the tester's ports, and pass frames between them."""
    tester, device, ports = place.tester, place.device, place.tester_ports
    arguments = [queues, str(rate), str(frames), str(weight), *ports]
    program = place.programs.start("crossbar", [sys.executable, "-I", "-S", str(_PROGRAM), *arguments], Ending.SIGNAL)
    program.wait_for("ready")
    room = f" txqueuelen {_HELD_FRAMES}" if queues == "hold" else ""
    links.configure(device, [f"link set dev {port}{room} netns {tester.keeper.pid}" for port in ports])
    addresses = zip(ports, TESTER_MACS, strict=False)
    links.configure(tester, [f"link set dev {port} mtu {place.mtu} address {mac}" for port, mac in addresses])
    links.silence(tester, ports)
    links.configure(tester, [f"link set dev {port} up" for port in ports])
    details: dict[str, str | int] = {"queues": queues, "rate": rate, "weight": weight}
    # Through AF_XDP a sender does not learn that a port takes no more.
    return Settings(Input.PROGRAM, frames, 0, (), details, tester_options=("--back-end=packet",))
