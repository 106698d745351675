"""Recomputing every verdict of a campaign, and holding its record against those of its searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from brimful.burst.verification import BurstVerification, verify_burst
from brimful.campaign.run import with_results
from brimful.errors import RecordError
from brimful.loss.verification import LossVerification, verify_loss
from brimful.records import Goal, Member, RunFile, read_run
from brimful.recovery.verification import RecoveryVerification, verify_recovery
from brimful.throughput.verify import Finding, open_log, verify


class Unverified(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a run whose record cannot be verified."""

    findings: list[str]
    trials: int = 0
    notes: list[str] = []


RunVerification = BurstVerification | LossVerification | RecoveryVerification | Unverified

_OF_RUNS: Mapping[str, Callable[[RunFile], RunVerification]] = {
    "burst-campaign": verify_burst,
    "loss-campaign": verify_loss,
    "recovery-campaign": verify_recovery,
}


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


def verify_runs(file: RunFile) -> dict[str, RunVerification]:
    """Verify every run that ended of a campaign of runs that are no searches, by the name of the member.

    Parameters
    ----------
    file
        The record of the campaign.
    """
    verify_one = _OF_RUNS[file.run.subject]
    return {
        member.name: _verify_run(verify_one, file.path.parent, member)
        for member in file.members
        if member.run is not None
    }


def _verify_run(verify_one: Callable[[RunFile], RunVerification], directory: Path, member: Member) -> RunVerification:
    try:
        own = read_run(directory / member.path)
        found = verify_one(own)
    except RecordError as error:
        return Unverified(findings=[str(error)])
    if with_results(member, own) == member:
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
