"""``brimful search --find loss``: how much is lost at each load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from brimful import units
from brimful.cli import reports
from brimful.cli.progress import ProgressView, open_progress
from brimful.loss.loop import LossProgress
from brimful.loss.manager import REST_S, LossRequest, run_loss
from brimful.measurers.base import Measurer
from brimful.records import Run
from brimful.report import words
from brimful.throughput.manager import SearchRequest


def search(request: SearchRequest, open_for: Callable[[SearchRequest], Measurer], options: dict[str, Any]) -> int:
    """Measure the loss at each load and print it; gives the exit code."""
    measurer = open_for(request)
    try:
        with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
            done = run_loss(
                asked(request, options),
                measurer,
                out=options["out"],
                resume=options["resume"],
                progress=shown_on(progress),
                note=progress.note,
            )
    finally:
        measurer.close()
    unwritten = reports.show_run(done.path, options)
    end = done.outcome.end
    return reports.tell_why_unfinished(end, done.path, words.count(end.trials, "trial")) or unwritten


def asked(request: SearchRequest, options: dict[str, Any]) -> LossRequest:
    """Give what the options ask of the loss rate."""
    context = click.get_current_context()

    def given(name: str, otherwise: Any) -> Any:  # noqa: ANN401 - values of options
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        return options[name] if is_given else otherwise

    return LossRequest(
        search=request,
        loads=[text.strip() for text in options["loads"].split(",")] if options["loads"] is not None else [],
        load_step=options["load_step"],
        sweeps=given("tests", 1),
        duration_s=options["trial"],
        rest_s=given("rest", REST_S),
    )


def shown_on(progress: ProgressView) -> Callable[[Run, LossProgress], None]:
    """Give what shows where a run stands."""
    return lambda run, state: progress.line(_line(run, state))


def _line(run: Run, state: LossProgress) -> str:
    sweeps = "" if run.loss is None else f" of {run.loss.sweeps}"
    time = units.format_duration(round(state.elapsed_s, 3))
    return f"{time:>9}  round {state.sweep + 1}{sweeps}  trial at {units.format_load(state.load, run.load_unit)}"
