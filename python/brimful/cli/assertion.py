"""Thresholds for use in scripts: ``ndr >= 1.2Mpps``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import msgspec

from brimful import units
from brimful.errors import UsageError
from brimful.records import GoalResult

_FIELDS = {"": "conditional_throughput", "lower": "lower_bound", "upper": "upper_bound"}
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"\s*([^\s.<>=]+)(?:\.(lower|upper))?\s*(>=|<=|>|<)\s*(.+?)\s*")


class Assertion(msgspec.Struct, frozen=True):
    """A condition on the conditional throughput (or ``.lower``, ``.upper`` bound) of one goal."""

    text: str
    goal: str
    field: str
    compare: str
    threshold: float

    @classmethod
    def parse(cls, text: str, goals: list[str]) -> Assertion:
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
            message = f"--assert {text!r} is no condition; write it like 'ndr >= 1.2Mpps' or 'pdr.upper < 2Mpps'"
            raise UsageError(message)
        if match[1] not in goals:
            message = f"--assert {text!r}: there is no goal {match[1]!r}; there is {', '.join(goals)}"
            raise UsageError(message)
        return cls(text, match[1], _FIELDS[match[2] or ""], match[3], units.parse_load(match[4]))

    def failures(self, results: list[GoalResult]) -> list[str]:
        """Say how it is missed, if it is."""
        result = next(result for result in results if result.goal == self.goal)
        value: float | None = getattr(result, self.field)
        if value is not None and _OPERATORS[self.compare](value, self.threshold):
            return []
        found = "nothing was found" if value is None else f"it is {units.format_load(value)}"
        return [f"{self.text}: {found}"]
