"""Pages of a report as a PDF: blocks of text laid out on pages, drawings, and the file of them all."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.report import palette, words
from brimful.report.figures import Size, drawable, figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = Size("page", 8.5, 11.0, 7.6)
MARGIN_IN = 0.5
TEXT_PT, LINE_PT = 7.0, 9.4
COLUMNS, LINES = 128, 76
"""What a page of text holds within its margins at that size."""
PROSE_COLUMNS = 108
_FONT = "DejaVu Sans Mono"

Line = tuple[str, bool]
"""A line of text, and whether it is a title."""


class Block(msgspec.Struct, frozen=True):
    """Lines that belong together."""

    lines: list[Line]
    kept: int
    """So many of them are never parted."""


def bound(title: str, run_id: str, pages: Sequence[Callable[[Figure], None]]) -> bytes:
    """Give a PDF with a page for each drawing. The same always give the same.

    Raises
    ------
    UsageError
        When a package is missing.
    """
    with figure_of(PAGE, "page", PAGE.height_in):
        from matplotlib.backends.backend_pdf import PdfPages

        # No dates, or each writing would differ.
        metadata = {"Title": title, "Creator": "brimful", "Producer": None, "CreationDate": None}
    target = io.BytesIO()
    with PdfPages(target, metadata=metadata) as pdf:
        for number, draw in enumerate(pages, start=1):
            with figure_of(PAGE, f"page-{number}", PAGE.height_in) as figure:
                draw(figure)
                _draw_footer(figure, f"{title}, run {run_id}", f"{number} / {len(pages)}")
                pdf.savefig(figure)
    return target.getvalue()


def of_text(blocks: Sequence[Block]) -> list[Callable[[Figure], None]]:
    """Give the drawings of as many pages as blocks of text take."""
    return [partial(_draw_text, lines=lines) for lines in paginate(blocks)]


def paginate(blocks: Sequence[Block]) -> list[list[Line]]:
    """Lay blocks of lines on pages, an empty line between two.

    >>> [len(page) for page in paginate([Block([("a", False)] * 70, 70), Block([("b", False)] * 10, 4)])]
    [76, 5]
    """
    pages: list[list[Line]] = [[]]
    for block in blocks:
        gap: list[Line] = [("", False)] if pages[-1] else []
        if gap and len(pages[-1]) + len(gap) + min(block.kept, len(block.lines)) > LINES:
            pages.append([])
            gap = []
        for line in [*gap, *block.lines]:
            if len(pages[-1]) == LINES:
                pages.append([])
            pages[-1].append(line)
    return pages


def listed(title: str, entries: Sequence[str]) -> Block:
    """Give a title and a line or more for each entry; nothing where there are none."""
    lines = filled(title, title=True) if entries else []
    for entry in entries:
        lines += filled(f"- {entry}", indent=2, hang=2)
    return Block(lines, 4)


def filled(
    text: str, *, indent: int = 0, hang: int = 0, title: bool = False, columns: int = PROSE_COLUMNS
) -> list[Line]:
    """Fill lines; a word that is longer than a line is broken, so that none runs off the page."""
    lines = textwrap.wrap(
        words.keep_units(_drawn(text)),
        columns,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_on_hyphens=False,
    )
    return [(line.replace("\N{NO-BREAK SPACE}", " "), title) for line in lines]


def cut(text: str) -> list[Line]:
    """Give the lines of a table as they are, what is beyond the page cut off."""
    return [(_drawn(line)[:COLUMNS], False) for line in text.split("\n")]


def _drawn(text: str) -> str:
    # The one narrow space of numbers is no wider than others here.
    return drawable(text.replace("\N{NARROW NO-BREAK SPACE}", " "), family=_FONT)


def _draw_text(figure: Figure, lines: Sequence[Line]) -> None:
    top = 1 - 0.6 / PAGE.height_in
    for number, (line, is_title) in enumerate(lines):
        figure.text(
            MARGIN_IN / PAGE.width_in,
            top - number * LINE_PT / 72 / PAGE.height_in,
            line,
            family=_FONT,
            fontsize=TEXT_PT,
            fontweight="bold" if is_title else "normal",
            va="top",
        )


def _draw_footer(figure: Figure, left: str, right: str) -> None:
    looks: dict[str, Any] = {"fontsize": 7.0, "color": palette.MUTED, "va": "bottom"}
    figure.text(MARGIN_IN / PAGE.width_in, 0.018, drawable(left, longest=110), **looks)
    figure.text(1 - MARGIN_IN / PAGE.width_in, 0.018, right, ha="right", **looks)
