"""What a report on a campaign shows, from the record of the campaign alone."""

from __future__ import annotations

from functools import partial

import msgspec

from brimful.records import RunFile
from brimful.report import blocks, facts, words
from brimful.report.blocks import Document, Figure
from brimful.report.campaign import figures, model, tables
from brimful.report.campaign.model import Report


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``campaign``, complete or not.
    """
    report = model.build(file)
    return Document(
        run=report.run,
        kind="Campaign of throughput searches",
        title=report.title,
        outcome=report.outcome,
        how=blocks.how(report.run),
        blocks=[
            *_figures(report),
            tables.throughput(report),
            tables.repeatability(report),
            tables.irregular(report),
        ],
        details=[tables.searches(report), tables.parts(report), tables.goals(report)],
        notes=report.method,
        deviations=report.deviations,
        groups=[
            *(
                (measurer, [*facts.table({"device": device}), *facts.table({"traffic": traffic})])
                for measurer, device, traffic in report.set_up
            ),
            ("Host", facts.table(report.run.host)),
        ],
        warnings=report.warnings,
        data={"kind": "campaign", **msgspec.structs.asdict(report)},
    )


def line(file: RunFile) -> str:
    """Give the result of a campaign in one line."""
    regular = sum(member.regular for member in file.members)
    ended = words.count(len(file.members), "search", "searches")
    return f"{ended} ended, {regular} regular" + ("" if file.is_done() else "; not finished")


def _figures(report: Report) -> list[Figure]:
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
        Figure(
            title=title,
            draw=partial(figures.draw, report, quantity),
            caption=f"{how[quantity]}, {report.load_scope}; bars are the 95 % interval.{dots}{hollow}",
            key=f"throughput-{quantity}",
        )
        for quantity, title in titles.items()
        if figures.lines(report, quantity)
    ]
