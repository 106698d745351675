"""Thresholds for suites: ``throughput[64] >= 1Mpps``, ``latency.p99 <= 110% of runs/base``."""

from __future__ import annotations

import operator
import re
from pathlib import Path

import msgspec

from brimful.assertion import OPERATORS, SHARE
from brimful.errors import UsageError, did_you_mean
from brimful.records import RunFile, SuitePlan, read_unchanged
from brimful.records.experiment import differences
from brimful.report.compared import said as said_of
from brimful.report.suite.requirements import ALL, Check
from brimful.report.suite.results import Result, plan_of, results_of, why_absent
from brimful.report.suite.values import FIGURES, IS, Found, names_of, test_of
from brimful.runs import named_run

_FORM = re.compile(r"\s*([^\s\[\]<>=]+)(?:\[([^\s\[\]]+)\])?\s*(>=|<=|>|<|=)\s*(.+?)\s*")

_COMPARES = {**OPERATORS, "=": operator.eq}


class SuiteAssertion(msgspec.Struct, frozen=True):
    """A condition on one figure of a test, at one frame size or at each.

    The threshold is a value as in files of requirements, or a share of what another suite found at the same size.
    """

    name: str
    """Of the figure."""
    sizes: list[str]
    compare: str
    threshold: str
    """As it is shown."""
    limits: list[float]
    """For each size."""
    bases: list[Result | None]
    """For each size, the test that the limit is a share of."""

    @classmethod
    def parse(cls, text: str, plan: SuitePlan) -> SuiteAssertion:
        """Read a condition.

        >>> plan = SuitePlan("RFC 2544", ["64", "512"], ["throughput"])
        >>> SuiteAssertion.parse("throughput[64] >= 1.2Mpps", plan).limits
        [1200000.0]

        Raises
        ------
        UsageError
            When it is no condition on a test of the suite, or the other suite has no such figure.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            message = (
                f"--assert {text!r} is no condition; write it like 'throughput[64] >= 1Mpps' or"
                " 'latency <= 110% of runs/base'"
            )
            raise UsageError(message)
        name, size, compare, threshold = match.groups()
        names = [known for test in plan.tests for known in names_of(test)]
        sizes = plan.sizes_of(test_of(name))
        for what, given, known in (("figure", name, names), ("frame size", size or ALL, [*sizes, ALL])):
            if given not in known:
                meant = did_you_mean(given, known)
                message = f"--assert {text!r}: there is no {what} {given!r}{meant}; there is {', '.join(known)}"
                raise UsageError(message)
        kind = FIGURES[name].kind
        if (compare == "=") != (kind.need is IS):
            how = "write it like 'congestion.blocking = no'" if kind.need is IS else "write >= or <="
            message = f"--assert {text!r}: {name} is {'yes or no' if kind.need is IS else 'a figure'}; {how}"
            raise UsageError(message)
        sizes = sizes if size in (None, ALL) else [size]
        share = None if kind.need is IS else SHARE.fullmatch(threshold)
        if share is None:
            try:
                limit = kind.read(threshold)
            except UsageError as error:
                message = f"--assert {text!r}: {error}"
                raise UsageError(message) from error
            return cls(name, sizes, compare, kind.show(limit), [limit] * len(sizes), [None] * len(sizes))
        found = _figures(text, name, sizes, plan, read_unchanged(named_run(Path(share[2]))))
        limits = [float(share[1]) / 100 * value for _, value in found]
        return cls(name, sizes, compare, threshold, limits, [base for base, _ in found])

    def checks(self, file: RunFile) -> list[Check]:
        """Hold it against a suite; what was not found, or cannot be compared, is not met."""
        plan, test = plan_of(file), test_of(self.name)
        results = {(result.test, result.size): result for result in results_of(file)}
        return [
            self._check(size, limit, base, results.get((test, size)), why_absent(plan, test, size))
            for size, limit, base in zip(self.sizes, self.limits, self.bases, strict=True)
        ]

    def unmeasured(self, plan: SuitePlan) -> list[str]:
        """Say that a suite will miss it because it does not make the test."""
        test = test_of(self.name)
        return [f"{self.name} is {why_absent(plan, test, ALL)}"] if test in plan.not_done else []

    def _check(self, size: str, limit: float, base: Result | None, result: Result | None, absent: str) -> Check:
        figure = FIGURES[self.name]
        required = f"{self.compare} {self.threshold}" + ("" if base is None else f" ({figure.kind.show(limit)})")
        found = Found(why=absent) if result is None else figure.of(result)
        is_met = figure.holds(found, _COMPARES[self.compare], limit)
        if result is None or result.file is None or found.value is None:
            return Check(self.name, size, required, figure.shown(found), is_met=is_met)
        said = f"found {figure.shown(found)}"
        if base is not None and base.file is not None and (others := differences(base.file.run, result.file.run)):
            said, is_met = f"cannot be compared: {'; '.join(map(said_of, others))}", False
        return Check(self.name, size, required, said, is_met=is_met)


def _figures(text: str, name: str, sizes: list[str], plan: SuitePlan, file: RunFile) -> list[tuple[Result, float]]:
    """Give the test of another suite, and its figure, at each size."""
    other = plan_of(file)
    if (other.standard, other.is_quick) != (plan.standard, plan.is_quick):
        message = f"--assert {text!r}: {file.path} is no suite of {plan.name}; its figures cannot be compared"
        raise UsageError(message)
    results = {result.size: result for result in results_of(file) if result.test == test_of(name)}
    found = []
    for size in sizes:
        value = FIGURES[name].of(results[size]).value if size in results else None
        if value is None:
            message = f"--assert {text!r}: {file.path} has no figure {name} at {size}; name a suite that has"
            raise UsageError(message)
        found.append((results[size], value))
    return found
