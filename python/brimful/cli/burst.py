"""``brimful search --find burst``: the longest burst without loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from brimful import units
from brimful.burst.loop import BurstProgress
from brimful.burst.manager import BurstRequest, run_burst
from brimful.cli import reports
from brimful.cli.progress import ProgressView, open_progress
from brimful.cli.signals import INTERRUPTED, tell_how_to_go_on
from brimful.measurers.base import Measurer
from brimful.records import Run
from brimful.report import words
from brimful.throughput.found import ThroughputNotFoundError
from brimful.throughput.manager import SearchRequest


def search(request: SearchRequest, open_for: Callable[[SearchRequest], Measurer], options: dict[str, Any]) -> int:
    """Find the longest burst and print it; gives the exit code."""
    measurer = open_for(request)
    try:
        with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
            done = run_burst(
                asked(request, options),
                measurer,
                out=options["out"],
                resume=options["resume"],
                search_progress=progress.update,
                progress=shown_on(progress),
                note=progress.note,
            )
    except ThroughputNotFoundError as error:
        return without_throughput(error)
    finally:
        measurer.close()
    unwritten = reports.show_run(done.path, options)
    end, result = done.outcome.end, done.outcome.result
    unfinished = reports.tell_why_unfinished(end, done.path, words.count(end.trials, "burst"))
    if unfinished:
        return unfinished
    return 1 if result is None or result.at_limit else unwritten


def asked(request: SearchRequest, options: dict[str, Any]) -> BurstRequest:
    """Give what the options ask of bursts, beside the search for the throughput."""
    return BurstRequest(
        search=request,
        throughput=options["throughput"],
        tests=options["tests"],
        longest=options["longest"],
        step=options["step"],
        attempts=options["attempts"],
        rest_s=options["rest"],
    )


def without_throughput(error: ThroughputNotFoundError) -> int:
    """Say that the search at the start found no throughput; gives the exit code."""
    end, path = error.outcome.result.end, error.outcome.path
    if end.reason == "interrupted":
        tell_how_to_go_on(f"{words.count(end.trials, 'trial')} of the search for the throughput", path.parent.parent)
        return INTERRUPTED
    click.echo(f"brimful: error: no throughput was found: {end.text or end.reason}; the record is {path}", err=True)
    return 3


def shown_on(progress: ProgressView) -> Callable[[Run, BurstProgress], None]:
    """Give what shows where a run stands."""
    return lambda run, state: progress.line(_line(run, state))


def _line(run: Run, state: BurstProgress) -> str:
    tests = "" if run.burst is None else f" of {run.burst.tests}"
    lossy = "?" if state.lossy is None else f"{state.lossy}"
    time = units.format_duration(round(state.elapsed_s, 3))
    return f"{time:>9}  test {state.test + 1}{tests}  burst of {state.frames} frames  {state.held} .. {lossy}"
