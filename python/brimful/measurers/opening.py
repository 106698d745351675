"""From the text of ``--measurer`` to a measurer."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from brimful.errors import UsageError
from brimful.measurers.base import Measurer

KINDS = ("sim", "lab", "tester", "trex", "iperf3", "cmd", "replay")
"""What stands before the colon."""
FORMS = (
    "sim:KIND[,key=value...], lab:DEVICE[,key=value...], tester:PORT,PORT, disk:PATH[,key=value...],"
    " trex:HOST[,key=value...], iperf3:SERVER[,key=value...], cmd:PROGRAM ARGUMENTS or replay:RUN"
)
"""What can be written after ``--measurer``."""


def is_disk(spec: str) -> bool:
    """Say whether the text of ``--measurer`` names a disk.

    >>> is_disk("disk:/dev/sda"), is_disk("lab:disk,limit=5000iops"), is_disk("lab:bridge")
    (True, True, False)
    """
    kind, _, rest = spec.partition(":")
    return kind == "disk" or (kind == "lab" and rest.partition(",")[0] == "disk")


def open_measurer(
    spec: str, *, timeout_s: float, tester_arguments: list[str], ip: int = 4, detail: bool = False
) -> Measurer:
    """Open what ``spec`` names.

    Parameters
    ----------
    spec
        See `FORMS`.
    timeout_s
        How much longer than a trial a program's reply may take.
    tester_arguments
        Traffic options for our own tester.
    ip
        Internet protocol version of the test traffic: what a lab's router routes.
    detail
        Whether programs are asked for all that they know of the delay in each trial: batches and histograms.

    Raises
    ------
    UsageError
        When the text names nothing that can be opened.
    """
    kind, colon, rest = spec.partition(":")
    if not colon or not rest:
        message = f"measurer {spec!r} is not one of {FORMS}"
        raise UsageError(message)
    if (kind not in {"lab", "tester"} or is_disk(spec)) and any(
        argument.startswith("--profile=") for argument in tester_arguments
    ):
        message = f"--profile: only lab: and tester: send what a profile says, {kind}: does not; leave it out"
        raise UsageError(message)
    own: dict[str, Any] = {"timeout_s": timeout_s}
    if kind == "sim":
        from brimful.measurers.simulated import SimulatedMeasurer

        return SimulatedMeasurer(rest)
    if kind == "cmd":
        from brimful.measurers.command import CommandMeasurer

        return CommandMeasurer(_split(rest), detail=detail, **own)
    if kind == "replay":
        from brimful.measurers.replay import ReplayMeasurer

        return ReplayMeasurer(Path(rest))
    if is_disk(spec):
        from brimful.measurers.disk import LabDiskMeasurer, open_disk

        return LabDiskMeasurer(rest, detail=detail, **own) if kind == "lab" else open_disk(rest, detail=detail, **own)
    if kind == "lab":
        from brimful.measurers.tester import LabMeasurer

        return LabMeasurer(rest, tester_arguments, ip=ip, detail=detail, **own)
    if kind == "tester":
        from brimful.measurers.tester import tester_on_ports

        return tester_on_ports(rest.split(","), tester_arguments, detail=detail, **own)
    if kind == "trex":
        from brimful.measurers.trex import open_trex

        return open_trex(rest, tester_arguments, ip=ip, **own)
    if kind == "iperf3":
        from brimful.measurers.iperf3 import open_iperf3

        return open_iperf3(rest, tester_arguments, ip=ip, **own)
    message = f"measurer {spec!r}: {kind!r} is unknown; write {FORMS}"
    raise UsageError(message)


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        message = f"measurer 'cmd:{command}': {str(error).lower()}; check the quotes"
        raise UsageError(message) from error
    if not words:
        message = "measurer 'cmd:' names no program"
        raise UsageError(message)
    return words
