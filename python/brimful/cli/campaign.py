"""``brimful search`` with several measurers, frame sizes or repeats: a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from brimful.assertion import Assertion
from brimful.campaign.plan import Campaign, parse_sizes
from brimful.campaign.run import CampaignOutcome, OpenMember, run_campaign, times_of
from brimful.campaign.shards import Shard
from brimful.cli import reports
from brimful.cli.progress import open_progress
from brimful.cli.signals import tell_how_to_go_on
from brimful.errors import UsageError
from brimful.files import write_atomically
from brimful.measurers.catalogue import kind_of
from brimful.records import Member, RunFile, read_run, read_unchanged
from brimful.report import junit, words
from brimful.throughput.manager import SearchRequest

_FRAME_SIZE = "--frame-size="


def search(
    request: SearchRequest, open_member: OpenMember, options: dict[str, Any], checks: Sequence[Assertion]
) -> int:
    """Carry a campaign out and print what it found; gives the exit code."""
    with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
        outcome = run_campaign(
            campaign_of(request, options),
            open_member,
            out=options["out"],
            resume=options["resume"],
            progress=progress.update,
            note=progress.note,
        )
    missed = [
        f"{member.name}: {text}"
        for check in checks
        for member in outcome.members
        if member.goal_results and member.run is not None
        for text in check.failures(member.goal_results, member.run)
    ]
    if options["junit"]:
        write_atomically(options["junit"], junit.render([_suite(member, checks) for member in outcome.members]))
    file = read_run(outcome.directory)
    _print(outcome, file, options, missed)
    unwritten = 0
    if options["html"]:
        unwritten = reports.write_page(options["html"], lambda: reports.page(file), [file.path])
    if any(member.failed for member in outcome.members):
        return 3
    regular = outcome.end.reason == "done" and all(member.regular for member in outcome.members)
    return unwritten if regular and not missed else 1


def _suite(member: Member, checks: Sequence[Assertion]) -> junit.Suite:
    """Give the test cases of one search; one that failed has a case that says so."""
    if not member.goal_results or member.run is None:
        cases = [
            junit.Case(name="the search ended", problem=member.end.text or member.end.reason, is_error=member.failed)
        ]
        return junit.Suite(name=member.name, cases=cases, duration_s=member.end.search_s)
    conditions = [(check.text, check.failures(member.goal_results, member.run)) for check in checks]
    cases = junit.cases(member.goal_results, member.run.load_unit, conditions, member.end)
    return junit.Suite(name=member.name, cases=cases, duration_s=member.end.search_s)


def campaign_of(request: SearchRequest, options: dict[str, Any]) -> Campaign:
    """Give the campaign that the options describe.

    Raises
    ------
    UsageError
        When the sizes are none, or said twice.
    """
    sizes: list[str | None] = [None]
    if options["sizes"] is not None:
        if click.get_current_context().get_parameter_source("frame_size") is ParameterSource.COMMANDLINE:
            message = "--sizes and --frame-size both say how large frames are; give one of them"
            raise UsageError(message)
        own = not all(kind_of(measurer).hears_size for measurer in options["measurers"])
        sizes = parse_sizes(options["sizes"], names=own)
        arguments = [word for word in request.traffic["arguments"] if not word.startswith(_FRAME_SIZE)]
        request = msgspec.structs.replace(request, traffic={**request.traffic, "arguments": arguments})
    return Campaign(
        search=request,
        measurers=list(options["measurers"]),
        frame_sizes=sizes,
        repeats=options["repeats"],
        share_guesses=not options["no_shared_guesses"],
        shard=None if options["shard"] is None else Shard.parse(options["shard"]),
        expected_s={} if options["times_of"] is None else times_of(read_unchanged(options["times_of"])),
    )


def _print(outcome: CampaignOutcome, file: RunFile, options: dict[str, Any], missed: list[str]) -> None:
    if options["as_json"]:
        click.echo(reports.as_json(file))
    else:
        from brimful.report.rendering import summary

        click.echo(summary(file, style=reports.style(), columns=reports.prose_columns()), nl=False)
        click.echo(f"Record: {outcome.directory}")
        for text in missed:
            click.echo(f"Missed: {text}")
    for member in outcome.members:
        if member.failed:
            click.echo(f"brimful: error: {member.name}: {member.end.text}", err=True)
    if outcome.end.reason == "interrupted":
        tell_how_to_go_on(words.count(len(outcome.members), "search", "searches"), outcome.directory)
