"""What commands on a store share."""

from __future__ import annotations

import datetime
import fnmatch
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from brimful.cli import values
from brimful.cli.checked import FiniteRange, NamedPath
from brimful.cli.option_lists import in_order
from brimful.errors import UsageError, one_line
from brimful.trend.judgement import Settings
from brimful.trend.store import Store

Command = Callable[..., Any]

store_argument = click.argument("store", type=NamedPath(dir_okay=False, path_type=Path), metavar="STORE")
series_option = click.option(
    "--series",
    "patterns",
    multiple=True,
    metavar="NAME",
    help="Only these series: a name, or a pattern such as 'lab:bridge 64 *'. May be repeated.",
)


def settings_options(command: Command) -> Command:
    """Add how series are judged."""
    return in_order(
        click.option(
            "--tolerance", type=values.SMALL_RATIO, default="1%", help="Relative change that does not matter."
        ),
        click.option(
            "--false-alarms",
            type=FiniteRange(min=0, min_open=True, max=1e6),
            default=Settings().false_alarms,
            metavar="NUMBER",
            help="Changes that a check of all series may report falsely, on average.",
        ),
    )(command)


def chosen(store: Store, patterns: Sequence[str]) -> frozenset[int] | None:
    """Give the ids of the series that patterns name; null: of all, as there are no patterns.

    Raises
    ------
    UsageError
        When a pattern names none.
    """
    if not patterns:
        return None
    names = store.names()
    found: set[int] = set()
    for pattern in patterns:
        # A name may have characters of patterns in it.
        ids = {id for id, name in names.items() if name == pattern or fnmatch.fnmatchcase(name, pattern)}
        if not ids:
            message = f"--series {one_line(pattern)!r}: {store.path} has no such series; brimful trend check lists them"
            raise UsageError(message)
        found |= ids
    return frozenset(found)


def now() -> datetime.datetime:
    """Give the time of day in UTC."""
    return datetime.datetime.now(datetime.UTC)
