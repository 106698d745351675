"""Recomputing every verdict of a campaign, and holding its record against those of its searches."""

from __future__ import annotations

from pathlib import Path

import msgspec

from brimful.burst.verification import BurstVerification, verify_burst
from brimful.errors import RecordError
from brimful.records import Burst, Goal, Member, RunFile, read_run
from brimful.throughput.verify import Finding, open_log, verify


class MemberVerification(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the verdicts of one search."""

    name: str
    path: str
    trials: int
    loads: int
    findings: list[Finding]
    """What does not hold."""


def verify_campaign(file: RunFile, goals: list[Goal] | None = None) -> list[MemberVerification]:
    """Verify every search that ended and that made trials.

    Parameters
    ----------
    file
        The record of a campaign.
    goals
        Judge by these instead; the records then claim nothing.
    """
    return [_verify(file.path.parent, member, goals) for member in file.members if member.run is not None]


def verify_bursts(file: RunFile) -> dict[str, BurstVerification]:
    """Verify every run on bursts that ended, by the name of the member.

    Parameters
    ----------
    file
        The record of a campaign of bursts.
    """
    return {member.name: _verify_bursts(file.path.parent, member) for member in file.members if member.run is not None}


def _verify_bursts(directory: Path, member: Member) -> BurstVerification:
    try:
        own = read_run(directory / member.path)
        found = verify_burst(own)
    except RecordError as error:
        return BurstVerification(tests=[], result=None, trials=0, findings=[str(error)])
    if (own.run, own.last(Burst)) == (member.run, member.burst):
        return found
    text = "the campaign does not say what the record of the run says"
    return msgspec.structs.replace(found, findings=[*found.findings, text])


def _verify(directory: Path, member: Member, goals: list[Goal] | None) -> MemberVerification:
    try:
        opened = open_log(directory / member.path, goals)
        found = verify(opened)
    except RecordError as error:
        return MemberVerification(
            name=member.name, path=member.path, trials=0, loads=0, findings=[Finding("unreadable-record", str(error))]
        )
    findings = list(found.findings)
    if opened.file is not None and (opened.file.run, opened.file.goal_results) != (member.run, member.goal_results):
        text = f"{member.name}: the campaign does not say what the record of the search says"
        findings.append(Finding("member-differs", text))
    return MemberVerification(
        name=member.name, path=member.path, trials=found.trials, loads=len(found.loads), findings=findings
    )
