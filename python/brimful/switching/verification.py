"""Recompute what a test of a switch claims, from its trials."""

from __future__ import annotations

import msgspec

from brimful.records import RunFile, SwitchingPlan, SwitchingResult
from brimful.switching.steps import TESTS, Step, next_of


class SwitchingVerification(msgspec.Struct, frozen=True):
    """Everything recomputed from the trials of a run."""

    results: list[SwitchingResult]
    trials: int
    findings: list[str]
    """Claims that do not hold."""
    notes: list[str] = []


def plan_of(file: RunFile) -> SwitchingPlan:
    """Give what a run set out to measure.

    Raises
    ------
    RecordError
        When the record does not say, or says what cannot be.
    """
    plan = file.run.switching
    return file.planned(plan if plan and plan.test in TESTS and plan.rate > 0 else None)


def verify_switching(file: RunFile) -> SwitchingVerification:
    """Take every decision of a run again.

    Raises
    ------
    RecordError
        When the record does not say what was measured.
    """
    plan = plan_of(file)
    findings, notes = file.checked()
    try:
        found = next_of(plan, file.trials)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        findings.append(f"the trials do not have what the test needs: {error!r}")
        return SwitchingVerification([], len(file.counted()), findings, notes)
    results = [] if isinstance(found, Step) else found
    if isinstance(found, Step) and file.is_done():
        findings.append(f"the run is done, but has no trial {found.name} of {found.addresses or found.frames}")
    claimed = {one.name: one for one in file.latest(SwitchingResult, "name")}
    for one in results if file.ends else []:
        claim = claimed.pop(one.name, None)
        if claim != one:
            findings.append(f"{one.name or plan.test}: is recorded as {claim}, but the trials give {one}")
    findings += [f"{name or plan.test}: the record has a result, but no trials for it" for name in claimed]
    return SwitchingVerification(results, len(file.counted()), findings, notes)
