"""What the tests of a suite found: from their own records, below that of the suite."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from brimful.records import RunFile, SuitePlan, SuiteTest, read_run


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A test at a size, and its record."""

    size: str
    test: str
    reason: str
    """Why it ended: as in `End`."""
    text: str
    trials: int = 0
    file: RunFile | None
    """Null where it never began."""
    beside: Mapping[str, RunFile] = {}
    """The records of all tests at this size that are done."""


def results_of(file: RunFile) -> list[Result]:
    """Read what a suite has, in the order of its tests; of one that was tried again the last.

    Raises
    ------
    RecordError
        When the record of a test cannot be read.
    """
    results = []
    beside: dict[str, dict[str, RunFile]] = {}
    for one in file.latest(SuiteTest, "size", "test"):
        directory = file.path.parent / one.path
        record = read_run(directory) if (directory / "run.jsonl").exists() else None
        of_size = beside.setdefault(one.size, {})
        if record is not None and one.reason == "done":
            of_size[one.test] = record
        results.append(
            Result(
                size=one.size,
                test=one.test,
                reason=one.reason,
                text=one.text,
                trials=one.trials,
                file=record,
                beside=of_size,
            )
        )
    return results


def why_absent(plan: SuitePlan, test: str, size: str) -> str:
    """Say why a suite that ended has no figure of a test at a size."""
    if test in plan.not_done:
        return f"not done: {plan.not_done[test]}"
    is_planned = test in plan.tests and size in plan.sizes_of(test)
    return "not found" if is_planned else "not measured in this suite"


def plan_of(file: RunFile) -> SuitePlan:
    """Give what a suite set out to measure; nothing where the record does not say."""
    return file.run.suite or SuitePlan("a suite", [], [])
