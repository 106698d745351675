"""``brimful search --find burst``: the longest burst without loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from brimful import units
from brimful.burst.loop import BurstProgress
from brimful.burst.manager import BurstRequest, BurstRun, run_burst
from brimful.cli import reports
from brimful.cli.progress import open_progress
from brimful.cli.signals import tell_how_to_go_on
from brimful.measurers.base import Measurer
from brimful.records import Run, read_run
from brimful.report import words
from brimful.throughput.found import ThroughputNotFoundError
from brimful.throughput.manager import SearchRequest

_INTERRUPTED = 130


def search(request: SearchRequest, open_for: Callable[[SearchRequest], Measurer], options: dict[str, Any]) -> int:
    """Find the longest burst and print it; gives the exit code."""
    asked = BurstRequest(
        search=request,
        throughput=options["throughput"],
        tests=options["tests"],
        longest=options["longest"],
        step=options["step"],
        attempts=options["attempts"],
        rest_s=options["rest"],
    )
    measurer = open_for(request)
    try:
        with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
            done = run_burst(
                asked,
                measurer,
                out=options["out"],
                resume=options["resume"],
                search_progress=progress.update,
                progress=lambda run, state: progress.line(_line(run, state)),
                note=progress.note,
            )
    except ThroughputNotFoundError as error:
        return without_throughput(error)
    finally:
        measurer.close()
    return _show(done, options)


def without_throughput(error: ThroughputNotFoundError) -> int:
    """Say that the search at the start found no throughput; gives the exit code."""
    end, path = error.outcome.result.end, error.outcome.path
    if end.reason == "interrupted":
        tell_how_to_go_on(f"{words.count(end.trials, 'trial')} of the search for the throughput", path.parent.parent)
        return _INTERRUPTED
    click.echo(f"brimful: error: no throughput was found: {end.text or end.reason}; the record is {path}", err=True)
    return 3


def _show(done: BurstRun, options: dict[str, Any]) -> int:
    file = read_run(done.path)
    if options["as_json"]:
        click.echo(reports.as_json(file))
    else:
        click.echo(reports.as_text(file, columns=reports.prose_columns()))
        click.echo(f"Record: {done.path}")
    unwritten = 0
    if options["html"]:
        unwritten = reports.write_page(options["html"], lambda: reports.page(file), [file.path])
    end, result = done.outcome.end, done.outcome.result
    if end.reason == "measurement-failed":
        click.echo(f"brimful: error: {end.text}; the record is {done.path}", err=True)
        return 3
    if end.reason == "interrupted":
        tell_how_to_go_on(words.count(end.trials, "burst"), done.path.parent)
        return _INTERRUPTED
    return 1 if result is None or result.at_limit else unwritten


def _line(run: Run, state: BurstProgress) -> str:
    tests = "" if run.burst is None else f" of {run.burst.tests}"
    lossy = "?" if state.lossy is None else f"{state.lossy}"
    time = units.format_duration(round(state.elapsed_s, 3))
    return f"{time:>9}  test {state.test + 1}{tests}  burst of {state.frames} frames  {state.held} .. {lossy}"
