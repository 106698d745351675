"""The report on discards as a PDF: what it says as text, then a figure a page."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING

from brimful.records import RunFile
from brimful.report import pages, palette
from brimful.report.discards import figures, method, model, plotting, summary, tables
from brimful.report.discards.tables import Table
from brimful.report.discards.text import fitting_columns
from brimful.report.figures import drawable
from brimful.report.lines import table as aligned
from brimful.report.pages import COLUMNS, MARGIN_IN, PAGE, Block, cut, filled, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION_COLUMNS = 130
KEPT_ROWS = 8
"""So many lines of a table stay on the page of its title."""


def render(run_file: RunFile) -> bytes:
    """Give the report as the bytes of a PDF: the same records always give the same."""
    view = model.build(run_file)
    drawings = [partial(_draw_page, page=page) for page in figures.make_pages(view)]
    return pages.bound(method.TITLE, run_file.run.run_id, lay_out(run_file), drawings)


def lay_out(run_file: RunFile) -> list[Block]:
    """Give what the report says as blocks of lines, none of them wider than a page."""
    view = model.build(run_file)
    run = run_file.run
    head = [
        *filled(method.TITLE, title=True),
        *filled(method.about(view)),
        *filled(f"run {run.run_id}, {run.started}, {' '.join(run.tool.values())}"),
    ]
    blocks = [Block(head, len(head)), listed("Summary", summary.sentences(view))]
    blocks += [_table(table) for table in tables.make_tables(view)]
    blocks += [listed(f"Findings: {title}", texts) for title, texts in summary.findings(view)]
    blocks.append(listed("Method", [f"{name}: {shown}" for name, shown in method.rows(view)]))
    blocks.append(listed("Warnings", [f"{warning.code}: {warning.text}" for warning in run_file.warnings]))
    return [block for block in blocks if block.lines]


def _table(table: Table) -> Block:
    lines = filled(table.title, title=True)
    for group in fitting_columns(table, COLUMNS):
        rows = [[row[place] for place in group] for row in [table.heads, *table.rows]]
        text = aligned(rows, right=range(table.words, len(group)))
        lines += cut(text)
    lines += filled(table.note, indent=2) if table.note else []
    return Block(lines, KEPT_ROWS)


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
