"""The kinds of measurers there are: one row each.

A new one is a module of its own with a function that opens it, and a row here. Functions are named, not imported: a
command loads the measurer that it opens and no other.
"""

from __future__ import annotations

import msgspec

from brimful.errors import UsageError, did_you_mean

SIZE = "{size}"
"""Stands in the text of ``--measurer`` where each size of frames or IOs belongs."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One row."""

    name: str
    """What stands before the colon of ``--measurer``; ``lab:disk`` is a device of ``lab:`` with a row of its own."""
    form: str
    """What can be written, in help texts and errors."""
    opener: str
    """``module:function``, ``(rest, Settings) -> Measurer``; rest is what stands behind the colon."""
    hears_traffic: bool = False
    """Whether options say what it sends."""
    sends_profiles: bool = False
    """Whether it sends what a traffic profile says."""
    hears_size: bool = True
    """Whether a campaign may give it a size of frames or IOs."""
    is_disk: bool = False


KINDS: tuple[Kind, ...] = (
    Kind(name="sim", form="sim:KIND[,key=value...]", opener="brimful.measurers.simulated:open_simulated"),
    Kind(
        name="lab:disk",
        form="lab:disk[,key=value...]",
        opener="brimful.measurers.disk:open_lab_disk",
        is_disk=True,
    ),
    Kind(
        name="lab",
        form="lab:DEVICE[,key=value...]",
        opener="brimful.measurers.tester:open_lab_measurer",
        hears_traffic=True,
        sends_profiles=True,
    ),
    Kind(
        name="tester",
        form="tester:PORT,PORT[,PORT...][,senders=N][,receivers=N]",
        opener="brimful.measurers.tester:tester_on_ports",
        hears_traffic=True,
        sends_profiles=True,
    ),
    Kind(name="disk", form="disk:PATH[,key=value...]", opener="brimful.measurers.disk:open_disk", is_disk=True),
    Kind(
        name="trex",
        form="trex:HOST[,key=value...]",
        opener="brimful.measurers.trex:open_trex",
        hears_traffic=True,
    ),
    Kind(
        name="iperf3",
        form="iperf3:SERVER[,key=value...]",
        opener="brimful.measurers.iperf3:open_iperf3",
        hears_traffic=True,
    ),
    Kind(
        name="cmd",
        form="cmd:PROGRAM ARGUMENTS",
        opener="brimful.measurers.command:open_command",
        hears_size=False,
    ),
    Kind(name="replay", form="replay:RUN", opener="brimful.measurers.replay:open_replay", hears_size=False),
)

FORMS = f"{', '.join(kind.form for kind in KINDS[:-1])} or {KINDS[-1].form}"
"""What can be written after ``--measurer``."""


def is_disk(spec: str) -> bool:
    """Say whether the text of ``--measurer`` names a disk; that of a function in Python names no kind at all.

    >>> is_disk("disk:/dev/sda"), is_disk("lab:disk,limit=5000iops"), is_disk("lab:bridge"), is_disk("my_function")
    (True, True, False, False)
    """
    kind = _find(spec)
    return kind is not None and kind.is_disk


def kind_of(spec: str) -> Kind:
    """Give the row of the text of ``--measurer``.

    >>> kind_of("lab:disk,limit=5000iops").name, kind_of("lab:bridge").name
    ('lab:disk', 'lab')

    Raises
    ------
    UsageError
        When there is no such kind.
    """
    name, colon, rest = spec.partition(":")
    if not colon or not rest:
        message = f"measurer {spec!r} is not one of {FORMS}"
        raise UsageError(message)
    kind = _find(spec)
    if kind is None:
        names = [kind.name for kind in KINDS]
        message = f"measurer {spec!r}: {name!r} is unknown{did_you_mean(name, names)}; write {FORMS}"
        raise UsageError(message)
    return kind


def _find(spec: str) -> Kind | None:
    name, _, rest = spec.partition(":")
    names = (f"{name}:{rest.partition(',')[0]}", name)
    return next((kind for kind in KINDS if kind.name in names), None)
