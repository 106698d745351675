"""``brimful bisect``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brimful import units
from brimful.cli import values
from brimful.cli.beds import BedCommand
from brimful.cli.checked import NAMED
from brimful.cli.progress import open_progress
from brimful.cli.traffic_options import check_traffic, labels_of, traffic_of, traffic_options
from brimful.errors import UsageError

if TYPE_CHECKING:
    from brimful.bisection.bench import BuildBench
    from brimful.bisection.loop import BisectionProgress
    from brimful.bisection.manager import BisectionRequest
    from brimful.measurers.base import Measurer
    from brimful.records import Run, Version

CODES = {"one": 0, "two": 0, "range": 1, "none": 4, "cannot-say": 4}
"""Exit code of each answer."""
_DOING = {
    "ends": "good against bad",
    "control": "the good one against itself",
    "search": "where it is",
    "confirm": "the likeliest against its parent",
}


@click.command("bisect", cls=BedCommand)
@click.option(
    "--measurer",
    "-m",
    type=values.MEASURER,
    required=True,
    metavar="SPEC",
    help="What to measure with. With {version} or {dir} in it each build has a test bed of its own.",
)
@click.option("--good", required=True, metavar="VERSION", help="The build that is not slower.")
@click.option("--bad", required=True, metavar="VERSION", help="The build that is.")
@click.option(
    "--git",
    "repository",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Builds are the commits of this repository; each is checked out to a directory, {dir}.",
)
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where these directories are made. Default: one in ~/.cache/brimful.",
)
@click.option("--first-parent", is_flag=True, help="A merge stands for all that it brought.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only commits that changed this. Repeat it.")
@click.option(
    "--versions",
    "versions_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Builds are the lines of this file, in their order.",
)
@click.option(
    "--prepare",
    type=NAMED,
    metavar="COMMAND",
    help="Shell command that makes a build, {version} or in {dir}; with one test bed, it makes it active too.",
)
@click.option(
    "--prepare-limit", type=values.SECONDS, default="30m", help="A command of --prepare that takes longer has failed."
)
@click.option(
    "--confidence",
    type=values.RATIO,
    default="95%",
    help="A build is named when it changed something with this probability.",
)
@click.option("--tolerance", type=values.SMALL_RATIO, default="1%", help="A change of less is none.")
@click.option("--pairs", type=click.IntRange(2, 10_000), default=20, help="Pairs of trials in each visit.")
@click.option("--trial", type=values.SECONDS, default="500ms", help="Length of each trial.")
@click.option("--most-visits", type=click.IntRange(6), default=200, help="End with a range after this many.")
@click.option("--budget", type=values.SECONDS, help="End with a range after this time.")
@click.option("--max-load", metavar="LOAD", help="Offer no more than this. Default: what the tester can.")
@click.option("--seed", type=click.IntRange(0), default=1, help="What the order is drawn from.")
@values.failure_options("fail or retry:N")
@traffic_options
@values.record_options
@values.output_options("step")
def bisect(**options: Any) -> int:  # noqa: ANN401
    """Find which build made a device slower, or faster.

    First the bad build is compared with the good one, until a change is shown or excluded. Then the build is visited
    that says most a second, until one is likely enough; that is compared with its parent. Exit code: 0 a build, or two,
    are named, 1 a range is, 4 no difference, or this machine cannot say.
    """
    from brimful.bisection.manager import check_request, run_bisection
    from brimful.cli import reports
    from brimful.managed import Place
    from brimful.runs import refuse_if_written

    if options["html"]:
        reports.check_page(options["html"], options["out"])
    request = _request(options)
    check_request(request)
    if options["resume"]:
        refuse_if_written(options["out"], request.fingerprint())
    bench = _bench(request, options)
    try:
        with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
            done = run_bisection(
                request,
                bench,
                place=Place(out=options["out"], resume=options["resume"]),
                progress=lambda run, state: progress.line(_line(run, state)),
                note=progress.note,
            )
    finally:
        bench.close()
    unwritten = reports.show_run(done.path, options)
    outcome = done.outcome
    if outcome.end.reason in ("measurement-failed", "interrupted"):
        return reports.tell_why_unfinished(outcome.end, done.path, f"{len(outcome.visits)} visits")
    return unwritten or (1 if outcome.answer is None else CODES.get(outcome.answer.answer, 1))


def _request(options: dict[str, Any]) -> BisectionRequest:
    from brimful.bisection.bench import check_words
    from brimful.bisection.manager import BisectionRequest

    repository = options["repository"]
    check_words(options["measurer"], options["prepare"], has_directories=repository is not None)
    check_traffic(options, [options["measurer"]])
    return BisectionRequest(
        measurer=options["measurer"],
        versions=_versions(options),
        prepare=options["prepare"],
        git=None if repository is None else str(repository.resolve()),
        confidence=options["confidence"],
        tolerance=options["tolerance"],
        pairs=options["pairs"],
        trial_s=options["trial"],
        seed=options["seed"],
        most_visits=options["most_visits"],
        budget_s=options["budget"],
        max_load=options["max_load"],
        on_invalid=options["on_invalid"],
        on_error=options["on_error"],
        traffic={**traffic_of(options), "ip": int(options["ip"])},
        labels=labels_of(options),
    )


def _versions(options: dict[str, Any]) -> list[Version]:
    from brimful.bisection.histories import read_git, read_list

    repository, file = options["repository"], options["versions_file"]
    if (repository is None) == (file is None):
        message = "give one of --git DIR and --versions FILE: where the builds between --good and --bad are"
        raise UsageError(message)
    good, bad = options["good"], options["bad"]
    if repository is not None:
        return read_git(repository, good, bad, first_parent=options["first_parent"], paths=options["paths"])
    if options["first_parent"] or options["paths"]:
        message = "--first-parent and --path: are for --git; a list of versions has neither"
        raise UsageError(message)
    return read_list(file, good, bad)


def _bench(request: BisectionRequest, options: dict[str, Any]) -> BuildBench:
    from brimful.bisection.bench import BuildBench
    from brimful.bisection.worktrees import Worktrees
    from brimful.measurers.opening import open_measurer

    def opened(spec: str) -> Measurer:
        return open_measurer(
            spec,
            timeout_s=options["timeout"],
            tester_arguments=request.traffic["arguments"],
            ip=int(options["ip"]),
        )

    worktrees = None
    if request.git is not None:
        base = options["work"] or _cache()
        worktrees = Worktrees(Path(request.git), base / f"bisect-{request.fingerprint()}")
    return BuildBench(
        request.versions,
        request.measurer,
        opened,
        prepare=request.prepare,
        limit_s=options["prepare_limit"],
        worktrees=worktrees,
    )


def _cache() -> Path:
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "brimful"
    except RuntimeError as error:
        message = "this user has no home directory for the builds: give --work, or set XDG_CACHE_HOME"
        raise UsageError(message) from error


def _line(run: Run, state: BisectionProgress) -> str:
    """Say where a run stands."""
    time = f"{units.format_duration(round(state.elapsed_s, 1)):>9}"
    versions = [] if run.bisection is None else run.bisection.versions
    names = [(version.title or version.version)[:30] for version in versions]
    if state.doing == "build":
        return f"{time}  making {names[state.build]}"
    likely = ""
    if state.purpose in ("search", "confirm"):
        likely = f"; likeliest so far {names[state.likeliest]} ({100 * state.probability:.0f} %)"
    asked = _DOING.get(state.purpose, state.purpose)
    return f"{time}  visit {state.visits + 1}: {names[state.build]} beside {names[state.beside]}, {asked}{likely}"
