"""The bare wire beside a device: what measures the tester's own delay."""

from __future__ import annotations

from collections.abc import Sequence

NONE = "none"
_LAB = "lab:"
_LAB_WIRE = "lab:wire"
_FAULT = "--fault"


def wire_of(measurer: str, asked: str | None, arguments: Sequence[str]) -> str | None:
    """Give the measurer of the bare wire beside a device, or the path of a run over it; null: there is none.

    >>> wire_of("lab:bridge", None, []), wire_of("tester:eth1,eth2", None, []), wire_of("lab:bridge", "none", [])
    ('lab:wire', None, None)
    """
    if asked is not None:
        return None if asked == NONE else asked
    if not measurer.startswith(_LAB):
        return None
    is_wire = measurer == _LAB_WIRE and not _has_fault(arguments)
    return None if is_wire else _LAB_WIRE


def wire_arguments(arguments: Sequence[str]) -> list[str]:
    """Give the tester's options for the bare wire: all but faults, which stand for a device.

    >>> wire_arguments(["--flows=2", "--fault=send:delay=50us", "--fault", "send:drop=0.1"])
    ['--flows=2']
    """
    kept, skip = [], False
    for word in arguments:
        is_fault = word == _FAULT or word.startswith(f"{_FAULT}=")
        if not is_fault and not skip:
            kept.append(word)
        skip = word == _FAULT
    return kept


def _has_fault(arguments: Sequence[str]) -> bool:
    return len(wire_arguments(arguments)) < len(arguments)
