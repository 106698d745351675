"""The comparison of two sets of runs for a terminal."""

from __future__ import annotations

from brimful.report import words
from brimful.report.lines import WIDTH, table, wrap
from brimful.report.styles import Style, plain
from brimful.report.throughput.comparison import (
    CHANGE,
    ComparisonReport,
    GoalComparison,
    RunValue,
    headline,
    range_title,
    signed,
)
from brimful.statistics.comparison import IMPROVEMENT, REGRESSION, SAME
from brimful.units import format_load, format_ratio

ROLES = {REGRESSION: "bad", IMPROVEMENT: "good", SAME: "good"}
STRIP_COLUMNS = 56


def render(report: ComparisonReport, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the comparison: a table, a strip of values and a sentence a goal.

    Parameters
    ----------
    report
        From `brimful.report.throughput.comparison.build`.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap.
    """
    title = headline(report)
    sides = f"{report.new_title} against {report.baseline_title}"
    scope = f"mean conditional throughput, {report.load_scope}; {CHANGE}; tolerance {format_ratio(report.tolerance)}"
    heads = ["goal", "new", "runs", "baseline", "runs", "change", range_title(report.goals), "Welch p", "permutation p"]
    rows = [heads]
    rows += [_row(report, goal) for goal in report.goals]
    blocks = [
        f"{style(title, 'title')}\n{sides}\n{style(wrap(scope, 0, columns=columns), 'faint')}",
        table(rows, right=range(1, 9), indent=0, columns=columns),
        *(_strip(goal) for goal in report.goals),
        "\n".join(_sentence(goal, style, columns) for goal in report.goals),
        "\n".join(wrap(text, 0, hang=2, columns=columns) for text in report.not_quiet),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _row(report: ComparisonReport, goal: GoalComparison) -> list[str]:
    numbers = goal.comparison
    most = "?" if numbers.ratio_most is None else signed(numbers.ratio_most)
    return [
        goal.goal.name,
        _mean(goal.new, numbers.mean, report.load_unit),
        str(numbers.runs),
        _mean(goal.baseline, numbers.baseline_mean, report.load_unit),
        str(numbers.baseline_runs),
        "?" if numbers.ratio is None else signed(numbers.ratio),
        f"{signed(numbers.ratio_least)} to {most}",
        words.p_value(numbers.welch_p),
        words.p_value(numbers.permutation_p),
    ]


def _mean(values: list[RunValue], mean: float | None, unit: str) -> str:
    if mean is None:
        return "unknown"
    open_ended = any(value.most is None for value in values)
    return f"{'≥ ' if open_ended else ''}{format_load(mean, unit)}"


def _strip(goal: GoalComparison) -> str:
    """Draw the values of both sides on one line each: ``o`` a run, ``#`` several, ``-`` up to the upper bounds."""
    values = [value for value in [*goal.new, *goal.baseline] if value.least > 0]
    ends = [value.least for value in values] + [value.most for value in values if value.most is not None]
    if not values or min(ends) == max(ends):
        return ""
    low, high = min(ends), max(ends)

    def column(load: float) -> int:
        return round((load - low) / (high - low) * (STRIP_COLUMNS - 1))

    lines = []
    for name, side in (("new", goal.new), ("baseline", goal.baseline)):
        cells = [" "] * STRIP_COLUMNS
        for value in side:
            for index in range(column(value.least), column(value.most or value.least) + 1) if value.least > 0 else ():
                cells[index] = "-" if cells[index] == " " else cells[index]
        for value in side:
            if value.least > 0:
                at = column(value.least)
                cells[at] = "#" if cells[at] in "o#" else "o"
        lines.append(f"  {name:<9}|{''.join(cells)}|")
    return "\n".join([f"{goal.goal.name}: o a run, # several, - up to its upper bound", *lines])


def _sentence(goal: GoalComparison, style: Style, columns: int) -> str:
    line = f"{goal.goal.name}: {goal.sentence}"
    filled = wrap(line, 0, hang=2, columns=columns)
    role = ROLES.get(goal.comparison.verdict)
    head, rest = filled[: len(goal.goal.name) + 1], filled[len(goal.goal.name) + 1 :]
    return style(head, role) + rest if role else filled
