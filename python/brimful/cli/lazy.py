"""Groups of commands whose modules are imported when they are called."""

from __future__ import annotations

import importlib

import click


class ReaderGoneError(Exception):
    """What reads the output has ended: click would make exit code 1 of it, which is that of a regression."""


class LazyGroup(click.Group):
    """Knows its commands by name, place (``module:attribute``) and help line, without importing them."""

    def __init__(self, *args: object, places: dict[str, tuple[str, str]] | None = None, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.places = places or {}

    def list_commands(self, context: click.Context) -> list[str]:
        """Give the names in the order in which they are shown."""
        return list(self.places)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in self.places:
            return None
        module, _, attribute = self.places[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Call a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error
        except KeyboardInterrupt as error:
            raise click.Abort from error  # click would write an empty line first

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their help lines."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.places.items()])
