"""``brimful discards synth``: a made-up network whose truth is known."""

from __future__ import annotations

import contextlib
import datetime
import fnmatch
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brimful import units
from brimful.cli.checked import NamedPath
from brimful.errors import UsageError
from brimful.report import words

if TYPE_CHECKING:
    from brimful.discards.synthetic.config import Config
    from brimful.discards.synthetic.generate import Size

_RENDERINGS = ("v1", "v2", "flat", "store", "truth")
_LARGE_SAMPLES = 50_000_000
_DAY = click.DateTime(formats=["%Y-%m-%d"])


@click.command()
@click.argument("out", type=NamedPath(path_type=Path))
@click.option(
    "--render",
    "renderings",
    multiple=True,
    type=click.Choice(_RENDERINGS),
    default=("flat",),
    help="Formats to write beside the truth; may be repeated.",
)
@click.option("--site", "sites", multiple=True, metavar="SITE", help="Sites, like dfw02 or lga*.  [default: all 19]")
@click.option("--machines", type=click.IntRange(1, 4), help="Machines of a site that collect telemetry.  [default: 1]")
@click.option("--first-day", type=_DAY, metavar="DAY", help="[default: 2016-06-01]")
@click.option("--last-day", type=_DAY, metavar="DAY", help="[default: 2018-07-31]")
@click.option("--tests", "tests_scale", type=float, metavar="FACTOR", help="Times the number of tests.  [default: 1]")
@click.option("--effect", metavar="RATIO", help="Change of download rates with flow control, like -10%.  [default: 0]")
@click.option("--seed", type=click.IntRange(0), help="Each gives another network of the same kind.  [default: 1]")
@click.option(
    "--config",
    "config_file",
    type=NamedPath(path_type=Path, exists=True, dir_okay=False),
    help="TOML file with parameters; options override it.",
)
@click.option("--workers", type=click.IntRange(1), help="Processes.  [default: one a processor]")
@click.option("--force", is_flag=True, help="Overwrite synthetic data in OUT.")
@click.option("--quiet", is_flag=True, help="No progress.")
def synth(
    out: Path,
    renderings: tuple[str, ...],
    sites: tuple[str, ...],
    machines: int | None,
    first_day: datetime.datetime | None,
    last_day: datetime.datetime | None,
    tests_scale: float | None,
    effect: str | None,
    seed: int | None,
    config_file: Path | None,
    workers: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """Generate telemetry and speed tests in the directory OUT, with the truth beside them.

    They are in the formats of both generations of collectors (v1: JSON an hour; v2: JSON lines with counters), in the
    flat tables of 2018, or in a store. The same options and seed give the same data in all formats, and a part of it
    (fewer sites or days) is the same as in the whole.
    """
    from brimful.discards.synthetic.config import Config, check, read_config
    from brimful.discards.synthetic.generate import estimate, generate, prepare

    config = read_config(config_file) if config_file else Config()
    config = check(
        _with_options(config, sites, machines, first_day, last_day, tests_scale, effect, seed),
    )
    chosen = frozenset(renderings)
    prepare(out, again=force)
    expected = estimate(config, chosen)
    if sum(expected.samples.values()) > _LARGE_SAMPLES:
        click.echo(f"brimful: about to write {_size_text(expected)}", err=True)
    site_days = len(config.chosen_sites) * len(config.days)
    with _progress(site_days, quiet=quiet) as advance:
        written = generate(config, chosen, out, workers=workers or os.cpu_count() or 1, progress=advance)
    counted = f"{words.count(len(config.chosen_sites), 'site')}, {words.count(len(config.days), 'day')}"
    click.echo(f"{out}: {counted}, {_size_text(written)}")


def _with_options(
    config: Config,
    sites: tuple[str, ...],
    machines: int | None,
    first_day: datetime.datetime | None,
    last_day: datetime.datetime | None,
    tests_scale: float | None,
    effect: str | None,
    seed: int | None,
) -> Config:
    import msgspec

    tests = {"scale": tests_scale, "effect": _effect(effect) if effect is not None else None}
    changes = {
        "seed": seed,
        "machines": machines,
        "first_day": first_day.date() if first_day else None,
        "last_day": last_day.date() if last_day else None,
        "only_sites": _chosen(config, sites) if sites else None,
        "tests": msgspec.structs.replace(config.tests, **_given(tests)),
    }
    return msgspec.structs.replace(config, **_given(changes))


def _given(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


def _chosen(config: Config, patterns: tuple[str, ...]) -> tuple[str, ...]:
    chosen: list[str] = []
    for pattern in patterns:
        matching = fnmatch.filter(config.sites, pattern)
        if not matching:
            message = f"--site {pattern}: there is no such site; there are {', '.join(config.sites)}"
            raise UsageError(message)
        chosen += matching
    return tuple(sorted(set(chosen)))


def _effect(text: str) -> float:
    """Read a ratio with a sign, like -10%."""
    digits = text.strip().removeprefix("-").removeprefix("+")
    ratio = units.parse_ratio(digits)
    return -ratio if text.strip().startswith("-") else ratio


def _size_text(size: Size) -> str:
    samples = [f"{count:,} samples as {name}" for name, count in size.samples.items()]
    return ", ".join([*samples, words.count(size.tests, "test"), f"{size.octets / 1e6:,.1f} MB"])


@contextlib.contextmanager
def _progress(site_days: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("site-days"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=site_days)
        yield lambda done: bar.advance(task, done)
