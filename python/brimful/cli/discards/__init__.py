"""``brimful discards``: what switches dropped, and whom it hurt."""

from __future__ import annotations

import click

from brimful.cli.lazy import LazyGroup
from brimful.errors import UsageError

_COMMANDS = {
    "ingest": ("brimful.cli.discards.ingest:ingest", "Put telemetry of switches into a store."),
    "tests": ("brimful.cli.discards.tests:tests", "Put speed tests into a store."),
    "report": ("brimful.cli.discards.report:report", "Figures and findings of a store."),
    "affected": ("brimful.cli.discards.affected:affected", "List the speed tests that discards overlapped."),
    "synth": ("brimful.cli.discards.synth:synth", "Generate telemetry and speed tests with known properties."),
}


class _OptionalGroup(LazyGroup):
    """Says what is to be installed where the extra is not; help needs none of it."""

    def invoke(self, ctx: click.Context) -> object:
        """Call a command."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if str(error.name).startswith("brimful"):
                raise
            message = f"discards need {error.name}; install it with: pip install 'brimful[discards]'"
            raise UsageError(message) from error


@click.group(cls=_OptionalGroup, places=_COMMANDS)
def discards() -> None:
    """Show what switches dropped, and which speed tests were affected.

    Telemetry and speed tests are put into a store, a directory of Parquet files; reports are made from it.
    """
