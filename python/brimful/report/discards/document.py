"""What a report on discards shows, from the records of an analysis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from brimful.records import RunFile
from brimful.report import figures as sizes
from brimful.report.blocks import Bullets, Document, Figure
from brimful.report.discards import figures, method, model, plotting, splits, summary, tables
from brimful.report.discards.pages import Page, narrowed
from brimful.report.discards.svg import draw_compact

MANY_POINTS = 250_000
"""From this number on, marks are pixels: pages stay small, but the marks keep their colours on a dark one."""
_LEGEND = (
    "In all figures, dotted lines stand where discards begin, solid lines where they stop, grey bands for the two"
    " windows that are compared, the later one darker. Triangles on the border: values beyond it. Days are UTC."
)


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``switch-discards``.
    """
    view = model.build(file)
    pages = [*figures.make_pages(view), *splits.make_pages(view)]
    return Document(
        run=file.run,
        kind="Telemetry and speed tests",
        title=method.TITLE,
        outcome=method.about(view),
        how=" ".join(file.run.tool.values()),
        blocks=[
            Bullets(title="Summary", entries=summary.sentences(view), key="summary"),
            *_figures(pages),
            *tables.make_tables(view),
            *(
                Bullets(title=f"Findings: {title}", entries=texts, key=f"findings-{title.lower()}")
                for title, texts in summary.findings(view)
            ),
        ],
        notes=(),
        set_up=method.rows(view),
        groups=(),
        warnings=[f"{warning.code}: {warning.text}" for warning in file.warnings],
        values="findings",
        data={
            "source": file.run.source,
            "sites": view.sites,
            "method": dict(method.rows(view)),
            "findings": [
                {"code": finding.code, "subject": finding.subject, "text": finding.text, **finding.data}
                for finding in file.findings
            ],
            "series": {
                series.name: {
                    "x": series.x_name,
                    "x_unit": series.x_unit,
                    "unit": series.y_unit,
                    "points": series.points,
                }
                for series in file.series
            },
        },
    )


def line(file: RunFile) -> str:
    """Give the result of an analysis of discards in one line."""
    return summary.sentences(model.build(file))[0]


def _figures(pages: Sequence[Page]) -> list[Figure]:
    as_pixels = sum(len(layer.points) for page in pages for panel in page.panels for layer in panel.layers)
    made: list[Figure] = []
    for caption, group in groupby(pages, key=lambda page: page.caption):
        *others, last = group
        made += [
            Figure(
                title=page.title,
                draw=partial(_draw, page, as_pixels=as_pixels > MANY_POINTS),
                caption=(caption if made else f"{caption} {_LEGEND}") if page is last else "",
                key=page.key,
            )
            for page in [*others, last]
        ]
    return made


def _draw(page: Page, size: sizes.Size, *, as_pixels: bool) -> str:
    """Draw for a page. On a telephone marks are pixels: twice as many elements would make it twice as long to load."""
    is_narrow = size is sizes.NARROW
    shown = narrowed(page) if is_narrow else page
    with plotting.drawn(shown, titled=False) as figure:
        for axes in figure.axes if as_pixels or is_narrow else ():
            for each in axes.get_lines():
                each.set_rasterized(each.get_linestyle() == "None")
        return draw_compact(figure, shown.key)
