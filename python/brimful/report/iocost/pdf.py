"""The report of a run on a block device as a PDF: what it says as text, then the graphs, six a page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from brimful.kernel import MODEL_KEYS, QOS_KEYS
from brimful.records import RunFile
from brimful.report import pages, palette
from brimful.report.figures import drawable
from brimful.report.iocost import figures, html
from brimful.report.lines import table
from brimful.report.pages import COLUMNS, MARGIN_IN, PAGE, Block, Line, cut, filled, listed
from brimful.report.palette import DASHED, DOTTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS_OF_PANELS, COLUMNS_OF_PANELS = 3, 2


def render(run_file: RunFile) -> bytes:
    """Give the report as the bytes of a PDF: the same records always give the same."""
    title = html.device_title(run_file)
    panels = figures.make_panels(run_file)
    graphs = figures.pages([panel for panel in panels if panel.has_data], per_page=ROWS_OF_PANELS * COLUMNS_OF_PANELS)
    drawings = [partial(_draw_panels, panels=page, run_file=run_file) for page in graphs]
    return pages.bound(title, run_file.run.run_id, [*pages.of_text(lay_out(run_file)), *drawings])


def lay_out(run_file: RunFile) -> list[Block]:
    """Give what the report says as blocks of lines, none of them wider than a page."""
    run = run_file.run
    solutions = html.view_solutions(run_file)
    remarks = [finding.text for finding in run_file.findings if finding.code != "measure-next"]
    steps = [text + (f" ({job})" if job else "") for text, job in html.next_steps(run_file.findings)]
    head = [
        *filled(html.device_title(run_file), title=True),
        *filled(html.device_facts(run_file)),
        *filled(f"run {run.run_id}, {run.started}, {' '.join(run.tool.values())}"),
        ("", False),
        *filled(html.summarise(run_file)),
    ]
    blocks = [Block(head, len(head))]
    blocks += [_solution(view, first=number == 0) for number, view in enumerate(solutions)]
    blocks.append(listed("Rules without a solution", [_unsolved(*entry) for entry in html.unsolved(run_file)]))
    blocks.append(listed("Remarks", remarks))
    blocks.append(listed("What to measure next", steps))
    empty = [panel.title for panel in figures.make_panels(run_file) if not panel.has_data]
    blocks.append(listed("Series without data", empty))
    method: dict[str, list[str]] = {}
    for name, shown in html.method(run_file):
        part, _, key = name.partition(": ")
        method.setdefault(part, []).append(f"{key} {shown}".lstrip())
    blocks.append(listed("Method", [f"{name}: {'; '.join(shown)}" for name, shown in method.items()]))
    blocks.append(listed("Warnings", [f"{warning.code}: {warning.text}" for warning in run_file.warnings]))
    return [block for block in blocks if block.lines]


def _solution(view: html.SolutionView, *, first: bool) -> Block:
    lines: list[Line] = [*filled("Solutions", title=True), ("", False)] if first else []
    for rule in view.rules:
        lines += filled(f"{rule.letter}  {rule.name}: {rule.target}", title=True)
    interval = f", {view.interval} with 95 % confidence" if view.interval else ""
    lines += filled(f"scale {view.scale}{interval}", indent=2)
    lines += filled(", ".join(f"{name} {shown}" for name, shown in view.expected[:4]), indent=2)
    heads = [f"p{requests} {html.over_time(time)}" for requests, time in html.LATENCY_CELLS]
    cells = [["latency", *heads], *([direction, *values] for direction, values in view.latencies)]
    model = [["model", *MODEL_KEYS], ["", *view.model]]
    qos = [["QoS", *QOS_KEYS], ["", *view.qos]]
    for rows in (cells, model, qos):
        # One width for the first column, so that the tables of a solution stand below each other.
        rows = [[row[0].ljust(7), *(cell.rjust(12) for cell in row[1:])] for row in rows]
        lines += cut(table(rows, right=range(1, 7), indent=2))
    for line in view.kernel_lines:
        lines += filled(line, indent=2, hang=4, columns=COLUMNS)
    return Block(lines, len(lines))


def _unsolved(reason: str, rules: Sequence[html.Rule]) -> str:
    return f"{', '.join(f'{rule.letter} {rule.name}' for rule in rules)}: {reason}"


def _draw_panels(figure: Figure, panels: Sequence[figures.Panel], run_file: RunFile) -> None:
    figure.subplots_adjust(left=0.11, right=0.95, top=0.935, bottom=0.12, hspace=0.38, wspace=0.3)
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(ROWS_OF_PANELS, COLUMNS_OF_PANELS, place)
        figures.draw_panel(axes, panel, font_pt=PAGE.font_pt)
    _draw_key(figure, panels, run_file)


def _draw_key(figure: Figure, panels: Sequence[figures.Panel], run_file: RunFile) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", linestyle="none", color=figures.POINTS, markersize=4, label="measured"),
        Line2D([], [], marker="x", linestyle="none", color=figures.REJECTED, markersize=4.6, label="rejected"),
        Line2D([], [], marker="^", linestyle="none", color=figures.REJECTED, markersize=4.6, label="rejected, beyond"),
        Line2D([], [], color=figures.LINE, linewidth=1.35, label="fitted line"),
    ]
    if any(panel.threshold is not None for panel in panels):
        label = "isolation threshold"
        handles.append(Line2D([], [], color=palette.GOALS[1], linewidth=1.1, linestyle=DASHED, label=label))
    marked = any(panel.marks for panel in panels)
    if marked:
        handles.append(Line2D([], [], color=palette.MUTED, linewidth=0.8, linestyle=DOTTED, label="solutions"))
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(MARGIN_IN / PAGE.width_in, 0.062),
        ncols=6,
        frameon=False,
        borderaxespad=0,
    )
    # A letter stays with its name.
    names = "   ".join(
        f"{rule.letter}\N{NO-BREAK SPACE}{drawable(rule.name, longest=30)}"
        for view in html.view_solutions(run_file)
        for rule in view.rules
    )
    for row, line in enumerate(textwrap.wrap(names, 140)[:2] if marked else []):
        figure.text(
            MARGIN_IN / PAGE.width_in, 0.058 - 0.0125 * row, line, fontsize=PAGE.font_pt, color=palette.MUTED, va="top"
        )
