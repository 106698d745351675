"""Options of ``brimful search --find burst``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from brimful.cli import values
from brimful.errors import UsageError

_OPTIONS = (
    click.option(
        "--throughput",
        metavar="LOAD|RUN",
        help="Do not search for the throughput first: it is this, or what this run found.",
    ),
    click.option(
        "--tests",
        type=click.IntRange(1, 10_000),
        default=10,
        show_default=True,
        help="Complete searches to average; RFC 2544 recommends 50.",
    ),
    click.option(
        "--longest",
        metavar="FRAMES|TIME",
        default="30s",
        show_default=True,
        help="The longest burst to try, in frames or as the time it takes to send.",
    ),
    click.option(
        "--step",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Try multiples of so many frames.",
    ),
    click.option(
        "--attempts",
        type=click.IntRange(1, 100),
        default=1,
        show_default=True,
        help="A burst counts as lossy when so many in a row lost frames (loss verification of ETSI TST 009).",
    ),
    click.option(
        "--rest",
        metavar="TIME",
        callback=values.seconds,
        default="2s",
        show_default=True,
        help="Silence after each burst, at least; RFC 9004 asks for 2 s.",
    ),
)
_NAMES = ("throughput", "tests", "longest", "step", "attempts", "rest")
_OF_LOADS = ("budget", "warm_up", "assertions", "junit", "sizes", "repeats", "no_shared_guesses")
"""What only a search for loads has."""


def burst_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def check_burst_options(context: click.Context) -> None:
    """Refuse options that what is to be found does not have.

    Raises
    ------
    UsageError
        Naming the option.
    """
    find = context.params["find"]
    for name in _OF_LOADS if find == "burst" else _NAMES:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next(parameter.opts[0] for parameter in context.command.params if parameter.name == name)
            message = f"{option}: is no option of --find {find}; leave it out"
            raise UsageError(message)
    if find == "burst" and len(context.params["measurers"]) > 1:
        message = "--find burst: measures one measurer a run; give one --measurer"
        raise UsageError(message)
