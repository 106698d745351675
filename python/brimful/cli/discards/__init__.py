"""``brimful discards``: what switches dropped, and whom it hurt."""

from __future__ import annotations

import click

from brimful.cli.lazy import LazyGroup

_COMMANDS = {
    "ingest": ("brimful.cli.discards.ingest:ingest", "Put telemetry of switches into a store."),
    "tests": ("brimful.cli.discards.tests:tests", "Put speed tests into a store."),
    "report": ("brimful.cli.discards.report:report", "Figures and findings of a store."),
    "affected": ("brimful.cli.discards.affected:affected", "List the speed tests that discards overlapped."),
    "synth": ("brimful.cli.discards.synth:synth", "Generate telemetry and speed tests with known properties."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def discards() -> None:
    """Show what switches dropped, and which speed tests were affected.

    Telemetry and speed tests are put into a store, a directory of Parquet files; reports are made from it.
    """
