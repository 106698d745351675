"""``brimful compare``: tells whether two sets of runs are the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from brimful.records import RunFile

RUN = click.Path(exists=True, path_type=Path)


class _AgainstCommand(click.Command):
    """Lets ``--against`` take every argument up to the next option, as in ``compare A B --against C D``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        within = False
        for argument in args:
            if argument == "--against":
                within = True
            elif argument.startswith("-"):
                within = False
                spread.append(argument)
            elif within:
                spread += ["--against", argument]
            else:
                spread.append(argument)
        return super().parse_args(ctx, spread)


@click.command(cls=_AgainstCommand)
@click.argument("runs", type=RUN, nargs=-1, required=True)
@click.option("--against", type=RUN, multiple=True, required=True, metavar="RUN...", help="The runs of the baseline.")
@click.option("--tolerance", default="1%", show_default=True, help="Relative difference that does not matter.")
@click.option("--html", "html_file", type=click.Path(dir_okay=False, path_type=Path), help="Write one HTML file.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    runs: tuple[Path, ...], against: tuple[Path, ...], tolerance: str, html_file: Path | None, as_json: bool
) -> int:
    """Say whether RUNS take as much as the runs of a baseline: searches, campaigns of them, or block devices.

    Two runs on discards are put side by side, without a verdict.

    Exit code 1: a goal got worse beyond the tolerance. That is when the ratio of the means is below 1 - tolerance and
    its whole 95 % interval below 1. The interval takes in the spread between runs and the distance between the bounds
    of each. 0: no such goal. 2: the runs cannot be compared.
    """
    from brimful.records import read_run
    from brimful.report import comparison, comparison_text, export, text
    from brimful.units import parse_ratio

    ours, theirs = [read_run(path) for path in runs], [read_run(path) for path in against]
    if all(file.run.subject == "block-device" for file in (*ours, *theirs)):
        return _compare_devices(ours, theirs, parse_ratio(tolerance), html_file, as_json)
    if any(file.run.subject == "switch-discards" for file in (*ours, *theirs)):
        return _compare_discards(ours, theirs, html_file, as_json)
    if all(file.run.subject == "campaign" for file in (*ours, *theirs)):
        return _compare_campaigns(ours, theirs, parse_ratio(tolerance), html_file, as_json)
    result = comparison.build(ours, theirs, tolerance=parse_ratio(tolerance))
    if html_file is not None:
        from brimful.report import comparison_html

        html_file.write_text(comparison_html.render(result), encoding="utf-8")
        click.echo(f"wrote {html_file}", err=True)
    if as_json:
        click.echo(export.comparison_to_json(result))
    else:
        style = text.coloured if sys.stdout.isatty() else text.plain
        click.echo(comparison_text.render(result, style=style), nl=False)
    return 1 if result.regressed else 0


def _compare_devices(
    ours: list[RunFile], theirs: list[RunFile], tolerance: float, html_file: Path | None, as_json: bool
) -> int:
    from brimful.errors import UsageError
    from brimful.report import text
    from brimful.report.iocost import comparison

    if html_file is not None:
        message = f"--html {html_file}: comparisons of block devices are text or JSON"
        raise UsageError(message)
    result = comparison.build(ours, theirs, tolerance=tolerance)
    if as_json:
        click.echo(comparison.to_json(result))
    else:
        click.echo(comparison.render(result, style=text.coloured if sys.stdout.isatty() else text.plain), nl=False)
    return 1 if result.regressed else 0


def _compare_campaigns(
    ours: list[RunFile], theirs: list[RunFile], tolerance: float, html_file: Path | None, as_json: bool
) -> int:
    from brimful.errors import UsageError
    from brimful.report import text
    from brimful.report.campaign import comparison

    if html_file is not None:
        message = f"--html {html_file}: comparisons of campaigns are text or JSON"
        raise UsageError(message)
    result = comparison.build(ours, theirs, tolerance=tolerance)
    if as_json:
        click.echo(comparison.to_json(result))
    else:
        click.echo(comparison.render(result, style=text.coloured if sys.stdout.isatty() else text.plain), nl=False)
    return 1 if result.regressed else 0


def _compare_discards(ours: list[RunFile], theirs: list[RunFile], html_file: Path | None, as_json: bool) -> int:
    from brimful.errors import UsageError
    from brimful.report import text
    from brimful.report.discards import comparison

    if html_file is not None:
        message = f"--html {html_file}: comparisons of discards are text or JSON"
        raise UsageError(message)
    if len(ours) != 1 or len(theirs) != 1:
        message = "runs on discards are compared one with one; give one run before --against and one after it"
        raise UsageError(message)
    if as_json:
        click.echo(comparison.to_json(ours[0], theirs[0]))
    else:
        style = text.coloured if sys.stdout.isatty() else text.plain
        click.echo(comparison.render(ours[0], theirs[0], style=style), nl=False)
    return 0
