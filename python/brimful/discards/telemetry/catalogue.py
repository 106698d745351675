"""The kinds of telemetry there are: one row each, and the first that recognises a file reads it.

A new one is a module of its own with a function that reads it, and a row here. Functions are named, not imported: only
the loaders of the files that there are get loaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from brimful.discards import archives
from brimful.discards.compression import bare_name
from brimful.discards.telemetry.source import UnreadableError


class Loader(msgspec.Struct, frozen=True, kw_only=True):
    """One row."""

    name: str
    endings: tuple[str, ...]
    """How the names of its files end, compressed or not."""
    recognises: str | None = None
    """``module:function``, ``(path) -> bool``: whether it reads a file of such a name; without it, it reads all."""
    reader: str
    """``module:function``, ``(Source) -> Iterator[Decoded | Piece | Settled | Unread]``; raises `UnreadableError`."""
    doubt: str | None = None
    """``module:function``, ``(path, zone, ceilings) -> str | None``: why --counters or --differences must be said."""
    hears: tuple[str, ...] = ()
    """Which options say how it reads: ``counters``, ``timezone``."""


_DOCUMENTS = (".json", ".jsonl", ".ndjson")
_CSV = (".csv", ".tsv")

LOADERS: tuple[Loader, ...] = (
    Loader(
        name="DISCO",
        endings=(*archives.LEAVES, *archives.ARCHIVES),
        reader="brimful.discards.telemetry.disco:read_disco",
    ),
    Loader(
        name="agents",
        endings=(*_CSV, *_DOCUMENTS),
        recognises="brimful.discards.telemetry.agents:recognises",
        reader="brimful.discards.telemetry.agents:read_agents",
        hears=("timezone",),
    ),
    Loader(
        name="line protocol",
        endings=(".lp", ".influx"),
        reader="brimful.discards.telemetry.agents:read_points",
    ),
    Loader(
        name="OpenMetrics",
        endings=(".prom", ".openmetrics"),
        reader="brimful.discards.telemetry.openmetrics:read_text",
        hears=("timezone",),
    ),
    Loader(
        name="tables",
        endings=(*_CSV, ".parquet"),
        reader="brimful.discards.telemetry.tables:read_table",
        doubt="brimful.discards.telemetry.tables:doubt_in",
        hears=("counters", "timezone"),
    ),
    Loader(
        name="tables in JSON",
        endings=_DOCUMENTS,
        recognises="brimful.discards.telemetry.warehouse:recognises_flat",
        reader="brimful.discards.telemetry.tables:read_table",
        doubt="brimful.discards.telemetry.tables:doubt_in",
        hears=("counters", "timezone"),
    ),
    Loader(
        name="M-Lab's rows",
        endings=_DOCUMENTS,
        recognises="brimful.discards.telemetry.warehouse:recognises",
        reader="brimful.discards.telemetry.warehouse:read_rows",
    ),
    Loader(
        name="Prometheus",
        endings=_DOCUMENTS,
        reader="brimful.discards.telemetry.prometheus:read_answer",
    ),
)


def endings() -> list[str]:
    """Give how the names of files end that any loader reads."""
    return list(dict.fromkeys(ending for loader in LOADERS for ending in loader.endings))


def loader_of(path: Path) -> Loader:
    """Give the first loader that recognises a file, whose name ends as it should.

    Raises
    ------
    UnreadableError
        When none does.
    """
    for loader in LOADERS:
        if bare_name(path.name).endswith(loader.endings) and (
            loader.recognises is None or named(loader.recognises)(path)
        ):
            return loader
    message = "holds nothing that a file of such a name may hold"
    raise UnreadableError(message)


def named(function: str) -> Callable[..., Any]:
    """Import a function that a row names."""
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found
