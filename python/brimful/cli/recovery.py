"""``brimful search --find recovery``: how long frames are lost after an overload or a reset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from brimful.cli import reports
from brimful.cli.burst import without_throughput
from brimful.cli.progress import open_progress
from brimful.measurers.base import Measurer
from brimful.records import read_run
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
    file = read_run(done.path)
    if options["as_json"]:
        click.echo(reports.as_json(file))
    else:
        click.echo(reports.as_text(file, columns=reports.prose_columns()))
        click.echo(f"Record: {done.path}")
    unwritten = 0
    if options["html"]:
        unwritten = reports.write_page(options["html"], lambda: reports.page(file), [file.path])
    end = done.outcome.end
    if end.reason == "measurement-failed":
        click.echo(f"brimful: error: {end.text}; the record is {done.path}", err=True)
        return 3
    if end.reason == "interrupted":
        return 130
    return 1 if any(one.high_s is None for one in done.outcome.recoveries) else unwritten
