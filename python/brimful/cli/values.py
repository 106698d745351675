"""Values of options; what is wrong with one is said with the option's name."""

from __future__ import annotations

from pathlib import Path

import click

from brimful import units
from brimful.attempts import FailurePolicy
from brimful.errors import UsageError


def seconds(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Read a time."""
    if text is None:
        return None
    try:
        return units.parse_duration(text)
    except UsageError as error:
        raise _named(parameter, error) from error


def ratio(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Read a ratio."""
    if text is None:
        return None
    try:
        return units.parse_ratio(text)
    except UsageError as error:
        raise _named(parameter, error) from error


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
