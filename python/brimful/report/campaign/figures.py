"""The graphs of RFC 2544 section 26.1: throughput over frame size, in frames and in bits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.report import palette, scales
from brimful.report.campaign.model import FRAME_SIZE, Cell, CellGoal, Report
from brimful.report.figures import WIDE, Size, arrange, figure_of, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FRAMES, BITS = "frames", "bits"
_MARKERS = ("o", "s", "D", "^", "v", "P")
_APART = 0.12
"""Between marks that stand beside each other, where frame sizes are 1 apart."""


class Point(msgspec.Struct, frozen=True):
    """A mean with its interval and the runs that it is of, or a least value."""

    place: int
    value: float
    interval: tuple[float, float] | None = None
    runs: tuple[float, ...] = ()
    bound: bool = False


class Line(msgspec.Struct, frozen=True):
    """One goal of one measurer over the places of the axis."""

    label: str
    points: list[Point]
    colour: int
    style: int


def places(report: Report) -> list[str]:
    """Give the labels of the horizontal axis: frame sizes, or measurers where there is only one size."""
    sizes = _sizes(report)
    return sizes if len(sizes) > 1 else report.measurers


def lines(report: Report, quantity: str) -> list[Line]:
    """Give what is drawn: a line for each goal and measurer; of one frame size only for each goal.

    Parameters
    ----------
    report
        From `brimful.report.campaign.model.build`.
    quantity
        ``frames``: loads as they were measured. ``bits``: on the wire, gaps included.
    """
    sizes, measurers = _sizes(report), report.measurers
    by_size = len(sizes) > 1
    several = by_size and len(measurers) > 1
    made: dict[tuple[int, int], list[Point]] = {}
    for cell in report.cells:
        number = measurers.index(cell.measurer)
        place = sizes.index(cell.frame_size or "") if by_size else number
        for index, goal in enumerate(cell.goals):
            point = _point(cell, goal, place, quantity)
            if point is not None:
                made.setdefault((number if by_size else 0, index), []).append(point)
    names = [goal.name for goal in report.run.goals]
    return [
        Line(
            label=f"{measurers[number]}: {names[index]}" if several else names[index],
            points=sorted(points, key=lambda point: point.place),
            colour=number if several else index,
            style=index,
        )
        for (number, index), points in sorted(made.items())
    ]


def draw(report: Report, quantity: str, size: Size = WIDE) -> str:
    """Draw throughput over frame size (or measurer).

    Parameters
    ----------
    report
        From `brimful.report.campaign.model.build`.
    quantity
        ``frames`` or ``bits``.
    size
        `WIDE` or `NARROW`.
    """
    name = f"throughput-{quantity}"
    drawn, labels = lines(report, quantity), places(report)
    unit = report.cells[0].load_unit if quantity == FRAMES else "bps"
    with figure_of(size, name, size.height_in * 0.8) as figure:
        axes = figure.subplots()
        apart = min(_APART, 0.8 / max(1, len(drawn)))
        for number, line in enumerate(drawn):
            _draw_line(axes, line, (number - (len(drawn) - 1) / 2) * apart, apart)
        _draw_link(axes, report, quantity, labels)
        bottom, top = axes.dataLim.ymin, axes.dataLim.ymax
        top = top * 1.08 if math.isfinite(top) and top > 0 else 1.0
        axes.set_ylim(min(0.0, bottom * 1.08) if math.isfinite(bottom) else 0.0, top)
        axes.set_xlim(-0.5, len(labels) - 0.5)
        axes.set_xticks(range(len(labels)), [_short(label, size, len(labels)) for label in labels])
        axes.grid(visible=False, axis="x")
        by_size = len(_sizes(report)) > 1
        size_label = "frame size (bytes, FCS included)" if report.size_name == FRAME_SIZE else report.size_name
        axes.set_xlabel(size_label if by_size else "measurer")
        shown = scales.scale_loads(axes.yaxis, top, unit)
        axes.set_ylabel(f"throughput ({shown})" if quantity == FRAMES else f"throughput, L1 ({shown})")
        arrange(figure, axes, size, right_in=0.12, gap=0.1)
        return to_svg(figure, f"{name}-{size.name}")


def _sizes(report: Report) -> list[str]:
    """Give the frame sizes, numbers in their order and before words."""
    sizes = dict.fromkeys(cell.frame_size or "" for cell in report.cells)
    return sorted(sizes, key=lambda size: (0, int(size)) if size.isdecimal() else (1, 0))


def _point(cell: Cell, goal: CellGoal, place: int, quantity: str) -> Point | None:
    factor = 1.0 if quantity == FRAMES else cell.wire_bits
    if factor is None:
        return None
    if goal.spread is not None:
        ends = goal.spread.interval
        runs = tuple(value * factor for value in goal.values) if len(goal.values) > 1 else ()
        interval = None if ends is None else (ends[0] * factor, ends[1] * factor)
        return Point(place, goal.spread.mean * factor, interval, runs)
    return None if goal.at_least is None else Point(place, goal.at_least * factor, bound=True)


def _draw_line(axes: Axes, line: Line, shift: float, apart: float) -> None:
    """Draw means with their intervals, and beside each its runs. They stand beside their places: no line joins them."""
    looks: dict[str, Any] = {"color": palette.goal_colour(line.colour), "zorder": 4}
    means = [point for point in line.points if not point.bound]
    xs, values = [point.place + shift for point in means], [point.value for point in means]
    if means:
        marker = _MARKERS[line.style % len(_MARKERS)]
        edge: dict[str, Any] = {"markeredgecolor": palette.SURFACE, "markeredgewidth": 0.5}
        axes.plot(xs, values, marker, markersize=5.5, label=line.label, **edge, **looks)
        ends = [point.interval or (point.value, point.value) for point in means]
        # The mean of very different runs may be a hair outside: bars have no negative length.
        below = [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)]
        above = [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)]
        axes.errorbar(xs, values, yerr=[below, above], fmt="none", elinewidth=1.2, capsize=3, **looks)
    runs = [(point.place + shift + 0.45 * apart, value) for point in means for value in point.runs]
    axes.plot([x for x, _ in runs], [y for _, y in runs], ".", markersize=4, markeredgewidth=0, **looks)
    bounds = [point for point in line.points if point.bound]
    if bounds:
        axes.plot(
            [point.place + shift for point in bounds],
            [point.value for point in bounds],
            "^",
            markersize=7,
            markerfacecolor=palette.SURFACE,
            label=f"{line.label}: at least",
            **looks,
        )


def _draw_link(axes: Axes, report: Report, quantity: str, labels: list[str]) -> None:
    """Draw what the medium carries, where it is known."""
    sizes = _sizes(report)
    rates: dict[int, float] = {}
    for cell in report.cells:
        if cell.link_rate is None or cell.wire_bits is None:
            continue
        place = sizes.index(cell.frame_size or "") if len(sizes) > 1 else labels.index(cell.measurer)
        rates[place] = cell.link_rate if quantity == FRAMES else cell.link_rate * cell.wire_bits
    for number, (place, rate) in enumerate(sorted(rates.items())):
        label = "what the link carries" if number == 0 else None
        axes.plot([place - 0.35, place + 0.35], [rate] * 2, color=palette.MUTED, linewidth=1.2, zorder=2, label=label)


def _short(label: str, size: Size, number: int) -> str:
    """Break a long label, so that neighbours do not touch."""
    room = max(6, int(size.width_in * 72 / size.font_pt / 0.62 / number) - 2)
    return "\n".join(label[start : start + room] for start in range(0, min(len(label), 4 * room), room)) or "-"
