"""What a report on a search shows, from the records of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from brimful.records import NONE_PASSES
from brimful.report import blocks, facts, words
from brimful.report.blocks import Card, Document, Figure
from brimful.report.throughput import figures, model, tables
from brimful.report.throughput.model import WIDTH_DEFINITION, GoalView, Note, Report
from brimful.report.throughput.statements import make_statements
from brimful.units import format_duration, format_load, format_ratio

if TYPE_CHECKING:
    from brimful.records import RunFile


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``search``, complete or not.
    """
    report = model.build(file)
    return Document(
        run=report.run,
        kind="Throughput search",
        title=report.title,
        outcome=report.outcome,
        how=_how(report),
        cards=[_card(report, number) for number in range(len(report.goals))],
        cards_title=f"Conditional throughput, {report.run.load_scope}",
        has_result=not report.found_nothing,
        lead=f"Values are conditional throughputs, {report.run.load_scope}.",
        blocks=[*_figures(report), tables.goals(report)],
        details=[
            tables.bounds(report),
            tables.rfc2544(report),
            tables.totals(report),
            *report.ports,
            tables.statements(report),
            tables.trials(report),
        ],
        notes=_notes(report),
        deviations=report.deviations or ["None that the record shows."],
        warnings=[_note(note) for note in report.warnings],
        machine=None if report.machine is None else words.machine(report.machine),
        values="verdicts",
        data={
            "kind": "report",
            **msgspec.structs.asdict(report),
            "statements": [
                {"id": said.item.id, "row": said.item.row, "state": said.state, "text": said.text}
                for said in make_statements(report)
            ],
        },
    )


def line(file: RunFile) -> str:
    """Give the result of a search in one line."""
    if file.passes_nothing:
        return NONE_PASSES
    found = {result.goal: result for result in file.goal_results}
    unit = file.run.load_unit
    results = [
        f"{goal.name} {words.headline(found.get(goal.name), unit)}"
        + ("" if (result := found.get(goal.name)) is None or result.regular else f" ({result.reason})")
        for goal in file.run.goals
    ]
    return ", ".join(results)


def _how(report: Report) -> str:
    run = report.run
    given = [
        f"hint {format_load(run.hint, run.load_unit)}" if run.hint is not None else "",
        f"time budget {format_duration(run.budget_s)}" if run.budget_s is not None else "",
        f"seed {run.seed}" if run.seed is not None else "",
    ]
    return ", ".join([blocks.how(run), *filter(None, given)])


def _card(report: Report, number: int) -> Card:
    view = report.goals[number]
    regular = "regular, on a machine that was not quiet" if report.is_restless else "regular"
    return Card(
        name=view.goal.name,
        value=view.headline,
        caption=view.sentence if view.regular else f"{view.sentence} {view.explanation}",
        badge=regular if view.regular else f"IRREGULAR ({view.reason})",
        role="bad" if not view.regular else "" if report.is_restless else "good",
        pairs=_pairs(report, view),
        colour=number,
    )


def _pairs(report: Report, view: GoalView) -> list[tuple[str, str]]:
    unit = report.run.load_unit
    loads = [
        ("Upper bound", view.upper.load if view.upper else None),
        ("Conditional throughput", view.conditional_throughput),
        ("Lower bound", view.lower.load if view.lower else None),
        ("In total", view.aggregate_throughput if report.run.conversion_factor != 1 else None),
    ]
    pairs = [(name, format_load(load, unit, digits=6)) for name, load in loads if load is not None]
    if view.reached_width is not None:
        pairs.append(("Width", format_ratio(view.reached_width)))
    if view.theoretical_share is not None:
        pairs.append(("Of the link", words.share(view.theoretical_share)))
    return pairs


def _figures(report: Report) -> list[Figure]:
    if not report.trials:
        return []
    marks = " Dotted vertical lines stand where phases or longer trials began." if len(report.phases) > 1 else ""
    pauses = " Dashed vertical lines stand for pauses that were cut out." if report.pauses else ""
    made = [
        Figure(
            title="Search-time graph",
            draw=partial(figures.draw_search_time, report),
            caption=(
                "Each trial is a line from its start to its end at the load it offered, with a mark at its end. "
                "Stepped lines are the relevant lower bounds (solid) and upper bounds (dashed) of each goal; "
                "between them lies what was not yet known. Triangles on the border stand for trials beyond it."
                + marks
                + pauses
            ),
            key="search-time",
        ),
        Figure(
            title="Loss against load",
            draw=partial(figures.draw_load_loss, report),
            caption=(
                "Every counted trial by its load and its loss ratio, on a logarithmic scale with zero set apart at the "
                "bottom. Bands lie between the bounds of a goal, dotted lines are the loss ratios that goals allow, "
                "triangles at the top the conditional throughputs."
            ),
            key="load-loss",
        ),
    ]
    return made if report.statistics.counted else made[:1]


def _notes(report: Report) -> list[str]:
    run = report.run
    contract, factor = run.measurer.contract, run.conversion_factor
    total = "" if factor == 1 else f"; the aggregate is {facts.text(factor)} times as much"
    return [
        f"Loads are in {run.load_unit}, with k, M and G for thousands, millions and thousand millions of them,"
        f" {run.load_scope}{total}. Counts are whole {run.load_unit.split('/', maxsplit=1)[0]}, summed over all"
        " interfaces.",
        "Conditional throughput: the forwarding rate at the relevant lower bound: of its full-length trials, sorted by"
        " loss, the one at the share of time that has to be good; missing time counts as lost.",
        "Loss ratio: (lost + unsent) / the larger of intended and sent, over all output interfaces"
        + (f"; lost: {facts.text(contract)}." if contract else "."),
        f"Width: {WIDTH_DEFINITION}.",
    ]


def _note(note: Note) -> str:
    repeated = f" ({words.count(note.times, 'time')})" if note.times > 1 else ""
    return f"{note.code}: {note.text}{repeated}" if note.text else f"{note.code}{repeated}"
