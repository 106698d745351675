"""The report on discards as a PDF: summary and tables, a figure a page, then what else was found and the method."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from brimful.records import RunFile
from brimful.report import pages, palette, sheets
from brimful.report.discards import figures, method, model, plotting, summary, tables
from brimful.report.discards.model import View
from brimful.report.figures import drawable
from brimful.report.pages import MARGIN_IN, PAGE
from brimful.report.sheets import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION_COLUMNS = 130


def render(run_file: RunFile) -> bytes:
    """Give the report as the bytes of a PDF: the same records always give the same."""
    view = model.build(run_file)
    drawings = _drawings(front(view))
    drawings += [partial(_draw_page, page=page) for page in shown_figures(view)]
    drawings += _drawings(back(view))
    return pages.bound(method.TITLE, run_file.run.run_id, drawings)


def shown_figures(view: View) -> list[figures.Page]:
    """Give the figures; of distributions that which is tested stands for all."""
    made = figures.make_pages(view)
    if any(page.key.startswith("6-download-median") for page in made):
        made = [page for page in made if not page.key.startswith(("6-download-max", "6-download-mean"))]
    return made


def front(view: View) -> list[Item]:
    """Give what stands before the figures."""
    run = view.file.run
    made_by = f"run {run.run_id}, {run.started}, {' '.join(run.tool.values())}"
    items = [
        *sheets.text(method.TITLE, sheets.TITLE, bold=True),
        *sheets.text(method.about(view), after=0),
        *sheets.text(made_by, colour=palette.MUTED),
        *sheets.heading("Summary"),
        *sheets.bullets(summary.sentences(view)),
    ]
    for table in tables.make_tables(view):
        items += sheets.heading(table.title)
        items += sheets.table(table.heads, table.rows, words=table.words)
        items += sheets.text(table.note, sheets.NOTE, colour=palette.MUTED) if table.note else []
    return items


def back(view: View) -> list[Item]:
    """Give what stands behind the figures."""
    items: list[Item] = []
    for title, texts in summary.findings(view):
        items += [*sheets.heading(f"Findings: {title}"), *sheets.bullets(texts)]
    items += [*sheets.heading("Method"), *sheets.bullets([f"{name}: {shown}" for name, shown in method.rows(view)])]
    warnings = [f"{warning.code}: {warning.text}" for warning in view.file.warnings]
    return [*items, *sheets.heading("Warnings"), *sheets.bullets(warnings)] if warnings else items


def _drawings(items: list[Item]) -> list[Callable[[Figure], None]]:
    return [partial(sheets.draw, sheet=sheet) for sheet in sheets.paginate(items)]


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
