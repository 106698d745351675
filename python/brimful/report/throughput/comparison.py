"""Two sets of runs side by side: what can be compared, and what it says, goal by goal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from brimful.errors import UsageError
from brimful.records import Goal, GoalResult, RunFile
from brimful.report import facts, words
from brimful.report.compared import refuse_different
from brimful.statistics.comparison import (
    DEFAULT_TOLERANCE,
    IMPROVEMENT,
    REGRESSION,
    SAME,
    UNCLEAR,
    Comparison,
    Sample,
    compare,
)
from brimful.units import format_ratio

UNFINISHED = {words.NO_RESULT, "interrupted", "measurement-failed"}
"""Reasons of results that say how far a search came, not what was measured."""


CHANGE = "change: ratio of geometric means"
"""What the statistics are about: ratios."""


class RunValue(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run for one goal."""

    run_id: str
    path: str
    started: str
    least: float
    """Conditional throughput; 0 where none is known."""
    most: float | None
    """Upper bound; null where none is known."""
    regular: bool
    reason: str


class GoalComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One goal of both sides."""

    goal: Goal
    new: list[RunValue]
    baseline: list[RunValue]
    comparison: Comparison
    sentence: str


class ComparisonReport(msgspec.Struct, frozen=True, kw_only=True):
    """All goals of two sets of runs."""

    tolerance: float
    load_unit: str
    load_scope: str
    new_title: str
    baseline_title: str
    goals: list[GoalComparison]
    not_quiet: list[str]
    """A sentence for each run whose machine was not quiet."""

    @property
    def regressed(self) -> bool:
        """Whether a goal has a regression beyond the tolerance."""
        return any(goal.comparison.verdict == REGRESSION for goal in self.goals)


def build(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> ComparisonReport:
    """Compare runs with a baseline.

    Parameters
    ----------
    new, baseline
        At least one run each.
    tolerance
        Relative difference that does not matter; none: 1 %, by which one run a side is never judged.

    Raises
    ------
    UsageError
        When the runs did not ask the same of the same traffic, and which difference it is, or when one of them has no
        value for a goal.
    """
    if not new or not baseline:
        message = "nothing to compare: give at least one run before --against and one after it"
        raise UsageError(message)
    first = baseline[0]
    refuse_different([*baseline, *new])
    for file in [*new, *baseline]:
        lack = missing_value(file)
        if lack is not None:
            message = f"{file.path} cannot be compared: {lack}; resume the search, make it anew, or leave the run out"
            raise UsageError(message)
    return ComparisonReport(
        tolerance=DEFAULT_TOLERANCE if tolerance is None else tolerance,
        load_unit=first.run.load_unit,
        load_scope=first.run.load_scope,
        new_title=_title(new),
        baseline_title=_title(baseline),
        goals=[_goal(goal, new, baseline, tolerance) for goal in first.run.goals],
        not_quiet=[text for file in [*new, *baseline] if (text := _unrest(file)) is not None],
    )


def missing_value(file: RunFile) -> str | None:
    """Say for which goal a run has no value, and why; nothing: it has one for each."""
    for goal in file.run.goals:
        result = _result(file, goal)
        unbounded = result.conditional_throughput is None and result.reason != "min-load-is-upper-bound"
        if unbounded or result.reason in UNFINISHED:
            return f"it has no value for goal {goal.name} ({result.reason})"
    return None


def _unrest(file: RunFile) -> str | None:
    machine = facts.machine(file.ends)
    if machine is None or machine.quiet:
        return None
    return f"The machine of {file.run.run_id} was not quiet: {words.machine_figures(machine)}."


def _title(runs: Sequence[RunFile]) -> str:
    ids = [file.run.run_id for file in runs]
    return ids[0] if len(ids) == 1 else f"{len(ids)} runs"


def _goal(goal: Goal, new: Sequence[RunFile], baseline: Sequence[RunFile], tolerance: float | None) -> GoalComparison:
    values, base_values = ([_value(file, goal) for file in side] for side in (new, baseline))
    run = baseline[0].run
    unit = facts.load_of_a_unit(goal, run.conversion_factor, run.load_unit)
    comparison = compare(_sample(values, unit), _sample(base_values, unit), tolerance=tolerance)
    return GoalComparison(
        goal=goal,
        new=values,
        baseline=base_values,
        comparison=comparison,
        sentence=sentence(comparison, DEFAULT_TOLERANCE if tolerance is None else tolerance, run.load_unit),
    )


def _result(file: RunFile, goal: Goal) -> GoalResult:
    missing = GoalResult(goal=goal.name, regular=False, reason=words.NO_RESULT)
    return next((result for result in file.goal_results if result.goal == goal.name), missing)


def _value(file: RunFile, goal: Goal) -> RunValue:
    result = _result(file, goal)
    upper = None if result.reason == "max-load-is-lower-bound" else result.upper_bound
    return RunValue(
        run_id=file.run.run_id,
        path=str(file.path),
        started=file.run.started,
        least=result.conditional_throughput or 0.0,
        most=upper,
        regular=result.regular,
        reason=result.reason,
    )


def _sample(values: Sequence[RunValue], unit: float) -> Sample:
    return Sample(
        tuple(value.least for value in values),
        tuple(math.inf if value.most is None else max(value.most, value.least) for value in values),
        unit,
    )


def sentence(comparison: Comparison, tolerance: float, unit: str = "frames/s") -> str:
    """Say the verdict on one goal.

    Parameters
    ----------
    comparison
        Statistics of the goal.
    tolerance
        Relative difference that does not matter.
    unit
        What the loads count.
    """
    where = _span(comparison)
    rest = _could_show(comparison) + _caveat(comparison)
    if comparison.verdict == SAME:
        return f"The same. {where}, within the tolerance of {format_ratio(tolerance)}.{rest}"
    if comparison.verdict in {REGRESSION, IMPROVEMENT}:
        kind = "A regression" if comparison.verdict == REGRESSION else "An improvement"
        return f"{kind}. {_change(comparison, words.verb(unit))}. {where}.{rest}"
    return f"Inconclusive. {where}.{rest}"


def _could_show(comparison: Comparison) -> str:
    if comparison.detectable is None:
        return ""
    loss = words.share(comparison.detectable)
    return f" With runs like these only a loss of {loss} or more would be detected (80 % power)."


def _change(comparison: Comparison, does: str) -> str:
    if comparison.ratio is None:
        return f"It {does} {'less' if comparison.verdict == REGRESSION else 'more'}"
    return f"It {does} {words.share(abs(comparison.ratio - 1))} {'less' if comparison.ratio < 1 else 'more'}"


def _span(comparison: Comparison) -> str:
    if comparison.ratio_most is None:
        if comparison.ratio_least == 0:
            return "Nothing is known of the difference"
        return f"The difference is at least {signed(comparison.ratio_least)}"
    if comparison.ratio_least == 0:
        return f"The difference is at most {signed(comparison.ratio_most)}"
    return f"The difference is between {signed(comparison.ratio_least)} and {signed(comparison.ratio_most)}"


def headline(report: ComparisonReport) -> str:
    """Say what came out for all goals, in a few words."""
    parts = []
    for verdict, said in IN_WORDS.items():
        names = [goal.goal.name for goal in report.goals if goal.comparison.verdict == verdict]
        if names:
            parts.append(f"{' and '.join(names)}: {said}")
    return "; ".join(parts)


IN_WORDS = {REGRESSION: "regression", IMPROVEMENT: "improvement", SAME: "the same", UNCLEAR: "inconclusive"}
"""Verdicts, the worst first."""


def range_title(goals: Sequence[GoalComparison]) -> str:
    """Say what the ranges of the ratios are: an interval of some confidence only where the spread is known."""
    by_bounds = {goal.comparison.by_bounds for goal in goals}
    if len(by_bounds) == 2:
        return "range"
    return "range by bounds" if by_bounds == {True} else "95 % interval"


def means(goal: GoalComparison, shown: Callable[[float], str]) -> list[str]:
    """Write the mean of each side; one of values that are only lower limits in part is a lower limit."""
    sides = ((goal.new, goal.comparison.mean), (goal.baseline, goal.comparison.baseline_mean))
    return [
        "unknown" if mean is None else ("≥ " if any(value.most is None for value in values) else "") + shown(mean)
        for values, mean in sides
    ]


def change_and_range(found: Comparison) -> list[str]:
    """Write the change and between which values it lies."""
    least = "?" if found.ratio_least == 0 else signed(found.ratio_least)
    most = "?" if found.ratio_most is None else signed(found.ratio_most)
    span = "unknown" if least == most == "?" else f"{least} to {most}"
    return ["unknown" if found.ratio is None else signed(found.ratio), span]


def signed(ratio: float) -> str:
    """Write a ratio as the change it stands for.

    >>> signed(0.97), signed(1.0123), signed(1.000001)
    ('-3.00 %', '+1.23 %', '0.00 %')
    """
    percent = round((ratio - 1) * 100, 2)
    return f"{percent:+.2f} %" if percent else "0.00 %"


def _caveat(comparison: Comparison) -> str:
    if not comparison.by_bounds:
        return ""
    if comparison.runs == comparison.baseline_runs == 1:
        if comparison.verdict == UNCLEAR:
            return f" {_ONE_RUN_A_SIDE}"
        return " With one run a side only the bounds speak: how much runs differ by themselves is not known."
    return " Some runs have no lower bound, so only the bounds speak."


_ONE_RUN_A_SIDE = (
    "One run a side cannot tell noise from change: make 2 more a side, or give a --tolerance above the noise that you "
    "know."
)
"""Three runs a side are the least by which the spread of each says something (4 degrees of freedom, not 2)."""
