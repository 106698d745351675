"""The comparison of two sets of runs as one HTML file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brimful.report import figures, palette, scales, words
from brimful.report.throughput import comparison, drawing
from brimful.report.throughput.comparison import ComparisonReport, RunValue
from brimful.report.web_page import render_page
from brimful.statistics.comparison import IMPROVEMENT, REGRESSION, SAME, UNCLEAR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERDICTS = {
    REGRESSION: ("regression", "bad"),
    IMPROVEMENT: ("improvement", "good"),
    SAME: ("the same", "good"),
    UNCLEAR: ("inconclusive", "quiet"),
}


def render(report: ComparisonReport) -> str:
    """Write the comparison as a page.

    Parameters
    ----------
    report
        From `brimful.report.throughput.comparison.build`.
    """
    drawable = any(value.least > 0 for goal in report.goals for value in goal.baseline)
    return render_page(
        Path(__file__).with_name("comparison.html"),
        report=report,
        headline=comparison.headline(report),
        verdicts=VERDICTS,
        signed=comparison.signed,
        range_title=comparison.range_title(report.goals),
        alike=_loads_alike(report),
        p_value=words.p_value,
        wide=draw_strips(report, figures.WIDE) if drawable else "",
        narrow=draw_strips(report, figures.NARROW) if drawable else "",
    )


def _loads_alike(report: ComparisonReport) -> Callable[[float], str]:
    """Give what writes loads with one unit and as many decimals, so that a column can be read down."""
    values = [value for goal in report.goals for value in (*goal.new, *goal.baseline)]
    loads = [load for value in values for load in (value.least, value.most) if load]
    factor, name = scales.load_scale(max(loads, default=1.0), report.load_unit)
    decimals = min(9, max(0, 3 - math.floor(math.log10(min(loads, default=1.0) / factor))))
    return lambda load: f"{load / factor:.{decimals}f} {name}"


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
