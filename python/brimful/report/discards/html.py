"""The report on discards as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from brimful.records import RunFile
from brimful.report.discards import figures, method, model, plotting, splits, summary, tables
from brimful.report.discards.pages import Page, narrowed
from brimful.report.discards.svg import draw_compact
from brimful.report.web_page import render_page

MANY_POINTS = 250_000
"""From this number on, marks are pixels: pages stay small, but the marks keep their colours on a dark one."""


def render(run_file: RunFile) -> str:
    """Write the report as a page.

    Parameters
    ----------
    run_file
        A record with the subject ``switch-discards``.
    """
    view = model.build(run_file)
    pages = [*figures.make_pages(view), *splits.make_pages(view)]
    return render_page(
        Path(__file__).with_name("page.html"),
        run=run_file.run,
        title=method.TITLE,
        about=method.about(view),
        summary=summary.sentences(view),
        findings=summary.findings(view),
        figures=[list(group) for _, group in groupby(pages, key=lambda page: page.caption)],
        draw=partial(_draw, as_pixels=_count_points(pages) > MANY_POINTS),
        draw_narrow=_draw_narrow,
        tables=tables.make_tables(view),
        method=method.rows(view),
        warnings=run_file.warnings,
    )


def _count_points(pages: Sequence[Page]) -> int:
    return sum(len(layer.points) for page in pages for panel in page.panels for layer in panel.layers)


def _draw_narrow(page: Page) -> str:
    """Draw for a telephone. Marks are pixels: twice as many elements would make a page twice as long to load."""
    return _draw(narrowed(page), as_pixels=True)


def _draw(page: Page, *, as_pixels: bool) -> str:
    with plotting.drawn(page, titled=False) as figure:
        for axes in figure.axes if as_pixels else ():
            for line in axes.get_lines():
                line.set_rasterized(line.get_linestyle() == "None")
        return draw_compact(figure, page.key)
