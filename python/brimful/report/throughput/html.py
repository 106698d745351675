"""The report of a run as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

from pathlib import Path

from brimful.records import SPECIFICATION, RunFile
from brimful.report import facts
from brimful.report.figures import NARROW, WIDE
from brimful.report.throughput import figures
from brimful.report.throughput.items import ITEMS
from brimful.report.throughput.model import WIDTH_DEFINITION, Report, build
from brimful.report.throughput.rfc2544 import conditions
from brimful.report.throughput.statements import MISSING, make_statements
from brimful.report.web_page import render_page

SHOWN_TRIALS = 2000
"""The most trials that a page lists; the record has them all."""


def report_run(file: RunFile) -> str:
    """Write the report on a record with the subject ``search`` as a page."""
    return render(build(file))


def render(report: Report) -> str:
    """Write the report as a page.

    Parameters
    ----------
    report
        From `brimful.report.throughput.model.build`.
    """
    return render_page(
        Path(__file__).with_name("page.html"),
        report=report,
        run=report.run,
        statements=make_statements(report),
        missing=MISSING,
        specification=SPECIFICATION,
        items=ITEMS,
        set_up=facts.set_up(report.run, report.device),
        irregular=_irregular(report),
        simulated=facts.is_simulated(report.run),
        conditions=conditions(report),
        counts_frames=facts.counts_frames(report.run),
        figures=_figures(report) if report.trials else [],
        shown_trials=report.trials[:SHOWN_TRIALS],
        width_definition=WIDTH_DEFINITION,
    )


def _irregular(report: Report) -> list[tuple[str, str]]:
    """Give the irregular goals, those of one reason together, and the reason in words."""
    names: dict[str, list[str]] = {}
    for view in report.goals:
        if not view.regular:
            names.setdefault(view.explanation, []).append(view.goal.name)
    return [
        (f"{' and '.join(goals)} {'is' if len(goals) == 1 else 'are'} irregular.", explanation)
        for explanation, goals in names.items()
    ]


def _figures(report: Report) -> list[dict[str, str]]:
    marks = " Dotted vertical lines stand where phases or longer trials began." if len(report.phases) > 1 else ""
    pauses = " Dashed vertical lines stand for pauses that were cut out." if report.pauses else ""
    made = [
        {
            "id": "search-time",
            "title": "Search-time graph",
            "wide": figures.draw_search_time(report, WIDE),
            "narrow": figures.draw_search_time(report, NARROW),
            "caption": (
                "Each trial is a line from its start to its end at the load it offered, with a mark at its end. "
                "Stepped lines are the relevant lower bounds (solid) and upper bounds (dashed) of each goal; "
                "between them lies what was not yet known. Triangles on the border stand for trials beyond it."
                + marks
                + pauses
            ),
        },
        {
            "id": "load-loss",
            "title": "Loss against load",
            "wide": figures.draw_load_loss(report, WIDE),
            "narrow": figures.draw_load_loss(report, NARROW),
            "caption": (
                "Every counted trial by its load and its loss ratio, on a logarithmic scale with zero set apart at the "
                "bottom. Bands lie between the bounds of a goal, dotted lines are the loss ratios that goals allow, "
                "triangles at the top the conditional throughputs."
            ),
        },
    ]
    return made if report.statistics.counted else made[:1]
