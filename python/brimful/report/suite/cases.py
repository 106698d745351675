"""What a suite found as test cases: each test that was made, and each requirement."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import RunFile
from brimful.report.junit import Case, Suite
from brimful.report.suite.requirements import Check
from brimful.report.suite.results import Result, plan_of, results_of
from brimful.report.suite.values import FIGURES, names_of


def suite(file: RunFile, checks: Sequence[Check]) -> Suite:
    """Give the cases of a suite; a test that failed is an error, a check that is missed a failure.

    A test that cannot be made, of this measurer or at a frame size that does not pass, is skipped.
    """
    cases = [_made(result) for result in results_of(file)]
    cases += [Case(name=f"{test} was made", skipped=why) for test, why in plan_of(file).not_done.items()]
    for check in checks:
        cases.append(Case(name=check.name, problem=None if check.is_met else check.found, said=check.found))
    end = file.ends[-1] if file.ends else None
    if not cases:
        cases.append(Case(name="the suite has a result", problem="no test came to its end", is_error=True))
    duration_s = 0.0 if end is None else end.search_s
    name = f"{plan_of(file).standard}: {file.run.measurer.spec}"
    return Suite(name=name, cases=cases, duration_s=duration_s, command=plan_of(file).standard.replace(" ", "").lower())


def _made(result: Result) -> Case:
    name, is_done = f"{result.test} at {result.size} was made", result.reason == "done"
    if not is_done:
        return Case(name=name, problem=result.text or result.reason, is_error=True)
    if result.file is None:
        return Case(name=name, skipped=result.text)
    said = [f"{figure}: {FIGURES[figure].shown(FIGURES[figure].of(result))}" for figure in names_of(result.test)]
    return Case(name=name, said="; ".join(said))
