"""Thresholds for scripts and tests: ``ndr >= 1.2Mpps``, ``ndr >= 95% of runs/base``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful import units
from brimful.errors import UsageError, did_you_mean
from brimful.records import GoalResult, Run, RunFile, read_unchanged
from brimful.records.experiment import differences
from brimful.report.compared import said
from brimful.runs import named_run

_FIELDS = {"": "conditional_throughput", "lower": "lower_bound", "upper": "upper_bound"}
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"\s*([^\s.<>=]+)(?:\.(lower|upper))?\s*(>=|<=|>|<)\s*(.+?)\s*")
SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)% of (.+)")


class Assertion(msgspec.Struct, frozen=True):
    """A condition on the conditional throughput (or ``.lower``, ``.upper`` bound) of one goal.

    The threshold is a load, or a share of what another run found for the goal.
    """

    text: str
    goal: str
    field: str
    compare: str
    threshold: float
    base: RunFile | None = None
    """The run that the threshold is a share of."""

    @classmethod
    def parse(cls, text: str, goals: Sequence[str]) -> Assertion:
        """Read a condition.

        >>> Assertion.parse("ndr >= 1.2Mpps", ["ndr"]).threshold
        1200000.0

        Raises
        ------
        UsageError
            When it is no condition on one of ``goals``.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            message = f"{text!r} is no condition; write it like 'ndr >= 1.2Mpps' or 'pdr.upper < 2Mpps'"
            raise UsageError(message)
        if match[1] not in goals:
            meant = did_you_mean(match[1], goals)
            message = f"condition {text!r}: there is no goal {match[1]!r}{meant}; there is {', '.join(goals)}"
            raise UsageError(message)
        field, share = _FIELDS[match[2] or ""], SHARE.fullmatch(match[4])
        if share is None:
            return cls(text, match[1], field, match[3], units.parse_load(match[4]))
        base = read_unchanged(named_run(Path(share[2])))
        result = next((result for result in base.goal_results if result.goal == match[1]), None)
        value: float | None = None if result is None else getattr(result, field)
        if value is None:
            message = f"condition {text!r}: {base.path} has no such value of goal {match[1]}; name a search that has"
            raise UsageError(message)
        return cls(text, match[1], field, match[3], float(share[1]) / 100 * value, base)

    def failures(self, results: Sequence[GoalResult], run: Run) -> list[str]:
        """Say how it is missed, if it is; a share of a run that did not ask the same is missed."""
        if self.base is not None and (different := differences(self.base.run, run)):
            return [f"{self.text}: cannot be compared: {'; '.join(map(said, different))}"]
        result = next(result for result in results if result.goal == self.goal)
        value: float | None = getattr(result, self.field)
        if value is not None and OPERATORS[self.compare](value, self.threshold):
            return []
        found = "nothing was found" if value is None else f"it is {units.format_load(value, run.load_unit)}"
        share = "" if self.base is None else f", the threshold {units.format_load(self.threshold, run.load_unit)}"
        return [f"{self.text}: {found}{share}"]
