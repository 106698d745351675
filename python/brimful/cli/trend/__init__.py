"""``brimful trend``: since when is it slower."""

from __future__ import annotations

import click

from brimful.cli.lazy import LazyGroup

_COMMANDS = {
    "add": ("brimful.cli.trend.add:add", "Put runs, or anyone's numbers, into a store."),
    "check": ("brimful.cli.trend.check:check", "Say what state each series is in; the exit code is a gate."),
    "replay": ("brimful.cli.trend.replay:replay", "Say what would have been reported after each version."),
    "page": ("brimful.cli.trend.page:page", "Write a site that shows since when what is slower."),
    "accept": ("brimful.cli.trend.words:accept", "Accept a change: it is as it should be."),
    "reset": ("brimful.cli.trend.words:reset", "Begin a series anew at a version."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def trend() -> None:
    """Find since when something is slower, and by how much.

    A store is one file with the history of every series: what was measured, what was said of it, and what people
    accepted. A series is one device, frame size, goal, machine and way to measure, or one name of your own.
    """
