"""The report on discards as a PDF: what it says as text, then a figure a page."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimful.files import write_atomically
from brimful.records import RunFile
from brimful.report import palette
from brimful.report.discards import figures, method, model, plotting, summary, tables
from brimful.report.discards.tables import Table
from brimful.report.discards.text import fitting_columns
from brimful.report.figures import figure_of
from brimful.report.iocost.figures import drawable
from brimful.report.iocost.pdf import (
    COLUMNS,
    LINE_PT,
    MARGIN_IN,
    PAGE,
    PROSE_COLUMNS,
    TEXT_PT,
    Block,
    paginate,
)
from brimful.report.text import table as aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION_COLUMNS = 130
KEPT_ROWS = 8
"""So many lines of a table stay on the page of its title."""


def write(run_file: RunFile, path: Path) -> None:
    """Write the report as a PDF; whoever reads the file sees the old one or all of the new one.

    Parameters
    ----------
    run_file
        A record with the subject ``switch-discards``.
    path
        Where it is to be.

    Raises
    ------
    UsageError
        When a package is missing.
    BrimfulError
        When the file cannot be written.
    """
    write_atomically(path, render(run_file))


def render(run_file: RunFile) -> bytes:
    """Give the report as the bytes of a PDF: the same records always give the same."""
    view = model.build(run_file)
    with figure_of(PAGE, "page", PAGE.height_in):
        from matplotlib.backends.backend_pdf import PdfPages

        # No dates, or each writing would differ.
        metadata = {"Title": method.TITLE, "Creator": "brimful", "Producer": None, "CreationDate": None}
    drawings: list[Callable[[Figure], None]] = [
        partial(_draw_text, lines=lines) for lines in paginate(lay_out(run_file))
    ]
    drawings += [partial(_draw_page, page=page) for page in figures.make_pages(view)]
    target = io.BytesIO()
    with PdfPages(target, metadata=metadata) as pdf:
        for place, draw in enumerate(drawings, start=1):
            with figure_of(PAGE, f"page-{place}", PAGE.height_in) as figure:
                draw(figure)
                _draw_footer(figure, f"{method.TITLE}, run {run_file.run.run_id}", f"{place} / {len(drawings)}")
                pdf.savefig(figure)
    return target.getvalue()


def lay_out(run_file: RunFile) -> list[Block]:
    """Give what the report says as blocks of lines, none of them wider than a page."""
    view = model.build(run_file)
    run = run_file.run
    head = [
        *_lines(method.TITLE, title=True),
        *_lines(method.about(view)),
        *_lines(f"run {run.run_id}, {run.started}, {' '.join(run.tool.values())}"),
    ]
    blocks = [Block(head, len(head)), _list("Summary", summary.sentences(view))]
    blocks += [_table(table) for table in tables.make_tables(view)]
    blocks += [_list(f"Findings: {title}", texts) for title, texts in summary.findings(view)]
    blocks.append(_list("Method", [f"{name}: {shown}" for name, shown in method.rows(view)]))
    blocks.append(_list("Warnings", [f"{warning.code}: {warning.text}" for warning in run_file.warnings]))
    return [block for block in blocks if block.lines]


def _table(table: Table) -> Block:
    lines = _lines(table.title, title=True)
    for group in fitting_columns(table, COLUMNS):
        rows = [[row[place] for place in group] for row in [table.heads, *table.rows]]
        text = aligned(rows, right=range(table.words, len(group)))
        lines += [(_drawn(line)[:COLUMNS], False) for line in text.split("\n")]
    lines += _lines(table.note, indent=2) if table.note else []
    return Block(lines, KEPT_ROWS)


def _list(title: str, entries: Sequence[str]) -> Block:
    lines = _lines(title, title=True) if entries else []
    for entry in entries:
        lines += _lines(f"- {entry}", indent=2, hang=2)
    return Block(lines, 4)


def _lines(text: str, *, indent: int = 0, hang: int = 0, title: bool = False) -> list[tuple[str, bool]]:
    """Fill lines; a word that is longer than a line is broken, so that none runs off the page."""
    filled = textwrap.wrap(
        _drawn(text),
        PROSE_COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_on_hyphens=False,
    )
    return [(line, title) for line in filled]


def _drawn(text: str) -> str:
    return drawable(text.replace("\N{NARROW NO-BREAK SPACE}", " "), family="DejaVu Sans Mono")


def _draw_text(figure: Figure, lines: Sequence[tuple[str, bool]]) -> None:
    for place, (line, is_title) in enumerate(lines):
        figure.text(
            MARGIN_IN / PAGE.width_in,
            1 - (0.6 + place * LINE_PT / 72) / PAGE.height_in,
            line,
            family="DejaVu Sans Mono",
            fontsize=TEXT_PT,
            fontweight="bold" if is_title else "normal",
            va="top",
        )


def _draw_page(figure: Figure, page: figures.Page) -> None:
    bottom_in = plotting.draw_at_top(figure, page)
    caption = textwrap.wrap(drawable(page.caption), CAPTION_COLUMNS)
    for place, line in enumerate(caption):
        figure.text(
            MARGIN_IN / PAGE.width_in,
            (bottom_in - place * 0.14) / PAGE.height_in,
            line,
            fontsize=PAGE.font_pt,
            color=palette.MUTED,
            va="top",
        )


def _draw_footer(figure: Figure, left: str, right: str) -> None:
    looks: dict[str, Any] = {"fontsize": 7.0, "color": palette.MUTED, "va": "bottom"}
    figure.text(MARGIN_IN / PAGE.width_in, 0.018, drawable(left, longest=110), **looks)
    figure.text(1 - MARGIN_IN / PAGE.width_in, 0.018, right, ha="right", **looks)
