"""Stations on any number of ports: sequences of frames, and what came of them at every port (tests of switches)."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from brimful.errors import MeasureError, UsageError, one_line
from brimful.lab import Lab, links, open_lab
from brimful.lab.devices import DEFAULT_MTU, ETHERNET_LEN
from brimful.measurers.base import Description, TrialFailedError
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.tester import take_threads, tester_program

BROADCAST = "ff:ff:ff:ff:ff:ff"
LEAST_PORTS = 3
_OWN_FORGETTING = "a command of the lab"
_LONGEST_FRAME_SIZE = 2000
"""What the tester's ports of a lab can send at least, whatever the device takes."""


class FrameSequence(msgspec.Struct, frozen=True, kw_only=True):
    """What one port sends."""

    port: int
    """From 0."""
    sources: Sequence[str]
    """Ethernet addresses, in turns."""
    destinations: Sequence[str]
    frame_size: int
    """In bytes with the check sequence."""
    count: int
    rate: float
    """In frames/s."""


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What one port received of a sequence."""

    frames: int
    """Different ones."""
    copies: int = 0
    """Further copies of them."""
    shortest: int = 0
    """Bytes without check sequence; 0 where none arrived."""
    longest: int = 0
    delay_min_s: float | None = None
    delay_mean_s: float | None = None
    delay_max_s: float | None = None


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a sequence."""

    port: int
    sent: int
    received: list[Received]
    """At each port."""
    duration_s: float = 0.0
    """From the first frame to the last."""
    most_behind: int = 0
    """The most frames that were due and not yet sent, and so were sent in one burst."""
    refused: str = ""
    """Why the interface took no more."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """What came of sequences that were sent at once: a matrix, and what else there was at each port."""

    sequences: list[Sent]
    damaged: list[int]
    foreign: list[int]
    dropped: list[int]
    """Arrived, but the tester had no room for them."""


class Stations(Protocol):
    """Whatever sends sequences of frames, and counts them at every port."""

    ports: Sequence[str]
    forgets: str
    """What makes the device forget its addresses; empty where nothing does but time."""

    def describe(self) -> Description:
        """Say what tester and device are."""
        ...

    def send(self, sequences: Sequence[FrameSequence], settle_s: float) -> Exchange:
        """Send sequences at once, and wait until nothing has arrived for a while."""
        ...

    def forget(self) -> None:
        """Make the device forget its addresses."""
        ...

    def now(self) -> float:
        """Give the time in seconds."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class TesterStations:
    """Stations on ports of this machine or of a lab, by our own tester."""

    def __init__(
        self,
        program: CommandMeasurer,
        ports: Sequence[str],
        *,
        forgets: str,
        forget: Sequence[str],
        lab: Lab | None = None,
    ) -> None:
        self.ports = ports
        self.forgets = forgets
        self._program, self._forget, self._lab = program, forget, lab
        self._next_id = 1

    def describe(self) -> Description:
        """Ask the tester for its ports."""
        facts = self._asked({"op": "describe"}, 0.0)
        return Description(
            name="brimful-tester stations",
            contract="a frame counts at a port where it arrives intact, by its signature, each once",
            traffic={
                "ports": facts.get("ports", []),
                "pattern": "sequences",
                "transport": "udp",
                "ip_version": 4,
            },
            device={} if self._lab is None else self._lab.describe(),
            on_this_machine=True,
        )

    def send(self, sequences: Sequence[FrameSequence], settle_s: float) -> Exchange:
        """Send sequences at once.

        Raises
        ------
        MeasureError
            When a port fails.
        TrialFailedError
            When the reply is none.
        """
        self._next_id += 1
        request = {"op": "send", "id": self._next_id, "settle_s": settle_s, "sequences": msgspec.to_builtins(sequences)}
        lasts_s = max(one.count / one.rate for one in sequences) + settle_s
        try:
            return msgspec.convert(self._asked(request, lasts_s), Exchange)
        except msgspec.ValidationError as error:
            message = f"brimful-tester stations: {error}"
            raise TrialFailedError(message) from error

    def forget(self) -> None:
        """Run what makes the device forget.

        Raises
        ------
        MeasureError
            When it fails.
        """
        done = subprocess.run(self._forget, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = one_line(done.stderr.strip() or f"exit code {done.returncode}")
            message = f"the device does not forget its addresses by {self.forgets}: {said}"
            raise MeasureError(message)

    def now(self) -> float:
        """Give the time of the wall clock."""
        return self._program.now()

    def wait(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def close(self) -> None:
        """End the tester, then the lab."""
        try:
            self._program.close()
        finally:
            if self._lab is not None:
                self._lab.close()

    def _asked(self, request: dict[str, Any], lasts_s: float) -> dict[str, Any]:
        reply = self._program.ask(request, lasts_s)
        if "error" in reply:
            message = f"brimful-tester stations: {one_line(reply['error'])}"
            raise MeasureError(message)
        return reply


def port_count(spec: str) -> int:
    """Give how many ports the text of ``--measurer`` names.

    >>> port_count("tester:eth1,eth2,eth3"), port_count("lab:bridge,ports=4"), port_count("lab:bridge")
    (3, 4, 2)
    """
    kind, _, rest = spec.partition(":")
    if kind == "tester":
        return len(take_threads(rest)[0].split(","))
    found = re.search(r",ports=([0-9]{1,3})(?:,|$)", rest)
    return int(found[1]) if found else LEAST_PORTS - 1


def open_stations(spec: str, *, flush_command: str | None, timeout_s: float, frame_size: int = 0) -> TesterStations:
    """Open the ports that ``lab:DEVICE,ports=N`` or ``tester:PORT,PORT,PORT`` names.

    Parameters
    ----------
    spec
        The text of ``--measurer``.
    flush_command
        What makes the device forget its addresses; run where the device is.
    timeout_s
        How much longer than its frames take a reply may take.
    frame_size
        Of frames that the device of a lab is to take, in bytes, where they are longer than usual.

    Raises
    ------
    UsageError
        When it names fewer than three ports, or something else.
    """
    kind, _, rest = spec.partition(":")
    # One thread sends and receives all sequences.
    rest, _ = take_threads(rest)
    if kind == "lab":
        lab = open_lab(rest, mtu=max(DEFAULT_MTU, frame_size - ETHERNET_LEN))
        return stations_in(lab, rest, flush_command=flush_command, timeout_s=timeout_s)
    ports = rest.split(",")
    if kind != "tester" or len(ports) < LEAST_PORTS or not all(ports):
        message = f"measurer {spec!r}: name three ports or more, like tester:eth1,eth2,eth3 or lab:bridge,ports=3"
        raise UsageError(message)
    command = [tester_program(), "stations", *(word for port in ports for word in ("--port", port))]
    forget = ["sh", "-c", flush_command or ":"]
    return TesterStations(_program(command, timeout_s), ports, forgets=flush_command or "", forget=forget)


def stations_in(lab: Lab, device: str, *, flush_command: str | None, timeout_s: float) -> TesterStations:
    """Open the tester's ports of a lab, which closes with them.

    Raises
    ------
    UsageError
        When there are fewer than three.
    """
    ports = lab.ports
    try:
        if len(ports) < LEAST_PORTS:
            message = f"measurer 'lab:{device}': a switch is tested at three ports or more: write lab:{device},ports=3"
            raise UsageError(message)
        # Frames that are too long for the device must leave the tester.
        mtu = max(_LONGEST_FRAME_SIZE - ETHERNET_LEN, lab.mtu)
        links.configure(lab.tester, [f"link set dev {port} mtu {mtu}" for port in ports])

        command = lab.command([tester_program(), "stations", *(word for port in ports for word in ("--port", port))])
        forgets, forget = _OWN_FORGETTING if lab.forget_command else "", lab.forget_command
        if flush_command:
            forgets, forget = flush_command, lab.device_command(["sh", "-c", flush_command])
        return TesterStations(_program(command, timeout_s), ports, forgets=forgets, forget=forget, lab=lab)
    except BaseException:
        lab.close()
        raise


def _program(command: list[str], timeout_s: float) -> CommandMeasurer:
    return CommandMeasurer(command, timeout_s=timeout_s, name="brimful-tester", on_this_machine=True)
