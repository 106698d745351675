"""``brimful search``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from brimful import units
from brimful.assertion import Assertion
from brimful.cli import values
from brimful.cli.beds import BedCommand
from brimful.cli.burst_options import burst_options, check_burst_options
from brimful.cli.goal_options import GOAL_DEFAULTS, check_goals, parsed_goals
from brimful.cli.grouped import GroupedCommand
from brimful.cli.junit_option import junit_option
from brimful.cli.progress import open_progress
from brimful.cli.reports import check_page, page, prose_columns, style, write_page
from brimful.cli.signals import Interrupts, take_for_interrupt, tell_how_to_go_on
from brimful.cli.traffic_options import check_traffic, labels_of, traffic_of, traffic_options
from brimful.errors import UsageError, did_you_mean
from brimful.files import write_atomically
from brimful.measurers.base import Measurer
from brimful.measurers.catalogue import FORMS, is_disk
from brimful.measurers.opening import open_measurer
from brimful.records import NOTHING_PASSES, read_run, read_unchanged
from brimful.report import junit, words
from brimful.runs import named_run, refuse_if_written
from brimful.throughput.goals import PRESETS, named_goals
from brimful.throughput.manager import SearchOutcome, SearchRequest, run_search

_GROUPS = {
    "Most used": (
        "measurers",
        "preset",
        "goal_texts",
        "max_load",
        "frame_size",
        "budget",
        "resume",
        "html",
        "assertions",
        "as_json",
    ),
    "What to find": ("find", "strategy", "min_load", "hint", "early_termination", "warm_up"),
    "With --find burst": ("throughput", "tests", "longest", "step", "attempts", "rest"),
    "With --find recovery (and --throughput, --tests)": ("overload", "probe", "reset_command"),
    "What to send": ("profile", "flows", "direction", "pattern", "port_shares", "vlan", "ip", "force", "tester_extra"),
    "Campaign: many searches in one record": ("sizes", "repeats", "no_shared_guesses", "shard", "times_of"),
    "When trials fail": ("on_invalid", "on_error", "timeout", "no_calibrate"),
    "What is written": ("out", "labels", "junit", "quiet", "verbose", "help"),
}
"""Title in the help text: parameters."""
_TWICE = 130
"""Exit code of a search that was interrupted again while it ended: as of any program that Ctrl-C ends."""


def _checked_strategy(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    from brimful import _core

    try:
        _core.check_strategy(text)
    except ValueError as error:
        message = f"--strategy: {error}{did_you_mean(text, _core.strategies())}"
        raise UsageError(message) from error
    return text


class _SearchCommand(BedCommand, GroupedCommand):
    """Takes beds, and shows its options in groups."""

    groups = _GROUPS


@click.command("search", cls=_SearchCommand)
@click.option(
    "--measurer",
    "-m",
    "measurers",
    type=values.MEASURER,
    multiple=True,
    required=True,
    metavar="SPEC",
    help=f"What to measure with: {FORMS}. Several: a campaign.",
)
@click.option(
    "--sizes",
    metavar="SIZE,...",
    help="A campaign: a search for each frame size, like 64,512,1518,imix, or IO size of a disk, like 4k,64k.",
)
@click.option("--repeat", "repeats", type=click.IntRange(1, 1000), default=1, help="A campaign: every search N times.")
@click.option("--no-shared-guesses", is_flag=True, help="Start no search from results of earlier ones.")
@click.option(
    "--shard", metavar="PART/PARTS", help="Measure a part, like 3/10; `brimful merge` makes one record of the parts."
)
@click.option("--times-of", type=values.RUN, help="Parts that take equally long by the times of this campaign.")
@click.option(
    "--find",
    type=click.Choice(["throughput", "burst", "recovery", "loss"]),
    default="throughput",
    help="Loads; the longest burst without loss (RFC 2544 section 26.4); how long frames are lost after an overload or"
    " a reset (26.5, 26.6); or how much is lost at each load (26.3).",
)
@burst_options
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="Goals by name.  [default: csit, of a disk: disk, with --find burst or recovery: rfc2544]",
)
@click.option(
    "--goal",
    "goal_texts",
    multiple=True,
    metavar="GOAL",
    help=f"A goal instead of a preset's, like loss=0.5%,exceed=50%,trial=1s,sum=21s,initial=1s,width=0.5%,name=pdr."
    f" {GOAL_DEFAULTS} delay=1ms also limits the 99th percentile of the delay. Repeat it for several.",
)
@click.option(
    "--strategy",
    metavar="NAME[,OPTION...]",
    callback=_checked_strategy,
    help="straddle, bisect, or classic[,phases=N][,timeout=SECONDS]. Default: the preset's.",
)
@click.option("--min-load", metavar="LOAD", help="Never below this. Default: max load / 1000.")
@click.option("--max-load", metavar="LOAD", help="Never above this. Default: what the measurer can offer.")
@click.option("--hint", metavar="LOAD|RUN", help="Begin near this load, or near the result of this run.")
@click.option(
    "--budget",
    type=values.SECONDS,
    help="Stop each search after this time, set-up included, with the bounds found so far: 5m.",
)
@click.option(
    "--early-termination/--no-early-termination",
    show_default=False,
    help="End trials early when their outcome is certain.",
)
@click.option("--warm-up", type=values.SECONDS, help="Before the search, a trial at max load that is not counted.")
@values.failure_options("fail, retry:N or loss")
@click.option("--no-calibrate", is_flag=True, help="Do not measure the tester's own ceiling first.")
@traffic_options
@values.record_options
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write a report.")
@click.option(
    "--assert",
    "assertions",
    multiple=True,
    metavar="CONDITION",
    help="Exit with code 1 unless this is true: 'ndr >= 1.2Mpps', or 'ndr >= 95% of RUN'.",
)
@junit_option("search", "goal and each --assert")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@values.progress_options("trial")
def search(**options: Any) -> int:  # noqa: ANN401
    """Find how much load something takes at given loss ratios.

    Goals, verdicts and results are those of MLRsearch (draft-ietf-bmwg-mlrsearch-15, RFC 9971 to be). Every trial is
    kept in a record; see `brimful report`. Exit code 1: a result is irregular (with --find burst or recovery: nothing,
    or only a lower limit), or an asserted threshold is missed. An interrupted search has a result; 130 is that of one
    interrupted before it began, or twice.

    With --sizes, --repeat or several measurers it is a campaign: a search for every combination, one record and one
    report; all other options apply to each. With another --find, --sizes makes a run for each size.
    """
    if options["html"]:
        check_page(options["html"], options["out"])
    check_burst_options(click.get_current_context())
    request = _request(options)
    checks = [Assertion.parse(text, [goal.name for goal in request.goals]) for text in options["assertions"]]
    interrupts = take_for_interrupt()
    timeout_s, ip = options["timeout"], int(options["ip"])

    def open_for(asked: SearchRequest) -> Measurer:
        return open_measurer(asked.measurer, timeout_s=timeout_s, tester_arguments=asked.traffic["arguments"], ip=ip)

    several = len(options["measurers"]) > 1 or options["sizes"] is not None or options["repeats"] > 1
    _check_shard(options, several=several)
    if options["find"] != "throughput":
        return _find(request, open_for, options)
    if several:
        from brimful.cli import campaign

        code = campaign.search(request, open_for, options, checks)
        return _TWICE if interrupts.were_repeated else code
    return _search_once(request, open_for, options, checks, interrupts)


def _find(request: SearchRequest, open_for: Callable[[SearchRequest], Measurer], options: dict[str, Any]) -> int:
    """Find something else than a throughput."""
    from brimful.cli import burst, loss, recovery, run_campaign

    if options["find"] == "burst":
        find: run_campaign.Find = burst
    else:
        find = loss if options["find"] == "loss" else recovery
    if options["sizes"] is not None:
        return run_campaign.search(find, request, open_for, options)
    return find.search(request, open_for, options)


def _search_once(
    request: SearchRequest,
    open_for: Callable[[SearchRequest], Measurer],
    options: dict[str, Any],
    checks: Sequence[Assertion],
    interrupts: Interrupts,
) -> int:
    if options["resume"]:
        refuse_if_written(options["out"], request.fingerprint())  # before what is opened here disturbs it
    began_s = time.monotonic()
    measurer = open_for(request)
    set_up_s = time.monotonic() - began_s
    try:
        with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
            outcome = run_search(
                request,
                measurer,
                out=options["out"],
                resume=options["resume"],
                set_up_s=set_up_s,
                progress=progress.update,
                note=progress.note,
            )
    finally:
        measurer.close()
    conditions = [(check.text, check.failures(outcome.result.goal_results, outcome.run)) for check in checks]
    missed = [text for _, failures in conditions for text in failures]
    _print(outcome, as_json=options["as_json"], missed=missed)
    if options["junit"]:
        end, unit = outcome.result.end, outcome.run.load_unit
        found = junit.cases(outcome.result.goal_results, unit, conditions, end)
        suite = junit.Suite(name=outcome.run.measurer.spec, cases=found, duration_s=end.search_s)
        write_atomically(options["junit"], junit.render([suite]))
    unwritten = 0
    if options["html"]:
        unwritten = write_page(options["html"], lambda: page(read_run(outcome.path)), [outcome.path])
    if outcome.result.end.reason == "measurement-failed":
        click.echo(f"brimful: error: {outcome.result.end.text}; the record is {outcome.path}", err=True)
        return 3
    if outcome.result.end.reason == "interrupted":
        tell_how_to_go_on(words.count(outcome.result.end.trials, "trial"), outcome.path.parent)
        if interrupts.were_repeated:
            return _TWICE
    return 1 if missed or not outcome.result.regular else unwritten


def _check_shard(options: dict[str, Any], *, several: bool) -> None:
    if options["times_of"] is not None and options["shard"] is None:
        message = "--times-of is of --shard; add it"
        raise UsageError(message)
    if options["shard"] is not None and not several:
        message = "--shard is of campaigns; add --sizes, --repeat or another --measurer"
        raise UsageError(message)


def _request(options: dict[str, Any]) -> SearchRequest:
    # A campaign gives the sizes itself.
    sized = options["sizes"] is not None
    check_traffic({**options, "frame_size": None} if sized else options, options["measurers"])
    check_goals(options["preset"], options["goal_texts"])
    usual = "rfc2544" if options["find"] != "throughput" else "disk" if is_disk(options["measurers"][0]) else "csit"
    preset_name = options["preset"] or usual
    preset = PRESETS[preset_name]
    own_goals = parsed_goals(options["goal_texts"])
    hint = None if options["hint"] is None else _hint(options["hint"])
    return SearchRequest(
        measurer=options["measurers"][0],
        goals=named_goals(own_goals or preset.goals, of_disk=all(map(is_disk, options["measurers"]))),
        strategy=options["strategy"] or ("straddle" if own_goals else preset.strategy),
        preset=None if own_goals else preset_name,
        min_load=options["min_load"],
        max_load=options["max_load"],
        hint=hint,
        budget_s=options["budget"],
        early_termination=options["early_termination"],
        warm_up_s=options["warm_up"] or 0.0,
        on_invalid=options["on_invalid"],
        on_error=options["on_error"],
        calibrate=not options["no_calibrate"],
        traffic=traffic_of(options),
        labels=labels_of(options),
    )


def _hint(text: str) -> str:
    """Give the load to begin near, as text; that of a run is its first lower bound."""
    if text and (path := named_run(Path(text))).exists():
        return _hint_of_run(path)
    try:
        units.parse_load(text, frame_size=1, io_size=1, max_load=1.0)  # what it needs to know is not known yet
    except UsageError as error:
        message = f"--hint {text!r} is no load like 1.2Mpps or 50%, and there is no RUN of that name"
        raise UsageError(message) from error
    return text


def _hint_of_run(path: Path) -> str:
    found = [result.lower_bound for result in read_unchanged(path).goal_results if result.lower_bound is not None]
    if not found:
        message = f"--hint {path}: the run has no lower bound to begin from; give a load"
        raise UsageError(message)
    return repr(found[0])


def _print(outcome: SearchOutcome, *, as_json: bool, missed: list[str]) -> None:
    if as_json:
        facts = {
            "run_id": outcome.run.run_id,
            "path": str(outcome.path),
            "regular": outcome.result.regular,
            "end": outcome.result.end.reason,
            "search_s": outcome.result.end.search_s,
            "trials": outcome.result.end.trials,
            "passes_nothing": any(warning.code == NOTHING_PASSES for warning in outcome.warnings),
            "load_unit": outcome.run.load_unit,
            "load_scope": outcome.run.load_scope,
            "goal_results": msgspec.to_builtins(outcome.result.goal_results),
            "machine": msgspec.to_builtins(outcome.result.end.machine),
            "warnings": msgspec.to_builtins(outcome.warnings),
            "assertions_missed": missed,
        }
        click.echo(json.dumps(facts, indent=2))
        return
    from brimful.report.rendering import summary

    click.echo(summary(read_run(outcome.path), style=style(), columns=prose_columns()))
    click.echo(f"Record: {outcome.path}")
    for condition in missed:
        click.echo(f"Missed: {condition}")
