"""The parts that figures of a run are made of: trials, bounds, marks."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from brimful.report import palette
from brimful.report.palette import DASHED, DOTTED, LONG_DASHED
from brimful.report.throughput import ranges
from brimful.report.throughput.model import BoundTrace, GoalView, Report
from brimful.report.throughput.trials import TrialView
from brimful.units import format_duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = {"clean": "o", "between": "D", "above": "X", "invalid": "+", "warm-up": "1"}
MARKER_SIZES = {"o": 4.4, "D": 4.4, "X": 5.6, "+": 7.0, "1": 7.5}


def level_label(level: str, goals: int) -> str:
    """Say what the mark of a trial means.

    >>> level_label("above", 1), level_label("above", 2)
    ('trial: too much loss', 'trial: too much loss for every goal')
    """
    if level in {"invalid", "warm-up"}:
        return {"invalid": "invalid trial, not counted", "warm-up": "warm-up trial, not counted"}[level]
    if level == "between":
        return "trial: too much loss for some goals"
    if level == "clean":
        return "trial: loss within the goal" + ("" if goals == 1 else "s")
    return "trial: too much loss" + ("" if goals == 1 else " for every goal")


def draw_trials(axes: Axes, report: Report, low: float, high: float) -> None:
    """Draw each trial as a line at its load, a mark at its end; triangles on the border for those beyond it."""
    for level, _marker in MARKERS.items():
        group = [trial for trial in report.trials if trial.level == level]
        if not group:
            continue
        colour = palette.LEVELS[level]
        xs = [x for trial in group for x in (trial.start_s, trial.end_s, float("nan"))]
        ys = [trial.load for trial in group for _ in range(3)]
        counted = level not in {"invalid", "warm-up"}
        axes.plot(xs, ys, color=colour, linewidth=2.2, linestyle="-" if counted else DASHED, zorder=4)
        inside = [(trial.end_s, trial.load) for trial in group if low <= trial.load <= high]
        draw_points(axes, inside, level, level_label(level, len(report.goals)))
        _draw_beyond(axes, [trial.end_s for trial in group if trial.load > high], high, "^", colour)
        _draw_beyond(axes, [trial.end_s for trial in group if trial.load < low], low, "v", colour)
    stopped = [trial for trial in report.trials if trial.stopped_early and low <= trial.load <= high]
    if stopped:
        xs, ys = [trial.end_s for trial in stopped], [trial.load for trial in stopped]
        axes.plot(xs, ys, "|", color=palette.INK, markersize=10, markeredgewidth=1.0, zorder=4.5, label="stopped early")


def _draw_beyond(axes: Axes, times: Sequence[float], edge: float, marker: str, colour: str) -> None:
    axes.plot(
        times, [edge] * len(times), marker, color=colour, markersize=5, markeredgewidth=0, clip_on=False, zorder=6
    )


def draw_points(axes: Axes, points: Sequence[tuple[float, float]], level: str, label: str) -> None:
    """Draw the marks of trials of one level."""
    marker = MARKERS[level]
    filled = marker not in {"+", "1"}
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        marker,
        linestyle="none",
        label=label,
        zorder=5,
        color=palette.LEVELS[level],
        markersize=MARKER_SIZES[marker],
        markeredgecolor=palette.SURFACE if filled else palette.LEVELS[level],
        markeredgewidth=0.5 if filled else 1.3,
    )


def draw_bounds(axes: Axes, report: Report, longest_name: int) -> None:
    """Draw the relevant bounds of each goal as steps, and the unknown between them as an area."""
    from matplotlib.collections import PolyCollection

    traces = {(trace.goal, trace.side): trace for trace in report.traces}
    for number, view in enumerate(report.goals):
        colour = palette.goal_colour(number)
        lower = _stairs(traces[view.goal.name, "lower"], report.axis_end_s)
        upper = _stairs(traces[view.goal.name, "upper"], report.axis_end_s)
        # Bounds of several goals often coincide: the earlier ones are wider and show behind the later.
        width = 1.4 + min(0.9, 1.8 / len(report.goals)) * (len(report.goals) - 1 - number)
        label = f"{short_name(view.goal.name, longest_name)}: lower bound (upper: dashed)"
        axes.plot(*lower, color=colour, linewidth=width, zorder=3, label=label)
        axes.plot(*upper, color=colour, linewidth=0.85 * width, linestyle=DASHED, zorder=3)
        shade = min(0.11, 0.26 / len(report.goals))
        areas = [
            [(left, bottom), (left, top), (right, top), (right, bottom)]
            for left, right, bottom, top in _rectangles(lower, upper)
        ]
        axes.add_collection(PolyCollection(areas, color=colour, alpha=shade, linewidth=0, zorder=1))


_Stairs = tuple[list[float], list[float]]


def _stairs(trace: BoundTrace, end: float) -> _Stairs:
    """Give the corners of a stepped line; not-a-number where there is no bound."""
    xs: list[float] = []
    ys: list[float] = []
    for step, following in zip(trace.steps, [*trace.steps, None][1:], strict=True):
        load = float("nan") if step.load is None else step.load
        xs += [step.at_s, following.at_s if following else max(end, step.at_s)]
        ys += [load, load]
    return xs, ys


def _rectangles(lower: _Stairs, upper: _Stairs) -> Iterator[tuple[float, float, float, float]]:
    """Give the stretches of time in which both bounds are known and still."""
    times = sorted({*lower[0], *upper[0]})
    bottoms, tops = _loads_at(lower, times), _loads_at(upper, times)
    for (left, right), bottom, top in zip(itertools.pairwise(times), bottoms, tops, strict=False):
        if bottom < top:  # never true of not-a-number
            yield left, right, bottom, top


def _loads_at(stairs: _Stairs, times: Sequence[float]) -> Iterator[float]:
    """Give the height of the step at each time; not-a-number where there is none. Times and steps ascend."""
    steps = list(zip(stairs[0][::2], stairs[0][1::2], stairs[1][::2], strict=True))
    begins = [begin for begin, _, _ in steps]
    for at in times:
        # Of steps that begin at the same time the last one lasts.
        number = bisect.bisect_right(begins, at) - 1
        yield steps[number][2] if number >= 0 and at < steps[number][1] else float("nan")


def draw_overview(axes: Axes, report: Report, low: float, high: float) -> None:
    """Draw all trials small, over all loads."""
    for level, marker in MARKERS.items():
        group = [trial for trial in report.trials if trial.level == level]
        edge = 0.6 if marker in {"+", "1"} else 0.0
        axes.plot(
            [trial.end_s for trial in group],
            [trial.load for trial in group],
            marker,
            color=palette.LEVELS[level],
            markersize=3.0,
            markeredgewidth=edge,
            zorder=3,
        )
    axes.axhspan(low, high, color=palette.MUTED, alpha=0.15, linewidth=0, zorder=1)
    axes.set_ylim(0, max(trial.load for trial in report.trials) * 1.15)
    axes.locator_params(axis="y", nbins=3)
    axes.tick_params(labelbottom=False)
    axes.set_title(
        "all loads; the grey band is enlarged below", fontsize="small", color=palette.MUTED, loc="right", pad=3
    )


def mark_times(places: Sequence[Axes], report: Report, *, apart_s: float) -> None:
    """Mark where phases begin and where pauses were cut out; the last of the axes has the words, where they fit."""
    marks = [(mark.at_s, mark.label, DOTTED, palette.GOALS[0]) for mark in report.phases]
    marks = marks if len(marks) > 1 else []
    for pause in report.pauses:
        words = f"pause of {format_duration(pause.length_s)}" if pause.length_s else "pause"
        marks.append((pause.at_s, words, LONG_DASHED, palette.MUTED))
    last_words = -apart_s
    for at, words, style, colour in sorted(marks, key=lambda mark: mark[0]):
        for place in places:
            place.axvline(at, color=colour, linestyle=style, linewidth=0.9, alpha=0.8, zorder=2)
        if at - last_words < apart_s:
            continue
        last_words = at
        places[-1].annotate(
            words,
            (at, 0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 4),
            textcoords="offset points",
            rotation=90,
            ha="left",
            va="bottom",
            color=palette.MUTED,
            fontsize="small",
            zorder=8,
        )


def label_goals(axes: Axes, report: Report, labels: Sequence[str], low: float, high: float) -> None:
    """Write the result of each goal beside where its bounds end."""
    placed: list[float] = []
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    apart = (high - low) * 0.045 * lines
    for number, (view, label) in enumerate(zip(report.goals, labels, strict=True)):
        ends = [bound.load for bound in (view.lower, view.upper) if bound is not None]
        if not ends:
            continue
        at = min(max(sum(ends) / len(ends), low), high)
        while any(abs(at - other) < apart for other in placed):
            at += apart / 4
        placed.append(at)
        axes.annotate(
            label,
            (1, at),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            color=palette.goal_colour(number),
            fontsize="medium",
            fontweight="bold",
            annotation_clip=False,
        )


def goal_label(view: GoalView, longest_name: int) -> str:
    """Write a goal and its value in short lines."""
    return f"{short_name(view.goal.name, longest_name)}\n{view.headline.replace(' … ', ' …' + chr(10))}"


def short_name(name: str, longest: int) -> str:
    """Cut a long name in the middle: names of goals often differ at their ends.

    >>> short_name("a-very-long-goal-name", 9), short_name("ndr", 9)
    ('a-ve…name', 'ndr')
    """
    half = longest // 2
    return name if len(name) <= longest else f"{name[: longest - half - 1]}…{name[-half:]}"


def draw_as_pixels(axes: Axes) -> None:
    """Draw lines, marks and areas as an image within the figure: each by itself would make a page too long to load."""
    for artist in (*axes.lines, *axes.collections):
        artist.set_rasterized(True)


def draw_losses(axes: Axes, report: Report, trials: Sequence[TrialView], longest_name: int) -> None:
    """Draw the loss ratio of trials against their load, with bounds, allowed loss and conditional throughput."""
    floor_decade = ranges.least_decade(trials)
    for number, view in enumerate(report.goals):
        colour = palette.goal_colour(number)
        if view.lower is not None and view.upper is not None:
            axes.axvspan(view.lower.load, view.upper.load, color=colour, alpha=0.16, linewidth=0, zorder=1)
        for bound, style in ((view.lower, "-"), (view.upper, DASHED)):
            if bound is not None:
                axes.axvline(bound.load, color=colour, linestyle=style, linewidth=1.1, zorder=2)
        if view.goal.loss_ratio > 0:
            allowed = ranges.loss_decade(view.goal.loss_ratio, floor_decade)
            axes.axhline(allowed, color=colour, linestyle=DOTTED, linewidth=1.1, zorder=2)
        if view.conditional_throughput is not None:
            axes.plot(
                [view.conditional_throughput],
                [0.4],
                "v",
                color=colour,
                markersize=7,
                zorder=6,
                markeredgecolor=palette.SURFACE,
                markeredgewidth=0.6,
                label=f"{short_name(view.goal.name, longest_name)}: conditional throughput",
            )
    for level in ("clean", "between", "above"):
        group = [trial for trial in trials if trial.level == level]
        if group:
            points = [(trial.load, ranges.loss_decade(trial.loss_ratio, floor_decade)) for trial in group]
            draw_points(axes, points, level, level_label(level, len(report.goals)))
    axes.set_ylim(floor_decade - ranges.NO_LOSS_GAP - 0.45, 0.75)
    axes.set_yticks(*ranges.loss_ticks(floor_decade))
    axes.axhline(floor_decade - ranges.NO_LOSS_GAP / 2, color=palette.MUTED, linewidth=0.7, linestyle=DOTTED, zorder=1)
