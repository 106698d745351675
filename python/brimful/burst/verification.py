"""Recompute what a run on back-to-back frames claims, from its trials."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from brimful.burst.calculations import completed_tests, result_of
from brimful.errors import RecordError
from brimful.records import Burst, BurstTest, RunFile
from brimful.records.stated import burst_plan, burst_tests
from brimful.throughput.found import common_findings, verify_found


class BurstVerification(msgspec.Struct, frozen=True):
    """Everything recomputed from the trials of a run."""

    tests: list[BurstTest]
    result: Burst | None
    trials: int
    findings: list[str]
    """Claims that do not hold."""
    notes: list[str] = []
    """What is to be known beside: that there is no end, or what could not be looked at."""


def verify_burst(file: RunFile) -> BurstVerification:
    """Recompute every test and the result of a run.

    Raises
    ------
    RecordError
        When the record does not say what was measured.
    """
    plan = burst_plan(file)
    throughput = verify_found(file.path.parent, plan.throughput, plan.throughput_run, plan.throughput_goal)
    findings, notes = common_findings(file, throughput)
    try:
        tests, _ = completed_tests(file.trials, plan)
    except RecordError as error:
        return BurstVerification([], None, len(file.counted()), [*findings, str(error)], notes)
    result = result_of(tests, plan)
    findings += _differences(file, tests, result)
    return BurstVerification(tests, result, len(file.counted()), findings, notes)


def _differences(file: RunFile, tests: list[BurstTest], result: Burst | None) -> Iterator[str]:
    claims = burst_tests(file)
    for test in tests:
        claim = next((claim for claim in claims if claim.test == test.test), None)
        if claim is None and file.ends:
            yield f"test {test.test}: the record has no result"
        elif claim is not None and claim != test:
            yield f"test {test.test}: is recorded as {_said(claim)}, but the trials give {_said(test)}"
    for claim in claims:
        if claim.test >= len(tests):
            yield f"test {claim.test}: the record has a result, but no trials for it"
    stated = file.last(Burst)
    if file.ends and not _alike(stated, result):
        yield f"the result is recorded as {stated}, but the trials give {result}"


def _said(test: BurstTest) -> str:
    return f"{test.frames} frames held, {'none' if test.lossy is None else test.lossy} lossy"


def _alike(one: Burst | None, other: Burst | None) -> bool:
    """Say whether two results differ by rounding at most."""
    if one is None or other is None:
        return one is other
    values, others = msgspec.structs.astuple(one), msgspec.structs.astuple(other)
    return all(
        math.isclose(value, same, rel_tol=1e-9) if None not in (value, same) else value is same
        for value, same in zip(values, others, strict=True)
    )
