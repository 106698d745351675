"""Test beds by name: ``-m @NAME`` stands for what ``brimful.toml`` says of the bed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from brimful.errors import UsageError, did_you_mean

FILE = Path("brimful.toml")
"""Read in the current directory."""
_MEASURER = ("-m", "--measurer")


class BedCommand(click.Command):
    """A command whose ``--measurer`` may name a bed; options on the command line override those of the bed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options, those of a bed first."""
        return super().parse_args(ctx, with_bed(args, self.params) if "@" in "".join(args) else args)


def with_bed(args: Sequence[str], parameters: Sequence[click.Parameter]) -> list[str]:
    """Put what a bed says in the place of ``-m @NAME``.

    Raises
    ------
    UsageError
        When the bed is not in the file, says something twice or what no option is.
    """
    args, names = list(args), []
    for place, spec in _specs(args):
        if spec.startswith("@"):
            names.append(spec[1:])
            args[place] = args[place].removesuffix(spec) + _bed(spec[1:])["measurer"]
    if not names:
        return args
    first, *others = [{key: value for key, value in _bed(name).items() if key != "measurer"} for name in names]
    if any(other != first for other in others):
        message = f"{FILE}: the beds {', '.join(names)} do not have the same options: measure them one by one"
        raise UsageError(message)
    given = {word.partition("=")[0] for word in args}
    told = [word for key, value in first.items() for word in _words(names[0], key, value, parameters)]
    return [word for word in told if word.partition("=")[0] not in given] + args


def _specs(args: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Give place and text of each measurer."""
    for place, word in enumerate(args):
        if word in _MEASURER and place + 1 < len(args):
            yield place + 1, args[place + 1]
        elif word.startswith("--measurer="):
            yield place, word.partition("=")[2]
        elif word.startswith("-m") and word not in _MEASURER and not word.startswith("--"):
            yield place, word[2:]


def _bed(name: str) -> dict[str, Any]:
    beds = read_beds()
    if name not in beds:
        known = ", ".join(beds) or "none"
        message = f"measurer '@{name}': {FILE} has no bed of that name{did_you_mean(name, beds)}; it has: {known}"
        raise UsageError(message)
    return beds[name]


def read_beds() -> dict[str, dict[str, Any]]:
    """Give the beds of the file by name.

    Raises
    ------
    UsageError
        When there is no such file, or it cannot be read.
    """
    try:
        content = tomllib.loads(FILE.read_text())
    except FileNotFoundError:
        message = f"a measurer @NAME is a bed of {FILE}, and there is no such file in this directory"
        raise UsageError(message) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"{FILE}: cannot read: {error}"
        raise UsageError(message) from error
    beds = content.get("bed", {})
    unknown = [key for key in content if key != "bed"]
    if unknown or not isinstance(beds, dict):
        message = f"{FILE}: {(unknown or ['bed'])[0]}: beds are tables [bed.NAME]"
        raise UsageError(message)
    for name, bed in beds.items():
        if not isinstance(bed, dict) or not isinstance(bed.get("measurer"), str):
            message = f'{FILE}: bed {name!r} has no measurer; write measurer = "tester:eth1,eth2"'
            raise UsageError(message)
    return beds


def _words(bed: str, key: str, value: Any, parameters: Sequence[click.Parameter]) -> Iterator[str]:  # noqa: ANN401
    """Write a key of a bed as options."""
    option = next((found for found in parameters if f"--{key}" in found.opts), None)
    if not isinstance(option, click.Option):
        known = [name.removeprefix("--") for found in parameters for name in found.opts]
        message = f"{FILE}: bed {bed!r}: {key!r} is no option of this command{did_you_mean(key, known)}; see --help"
        raise UsageError(message)
    if option.is_flag:
        if not isinstance(value, bool):
            message = f"{FILE}: bed {bed!r}: {key} is true or false"
            raise UsageError(message)
        yield from [f"--{key}"] if value else []
        return
    if isinstance(value, dict):
        value = [f"{name}={text}" for name, text in value.items()]
    values = value if isinstance(value, list) else [value]
    if len(values) > 1 and not option.multiple:
        message = f"{FILE}: bed {bed!r}: {key} takes one value"
        raise UsageError(message)
    for one in values:
        if isinstance(one, bool) or not isinstance(one, (str, int, float)):
            message = f"{FILE}: bed {bed!r}: {key} is a text or a number"
            raise UsageError(message)
        yield f"--{key}={one}"
