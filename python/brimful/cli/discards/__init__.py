"""``brimful discards``: what a switch dropped, and whom it hurt."""

from __future__ import annotations

import click

from brimful.cli.lazy import LazyGroup

_COMMANDS = {
    "ingest": ("brimful.cli.discards.ingest:ingest", "Telemetry of switches into a store."),
    "tests": ("brimful.cli.discards.tests:tests", "Results of speed tests into a store."),
    "report": ("brimful.cli.discards.report:report", "What the switches dropped, and what users saw of it."),
    "affected": ("brimful.cli.discards.affected:affected", "The tests during which a switch discarded packets."),
    "synth": ("brimful.cli.discards.synth:synth", "Made-up telemetry and tests, with the truth beside them."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def discards() -> None:
    """Find out when a switch discarded packets, and which speed tests that touched."""
