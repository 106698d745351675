"""What the tests of a suite found: from their own records, below that of the suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from brimful.records import Burst, RunFile, SuitePlan, SuiteTest, SwitchingResult, read_run
from brimful.records.stated import losses, recoveries
from brimful.report.suite.sections import THROUGHPUTS


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A test at a size, and its record."""

    size: str
    test: str
    reason: str
    """Why it ended: as in `End`."""
    text: str
    file: RunFile | None
    """Null where it never began."""

    @property
    def value(self) -> float | None:
        """Its figure, in SI units: what requirements are about; null where it found none."""
        value = VALUES.get(self.test)
        return None if self.file is None or value is None else value(self.file)


def results_of(file: RunFile) -> list[Result]:
    """Read what a suite has, in the order of its tests; of one that was tried again the last.

    Raises
    ------
    RecordError
        When the record of a test cannot be read.
    """
    results = []
    for one in file.latest(SuiteTest, "size", "test"):
        directory = file.path.parent / one.path
        record = read_run(directory) if (directory / "run.jsonl").exists() else None
        results.append(Result(size=one.size, test=one.test, reason=one.reason, text=one.text, file=record))
    return results


def plan_of(file: RunFile) -> SuitePlan:
    """Give what a suite set out to measure; nothing where the record does not say."""
    return file.run.suite or SuitePlan("a suite", [], [])


def _throughput(file: RunFile) -> float | None:
    return file.goal_results[0].conditional_throughput if file.goal_results else None


def _latency(file: RunFile) -> float | None:
    both = [delay for delay in file.delays if delay.direction == "all"]
    return both[0].mean.value_s if both else None


def _loss(file: RunFile) -> float | None:
    found = losses(file)
    return found[0].ratio if found else None


def _bursts(file: RunFile) -> float | None:
    found = file.latest(Burst)
    return found[0].mean if found else None


def _recovery(file: RunFile) -> float | None:
    found = recoveries(file)
    known = [one.high_s for one in found if one.high_s is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def _least(file: RunFile) -> float | None:
    """Give the least of several capacities: what holds of any addresses."""
    results = file.latest(SwitchingResult, "name")
    found = [one.value for one in results if one.verdict != "none" and one.value is not None]
    return min(found) if found else None


def broadcast_throughput(file: RunFile) -> float | None:
    """Give the highest rate of broadcasts that came to every port."""
    return next((one.value for one in file.latest(SwitchingResult, "name") if one.name == "throughput"), None)


def _failed(file: RunFile) -> float | None:
    """Give how many kinds of frames, or ports, fail."""
    judged = [one.verdict for one in file.latest(SwitchingResult, "name") if one.verdict in ("pass", "fail")]
    return float(judged.count("fail")) if judged else None


VALUES: Mapping[str, Callable[[RunFile], float | None]] = {
    **dict.fromkeys(THROUGHPUTS, _throughput),
    "latency": _latency,
    "loss": _loss,
    "bursts": _bursts,
    "recovery": _recovery,
    "reset": _recovery,
    "caching": _least,
    "learning": _least,
    "ageing": _least,
    "errored": _failed,
    "broadcast": _failed,
}
"""Test: its figure, from its record."""
