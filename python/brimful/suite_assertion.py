"""Thresholds for tests of suites: ``throughput[64] >= 1Mpps``, ``latency <= 110% of runs/base``."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from brimful.assertion import OPERATORS, SHARE
from brimful.errors import UsageError, did_you_mean
from brimful.records import RunFile, SuitePlan, read_unchanged
from brimful.records.experiment import differences
from brimful.report.compared import said
from brimful.report.suite.requirements import ALL, KINDS, Check
from brimful.report.suite.results import Result, plan_of, results_of
from brimful.runs import named_run

_FORM = re.compile(r"\s*([^\s\[\]<>=]+)(?:\[([^\s\[\]]+)\])?\s*(>=|<=|>|<)\s*(.+?)\s*")


class SuiteAssertion(msgspec.Struct, frozen=True):
    """A condition on the figure of one test, at one frame size or at each.

    The threshold is a value as in files of requirements, or a share of what another suite found at the same size.
    """

    test: str
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
        test, size, compare, threshold = match.groups()
        tests = [known for known in plan.tests if known in KINDS]
        sizes = plan.sizes_of(test)
        for what, name, known in (("test", test, tests), ("frame size", size or ALL, [*sizes, ALL])):
            if name not in known:
                meant = did_you_mean(name, known)
                message = f"--assert {text!r}: there is no {what} {name!r}{meant}; there is {', '.join(known)}"
                raise UsageError(message)
        sizes = sizes if size in (None, ALL) else [size]
        share = SHARE.fullmatch(threshold)
        if share is None:
            try:
                limit = KINDS[test].read(threshold)
            except UsageError as error:
                message = f"--assert {text!r}: {error}"
                raise UsageError(message) from error
            return cls(test, sizes, compare, KINDS[test].show(limit), [limit] * len(sizes), [None] * len(sizes))
        found = _figures(text, test, sizes, plan, read_unchanged(named_run(Path(share[2]))))
        limits = [float(share[1]) / 100 * value for _, value in found]
        return cls(test, sizes, compare, threshold, limits, [base for base, _ in found])

    def checks(self, file: RunFile) -> list[Check]:
        """Hold it against a suite; what was not found, or cannot be compared, is not met."""
        results = {(result.test, result.size): result for result in results_of(file)}
        return [
            self._check(size, limit, base, results.get((self.test, size)))
            for size, limit, base in zip(self.sizes, self.limits, self.bases, strict=True)
        ]

    def _check(self, size: str, limit: float, base: Result | None, result: Result | None) -> Check:
        kind = KINDS[self.test]
        required = f"{self.compare} {self.threshold}" + ("" if base is None else f" ({kind.show(limit)})")
        if result is None or result.file is None or result.value is None:
            return Check(self.test, size, required, "not found", is_met=False)
        found, is_met = f"found {kind.show(result.value)}", OPERATORS[self.compare](result.value, limit)
        if base is not None and base.file is not None and (others := differences(base.file.run, result.file.run)):
            found, is_met = f"cannot be compared: {'; '.join(map(said, others))}", False
        return Check(self.test, size, required, found, is_met=is_met)


def _figures(text: str, test: str, sizes: list[str], plan: SuitePlan, file: RunFile) -> list[tuple[Result, float]]:
    """Give the test of another suite, and its figure, at each size."""
    other = plan_of(file)
    if (other.standard, other.is_quick) != (plan.standard, plan.is_quick):
        message = f"--assert {text!r}: {file.path} is no suite of {plan.name}; its figures cannot be compared"
        raise UsageError(message)
    results = {result.size: result for result in results_of(file) if result.test == test}
    found = []
    for size in sizes:
        value = results[size].value if size in results else None
        if value is None:
            message = f"--assert {text!r}: {file.path} has no figure of {test} at {size}; name a suite that has"
            raise UsageError(message)
        found.append((results[size], value))
    return found
