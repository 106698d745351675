"""Figures of a run as SVG text: the same records always give the same bytes."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.errors import UsageError
from brimful.report import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Where it can keep no settings, as without a home directory, it would say so in several lines, and does without them.
logging.getLogger("matplotlib").setLevel(logging.ERROR)


class Size(msgspec.Struct, frozen=True):
    """How large a figure is drawn; a page shows the one that fits."""

    name: str
    width_in: float
    height_in: float
    font_pt: float
    longest_name: int = 24
    """In characters; longer names of goals are cut in the middle."""
    times: int = 8
    """The most ticks on an axis of times."""


WIDE = Size("wide", 8.0, 4.4, 8.8)
NARROW = Size("narrow", 4.1, 4.6, 9.6, longest_name=14, times=4)
_LEGEND_TYPE = 0.92
"""Size of the type of legends, in sizes of the figure's."""
_KEY_AND_GAP = 4.4
"""What a key of a legend and the gap behind its words take, in sizes of its type."""


def arrange(
    figure: Figure, axes: Axes, size: Size, *, right_in: float, gap: float, title: bool = False, left_types: float = 5.6
) -> None:
    """Give the legend the top, as many rows as it needs, and the axes the rest.

    ``left_types`` is the room of the left axis, in sizes of the figure's type.
    """
    handles, labels = axes.get_legend_handles_labels()
    width, height = figure.get_size_inches()
    columns = _legend_columns(labels, size)
    rows = -(-len(labels) // columns)
    legend_in = rows * size.font_pt * _LEGEND_TYPE * 1.42 / 72
    figure.set_size_inches(width, height + legend_in)
    height += legend_in
    figure.subplots_adjust(
        left=size.font_pt * left_types / 72 / width,
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
            ncols=columns,
            frameon=False,
            fontsize=size.font_pt * _LEGEND_TYPE,
            handlelength=2.0,
            columnspacing=1.6,
            borderaxespad=0,
            borderpad=0.1,
            labelcolor=palette.INK,
        )


def _legend_columns(labels: Sequence[str], size: Size) -> int:
    """Give how many columns of a legend fit beside each other."""
    type_in = size.font_pt * _LEGEND_TYPE / 72
    longest = max(map(len, labels), default=0)
    return max(1, min(len(labels), int(size.width_in / type_in / (0.55 * longest + _KEY_AND_GAP))))


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
        "agg.path.chunksize": 10_000,
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


def drawable(text: str, *, longest: int | None = None) -> str:
    """Give a text of a record without what the font cannot draw on one line.

    Parameters
    ----------
    text
        Any text.
    longest
        Cut it after this number of characters.
    """
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties(family=["sans-serif"])))
    text = text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(
        character if character.isprintable() and font.get_char_index(ord(character)) else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
