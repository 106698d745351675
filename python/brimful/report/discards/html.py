"""The report on discards as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

from itertools import groupby

from brimful.records import RunFile
from brimful.report.discards import figures, method, model, plotting, summary, tables
from brimful.report.discards.figures import Page
from brimful.report.discards.svg import draw_compact
from brimful.report.html import render_page


def render(run_file: RunFile) -> str:
    """Write the report as a page.

    Parameters
    ----------
    run_file
        A record with the subject ``switch-discards``.
    """
    view = model.build(run_file)
    pages = figures.make_pages(view)
    return render_page(
        "discards.html",
        run=run_file.run,
        title=method.TITLE,
        about=method.about(view),
        summary=summary.sentences(view),
        findings=summary.findings(view),
        figures=[list(group) for _, group in groupby(pages, key=lambda page: page.caption)],
        draw=_draw,
        tables=tables.make_tables(view),
        method=method.rows(view),
        warnings=run_file.warnings,
    )


def _draw(page: Page) -> str:
    with plotting.drawn(page, titled=False) as figure:
        return draw_compact(figure, page.key)
