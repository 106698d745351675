"""``brimful compare -m A -m B``: devices against each other, live."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from brimful import units
from brimful.cli import values
from brimful.cli.option_lists import in_order
from brimful.cli.traffic_options import check_traffic, labels_of, traffic_of, traffic_options
from brimful.errors import UsageError

if TYPE_CHECKING:
    from brimful.paired.beds import Beds
    from brimful.paired.loop import PairedProgress
    from brimful.paired.manager import PairedRequest
    from brimful.records import Ratio, Run

_CODES = {"regression": 1, "no-regression": 0, "at-threshold": 4, "undecided": 4, "cannot-tell": 4}
UNDECIDED = 4
"""Exit code where nothing is known well enough."""
_MOST_DEVICES = 20

_OPTIONS = (
    click.option(
        "--measurer",
        "-m",
        "measurers",
        type=values.MEASURER,
        multiple=True,
        metavar="SPEC",
        help="Compare live: a device. Give two or more; each is held against the first.",
    ),
    click.option(
        "--variant",
        "variants",
        multiple=True,
        metavar="NAME=COMMAND",
        help="A build, and the shell command that makes it active behind the one --measurer. Give two or more.",
    ),
    click.option(
        "--switch-limit", type=values.SECONDS, default="5m", help="A command of --variant that takes longer has failed."
    ),
    click.option(
        "--precision",
        type=values.SMALL_RATIO,
        default="1%",
        help="The run ends when the ratio is known to this, plus or minus.",
    ),
    click.option("--budget", type=values.SECONDS, default="10m", help="Longest time for each question."),
    click.option("--seed", type=click.IntRange(0), default=1, help="What the order is drawn from."),
    click.option(
        "--control/--no-control",
        default=None,
        help="Measure the first device beside itself: no verdict where it differs. Default: for labs.",
    ),
    click.option(
        "--at",
        "second",
        metavar="loss=RATIO",
        help="Also: which device exceeds this loss ratio more often, at 0.97 of its capacity.",
    ),
    click.option("--trial", type=values.SECONDS, default="500ms", help="Length of each trial."),
    click.option("--max-load", metavar="LOAD", help="Offer no more than this. Default: what the tester can."),
    click.option(
        "--renew", type=values.SECONDS, help="Make all devices anew after so much time. Default: 2m for labs."
    ),
    values.record_options,
    values.progress_options("trial"),
)
_SHARED = ("tolerance", "html_file", "junit", "as_json")
"""Options that comparisons of recorded runs have too."""


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of live comparisons."""
    command = traffic_options(command)
    command = values.failure_options("fail or retry:N")(command)
    return in_order(*_OPTIONS)(command)


def is_live(context: click.Context) -> bool:
    """Say whether devices are to be compared, and refuse options that runs do not have.

    Raises
    ------
    UsageError
        When devices and runs are both given, or neither.
    """
    given = context.params
    if given["measurers"]:
        if given["runs"] or given["against"]:
            message = "runs and -m are both given: compare either recorded runs or devices"
            raise UsageError(message)
        if given["loss"] is not None:
            message = "--detect: is for recorded runs; live, --precision and --tolerance say what is to be seen"
            raise UsageError(message)
        return True
    recorded = {"runs", "against", "loss", *_SHARED}
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in recorded and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            message = f"{parameter.opts[0]}: is for devices, live: give two -m"
            raise UsageError(message)
    return False


def run(options: dict[str, Any]) -> int:
    """Compare devices and print the report; gives the exit code."""
    from brimful.cli import reports
    from brimful.cli.progress import open_progress
    from brimful.managed import Place
    from brimful.paired.manager import check_request, run_comparison
    from brimful.runs import refuse_if_written

    if options["html_file"]:
        reports.check_page(options["html_file"], options["out"])
    request = _request(options)
    check_request(request)
    if options["resume"]:
        refuse_if_written(options["out"], request.fingerprint())  # before what is opened here disturbs it
    beds = _opened(request, options)
    try:
        with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
            done = run_comparison(
                request,
                beds,
                place=Place(out=options["out"], resume=options["resume"]),
                progress=lambda run, state: progress.line(progress_line(run, state)),
                note=progress.note,
            )
    finally:
        beds.close()
    unwritten = reports.show_run(done.path, {**options, "html": options["html_file"]})
    if options["junit"]:
        _write_junit(done.path, options["junit"])
    outcome, end = done.outcome, done.outcome.end
    if end.reason == "measurement-failed":
        return reports.tell_why_unfinished(end, done.path, None)
    verdicts = [ratio.verdict for ratio in outcome.ratios] + [losses.verdict for losses in outcome.losses]
    code = exit_code(verdicts)
    if end.reason == "interrupted" and code == UNDECIDED:
        return reports.tell_why_unfinished(end, done.path, f"{end.trials} trials")
    return code or unwritten


