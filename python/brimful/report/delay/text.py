"""The report on delay for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from brimful.records import RunFile
from brimful.report.delay import model
from brimful.report.delay.model import Row
from brimful.report.lines import WIDTH, table
from brimful.report.styles import Style, plain
from brimful.units import format_delay, format_load


def line(file: RunFile) -> str:
    """Give the result of a delay run in one line."""
    unit = file.run.load_unit
    both = [delay for delay in file.delays if delay.direction == "all"]
    return ", ".join(f"{format_delay(delay.mean.value_s)} at {format_load(delay.load, unit)}" for delay in both)


def render(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    file
        A record with the subject ``delay``.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    view = model.build(file)
    run = file.run
    head = [
        style(view.title, "title"),
        _wrap(view.outcome, columns),
        *([_wrap(view.machine, columns)] if view.machine is not None else []),
        style(f"run {run.run_id}, started {run.started}", "faint"),
    ]
    blocks = ["\n".join(head)]
    if view.results:
        blocks += [
            _rows(style(view.headline, "title"), ["load", "direction", *view.result_names], view.results),
            _rows(
                style(f"How long {view.distribution_names[0]} took, the tester's own delay included", "title"),
                ["load", "", *view.distribution_names],
                view.distributions,
            ),
        ]
    else:
        blocks.append("There is no result: too few trials were made.")
    blocks += [
        _list(style("Warnings", "title"), view.warnings, columns),
        _list(style("What the values mean", "title"), view.notes, columns),
        "\n".join([style("Set-up", "title"), table([list(row) for row in view.set_up])]),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _rows(title: str, names: Sequence[str], rows: Sequence[Row]) -> str:
    lines = [list(names), *([row.load, row.name, *row.cells] for row in rows)]
    return "\n".join([title, table(lines, right=range(2, len(names)))])


def _list(title: str, entries: Sequence[str], columns: int) -> str:
    if not entries:
        return ""
    return "\n".join([title, *(_wrap(f"- {entry}", columns, 2, 2) for entry in entries)])


def _wrap(text: str, columns: int, indent: int = 0, hang: int = 0) -> str:
    return textwrap.fill(text, columns, initial_indent=" " * indent, subsequent_indent=" " * (indent + hang))
