"""The report on a campaign as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

from pathlib import Path

from brimful.records import RunFile
from brimful.report import facts
from brimful.report.campaign import figures, tables
from brimful.report.campaign.model import Report, build
from brimful.report.figures import NARROW, WIDE
from brimful.report.web_page import render_page

_BADGES = {tables.REGULAR: "good", tables.IRREGULAR: "bad", tables.FAILED: "bad"}


def report_run(file: RunFile) -> str:
    """Write the report on a record with the subject ``campaign`` as a page."""
    return render(build(file))


def render(report: Report) -> str:
    """Write the report as a page.

    Parameters
    ----------
    report
        From `brimful.report.campaign.model.build`.
    """
    made = [
        tables.throughput(report),
        tables.repeatability(report),
        tables.searches(report),
        tables.parts(report),
        tables.goals(report),
    ]
    return render_page(
        Path(__file__).with_name("page.html"),
        report=report,
        run=report.run,
        figures=_figures(report),
        tables=[table for table in made if table.rows],
        irregular=tables.irregular(report),
        badges=_BADGES,
        set_up=[
            (measurer, [*facts.table({"device": device}), *facts.table({"traffic": traffic})])
            for measurer, device, traffic in report.set_up
        ],
        host=facts.table(report.run.host),
    )


def _figures(report: Report) -> list[dict[str, str]]:
    """Draw what can stand on one axis: loads of one unit."""
    if len({cell.load_unit for cell in report.cells}) != 1:
        return []
    over = report.size_name if len({cell.frame_size for cell in report.cells}) > 1 else "measurer"
    titles = {figures.FRAMES: f"Throughput over {over}", figures.BITS: f"Throughput over {over}, in bit/s"}
    how = {
        figures.FRAMES: "Means over the repeats",
        figures.BITS: "The same in bits on the wire, with 20 bytes a frame for preamble, start delimiter and gap",
    }
    bounds = any(goal.spread is None and goal.at_least is not None for cell in report.cells for goal in cell.goals)
    repeated = any(len(goal.values) > 1 for cell in report.cells for goal in cell.goals)
    dots = " Small dots beside a mean are its runs." if repeated else ""
    hollow = " Hollow triangles are only lower limits: every search was limited by its max load." if bounds else ""
    return [
        {
            "id": f"throughput-{quantity}",
            "title": title,
            "wide": figures.draw(report, quantity, WIDE),
            "narrow": figures.draw(report, quantity, NARROW),
            "caption": f"{how[quantity]}, {report.load_scope}; bars are the 95 % interval.{dots}{hollow}",
        }
        for quantity, title in titles.items()
        if figures.lines(report, quantity)
    ]
