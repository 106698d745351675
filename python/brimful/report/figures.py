"""Figures of a run as SVG text: the same records always give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.errors import UsageError
from brimful.report import drawing, palette, scales
from brimful.report.model import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Size(msgspec.Struct, frozen=True):
    """How large a figure is drawn; a page shows the one that fits."""

    name: str
    width_in: float
    height_in: float
    font_pt: float
    legend_columns: int
    longest_name: int = 24
    """In characters; longer names of goals are cut in the middle."""
    times: int = 8
    """At most so many ticks on an axis of times."""


WIDE = Size("wide", 9.6, 5.2, 8.6, 3)
NARROW = Size("narrow", 4.1, 4.6, 9.6, 1, longest_name=14, times=4)


def draw_search_time(report: Report, size: Size = WIDE) -> str:
    """Draw offered load against time: every trial, and the bounds of every goal.

    Parameters
    ----------
    report
        From `brimful.report.model.build`.
    size
        `WIDE` or `NARROW`.
    """
    low, high = scales.interesting_loads(report)
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
        return to_svg(figure, f"search-time-{size.name}")


def draw_load_loss(report: Report, size: Size = WIDE) -> str:
    """Draw the loss ratio of every trial against its load, over all loads and around the bounds.

    Parameters
    ----------
    report
        From `brimful.report.model.build`.
    size
        `WIDE` or `NARROW`.
    """
    low, high = scales.interesting_loads(report)
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
        return to_svg(figure, f"load-loss-{size.name}")


def _text_width_in(labels: Sequence[str], size: Size) -> float:
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    return 0.2 + longest * size.font_pt * 0.85 * 0.68 / 72


def arrange(figure: Figure, axes: Axes, size: Size, *, right_in: float, gap: float, title: bool = False) -> None:
    """Give the legend the top, as many rows as it needs, and the axes the rest."""
    handles, labels = axes.get_legend_handles_labels()
    rows = -(-len(labels) // size.legend_columns)
    legend_in = rows * size.font_pt * 0.85 * 1.42 / 72
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + legend_in)
    height += legend_in
    figure.subplots_adjust(
        left=size.font_pt * 5.6 / 72 / width,
        right=1 - right_in / width,
        bottom=size.font_pt * 4.1 / 72 / height,
        top=1 - (legend_in + size.font_pt * (2.4 if title else 2.2) / 72) / height,
        hspace=gap,
        wspace=gap,
    )
    if handles:
        figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(0, 1),
            ncols=size.legend_columns,
            frameon=False,
            fontsize=size.font_pt * 0.85,
            handlelength=2.0,
            columnspacing=1.8,
            borderaxespad=0,
            borderpad=0.1,
            labelcolor=palette.INK,
        )


@contextmanager
def figure_of(size: Size, name: str, height_in: float) -> Iterator[Figure]:
    """Make an empty figure; while it is open, everything drawn has the looks of reports."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        message = f"figures need {error.name}; install it with: pip install 'brimful[report]'"
        raise UsageError(message) from error

    settings: dict[Any, Any] = {
        "svg.hashsalt": f"brimful-{name}-{size.name}",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": size.font_pt,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": palette.MUTED,
        "axes.labelcolor": palette.MUTED,
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": palette.GRID,
        "grid.linewidth": 0.6,
        "lines.solid_capstyle": "butt",
        "text.color": palette.INK,
        "text.parse_math": False,
        "xtick.color": palette.MUTED,
        "ytick.color": palette.MUTED,
    }
    with matplotlib.rc_context(settings):
        yield Figure(figsize=(size.width_in, height_in))


def set_margins(figure: Figure, size: Size, *, left_in: float) -> None:
    """Give a figure without a legend its margins."""
    width, height = figure.get_size_inches()
    figure.subplots_adjust(
        left=left_in / width, right=1 - 0.15 / width, bottom=size.font_pt * 4.1 / 72 / height, top=1 - 0.08 / height
    )


def to_svg(figure: Figure, name: str) -> str:
    """Give a figure as an SVG element to stand in a page."""
    target = io.StringIO()
    figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = target.getvalue()
    text = text[text.index("<svg") :].replace("xlink:href=", "href=")
    for unwanted in _UNWANTED:
        text = unwanted.sub("", text)
    return palette.follow_page(text.replace("<svg", f'<svg role="img" data-figure="{name}"', 1))


_UNWANTED = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"<metadata>.*?</metadata>",
        r"<style.*?</style>",
        r' xmlns(:xlink)?="[^"]*"',
        r'(?<=<g) id="[^"]*"',
        r' width="[^"]*pt"| height="[^"]*pt"',
        r"font-family: [^;\"]*;? ?",
    )
)
"""What matplotlib writes and a page has itself: name spaces, styles, sizes, fonts, names of groups."""


def drawable(text: str, *, longest: int | None = None, family: str = "sans-serif") -> str:
    """Give a text of a record without what the font cannot draw on one line.

    Parameters
    ----------
    text
        Any text.
    longest
        Cut it after so many characters.
    family
        Of the font.
    """
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties(family=[family])))
    text = text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(
        character if character.isprintable() and font.get_char_index(ord(character)) else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
