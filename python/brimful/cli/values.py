"""Values of options; what is wrong with one is said with the option's name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from brimful import units
from brimful.cli.beds import read_beds
from brimful.cli.option_lists import in_order
from brimful.errors import UsageError, did_you_mean
from brimful.policies import ON_ERROR, ON_INVALID, FailurePolicy
from brimful.runs import HOME, LATEST, named_run, run_directories

Command = Callable[..., Any]


class RunType(click.ParamType[Path]):
    """A run on the command line: its directory, its record, or `latest`."""

    name = "run"

    def __init__(self, *, exists: bool = True) -> None:
        self._exists = exists

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ANN401
        """Give the path, which exists where that was asked for."""
        path = named_run(Path(value))
        if self._exists and not path.exists():
            meant = did_you_mean(str(path), self._known())
            self.fail(f"there is no run {str(path)!r}{meant}; `brimful runs` lists those here", param, ctx)
        return path

    def _known(self) -> list[str]:
        """Give the runs here, newest first."""
        return [LATEST, *map(str, run_directories(HOME))] if HOME.is_dir() else []

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the runs here, newest first, and files."""
        items = [CompletionItem(name) for name in self._known() if name.startswith(incomplete)]
        return [*items, CompletionItem(incomplete, type="file")]


RUN = RunType()


class MeasurerType(click.ParamType[str]):
    """What to measure with, as text; shells complete its beginning, devices of the lab, simulated systems and beds."""

    name = "measurer"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer what goes on from what was typed."""
        from brimful import _core
        from brimful.lab.catalogue import DEVICES
        from brimful.measurers.catalogue import KINDS

        offered = [kind.name if kind.is_disk and ":" in kind.name else f"{kind.name}:" for kind in KINDS]
        offered += [f"lab:{device.value}" for device in DEVICES]
        offered += [f"sim:{kind}" for kind, *_ in _core.simulator_kinds()]
        with contextlib.suppress(UsageError):
            offered += [f"@{name}" for name in read_beds()]
        return [CompletionItem(text) for text in offered if text.startswith(incomplete)]


MEASURER = MeasurerType()


def policy(context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Check what to do about a failure; the record keeps the text."""
    try:
        FailurePolicy.parse(text)
    except UsageError as error:
        raise _named(parameter, error) from error
    return text


def directory(context: click.Context, parameter: click.Parameter, text: str | None) -> Path | None:
    """Read the name of a directory: an empty one would be the current directory, which was not asked for."""
    if text == "":
        message = f"{parameter.opts[0]} '': names no directory; leave it out for a new one"
        raise UsageError(message)
    return None if text is None else Path(text)


def _named(parameter: click.Parameter | None, error: UsageError) -> UsageError:
    return UsageError(f"{parameter.opts[0]}: {error}" if parameter is not None else str(error))


class Quantity(click.ParamType[float]):
    """A number with a unit, as `units` reads it."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Read the text of an option, whose name is in what is wrong with it."""
        try:
            return value if isinstance(value, float) else self._parse(value)
        except UsageError as error:
            raise _named(param, error) from error


SECONDS = Quantity("time", units.parse_duration)
RATIO = Quantity("ratio", units.parse_ratio)
SMALL_RATIO = Quantity("ratio", units.parse_small_ratio)
LOAD = Quantity("load", units.parse_load)


def failure_options(policies: str) -> Callable[[Command], Command]:
    """Add what to do about trials that give nothing to count, and when one is given up; policies is what is allowed."""
    options = [
        click.option(
            "--on-invalid", metavar="POLICY", callback=policy, default=ON_INVALID, help=f"A spoiled trial: {policies}."
        ),
        click.option(
            "--on-error",
            metavar="POLICY",
            callback=policy,
            default=ON_ERROR,
            help=f"A crash, time-out or bad reply: {policies}.",
        ),
        click.option(
            "--timeout", type=SECONDS, default="30s", help="Longest wait for a reply after the end of a trial."
        ),
    ]

    return in_order(*options)


record_options = in_order(
    click.option(
        "--out", metavar="PATH", callback=directory, help="Directory of the record. Default: a new one under runs/."
    ),
    click.option("--resume", is_flag=True, help="Continue the last run that had the same options."),
    click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Kept in the record."),
)
"""Where the record of a run is, and what it is called."""


def progress_options(step: str) -> Callable[[Command], Command]:
    """Add how much is said while a command runs; a step is what a line is for."""
    return in_order(
        click.option("--quiet", "-q", is_flag=True, help="No progress."),
        click.option("--verbose", "-v", is_flag=True, help=f"A line for each {step}."),
    )


def output_options(step: str) -> Callable[[Command], Command]:
    """Add what a run that measures shows, and how much it says."""
    return in_order(
        click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write a report."),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        progress_options(step),
    )
