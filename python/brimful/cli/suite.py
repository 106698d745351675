"""``brimful rfc2544``: all tests of RFC 2544 by one command; and what every suite's command has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from brimful.campaign.plan import parse_sizes
from brimful.cli import reports, values
from brimful.cli.beds import BedCommand
from brimful.cli.checked import NAMED
from brimful.cli.junit_option import junit_option
from brimful.cli.option_lists import in_order
from brimful.cli.progress import open_progress
from brimful.cli.traffic_options import check_traffic, labels_of, traffic_of, traffic_options
from brimful.errors import UsageError
from brimful.files import write_atomically
from brimful.measurers.base import Measurer
from brimful.measurers.catalogue import SIZE, kind_of
from brimful.measurers.opening import open_measurer
from brimful.records import SuitePlan, read_run
from brimful.report import junit, words
from brimful.report.suite import cases
from brimful.report.suite.requirements import Check, Requirements, read_requirements
from brimful.report.suite.sections import sizes_of
from brimful.session import INTERRUPTED
from brimful.suite_assertion import SuiteAssertion
from brimful.suites.durations import expected_s
from brimful.suites.manager import Suite, SuiteRun, check_suite, run_suite
from brimful.suites.modifiers import BROADCAST, parse_modifiers
from brimful.suites.rfc2544 import TESTS, Open, SuiteRequest, suite_of
from brimful.throughput.manager import SearchRequest
from brimful.units import format_duration, parse_load

_ANY_SIZE = 64
LONGEST = 9216
"""Of our tester's frames, in bytes with check sequence."""


def suite_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every suite."""
    options = (
        click.option(
            "--max-load",
            callback=_checked_load,
            metavar="LOAD",
            help="What 100 % is, the rate of a link: 10Gbps, or frames/s for all sizes. Default: the tester's.",
        ),
        click.option("--shard", hidden=True, expose_value=False, callback=_refuse_shard),
        click.option("--quick", is_flag=True, help="Shorter and fewer trials; every page says so."),
        click.option(
            "--require",
            "requirements",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="A TOML file of requirements; the exit code is 1 if one is missed.",
        ),
        click.option(
            "--assert",
            "assertions",
            multiple=True,
            metavar="CONDITION",
            help="Exit with code 1 unless this is true: 'throughput[64] >= 1Mpps', or at each size 'latency.p99 <= 110%"
            " of RUN'.",
        ),
        values.failure_options("fail or retry:N"),
        values.record_options,
        values.output_options("step"),
    )
    return junit_option(command.__name__, "test, requirement and --assert")(in_order(*options)(command))


def _refuse_shard(_context: click.Context, _parameter: click.Parameter, text: str | None) -> None:
    if text is not None:
        message = "--shard: tests of a suite build on each other: it is not cut; give each test bed some of the --sizes"
        raise UsageError(message)


def _checked_load(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Refuse a load that is none, whatever the size of frames: it would fail each test."""
    try:
        if text is not None:
            parse_load(text, frame_size=_ANY_SIZE, max_load=1.0)
    except UsageError as error:
        message = f"--max-load: {error}"
        raise UsageError(message) from error
    return text


def carry_out(
    suite_of: Callable[[Callable[[str], None]], Suite],
    options: dict[str, Any],
    expected_s: Callable[[Sequence[str]], float],
) -> int:
    """Check a suite, forecast its time, make its tests, and show them; gives the exit code.

    Parameters
    ----------
    suite_of
        Gives the suite, from what gets a line for each step.
    options
        As `suite_options` has them.
    expected_s
        Forecasts how long tests take.
    """
    if options["html"]:
        reports.check_page(options["html"], options["out"])
    planned = suite_of(lambda text: None)
    check_suite(planned)
    required = Requirements({}) if options["requirements"] is None else read_requirements(options["requirements"])
    asserted = [SuiteAssertion.parse(text, planned.plan) for text in options["assertions"]]

    def begin(plan: SuitePlan) -> None:
        for text in required.unmeasured(plan):
            click.echo(f"brimful: note: --require {options['requirements']}: {text}", err=True)
        for text in [text for one in asserted for text in one.unmeasured(plan)]:
            click.echo(f"brimful: note: --assert {text}", err=True)
        sizes, tests = len(plan.sizes), len(plan.tests)
        forecast = _rounded(expected_s(plan.tests))
        time = "of the simulator's time" if options["measurer"].startswith("sim:") else ""
        click.echo(
            f"{words.count(sizes, 'size')}, {words.count(tests, 'test')}: about {forecast} {time}".rstrip(), err=True
        )
        for test, why in plan.not_done.items():
            click.echo(f"not done: {test}: {why}", err=True)

    with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
        note = progress.note
        done = run_suite(
            suite_of(note),
            out=options["out"],
            resume=options["resume"],
            begin=begin,
            progress=note,
            note=note,
        )
    file = read_run(done.path)
    checks = [*required.checks(file), *(check for one in asserted for check in one.checks(file))]
    return _finish(done, options, checks)


