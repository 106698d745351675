"""``brimful search --find recovery``: how long frames are lost after an overload or a reset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brimful.cli import reports
from brimful.cli.burst import without_throughput
from brimful.cli.progress import ProgressView, open_progress
from brimful.measurers.base import Measurer
from brimful.recovery.manager import RecoveryRequest, run_recovery
from brimful.report import words
from brimful.throughput.found import ThroughputNotFoundError
from brimful.throughput.manager import SearchRequest


def search(request: SearchRequest, open_for: Callable[[SearchRequest], Measurer], options: dict[str, Any]) -> int:
    """Measure recovery and print it; gives the exit code."""
    measurer = open_for(request)
    try:
        with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
            done = run_recovery(
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
    end = done.outcome.end
    unfinished = reports.tell_why_unfinished(end, done.path, words.count(end.trials, "trial"))
    if unfinished:
        return unfinished
    found = done.outcome.recoveries
    return 1 if not found or any(one.high_s is None for one in found) else unwritten


def asked(request: SearchRequest, options: dict[str, Any]) -> RecoveryRequest:
    """Give what the options ask of recovery."""
    return RecoveryRequest(
        search=request,
        throughput=options["throughput"],
        rounds=options["tests"],
        duration_s=options["overload"],
        probe_s=options["probe"],
        reset_command=options["reset_command"],
    )


def shown_on(progress: ProgressView) -> Callable[[str], None]:
    """Give what shows where a run stands."""
    return progress.note
