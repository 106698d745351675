"""Values of options; what is wrong with one is said with the option's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from brimful import units
from brimful.attempts import ON_ERROR, ON_INVALID, FailurePolicy
from brimful.errors import UsageError

Reader = Callable[[click.Context, click.Parameter, str | None], float | None]
Command = Callable[..., Any]


def policy(context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Check what to do about a failure; the record keeps the text."""
    try:
        FailurePolicy.parse(text)
    except UsageError as error:
        raise _named(parameter, error) from error
    return text


def directory(context: click.Context, parameter: click.Parameter, text: str | None) -> Path | None:
    """Read the name of a directory: an empty one would be the current directory, which nobody asked for."""
    if text == "":
        message = f"{parameter.opts[0]} '': names no directory; leave it out for a new one"
        raise UsageError(message)
    return None if text is None else Path(text)


def _named(parameter: click.Parameter, error: UsageError) -> UsageError:
    return UsageError(f"{parameter.opts[0]}: {error}")


def _reader(parse: Callable[[str], float]) -> Reader:
    def read(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
        if text is None:
            return None
        try:
            return parse(text)
        except UsageError as error:
            raise _named(parameter, error) from error

    return read


seconds = _reader(units.parse_duration)
ratio = _reader(units.parse_ratio)


def failure_options(policies: str) -> Callable[[Command], Command]:
    """Add what to do about trials that give nothing to count, and when one is given up; policies is what is allowed."""
    options = [
        click.option(
            "--on-invalid",
            metavar="POLICY",
            callback=policy,
            default=ON_INVALID,
            show_default=True,
            help=f"A spoiled trial: {policies}.",
        ),
        click.option(
            "--on-error",
            metavar="POLICY",
            callback=policy,
            default=ON_ERROR,
            show_default=True,
            help=f"A crash, time-out or bad reply: {policies}.",
        ),
        click.option(
            "--timeout",
            metavar="TIME",
            callback=seconds,
            default="30s",
            show_default=True,
            help="How much longer than a trial its reply may take.",
        ),
    ]

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add
