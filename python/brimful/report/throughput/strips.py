"""The values of two sets of runs on strips: as a figure, and in characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from brimful.report import figures, palette
from brimful.report.throughput import comparison, drawing
from brimful.report.throughput.comparison import ComparisonReport, GoalComparison, RunValue

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRIP_COLUMNS = 56


def draw_strips(report: ComparisonReport, size: figures.Size = figures.WIDE) -> str:
    """Draw every run as its conditional throughput relative to the mean of the baseline, with its upper bound.

    Parameters
    ----------
    report
        From `brimful.report.throughput.comparison.build`.
    size
        `figures.WIDE` or `figures.NARROW`.
    """
    goals = [goal for goal in report.goals if any(value.least > 0 for value in goal.baseline)]
    rows_in = size.font_pt * (9.0 if size is figures.WIDE else 8.0) / 72
    with figures.figure_of(size, "strips", rows_in * len(goals) + 0.55) as figure:
        axes = figure.subplots()
        ticks: list[tuple[float, str]] = []
        for number, goal in enumerate(goals):
            known = [value.least for value in goal.baseline if value.least > 0]
            scale = goal.comparison.baseline_mean or sum(known) / len(known)
            base = -number * 3.0
            colour = palette.goal_colour(number)
            _draw_side(axes, goal.baseline, scale, base, palette.MUTED, "s")
            _draw_side(axes, goal.new, scale, base - 0.8, colour, "o")
            name = drawing.short_name(goal.goal.name, size.longest_name)
            ticks += [(base, f"{name}: baseline"), (base - 0.8, f"{name}: new")]
            numbers = goal.comparison
            if numbers.ratio_most is not None:
                axes.plot(
                    [numbers.ratio_least, numbers.ratio_most], [base - 1.5] * 2, color=colour, linewidth=5, alpha=0.35
                )
                if numbers.ratio is not None:
                    axes.plot([numbers.ratio], [base - 1.5], "D", color=colour, markersize=5)
                ticks.append((base - 1.5, "ratio, by bounds" if numbers.by_bounds else "ratio, 95 %"))
        axes.axvspan(1 - report.tolerance, 1 + report.tolerance, color=palette.MUTED, alpha=0.13, linewidth=0, zorder=0)
        axes.axvline(1, color=palette.MUTED, linewidth=0.9, zorder=1)
        axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
        axes.set_ylim(min(at for at, _ in ticks) - 0.7, 0.7)
        axes.xaxis.set_major_formatter(lambda value, _: comparison.signed(value))
        axes.locator_params(axis="x", nbins=7 if size is figures.WIDE else 4)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("relative to the mean of the baseline", loc="right")
        longest = max(len(name) for _, name in ticks)
        figures.set_margins(figure, size, left_in=0.3 + longest * size.font_pt * 0.58 / 72)
        return figures.to_svg(figure, f"strips-{size.name}")


def _draw_side(axes: Axes, values: Sequence[RunValue], scale: float, at: float, colour: str, marker: str) -> None:
    spread = [at + 0.11 * ((index % 3) - 1) * (len(values) > 1) for index in range(len(values))]
    for value, height in zip(values, spread, strict=True):
        if value.least <= 0:
            continue
        if value.most is not None:
            axes.plot([value.least / scale, value.most / scale], [height] * 2, color=colour, linewidth=1.2, alpha=0.6)
        else:
            axes.plot([value.least / scale], [height], ">", color=colour, markersize=9, alpha=0.5)
        axes.plot(
            [value.least / scale],
            [height],
            marker,
            color=colour if value.regular else palette.SURFACE,
            markersize=5.5,
            markeredgecolor=colour,
            markeredgewidth=1.0,
        )


def strip(goal: GoalComparison) -> str:
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
