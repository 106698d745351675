"""Figures of a search: offered load against time, loss against load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from brimful.report import palette, scales
from brimful.report.figures import WIDE, Size, arrange, figure_of, to_svg
from brimful.report.throughput import drawing, ranges
from brimful.report.throughput.model import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_MARKS = 5000
"""Trials that a figure draws one by one."""


def draw_search_time(report: Report, size: Size = WIDE) -> str:
    """Draw offered load against time: every trial, and the bounds of every goal.

    Parameters
    ----------
    report
        From `brimful.report.throughput.model.build`.
    size
        `WIDE` or `NARROW`.
    """
    low, high = ranges.interesting_loads(report)
    outside = any(not low <= trial.load <= high for trial in report.trials)
    with figure_of(size, "search-time", size.height_in) as figure:
        rows = figure.subplots(2, 1, sharex=True, height_ratios=[1, 4]) if outside else [figure.subplots()]
        main = rows[-1]
        if outside:
            drawing.draw_overview(rows[0], report, low, high)
            scales.scale_loads(rows[0].yaxis, max(trial.load for trial in report.trials), report.run.load_unit)
        drawing.draw_bounds(main, report, size.longest_name)
        drawing.draw_trials(main, report, low, high)
        drawing.mark_times(rows, report, apart_s=report.axis_end_s * size.font_pt / (size.width_in * 72 * 0.6))
        main.set_ylim(low, high)
        # The mark of the last trial is half a mark beyond its end.
        main.set_xlim(0, max(report.axis_end_s, 1e-9) * 1.02)
        unit = scales.scale_loads(main.yaxis, high, report.run.load_unit)
        main.set_ylabel(f"offered load ({unit})")
        main.set_xlabel(f"time since the start ({scales.scale_times(main.xaxis, report.axis_end_s, size.times)})")
        labels = [drawing.goal_label(view, size.longest_name) for view in report.goals]
        drawing.label_goals(main, report, labels, low, high)
        arrange(figure, main, size, right_in=_text_width_in(labels, size), gap=0.12)
        return _svg(figure, f"search-time-{size.name}", report)


def draw_load_loss(report: Report, size: Size = WIDE) -> str:
    """Draw the loss ratio of every trial against its load, over all loads and around the bounds.

    Parameters
    ----------
    report
        From `brimful.report.throughput.model.build`.
    size
        `WIDE` or `NARROW`.
    """
    low, high = ranges.interesting_loads(report)
    counted = [trial for trial in report.trials if trial.invalid is None]
    top = max((trial.load for trial in counted), default=1.0)
    bottom = min((trial.load for trial in counted), default=0.0)
    with figure_of(size, "load-loss", size.height_in * (0.8 if size is WIDE else 1.15)) as figure:
        if bottom < low or top > high:
            rows, columns = (1, 2) if size is WIDE else (2, 1)
            everything, near = figure.subplots(rows, columns, sharey=True).flat
            views = [(everything, 0.0, top * 1.03, "all loads"), (near, low, high, "around the bounds")]
        else:
            margin = 0.05 * (top - bottom) or 0.05 * top
            views = [(figure.subplots(), bottom - margin, top + margin, "")]
        for axes, left, right, title in views:
            drawing.draw_losses(axes, report, counted, size.longest_name)
            axes.set_xlim(left, right)
            axes.set_title(title, fontsize="medium", color=palette.MUTED, loc="left", pad=4)
            axes.set_xlabel(f"offered load ({scales.scale_loads(axes.xaxis, right, report.run.load_unit)})")
        for axes in [views[0][0]] if size is WIDE else [axes for axes, *_ in views]:
            axes.set_ylabel("loss ratio")
        arrange(figure, views[0][0], size, right_in=0.12, gap=0.06 if size is WIDE else 0.42, title=True)
        return _svg(figure, f"load-loss-{size.name}", report)


def _svg(figure: Figure, name: str, report: Report) -> str:
    if len(report.trials) > MOST_MARKS:
        for axes in figure.axes:
            drawing.draw_as_pixels(axes)
    return to_svg(figure, name)


def _text_width_in(labels: Sequence[str], size: Size) -> float:
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    return 0.2 + longest * size.font_pt * 0.68 / 72
