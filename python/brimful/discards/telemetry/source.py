"""What the reader of a source of telemetry gets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from brimful.discards.compression import Readable
from brimful.discards.telemetry.rows import Rows
from brimful.discards.telemetry.seen import Seen


class UnreadableError(Exception):
    """A file is not what its name says, from somewhere on."""


@dataclass(frozen=True)
class Reading:
    """How to read sources."""

    latest_s: float = math.inf
    """No sample can be after this (Unix time)."""
    counters: bool | None = None
    """Generic tables hold counters; or what was counted since the row before; or it was not said."""
    zone: str | None = None
    """Of times that have none, like ``Europe/Berlin``; without it, UTC."""


AS_IT_IS = Reading()
"""Nothing was said."""


@dataclass(frozen=True)
class Source:
    """A file, and how to read it."""

    path: Path
    stream: Readable
    """Its content, for readers that go through it once: what is read of it is shown as progress."""
    reading: Reading
    seen: Seen
    """Series of counters that the store has."""
    rows_between: Callable[[tuple[str, str], int, int], Rows]
    """Gives the rows that the store has of a port from one day to another."""


class Settled:
    """Given by a reader that goes on once what was read before is in the store."""
