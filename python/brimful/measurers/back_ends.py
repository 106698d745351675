"""Which ways into the kernel the tester can take on the interfaces of this machine."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import msgspec

from brimful.errors import MeasureError
from brimful.measurers.tester import tester_program

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATIENCE_S = 60


class BackEnd(msgspec.Struct, frozen=True):
    """One way into the kernel, on one interface."""

    name: str
    works: bool
    obstacle: str | None
    """Why it does not work, and what would help."""
    zero_copy: bool = False
    """Whether the card itself puts frames where the tester reads them (AF_XDP)."""
    is_taken: bool = False
    """Whether it does not work because another program has the interface."""


class Interface(msgspec.Struct, frozen=True):
    """An interface and the ways through it."""

    interface: str
    back_ends: list[BackEnd]
    used_for: str | None = None
    """What somebody uses it for, in words that follow its name; the tester then takes it with ``--force`` only."""


def list_back_ends(interfaces: Sequence[str], *, force: bool = True) -> list[Interface]:
    """Try every back end on these interfaces, or carefully on all there are.

    Parameters
    ----------
    interfaces
        Their names; none: all of this network namespace.
    force
        Whether to try on the named ones too what interrupts their traffic, where they are in use.

    Raises
    ------
    UsageError
        When the tester is not installed.
    MeasureError
        When it does not say.
    """
    ports = [word for name in interfaces for word in ("--port", name)]
    command = [tester_program(), "--list-back-ends", *ports, *(["--force"] if interfaces and force else [])]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        message = f"brimful-tester --list-back-ends did not end within {_PATIENCE_S} s"
        raise MeasureError(message) from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        message = lines[-1] if lines else f"brimful-tester --list-back-ends ended with {done.returncode}"
        raise MeasureError(message)
    try:
        return [msgspec.json.decode(line, type=Interface) for line in done.stdout.splitlines()]
    except msgspec.DecodeError as error:
        message = f"brimful-tester --list-back-ends: not understood: {error}"
        raise MeasureError(message) from None
