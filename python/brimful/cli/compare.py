"""``brimful compare``: tells whether two sets of runs are the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brimful.cli import values
from brimful.cli.reports import checked_target, prose_columns, spare, write_page
from brimful.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from brimful.records import RunFile
    from brimful.report.throughput.comparison import ComparisonReport

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
@click.option(
    "--tolerance",
    metavar="RATIO",
    callback=values.ratio,
    help="Relative difference that does not matter. Default: 1%, by which one run a side is never judged.",
)
@click.option(
    "--html",
    "html_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=checked_target,
    help="Write one HTML file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    runs: tuple[Path, ...], against: tuple[Path, ...], tolerance: float | None, html_file: Path | None, as_json: bool
) -> int:
    """Say whether RUNS take as much as the runs of a baseline: searches, campaigns of them, or block devices.

    Two runs on discards are put side by side, without a verdict.

    Exit code 1: a goal got worse beyond the tolerance. That is when the ratio of the means is below 1 - tolerance and
    its whole 95 % interval below 1. The interval takes in the spread between runs and the distance between the bounds
    of each. One run a side has no spread, so it is judged only by a --tolerance above 0 that you give: then the whole
    range by its bounds must lie beyond. 0: no such goal. 2: the runs cannot be compared, or one of them
    failed or was not finished. 3: all is well, but the file of --html could not be written.

    Of campaigns, searches that failed or have no value are left out and named. Exit code 2: nothing is left to compare,
    or the new side has no value of a measurer and frame size of which the baseline has one.
    """
    from brimful.records import read_run
    from brimful.report import styles
    from brimful.report.throughput import comparison, comparison_text, export
    from brimful.statistics.comparison import DEFAULT_TOLERANCE

    ours, theirs = [read_run(path) for path in runs], [read_run(path) for path in against]
    records = [file.path for file in (*ours, *theirs)]
    if html_file is not None:
        spare(records, html_file)
    subject = _common_subject([*ours, *theirs])
    if subject == "block-device":
        from brimful.report.iocost import comparison as devices

        limit = DEFAULT_TOLERANCE if tolerance is None else tolerance
        found = _compare_in_text("block devices", devices, (ours, theirs), limit, html_file, as_json)
        return 1 if found.regressed else 0
    if subject == "switch-discards":
        return _compare_discards(ours, theirs, html_file, as_json)
    for side in (ours, theirs):
        _refuse_repeated(side)
    if subject == "campaign":
        from brimful.report.campaign import comparison as campaigns

        found = _compare_in_text("campaigns", campaigns, (ours, theirs), tolerance, html_file, as_json)
        _refuse_lost(found.lost)
        return 1 if found.regressed else 0
    result = comparison.build(ours, theirs, tolerance=tolerance)
    if as_json:
        click.echo(export.comparison_to_json(result))
    else:
        style = styles.coloured if sys.stdout.isatty() else styles.plain
        click.echo(comparison_text.render(result, style=style, columns=prose_columns()), nl=False)
    unwritten = 0
    if html_file is not None:
        unwritten = write_page(html_file, lambda: _page(result), records)
    return 1 if result.regressed else unwritten


def _page(result: ComparisonReport) -> str:
    from brimful.report.throughput import comparison_html

    return comparison_html.render(result)


def _refuse_repeated(side: list[RunFile]) -> None:
    paths: dict[str, Path] = {}
    for file in side:
        before = paths.setdefault(file.run.run_id, file.path)
        if before is not file.path:
            message = (
                f"{file.path} is the same run as {before}: twice on one side it would count as a repeat; give it once"
            )
            raise UsageError(message)


def _common_subject(files: list[RunFile]) -> str:
    subjects = {file.run.subject: file.path for file in files}
    if len(subjects) > 1:
        what = ", ".join(f"{path} ({subject})" for subject, path in subjects.items())
        message = f"runs of different kinds cannot be compared: {what}"
        raise UsageError(message)
    (subject,) = subjects
    if subject == "delay":
        message = f"{files[0].path}: delays are not compared; brimful report shows each with its intervals"
        raise UsageError(message)
    return subject


def _compare_in_text(
    what: str,
    kind: ModuleType,
    sides: tuple[list[RunFile], list[RunFile]],
    tolerance: float | None,
    html_file: Path | None,
    as_json: bool,
) -> Any:  # noqa: ANN401 - what the module builds
    """Compare runs of a kind that has no page for it, by the functions of its own module."""
    from brimful.report import styles

    _refuse_page(html_file, what)
    result = kind.build(*sides, tolerance=tolerance)
    if as_json:
        click.echo(kind.to_json(result))
    else:
        click.echo(kind.render(result, style=styles.coloured if sys.stdout.isatty() else styles.plain), nl=False)
    return result


def _refuse_lost(lost: list[str]) -> None:
    if lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        message = (
            f"the new campaigns have no value of {lost[0]}{more}, which the baseline has; resume them or make them anew"
        )
        raise UsageError(message)


def _refuse_page(html_file: Path | None, what: str) -> None:
    if html_file is not None:
        message = f"--html {html_file}: comparisons of {what} are text or JSON"
        raise UsageError(message)


def _compare_discards(ours: list[RunFile], theirs: list[RunFile], html_file: Path | None, as_json: bool) -> int:
    from brimful.report import styles
    from brimful.report.discards import comparison

    _refuse_page(html_file, "discards")
    if len(ours) != 1 or len(theirs) != 1:
        message = "runs on discards are compared one with one; give one run before --against and one after it"
        raise UsageError(message)
    if as_json:
        click.echo(comparison.to_json(ours[0], theirs[0]))
    else:
        style = styles.coloured if sys.stdout.isatty() else styles.plain
        click.echo(comparison.render(ours[0], theirs[0], style=style), nl=False)
    return 0
