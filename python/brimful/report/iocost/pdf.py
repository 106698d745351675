"""The report of a run on a block device as a PDF: what it says as text, then the graphs, six a page."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.files import write_atomically
from brimful.kernel import MODEL_KEYS, QOS_KEYS
from brimful.records import RunFile
from brimful.report import palette, words
from brimful.report.drawing import DASHED, DOTTED
from brimful.report.figures import Size, figure_of
from brimful.report.iocost import figures, html
from brimful.report.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = Size("page", 8.5, 11.0, 7.6, 1)
MARGIN_IN = 0.5
TEXT_PT, LINE_PT = 7.0, 9.4
COLUMNS, LINES = 128, 76
"""What a page of text holds within its margins at that size."""
PROSE_COLUMNS = 108
ROWS_OF_PANELS, COLUMNS_OF_PANELS = 3, 2

_Line = tuple[str, bool]
"""A line of text, and whether it is a title."""


class Block(msgspec.Struct, frozen=True):
    """Lines that belong together."""

    lines: list[_Line]
    kept: int
    """So many of them are never parted."""


def write(run_file: RunFile, path: Path) -> None:
    """Write the report as a PDF; whoever reads the file sees the old one or all of the new one.

    Parameters
    ----------
    run_file
        A run on a block device.
    path
        Where it is to be.

    Raises
    ------
    UsageError
        When a package is missing.
    BrimfulError
        When the file cannot be written.
    """
    write_atomically(path, render(run_file))


def render(run_file: RunFile) -> bytes:
    """Give the report as the bytes of a PDF: the same records always give the same."""
    title = html.device_title(run_file)
    panels = figures.make_panels(run_file)
    with figure_of(PAGE, "page", PAGE.height_in):
        from matplotlib.backends.backend_pdf import PdfPages

        # No dates, or each writing would differ.
        metadata = {"Title": title, "Creator": "brimful", "Producer": None, "CreationDate": None}
    texts = paginate(lay_out(run_file))
    graphs = figures.pages([panel for panel in panels if panel.has_data], per_page=ROWS_OF_PANELS * COLUMNS_OF_PANELS)
    draw_pages: list[Callable[[Figure], None]] = []
    draw_pages += [partial(_draw_text, lines=lines) for lines in texts]
    draw_pages += [partial(_draw_panels, panels=page, run_file=run_file) for page in graphs]
    target = io.BytesIO()
    with PdfPages(target, metadata=metadata) as pdf:
        for number, draw in enumerate(draw_pages, start=1):
            with figure_of(PAGE, f"page-{number}", PAGE.height_in) as figure:
                draw(figure)
                _draw_footer(figure, f"{title}, run {run_file.run.run_id}", f"{number} / {len(draw_pages)}")
                pdf.savefig(figure)
    return target.getvalue()


def paginate(blocks: Sequence[Block]) -> list[list[_Line]]:
    """Lay blocks of lines on pages, an empty line between two.

    >>> [len(page) for page in paginate([Block([("a", False)] * 70, 70), Block([("b", False)] * 10, 4)])]
    [76, 5]
    """
    pages: list[list[_Line]] = [[]]
    for block in blocks:
        gap: list[_Line] = [("", False)] if pages[-1] else []
        if gap and len(pages[-1]) + len(gap) + min(block.kept, len(block.lines)) > LINES:
            pages.append([])
            gap = []
        for line in [*gap, *block.lines]:
            if len(pages[-1]) == LINES:
                pages.append([])
            pages[-1].append(line)
    return pages


def lay_out(run_file: RunFile) -> list[Block]:
    """Give what the report says as blocks of lines, none of them wider than a page."""
    run = run_file.run
    solutions = html.view_solutions(run_file)
    remarks = [finding.text for finding in run_file.findings if finding.code != "measure-next"]
    steps = [text + (f" ({job})" if job else "") for text, job in html.next_steps(run_file.findings)]
    head = [
        *_lines(html.device_title(run_file), title=True),
        *_lines(html.device_facts(run_file)),
        *_lines(f"run {run.run_id}, {run.started}, {' '.join(run.tool.values())}"),
        ("", False),
        *_lines(html.summarise(run_file)),
    ]
    blocks = [Block(head, len(head))]
    blocks += [_solution(view, first=number == 0) for number, view in enumerate(solutions)]
    blocks.append(_list("Rules without a solution", [_unsolved(*entry) for entry in html.unsolved(run_file)]))
    blocks.append(_list("Remarks", remarks))
    blocks.append(_list("What to measure next", steps))
    empty = [panel.title for panel in figures.make_panels(run_file) if not panel.has_data]
    blocks.append(_list("Series without data", empty))
    method: dict[str, list[str]] = {}
    for name, shown in html.method(run_file):
        part, _, key = name.partition(": ")
        method.setdefault(part, []).append(f"{key} {shown}".lstrip())
    blocks.append(_list("Method", [f"{name}: {'; '.join(shown)}" for name, shown in method.items()]))
    blocks.append(_list("Warnings", [f"{warning.code}: {warning.text}" for warning in run_file.warnings]))
    return [block for block in blocks if block.lines]


def _solution(view: html.SolutionView, *, first: bool) -> Block:
    lines: list[_Line] = [*_lines("Solutions", title=True), ("", False)] if first else []
    for rule in view.rules:
        lines += _lines(f"{rule.letter}  {rule.name}: {rule.target}", title=True)
    interval = f", {view.interval} with 95 % confidence" if view.interval else ""
    lines += _lines(f"scale {view.scale}{interval}", indent=2)
    lines += _lines(", ".join(f"{name} {shown}" for name, shown in view.expected[:4]), indent=2)
    heads = [f"p{requests} {html.over_time(time)}" for requests, time in html.LATENCY_CELLS]
    cells = [["latency", *heads], *([direction, *values] for direction, values in view.latencies)]
    model = [["model", *MODEL_KEYS], ["", *view.model]]
    qos = [["QoS", *QOS_KEYS], ["", *view.qos]]
    for rows in (cells, model, qos):
        # One width for the first column, so that the tables of a solution stand below each other.
        rows = [[row[0].ljust(7), *(cell.rjust(12) for cell in row[1:])] for row in rows]
        lines += [(line, False) for line in _cut(table(rows, right=range(1, 7), indent=2))]
    for line in view.kernel_lines:
        lines += _lines(line, indent=2, hang=4, columns=COLUMNS)
    return Block(lines, len(lines))


def _unsolved(reason: str, rules: Sequence[html.Rule]) -> str:
    return f"{', '.join(f'{rule.letter} {rule.name}' for rule in rules)}: {reason}"


def _list(title: str, entries: Sequence[str]) -> Block:
    lines = _lines(title, title=True) if entries else []
    for entry in entries:
        lines += _lines(f"- {entry}", indent=2, hang=2)
    return Block(lines, 4)


def _lines(
    text: str, *, indent: int = 0, hang: int = 0, title: bool = False, columns: int = PROSE_COLUMNS
) -> list[_Line]:
    """Fill lines; a word that is longer than a line is broken, so that none runs off the page."""
    filled = textwrap.wrap(
        words.keep_units(_drawn(text)),
        columns,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_on_hyphens=False,
    )
    return [(line.replace("\N{NO-BREAK SPACE}", " "), title) for line in filled]


def _cut(text: str) -> list[str]:
    return [_drawn(line)[:COLUMNS] for line in text.split("\n")]


def _drawn(text: str) -> str:
    # The one narrow space of numbers is no wider than others here.
    return figures.drawable(text.replace("\N{NARROW NO-BREAK SPACE}", " "), family="DejaVu Sans Mono")


def _draw_text(figure: Figure, lines: Sequence[_Line]) -> None:
    top = 1 - 0.6 / PAGE.height_in
    for number, (line, is_title) in enumerate(lines):
        figure.text(
            MARGIN_IN / PAGE.width_in,
            top - number * LINE_PT / 72 / PAGE.height_in,
            line,
            family="DejaVu Sans Mono",
            fontsize=TEXT_PT,
            fontweight="bold" if is_title else "normal",
            va="top",
        )


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
        f"{rule.letter}\N{NO-BREAK SPACE}{figures.drawable(rule.name, longest=30)}"
        for view in html.view_solutions(run_file)
        for rule in view.rules
    )
    for row, line in enumerate(textwrap.wrap(names, 140)[:2] if marked else []):
        figure.text(
            MARGIN_IN / PAGE.width_in, 0.058 - 0.0125 * row, line, fontsize=PAGE.font_pt, color=palette.MUTED, va="top"
        )


def _draw_footer(figure: Figure, left: str, right: str) -> None:
    looks: dict[str, Any] = {"fontsize": 7.0, "color": palette.MUTED, "va": "bottom"}
    figure.text(MARGIN_IN / PAGE.width_in, 0.018, figures.drawable(left, longest=110), **looks)
    figure.text(1 - MARGIN_IN / PAGE.width_in, 0.018, right, ha="right", **looks)
