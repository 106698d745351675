"""``brimful search --find recovery``: how long frames are lost after an overload or a reset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brimful.cli import reports
from brimful.cli.burst import without_throughput
from brimful.cli.progress import open_progress
from brimful.measurers.base import Measurer
from brimful.recovery.manager import RecoveryRequest, run_recovery
from brimful.throughput.found import ThroughputNotFoundError
from brimful.throughput.manager import SearchRequest


def search(request: SearchRequest, open_for: Callable[[SearchRequest], Measurer], options: dict[str, Any]) -> int:
    """Measure recovery and print it; gives the exit code."""
    asked = RecoveryRequest(
        search=request,
        throughput=options["throughput"],
        rounds=options["tests"],
        duration_s=options["overload"],
        probe_s=options["probe"],
        reset_command=options["reset_command"],
    )
    measurer = open_for(request)
    try:
        with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
            done = run_recovery(
                asked,
                measurer,
                out=options["out"],
                search_progress=progress.update,
                progress=progress.note,
                note=progress.note,
            )
    except ThroughputNotFoundError as error:
        return without_throughput(error)
    finally:
        measurer.close()
    unwritten = reports.show_run(done.path, options)
    unfinished = reports.tell_why_unfinished(done.outcome.end, done.path, None)
    if unfinished:
        return unfinished
    return 1 if any(one.high_s is None for one in done.outcome.recoveries) else unwritten
