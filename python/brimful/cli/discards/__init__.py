"""``brimful discards``: from switch telemetry and speed tests to what was dropped, and whom it hurt."""

from __future__ import annotations

import click

from brimful.cli.lazy import LazyGroup

_COMMANDS = {
    "ingest": ("brimful.cli.discards.ingest:ingest", "Read switch telemetry into a store."),
    "tests": ("brimful.cli.discards.tests:tests", "Read results of speed tests into a store."),
    "report": ("brimful.cli.discards.report:report", "Findings, figures and tables of a store."),
    "affected": ("brimful.cli.discards.affected:affected", "List the tests that discards overlapped."),
    "synth": ("brimful.cli.discards.synth:synth", "Make telemetry and tests whose truth is known."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def discards() -> None:
    """Say what switches dropped, and whom it hurt, from their counters and from speed tests."""
