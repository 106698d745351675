"""``brimful delay``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brimful import units
from brimful.cli import values
from brimful.cli.beds import BedCommand
from brimful.cli.progress import open_progress
from brimful.cli.traffic_options import check_traffic, labels_of, traffic_of, traffic_options
from brimful.delay.estimates import DEVICE, WIRE
from brimful.delay.manager import DelayRequest, check_loads, run_delay
from brimful.delay.wire import wire_arguments, wire_of
from brimful.errors import UsageError
from brimful.measurers.opening import open_measurer
from brimful.report import words
from brimful.runs import refuse_if_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimful.delay.loop import DelayProgress
    from brimful.measurers.base import Measurer
    from brimful.records import Run


@click.command("delay", cls=BedCommand)
@click.option(
    "--measurer",
    "-m",
    type=values.MEASURER,
    required=True,
    metavar="SPEC",
    help="What to measure with: lab:DEVICE[,key=value...], tester:PORT,PORT, or a cmd:PROGRAM that reports delays.",
)
@click.option(
    "--wire",
    metavar="SPEC|RUN|none",
    help="The bare wire: a measurer, an earlier run over it, or none, to state the total."
    " Default: a second lab beside a lab:DEVICE; else none.",
)
@click.option("--load", "loads", multiple=True, metavar="LOAD", help="Measure at this load: 10kpps. Repeat it.")
@click.option("--of", "of_run", type=values.RUN, metavar="RUN", help="A run that found a throughput, or latest.")
@click.option("--at", "shares", metavar="SHARE,...", help="Measure at these shares of it: 10%,50%,90%.")
@click.option("--goal", metavar="NAME", help="The goal of RUN whose throughput it is. Default: the first.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=10, help="Trials at each load and path.")
@click.option("--trial", type=values.SECONDS, default="1s", help="Length of each trial.")
@click.option("--warm-up", type=values.SECONDS, help="Before the first trial, one on each path that is not counted.")
@values.failure_options("fail or retry:N")
@traffic_options
@values.record_options
@values.output_options("trial")
def delay(**options: Any) -> int:  # noqa: ANN401
    """Measure how long a device takes to process a frame, at given loads.

    Trials go alternately through the device and over the bare wire. The delay of the device is the difference, stated
    with a 95 % confidence interval. --tester-option applies to both paths, but faults apply to the device only. Exit
    code 1: no frame of this size passes.
    """
    from brimful.cli import reports

    if options["html"]:
        reports.check_page(options["html"], options["out"])
    request = _request(options)
    check_loads(request)
    if options["resume"]:
        refuse_if_written(options["out"], request.fingerprint())  # before what is opened here disturbs it
    with (
        open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress,
        _opened(request, options) as measurers,
    ):
        done = run_delay(
            request,
            measurers,
            out=options["out"],
            resume=options["resume"],
            progress=lambda run, state: progress.line(_trial_line(run, state)),
            note=progress.note,
        )
    unwritten = reports.show_run(done.path, options)
    end = done.outcome.end
    code = reports.tell_why_unfinished(end, done.path, words.count(end.trials, "trial"))
    return code or int(done.outcome.passes_nothing) or unwritten


def _request(options: dict[str, Any]) -> DelayRequest:
    if (options["of_run"] is None) != (options["shares"] is None):
        message = "--of RUN and --at SHARES go together: the run that found a throughput, and the shares of it"
        raise UsageError(message)
    if options["goal"] and options["of_run"] is None:
        message = "--goal names a goal of the run given by --of; there is none"
        raise UsageError(message)
    check_traffic(options, [options["measurer"]])
    traffic = traffic_of(options)
    return DelayRequest(
        measurer=options["measurer"],
        loads=list(options["loads"]),
        of_run=None if options["of_run"] is None else str(options["of_run"]),
        shares=[share for share in (options["shares"] or "").split(",") if share],
        goal=options["goal"],
        wire=wire_of(options["measurer"], options["wire"], traffic["arguments"]),
        rounds=options["rounds"],
        trial_s=options["trial"],
        warm_up_s=options["warm_up"] or 0.0,
        on_invalid=options["on_invalid"],
        on_error=options["on_error"],
        traffic={**traffic, "ip": int(options["ip"])},
        labels=labels_of(options),
    )


@contextlib.contextmanager
def _opened(request: DelayRequest, options: dict[str, Any]) -> Iterator[dict[str, Measurer]]:
    """Open the measurer of each path, and close them all."""
    arguments = request.traffic["arguments"]
    paths = {DEVICE: (request.measurer, arguments)}
    if request.wire is not None and not Path(request.wire).exists():
        paths[WIRE] = (request.wire, wire_arguments(arguments))
    with contextlib.ExitStack() as stack:
        measurers = {}
        for path, (spec, words) in paths.items():
            measurers[path] = open_measurer(
                spec,
                timeout_s=options["timeout"],
                tester_arguments=words,
                ip=int(options["ip"]),
                detail=True,
            )
            stack.callback(measurers[path].close)
        yield measurers


def _trial_line(run: Run, state: DelayProgress) -> str:
    number = f"trial {state.trial} of {state.trials}" if state.trial else "warm-up"
    load = units.format_load(state.step.load, run.load_unit)
    left = units.format_duration(state.remaining_s)
    return f"{units.format_duration(state.elapsed_s):>9}  {number}  {load}  {state.step.path}  about {left} left"
