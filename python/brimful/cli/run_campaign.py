"""``brimful search --find burst``, ``recovery`` or ``loss`` with several sizes: a campaign of such runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import click
import msgspec

from brimful.campaign.kinds import RunRequest
from brimful.campaign.run import CampaignOutcome, OpenMember, run_campaign
from brimful.cli import reports
from brimful.cli.campaign import campaign_of
from brimful.cli.progress import ProgressView, open_progress
from brimful.cli.signals import INTERRUPTED, tell_how_to_go_on
from brimful.report import words
from brimful.run_index import RECORD_NAME
from brimful.throughput.manager import SearchRequest


class Find(Protocol):
    """What ``--find`` names."""

    def search(self, request: SearchRequest, open_for: OpenMember, options: dict[str, Any]) -> int:
        """Make a run of its own; gives the exit code."""
        ...

    def asked(self, request: SearchRequest, options: dict[str, Any]) -> RunRequest:
        """Give what the options ask of a run."""
        ...

    def shown_on(self, progress: ProgressView) -> Callable[..., None]:
        """Give what shows where a run stands."""
        ...


def search(find: Find, request: SearchRequest, open_member: OpenMember, options: dict[str, Any]) -> int:
    """Make a run for each size and print a table; gives the exit code, the worst of all sizes."""
    campaign = campaign_of(request, options)
    # Each run has a throughput of its own: no size begins at the load of another.
    campaign = msgspec.structs.replace(campaign, share_guesses=False, runs=find.asked(campaign.search, options))
    with open_progress(quiet=options["quiet"], verbose=options["verbose"]) as progress:
        outcome = run_campaign(
            campaign,
            open_member,
            out=options["out"],
            resume=options["resume"],
            progress=progress.update,
            run_progress=find.shown_on(progress),
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
    return 0 if all(member.answered for member in outcome.members) else 1
