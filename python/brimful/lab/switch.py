"""Our own OpenFlow switch, whose tables come from a file."""

from __future__ import annotations

import sys
from pathlib import Path

from brimful.errors import MeasureError, UsageError
from brimful.lab import devices
from brimful.lab.devices import ETHERNET_LEN, LEAST_PORTS, Input, Place, Settings
from brimful.lab.programs import Ending, find_own_program

_SWITCH = "brimful-switchd"
_CHECK_SEQUENCE_LEN = 4
MOST_ADDRESSES = 1 << 16
"""That it learns, where nothing else is said."""
FORWARDING = "in_port=1,actions=output:2\nin_port=2,actions=output:1\n"
"""What it does when no table is given, between two ports."""
LEARNING = "actions=NORMAL\n"
"""The same among more."""


def find_switch() -> str:
    """Return the path of the switch that was installed with this package."""
    found = find_own_program(_SWITCH)
    if found is None:
        message = f"lab:switch needs the program {_SWITCH}, which comes with brimful: reinstall brimful"
        raise MeasureError(message)
    return found


def build_switch(
    place: Place, *, table: str, threads: int, back_end: str, addresses: int, learning_rate: int
) -> Settings:
    """Let the switch pass frames between the device's ends, which are its ports 1, 2 and so on."""
    switch, programs = find_switch(), place.programs
    default = "forwarding" if place.ports == LEAST_PORTS else "learning"
    path = Path(table).absolute() if table else programs.directory / f"{default}.flows"
    if not table:
        path.write_text(FORWARDING if default == "forwarding" else LEARNING)
    elif not path.is_file():
        message = f"lab:switch: there is no file {table}: give table=FILE"
        raise UsageError(message)
    ends = devices.lay_cables(place)
    joined = [f"--port={number}={end}" for number, end in enumerate(ends, start=1)]
    longest = f"--max-frame-len={place.mtu + ETHERNET_LEN - _CHECK_SEQUENCE_LEN}"
    control = f"--control={programs.directory}/switch.sock"
    command = [switch, *joined, f"--back-end={back_end}", longest, control, f"--threads={threads}", f"--tables={path}"]
    command += [f"--addresses={addresses}", f"--learning-rate={learning_rate}"]
    programs.start(_SWITCH, command, Ending.SIGNAL).wait_for("ready:")
    details: dict[str, str | int] = {"table": table or default, "threads": threads, "back_end": back_end}
    details |= {"addresses": addresses, "learning_rate": learning_rate}
    forget = (sys.executable, "-m", "brimful", "switch", "forget", control)
    return Settings(Input.PROGRAM, 0, 0, ends, details, forget)