@click.command("rfc2544", cls=BedCommand)
@click.option("--measurer", "-m", type=values.MEASURER, required=True, metavar="SPEC", help="What to measure with.")
@click.option(
    "--sizes",
    metavar="BYTES,...",
    help="Frame sizes with FCS, or imix. Default: those of section 9.1, as far as headers leave room: 64,128,256,512,"
    "1024,1280,1518; with --ip 6 from 84, with --vlan 4 bytes more at both ends.",
)
@click.option(
    "--tests", metavar="TEST,...", default=",".join(TESTS), help="The tests of section 26 to make at each size."
)
@click.option(
    "--modifier",
    "modifiers",
    multiple=True,
    metavar="NAME[=COMMAND]",
    help="Search for the throughput once more with this of section 11: broadcast, or management, routing or filters"
    " by a shell command that runs during the test; in a lab it runs where the device is.",
)
@click.option(
    "--reset-command", type=NAMED, metavar="COMMAND", help="Also test a reset by this shell command (section 26.6)."
)
@traffic_options
@suite_options
def rfc2544(**options: Any) -> int:  # noqa: ANN401
    """Make all tests of RFC 2544 section 26 at each frame size, in one record and one report.

    The tests are throughput, latency, frame loss rate, back-to-back frames, system recovery, and with --reset-command
    reset. Each has a record of its own below that of the suite. Exit code 1: a requirement or an
    asserted threshold is missed; 3: a test failed.
    """
    request = _request(options)
    foreseen = partial(expected_s, request.durations, len(request.sizes))
    return carry_out(lambda note: suite_of(request, _opener(options), note=note), options, foreseen)


def _finish(done: SuiteRun, options: dict[str, Any], checks: Sequence[Check]) -> int:
    """Show a suite, say what is missed or missing, and give the exit code."""
    unwritten = reports.show_run(done.path, options)
    if options["junit"]:
        write_atomically(options["junit"], junit.render([cases.suite(read_run(done.path), checks)]))
        click.echo(f"wrote {options['junit']}", err=True)
    missed = [check for check in checks if not check.is_met]
    if done.end.reason != INTERRUPTED:
        for check in missed:
            click.echo(f"Missed: {check.name} required, {check.found}", err=options["as_json"])
    unfinished = reports.tell_why_unfinished(done.end, done.path, words.count(len(done.tests), "test"))
    return unfinished or (1 if missed else unwritten)


def _request(options: dict[str, Any]) -> SuiteRequest:
    kind = kind_of(options["measurer"])
    if kind.is_disk or not (kind.hears_size or SIZE in options["measurer"]):
        hint = "see brimful search" if kind.is_disk else f"write {SIZE} where the frame size belongs"
        message = f"--sizes: measurer {options['measurer']!r} does not send frames of these sizes; {hint}"
        raise UsageError(message)
    if options["frame_size"] is not None:
        message = "--frame-size: a suite has several; give --sizes"
        raise UsageError(message)
    check_traffic(options, [options["measurer"]])
    modifiers = parse_modifiers(options["modifiers"])
    if BROADCAST in modifiers and not kind.sends_profiles:
        message = f"--modifier broadcast: measurer {options['measurer']!r} cannot send broadcasts; leave it out"
        raise UsageError(message)
    usual = sizes_of(int(options["ip"]), is_tagged=options["vlan"] is not None)
    sizes = parse_sizes(",".join(usual) if options["sizes"] is None else options["sizes"])
    if kind.sends_profiles and not options.get("profile"):
        _check_sizes(sizes, int(usual[0]))
    return SuiteRequest(
        search=SearchRequest(
            measurer=options["measurer"],
            goals=[],
            strategy="straddle",
            max_load=options["max_load"],
            on_invalid=options["on_invalid"],
            on_error=options["on_error"],
            traffic={**traffic_of(options), "ip": int(options["ip"])},
            labels=labels_of(options),
        ),
        sizes=[size for size in sizes if size is not None],
        tests=[test.strip() for test in options["tests"].split(",")],
        is_quick=options["quick"],
        reset_command=options["reset_command"],
        modifiers=modifiers,
    )


def _check_sizes(sizes: Sequence[str | None], least: int) -> None:
    """Refuse frames that our tester cannot send before those of other sizes are measured."""
    for size in sizes:
        if size is not None and size.isdecimal() and not least <= int(size) <= LONGEST:
            message = f"--sizes: {size} is no size from {least} bytes, which headers and stamp need, to {LONGEST}"
            raise UsageError(message)


def _opener(options: dict[str, Any]) -> Callable[[SearchRequest], Open]:
    """Give what opens a measurer for the tests at a size."""

    def open_for(search: SearchRequest) -> Open:
        def open_one(spec: str, detail: bool) -> Measurer:
            return open_measurer(
                spec,
                timeout_s=options["timeout"],
                tester_arguments=search.traffic["arguments"],
                ip=int(options["ip"]),
                detail=detail,
            )

        return open_one

    return open_for


def _rounded(seconds: float) -> str:
    """Write a forecast as people say it.

    >>> _rounded(1234.0), _rounded(30000.0)
    ('21 min', '8 h 20 min')
    """
    return format_duration(60.0 * round(max(seconds, 60.0) / 60))
