"""``brimful search --find burst`` with several frame sizes: a campaign of runs on bursts."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from brimful.campaign.run import CampaignOutcome, OpenMember, run_campaign
from brimful.cli import reports
from brimful.cli.burst import burst_request, progress_line
from brimful.cli.campaign import campaign_of
from brimful.cli.progress import open_progress
from brimful.cli.signals import INTERRUPTED, tell_how_to_go_on
from brimful.records import Member
from brimful.report import words
from brimful.run_index import RECORD_NAME
from brimful.throughput.manager import SearchRequest


def search(request: SearchRequest, open_member: OpenMember, options: dict[str, Any]) -> int:
    """Find the longest burst of each frame size and print a table; gives the exit code, the worst of all sizes."""
    campaign = campaign_of(request, options)
    bursts = burst_request(campaign.search, options)
    # Each run has a throughput of its own: no size begins at the load of another.
    campaign = msgspec.structs.replace(campaign, share_guesses=False, bursts=bursts)
    with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
        outcome = run_campaign(
            campaign,
            open_member,
            out=options["out"],
            resume=options["resume"],
            progress=progress.update,
            burst_progress=lambda run, state: progress.line(progress_line(run, state)),
            note=progress.note,
        )
    unwritten = reports.show_run(outcome.directory / RECORD_NAME, options)
    return _exit_code(outcome) or unwritten


def _exit_code(outcome: CampaignOutcome) -> int:
    failed = [member for member in outcome.members if member.failed]
    for member in failed:
        click.echo(f"brimful: error: {member.name}: {member.end.text}", err=True)
    if outcome.end.reason == "interrupted":
        tell_how_to_go_on(words.count(len(outcome.members), "frame size"), outcome.directory)
        return INTERRUPTED
    if failed:
        return 3
    return 0 if all(_is_found(member) for member in outcome.members) else 1


def _is_found(member: Member) -> bool:
    return member.burst is not None and not member.burst.at_limit
