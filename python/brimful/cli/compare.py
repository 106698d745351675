"""``brimful compare``: says whether two sets of runs, or two devices, are the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brimful.cli import compare_live, values
from brimful.cli.beds import BedCommand
from brimful.cli.junit_option import junit_option
from brimful.cli.reports import checked_target, prose_columns, spare, style, write_page
from brimful.errors import UsageError
from brimful.files import write_atomically
from brimful.records.subjects import load, subject_of
from brimful.report import junit, words
from brimful.statistics.comparison import REGRESSION, would_show
from brimful.units import format_ratio

if TYPE_CHECKING:
    from brimful.records import RunFile
    from brimful.records.subjects import Subject
    from brimful.report.compared import Compared

RUN = values.RUN


class _AgainstCommand(BedCommand):
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
@click.argument("runs", type=RUN, nargs=-1)
@click.option("--against", type=RUN, multiple=True, metavar="RUN...", help="The runs of the baseline.")
@click.option(
    "--tolerance",
    type=values.SMALL_RATIO,
    help="Relative difference to ignore. Default: of runs 1%, of one on each side none; of devices 2%.",
)
@click.option(
    "--html",
    "html_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=checked_target,
    help="Write one HTML file.",
)
@click.option(
    "--detect",
    "loss",
    type=values.SMALL_RATIO,
    help="Exit with code 4 unless a loss of this size would have been seen.",
)
@junit_option("compare", "value, or verdict")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@compare_live.live_options
@click.pass_context
def compare(context: click.Context, /, **options: Any) -> int:  # noqa: ANN401
    """Compare RUNS with the runs of a baseline, or devices live.

    Devices (two --measurer, or one and two --variant): pairs of trials in random order, until it is known whether one
    forwards less than the first. Exit code 1: a regression, slower by more than --tolerance; 4: at the threshold, out
    of time, or the first device differs from itself.

    Runs: searches, campaigns, suites, or block devices. Two runs on discards are shown side by side, without a verdict.
    A goal has got worse when the ratio of the means is below 1 - tolerance and its whole 95 % interval, which covers
    the spread between runs and the bounds of each, is below 1. With one run on each side a verdict needs a --tolerance
    above 0. Exit code 1: a goal got worse; 2: runs cannot be compared, failed or did not finish; 4: a loss of the size
    of --detect could have been missed. In campaigns, searches without a result are left out and listed.
    """
    if compare_live.is_live(context):
        return compare_live.run(options)
    if not options["runs"] or not options["against"]:
        message = "give RUNS and --against RUN..., or the devices to compare live with two -m"
        raise UsageError(message)
    recorded = ("runs", "against", "tolerance", "html_file", "loss", "as_json")
    return _compare_runs(junit_path=options["junit"], **{name: options[name] for name in recorded})


def _compare_runs(
    runs: tuple[Path, ...],
    against: tuple[Path, ...],
    tolerance: float | None,
    html_file: Path | None,
    loss: float | None,
    junit_path: Path | None,
    as_json: bool,
) -> int:
    from brimful.records import read_unchanged

    ours, theirs = [read_unchanged(path) for path in runs], [read_unchanged(path) for path in against]
    records = [file.path for file in (*ours, *theirs)]
    if html_file is not None:
        spare(records, html_file)
    found = _compared(ours, theirs, tolerance, html_file)
    click.echo(found.json() if as_json else found.text(style(), prose_columns()), nl=as_json)
    unwritten = 0
    if html_file is not None and found.page is not None:
        unwritten = write_page(html_file, found.page, records)
    blind = {} if loss is None else _blind(found, loss)
    for sentence in blind.values():
        click.echo(sentence, err=True)
    if junit_path is not None:
        write_atomically(junit_path, junit.render([_suite(runs, against, found, blind)]))
    if found.incomplete is not None:
        raise UsageError(found.incomplete)
    if found.regressed:
        return 1
    return 4 if blind else unwritten


def _blind(found: Compared, loss: float) -> dict[str, str]:
    """Say of each value that could hide such a loss what would have been seen."""
    if not found.outcomes:
        message = "--detect: such runs are compared without an interval; leave it out"
        raise UsageError(message)
    sentences = {}
    for outcome in found.outcomes:
        numbers = outcome.comparison
        if not would_show(numbers, loss):
            seen = f"only {words.share(numbers.detectable or 0)} or more would have been"
            if numbers.detectable is None:
                lone = numbers.runs == numbers.baseline_runs == 1
                seen = "one run a side shows no spread" if lone else "a run has no bound, or no value"
            sentences[outcome.name] = f"{outcome.name}: a loss of {format_ratio(loss)} could have been missed: {seen}"
    return sentences


def _suite(runs: tuple[Path, ...], against: tuple[Path, ...], found: Compared, blind: dict[str, str]) -> junit.Suite:
    cases = [
        junit.Case(
            name=f"{outcome.name} has not got worse",
            problem=outcome.sentence if outcome.comparison.verdict == REGRESSION else None,
            said=outcome.sentence,
        )
        for outcome in found.outcomes
    ]
    # Servers take cases of one name for one case.
    cases += [
        junit.Case(name=f"{name}: a loss would have been seen", problem=problem) for name, problem in blind.items()
    ]
    if found.incomplete is not None:
        cases.append(junit.Case(name="all of the baseline is compared", problem=found.incomplete))
    name = f"{', '.join(map(str, runs))} against {', '.join(map(str, against))}"
    return junit.Suite(name=name, cases=cases, duration_s=0.0, command="compare")


def _compared(ours: list[RunFile], theirs: list[RunFile], tolerance: float | None, html_file: Path | None) -> Compared:
    row = _common_subject([*ours, *theirs])
    if row.compare is None:
        message = f"{ours[0].path}: {row.plural} are not compared; brimful report shows what each found"
        raise UsageError(message)
    found: Compared = load(row.compare)(ours, theirs, tolerance=tolerance)
    if html_file is not None and found.page is None:
        message = f"--html {html_file}: comparisons of {row.plural} are text or JSON"
        raise UsageError(message)
    return found


def _common_subject(files: list[RunFile]) -> Subject:
    subjects = {file.run.subject: file.path for file in files}
    if len(subjects) > 1:
        what = ", ".join(f"{path} ({subject})" for subject, path in subjects.items())
        message = f"runs of different kinds cannot be compared: {what}"
        raise UsageError(message)
    return subject_of(files[0].run, where=str(files[0].path))