def exit_code(verdicts: Sequence[str]) -> int:
    """Give the exit code of some verdicts: 1 where one is a regression, 4 where one is open, else 0.

    >>> exit_code(["no-regression", "same"]), exit_code(["regression", "undecided"]), exit_code([])
    (0, 1, 4)
    """
    codes = [_CODES[verdict] for verdict in verdicts if verdict in _CODES]
    return 1 if 1 in codes else max(codes, default=UNDECIDED)


def progress_line(run: Run, state: PairedProgress) -> str:
    """Say where a run stands, never a verdict."""
    time = f"{units.format_duration(round(state.elapsed_s, 1)):>9}"
    if not state.ratios:
        name = run.paired.devices[state.step.device].name if run.paired is not None else ""
        load = units.format_load(state.step.load, run.load_unit)
        return f"{time}  calibrating {name}, trial {state.step.round + 1} at {load}"
    known = ", ".join(_ratio(ratio, run) for ratio in state.ratios if ratio.verdict not in ("same", "differs"))
    if state.step.stage == "loss":
        return f"{time}  {known}; counting losses, pair {state.step.round + 1}"
    if state.remaining_s is None:
        return f"{time}  {known}"
    return f"{time}  {known}, about {units.format_duration(float(f'{max(1.0, state.remaining_s):.1g}'))} more"


def _ratio(ratio: Ratio, run: Run) -> str:
    first = run.paired.devices[0].name if run.paired is not None else ""
    name = f"{ratio.device}/{first}"
    if ratio.ratio is None:
        return f"{name} not known yet"
    if ratio.low is None or ratio.high is None:
        return f"{name} {ratio.ratio:.3f}"
    return f"{name} {ratio.ratio:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def _request(options: dict[str, Any]) -> PairedRequest:
    from brimful.paired.manager import CONTROL, RENEW_S, TOLERANCE, PairedRequest

    specs = list(options["measurers"])
    variants = [_variant(text) for text in options["variants"]]
    if variants and len(specs) > 1:
        message = "--variant: builds share one test bed; give one -m"
        raise UsageError(message)
    check_traffic(options, specs)
    names = [name for name, _ in variants] or list(string.ascii_uppercase[: len(specs)])
    if len(set(names)) < len(names) or len(specs) > _MOST_DEVICES:
        message = f"{len(names)} devices: give each --variant another name, and no more than {_MOST_DEVICES} of them"
        raise UsageError(message)
    devices = [(name, specs[0]) for name in names] if variants else list(zip(names, specs, strict=True))
    commands = [command for _, command in variants]
    is_lab = all(spec.startswith("lab:") for spec in specs)
    control = is_lab and not variants if options["control"] is None else options["control"]
    if control:
        devices.append((CONTROL if not variants else f"{names[0]} again", specs[0]))
        commands += commands[:1]
    return PairedRequest(
        devices=devices,
        commands=commands,
        tolerance=TOLERANCE if options["tolerance"] is None else options["tolerance"],
        precision=options["precision"],
        budget_s=options["budget"],
        seed=options["seed"],
        trial_s=options["trial"],
        control=control,
        renew_s=options["renew"] or (RENEW_S if is_lab and not variants else None),
        loss_ratio=_loss_ratio(options["second"]),
        max_load=options["max_load"],
        on_invalid=options["on_invalid"],
        on_error=options["on_error"],
        traffic={**traffic_of(options), "ip": int(options["ip"])},
        labels=labels_of(options),
    )


def _variant(text: str) -> tuple[str, str]:
    name, equals, command = text.partition("=")
    if not equals or not name or not command.strip():
        message = f"--variant {text!r} is not NAME=COMMAND"
        raise UsageError(message)
    if not text.isprintable():
        message = f"--variant {text!r} has characters that cannot be shown; leave them out"
        raise UsageError(message)
    return name, command


def _loss_ratio(text: str | None) -> float | None:
    if text is None:
        return None
    name, equals, ratio = text.partition("=")
    if name != "loss" or not equals:
        message = f"--at {text!r} is not loss=RATIO; write --at loss=0"
        raise UsageError(message)
    return units.parse_small_ratio(ratio)


def _opened(request: PairedRequest, options: dict[str, Any]) -> Beds:
    """Open the test bed of each device, or the one that builds share."""
    from brimful.measurers.opening import open_measurer
    from brimful.paired.beds import OwnBeds, SharedBed, share_a_place

    def opened(device: int) -> Any:  # noqa: ANN401 - a measurer of any kind
        return open_measurer(
            request.devices[device][1],
            timeout_s=options["timeout"],
            tester_arguments=request.traffic["arguments"],
            ip=int(options["ip"]),
        )

    if request.commands:
        return SharedBed(opened(0), request.commands, limit_s=options["switch_limit"])
    specs = [spec for _, spec in request.devices]
    return OwnBeds(opened, len(specs), one_at_a_time=share_a_place(specs))


def _write_junit(record: Path, path: Path) -> None:
    from brimful.files import write_atomically
    from brimful.records import read_run
    from brimful.report import junit
    from brimful.report.paired.model import suite

    write_atomically(path, junit.render([suite(read_run(record))]))
    click.echo(f"wrote {path}", err=True)
