"""Draws the figures of the report on discards, for pages, PDF and files alike."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.report import palette
from brimful.report.discards.model import DAY_S, Change, Point, format_day
from brimful.report.discards.pages import LEGEND_COLUMNS, LEGEND_ROW_IN, Axis, Layer, Page, Panel
from brimful.report.figures import Size, drawable, figure_of
from brimful.report.palette import DASHED, DOTTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FONT_PT = 8.5
LOOKS = (
    (palette.GOALS[0], "o", 1.9),
    (palette.LEVELS["between"], "s", 1.7),
    (palette.GOALS[2], "^", 2.3),
    (palette.LEVELS["above"], "D", 1.7),
    (palette.GOALS[1], "v", 2.3),
    (palette.GOALS[5], "X", 2.4),
    (palette.GOALS[4], "P", 2.4),
)
"""Colour, shape and size of marks, which differ in both colour and shape."""
LINES: tuple[Any, ...] = ("-", DASHED)

TITLE_IN, LEGEND_IN = 0.36, 0.24
HEAD_IN, LEFT_IN, FOOT_IN = 0.5, 0.72, 0.24
DENSITY_FOOT_IN = 0.44
"""With what the axis of rates shows."""
BETWEEN_IN = 0.62
"""Beside each other: room for the tick labels of the right panel."""
LONGEST_SITE = 20
"""The most letters of a name in a legend."""
MANY_MONTHS = 5
"""From this number of days on, ticks are at months instead of days."""
SHOWN_DENSITY = 0.005
"""The axis of rates begins and ends where densities are so small a share of the greatest."""
DAYS_OF_SMALL_MARKS = 400
"""With fewer days marks are larger."""
SHADES = (0.1, 0.24)
"""Of the windows before and after: side by side they must not look like one, and a line between them would say that
discards stopped."""
ZERO_DECADES = 0.9
"""Height of the strip of zeros below a logarithmic axis."""


@contextmanager
def drawn(page: Page, *, titled: bool = True) -> Iterator[Figure]:
    """Give a page of a figure, drawn at its own size.

    Parameters
    ----------
    page
        From `brimful.report.discards.figures.make_pages`.
    titled
        Whether its title stands above it.
    """
    width, height = page.size_in
    head = (TITLE_IN if titled else 0.08) + (LEGEND_IN if page.shares_legend else 0.0)
    each = panel_height_in(page)
    rows = -(-len(page.panels) // page.columns)
    with figure_of(Size(page.key, width, height, FONT_PT), page.key, head + rows * each + foot_in(page)) as figure:
        draw(figure, page, top_in=head, titled=titled)
        yield figure


def panel_height_in(page: Page) -> float:
    """Give the height of a row of panels with what stands above them."""
    used = TITLE_IN + (LEGEND_IN if page.shares_legend else 0.0) + foot_in(page)
    return (page.size_in[1] - used) / page.rows


def foot_in(page: Page) -> float:
    """Give the room below the last row, for its tick labels."""
    return 0.06 if page.kind == "density" else FOOT_IN


def _head_in(page: Page) -> float:
    """Give the room above the axes of a panel: for its title, and what is marked or explained there."""
    return 0.26 + LEGEND_ROW_IN * page.legend_rows if page.is_narrow else HEAD_IN


def _right_in(page: Page) -> float:
    """Give the room at the right: for the legends of panels, if they have their own."""
    if page.shares_legend or page.is_narrow:
        return 0.15
    longest = max((len(layer.label) for panel in page.panels for layer in panel.layers), default=0)
    return 0.35 + max(5, min(longest, LONGEST_SITE)) * FONT_PT * 0.62 / 72


def draw(figure: Figure, page: Page, *, top_in: float, titled: bool) -> None:
    """Draw the panels of a page from so far below the upper edge of a figure.

    Parameters
    ----------
    figure
        With the looks of reports; its width decides that of the panels.
    page
        From `brimful.report.discards.figures.make_pages`.
    top_in
        Where the first row begins.
    titled
        Whether its title stands above.
    """
    width, height = (float(length) for length in figure.get_size_inches())
    each = panel_height_in(page)
    right = _right_in(page)
    foot = DENSITY_FOOT_IN if page.kind == "density" else 0.08
    wide = (width - LEFT_IN - right - BETWEEN_IN * (page.columns - 1)) / page.columns
    for place, panel in enumerate(page.panels):
        row, column = divmod(place, page.columns)
        left = LEFT_IN + column * (wide + BETWEEN_IN)
        bottom = height - top_in - (row + 1) * each + foot
        axes = figure.add_axes((left / width, bottom / height, wide / width, (each - _head_in(page) - foot) / height))
        is_last = place + page.columns >= len(page.panels)
        _draw_panel(axes, panel, page, labels_x=is_last, width_pt=wide * 72)
        axes.set_ylabel(panel.axis.label if column == 0 else "")
    legend_at = 1 - (top_in - LEGEND_IN) / height
    if page.shares_legend:
        _draw_legend(figure, page, left=LEFT_IN / width, top=legend_at)
    if titled:
        above = TITLE_IN - 0.12 + (LEGEND_IN if page.shares_legend else 0.0)
        at = 1 - (top_in - above) / height
        figure.text(LEFT_IN / width, at, page.title, fontsize=FONT_PT, fontweight="bold", va="top")


def _draw_panel(axes: Axes, panel: Panel, page: Page, *, labels_x: bool, width_pt: float) -> None:
    title = drawable(panel.title, longest=48)
    raised_pt = page.legend_rows * LEGEND_ROW_IN * 72 if page.is_narrow else 0.0
    _write_above(axes, title, 0.0, 3 + raised_pt, ha="left", fontweight="bold")
    if panel.note:
        # Above the title: both are too long for one line.
        _write_above(axes, panel.note, 0.0, 3 + raised_pt + FONT_PT * 1.25, ha="left", color=palette.MUTED)
    if page.kind == "density":
        _draw_densities(axes, panel)
        if page.is_narrow:
            _draw_sites(axes, panel, above=True)
        return
    _scale_days(axes, page.days, labelled=labels_x, room_pt=width_pt)
    _scale_values(axes, panel.axis)
    for window, shade in zip(page.windows, SHADES, strict=False):
        edges = (window.start_s / DAY_S, window.end_s / DAY_S)
        axes.axvspan(*edges, color=palette.MUTED, alpha=shade, linewidth=0, zorder=0.5)
    days = (page.days[1] - page.days[0]) / DAY_S + 1
    scale = min(max(math.sqrt(DAYS_OF_SMALL_MARKS / days), 1.0), 2.2)
    for layer in panel.layers:
        _draw_marks(axes, layer, panel.axis, scale)
    _mark_changes(axes, panel.changes)
    if not page.is_narrow:
        _label_changes(axes, panel.changes, width_pt, taken_pt=len(title) * FONT_PT * 0.75 + 10)
    if not page.shares_legend:
        _draw_sites(axes, panel, above=page.is_narrow)


def _write_above(axes: Axes, text: str, at: float, raised_pt: float, **looks: Any) -> None:  # noqa: ANN401 - matplotlib's
    """Write above axes, this number of points up."""
    axes.annotate(
        text, (at, 1), xycoords="axes fraction", xytext=(0, raised_pt), textcoords="offset points", va="bottom", **looks
    )


def _draw_marks(axes: Axes, layer: Layer, axis: Axis, scale: float) -> None:
    """Draw points; those beyond the limits stand on the border, zeros of a logarithmic axis in their strip."""
    colour, shape, size = LOOKS[layer.style % len(LOOKS)]
    looks: dict[str, Any] = {
        "linestyle": "none",
        "color": colour,
        "markeredgewidth": 0,
        "alpha": 0.4 if layer.faint else 1.0,
    }
    zeros = [x / DAY_S for x, y in layer.points if axis.is_log and y <= 0]
    others = [(x / DAY_S, y) for x, y in layer.points if not (axis.is_log and y <= 0)]
    inside = [(x, y) for x, y in others if axis.low <= y <= axis.high]
    axes.plot(*_columns(inside), marker=shape, markersize=size * scale, zorder=3, **looks)
    for border, marker, beyond in (
        (axis.high, "^", [x for x, y in others if y > axis.high]),
        (axis.low, "v", [x for x, y in others if y < axis.low]),
    ):
        if beyond:
            at = [(x, border) for x in beyond]
            axes.plot(*_columns(at), marker=marker, markersize=3.0 * scale, clip_on=False, zorder=4, **looks)
    if zeros and not layer.faint:
        at = [(x, _zero_place(axis, layer.style)) for x in zeros]
        axes.plot(*_columns(at), marker="|", markersize=2.6, zorder=3, **(looks | {"markeredgewidth": 0.5}))


def _zero_place(axis: Axis, style: int) -> float:
    """Give each site a row of its own, so that none hides another."""
    return axis.low * 10 ** (-ZERO_DECADES * (style % len(LOOKS) + 1) / (len(LOOKS) + 1))


def _scale_values(axes: Axes, axis: Axis) -> None:
    if not axis.is_log:
        axes.set_ylim(axis.low, axis.high)
        axes.locator_params(axis="y", nbins=6)
        return
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.set_ylim(axis.low * (10**-ZERO_DECADES if axis.has_zeros else 1.0), axis.high)
    decades = [tick for tick in LogLocator(numticks=8).tick_values(axis.low, axis.high) if _within(tick, axis)]
    zero = [axis.low * 10 ** (-ZERO_DECADES / 2)] if axis.has_zeros else []
    axes.yaxis.set_major_locator(FixedLocator([*zero, *decades]))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "0" if value < axis.low * 0.99 else f"1e{math.log10(value):.0f}")
    )
    minor = [tick for tick in LogLocator(subs=range(2, 10), numticks=99).tick_values(axis.low, axis.high)]
    axes.yaxis.set_minor_locator(FixedLocator([tick for tick in minor if _within(tick, axis)]))
    axes.yaxis.set_minor_formatter(NullFormatter())
    if axis.has_zeros:
        axes.axhline(axis.low, color=palette.MUTED, linewidth=0.7, linestyle=DOTTED, zorder=1)


def _within(tick: float, axis: Axis) -> bool:
    return axis.low * 0.999 <= tick <= axis.high * 1.001


def _scale_days(axes: Axes, days: Point, *, labelled: bool, room_pt: float) -> None:
    from matplotlib.ticker import FixedLocator

    ticks, labels, smaller = _day_ticks(days, room_pt)
    axes.set_xlim(days[0] / DAY_S - 1, days[1] / DAY_S + 1)
    axes.xaxis.set_minor_locator(FixedLocator(smaller))
    axes.set_xticks(ticks, labels if labelled else [""] * len(labels))


def _day_ticks(days: Point, room_pt: float) -> tuple[list[float], list[str], list[float]]:
    """Give ticks, their labels, and smaller ticks: months for long times, days for short ones; as many as fit."""
    first, last = (seconds / DAY_S for seconds in days)
    months = _month_starts(first - 1, last + 1)
    if len(months) >= MANY_MONTHS:
        step = next(
            (step for step in (1, 3, 6, 12, 24, 60, 120) if len(months) / step <= room_pt / _letters_pt("2018-03  ")),
            600,
        )
        # Quarters begin where the published figures have their ticks.
        ticks = [float(start) for start, month in months if (month - (step != 3)) % step == 0]
        return ticks, [format_day(tick * DAY_S)[:7] for tick in ticks], [float(start) for start, _ in months]
    apart = max(1, math.ceil((last - first + 2) * _letters_pt("2018-03-01  ") / room_pt))
    ticks = [float(tick) for tick in range(int(first), int(last) + 1, apart)]
    return ticks, [format_day(tick * DAY_S) for tick in ticks], []


def _letters_pt(text: str) -> float:
    """Give about how wide a text of a figure is."""
    return len(text) * FONT_PT * 0.62


def _month_starts(first: float, last: float) -> list[tuple[int, int]]:
    """Give the first days of the months between two days, each with its number: 12 times the year and the month."""
    epoch = datetime.date(1970, 1, 1)
    begin = epoch + datetime.timedelta(days=int(first))
    months: list[tuple[int, int]] = []
    for number in itertools.count(begin.year * 12 + begin.month - 1):
        start = (datetime.date(number // 12, number % 12 + 1, 1) - epoch).days
        if start > last:
            return months
        if start >= first:
            months.append((start, number + 1))
    return months


class _Label(msgspec.Struct):
    at: float
    text: str


def _mark_changes(axes: Axes, changes: Sequence[tuple[int, Change]]) -> None:
    """Draw a line at each day on which discards began or stopped."""
    for style, change in changes:
        colour = LOOKS[style % len(LOOKS)][0]
        line = DOTTED if change.kind == "begin" else "-"
        axes.axvline(change.at_s / DAY_S, color=colour, linewidth=0.8, linestyle=line, alpha=0.8, zorder=2)


def _label_changes(axes: Axes, changes: Sequence[tuple[int, Change]], width_pt: float, *, taken_pt: float) -> None:
    """Say above when discards began or stopped; days near each other share a label."""
    left, right = axes.get_xlim()
    per_day = width_pt / (right - left)
    letter_pt = FONT_PT * 0.56
    ends = [taken_pt, 0.0, 0.0]
    for label in _labels([change for _, change in changes], near=14 / per_day):
        half = len(label.text) * letter_pt / 2
        wanted = min((label.at - left) * per_day, width_pt - half)
        # Upwards where there is no room, then to the right.
        row = next((row for row, end in enumerate(ends) if wanted - half >= end), ends.index(min(ends)))
        at = max(wanted, ends[row] + half)
        ends[row] = at + half + 6
        _write_above(axes, label.text, at / width_pt, 3 + row * FONT_PT * 1.2, ha="center", color=palette.MUTED)


def _labels(changes: Sequence[Change], near: float) -> list[_Label]:
    """Put changes of one kind that are near each other under one label, from left to right."""
    groups: list[list[Change]] = []
    for kind in ("begin", "stop"):
        last: list[Change] = []
        for change in (change for change in changes if change.kind == kind):
            if last and (change.at_s - last[-1].at_s) / DAY_S <= near:
                last.append(change)
            else:
                last = [change]
                groups.append(last)
    labels = []
    for group in groups:
        first, end = format_day(group[0].at_s), format_day(group[-1].at_s)
        days = first if first == end else f"{first} to {end}"
        who = f" ({len(group)} sites)" if len(group) > 1 else ""
        labels.append(_Label((group[0].at_s + group[-1].at_s) / 2 / DAY_S, f"{group[0].kind} {days}{who}"))
    return sorted(labels, key=lambda label: label.at)


def _draw_densities(axes: Axes, panel: Panel) -> None:
    """Draw the distributions of rates over decades, labelled in Mbit/s."""
    points = [point for layer in panel.layers for point in layer.points]
    top = max((y for _, y in points), default=0.0)
    shown = [x for x, y in points if y >= SHOWN_DENSITY * top] or [6.0]
    low, high = math.floor(min(shown)), max(math.ceil(max(shown)), math.floor(min(shown)) + 1)
    axes.set_xlim(low, high)
    ticks = range(low, high + 1)
    axes.set_xticks(list(ticks), [f"{10.0 ** (tick - 6):g}" for tick in ticks])
    axes.set_xlabel("download rate (Mbit/s)", labelpad=2)
    axes.set_ylim(panel.axis.low, panel.axis.high)
    axes.locator_params(axis="y", nbins=5)
    for layer in panel.layers:
        colour = LOOKS[layer.style][0]
        axes.plot(*_columns(layer.points), color=colour, linestyle=_line(layer), linewidth=1.2, zorder=3)


def _line(layer: Layer) -> Any:  # noqa: ANN401 - matplotlib's
    return LINES[layer.style % len(LINES)]


def _draw_sites(axes: Axes, panel: Panel, *, above: bool) -> None:
    axes.legend(
        handles=[_key(layer, longest=LONGEST_SITE) for layer in panel.layers if layer.label],
        loc="lower left" if above else "upper left",
        bbox_to_anchor=(0.0, 1.0) if above else (1.0, 1.03),
        ncols=LEGEND_COLUMNS if above else 1,
        frameon=False,
        handletextpad=0.1,
        borderaxespad=0.2,
        borderpad=0.1 if above else 0.4,
        labelspacing=0.25 if above else 0.5,
    )


def _draw_legend(figure: Figure, page: Page, *, left: float, top: float) -> None:
    from matplotlib.lines import Line2D

    layers = {layer.label: layer for panel in page.panels for layer in panel.layers}.values()
    if page.kind == "density":
        handles = [
            Line2D(
                [],
                [],
                color=LOOKS[layer.style][0],
                linestyle=_line(layer),
                linewidth=1.2,
                label=drawable(layer.label, longest=LONGEST_SITE),
            )
            for layer in layers
        ]
    else:
        handles = [_key(layer, longest=40) for layer in layers]
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(left, top),
        ncols=4,
        frameon=False,
        borderaxespad=0,
        borderpad=0,
        fontsize=FONT_PT,
    )


def _key(layer: Layer, *, longest: int) -> Any:  # noqa: ANN401 - matplotlib is imported late
    from matplotlib.lines import Line2D

    colour, shape, _ = LOOKS[layer.style % len(LOOKS)]
    label = drawable(layer.label, longest=longest)
    return Line2D([], [], color=colour, marker=shape, linestyle="none", markersize=4.5, markeredgewidth=0, label=label)


def _columns(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
