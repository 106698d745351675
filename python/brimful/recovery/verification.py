"""Recompute what a run on recovery claims, from its trials."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from brimful.errors import RecordError
from brimful.records import Recovery, RunFile
from brimful.records.stated import recoveries as stated_recoveries
from brimful.records.stated import recovery_plan
from brimful.recovery.calculations import recoveries
from brimful.throughput.found import common_findings, verify_found


class RecoveryVerification(msgspec.Struct, frozen=True):
    """Everything recomputed from the trials of a run."""

    recoveries: list[Recovery]
    trials: int
    findings: list[str]
    """Claims that do not hold."""
    notes: list[str] = []
    """What is to be known beside: that there is no end, or what could not be looked at."""


def verify_recovery(file: RunFile) -> RecoveryVerification:
    """Recompute every time of a run.

    Raises
    ------
    RecordError
        When the record does not say what was measured.
    """
    plan = recovery_plan(file)
    throughput = verify_found(file.path.parent, plan.throughput, plan.throughput_run, plan.throughput_goal)
    findings, notes = common_findings(file, throughput)
    try:
        found = recoveries(file.trials, plan, conversion_factor=file.run.conversion_factor)
    except RecordError as error:
        return RecoveryVerification([], len(file.counted()), [*findings, str(error)], notes)
    return RecoveryVerification(found, len(file.counted()), [*findings, *_differences(file, found)], notes)


def _differences(file: RunFile, found: list[Recovery]) -> Iterator[str]:
    claims = {record.round: record for record in stated_recoveries(file)}
    # A run that was cut short states whole rounds only.
    due = found if file.is_done() else [one for one in found if one.round in claims]
    for one in due:
        claim = claims.pop(one.round, None)
        if claim != one:
            yield f"round {one.round}: is recorded as {claim}, but the trials give {one}"
    for number in claims:
        yield f"round {number}: the record has a time, but no trials for it"
