"""The report on discards for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import msgspec

from brimful.records import RunFile
from brimful.report import words
from brimful.report.discards import method, model, summary, tables
from brimful.report.discards.tables import Table
from brimful.report.lines import table as aligned
from brimful.report.styles import Style, plain

WIDEST_CELL = 44
_GAP = 2
_SPACES = "\N{NO-BREAK SPACE}"


def line(run_file: RunFile) -> str:
    """Give the result of an analysis of discards in one line."""
    return summary.sentences(model.build(run_file))[0]


def render(run_file: RunFile, *, style: Style = plain, columns: int = 100) -> str:
    """Write the whole report.

    Parameters
    ----------
    run_file
        A record with the subject ``switch-discards``.
    style
        How roles look; the default leaves text plain.
    columns
        Width of the text. A table that is wider goes on below itself.
    """
    view = model.build(run_file)
    run = run_file.run
    head = [
        style(method.TITLE, "title"),
        _wrap(method.about(view), columns),
        style(_wrap(f"run {run.run_id}, started {run.started}, {' '.join(run.tool.values())}", columns), "faint"),
    ]
    blocks = ["\n".join(head), _list("Summary", summary.sentences(view), style, columns)]
    blocks += [_table(table, style, columns) for table in tables.make_tables(view)]
    blocks += [_list(f"Findings: {title}", texts, style, columns) for title, texts in summary.findings(view)]
    blocks.append(_list("Method", [f"{name}: {shown}" for name, shown in method.rows(view)], style, columns))
    notes = [f"{warning.code}: {warning.text}" for warning in run_file.warnings]
    if notes:
        blocks.append(_list("Warnings", notes, style, columns))
    return "\n\n".join(blocks) + "\n"


def fitting_columns(table: Table, columns: int, *, indent: int = 2) -> Iterator[list[int]]:
    """Give the columns of a table in groups that are narrow enough; each begins with those that hold words.

    Parameters
    ----------
    table
        From `brimful.report.discards.tables.make_tables`.
    columns
        The width that there is.
    indent
        How much of it stays free at the left.
    """
    widths = [max(len(row[place]) for row in [table.heads, *table.rows]) for place in range(len(table.heads))]
    names = list(range(table.words))
    start = indent + sum(widths[place] + _GAP for place in names)
    group, used = list(names), start
    for place in range(table.words, len(widths)):
        if used + widths[place] > columns and len(group) > len(names):
            yield group
            group, used = list(names), start
        group.append(place)
        used += widths[place] + _GAP
    yield group


def _table(table: Table, style: Style, columns: int) -> str:
    parts = [style(table.title, "title")]
    heads, *rows = ([_cut(cell) for cell in row] for row in [table.heads, *table.rows])
    table = msgspec.structs.replace(table, heads=heads, rows=rows)
    for group in fitting_columns(table, columns):
        rows = [[row[place] for place in group] for row in [table.heads, *table.rows]]
        parts.append(aligned(rows, right=range(table.words, len(group))))
    if table.note:
        parts.append(_wrap(table.note, columns, indent=2))
    return "\n".join(parts)


def _list(title: str, entries: Sequence[str], style: Style, columns: int) -> str:
    return "\n".join([style(title, "title"), *(_wrap(f"- {entry}", columns, indent=2, hang=2) for entry in entries)])


def _cut(cell: str) -> str:
    cell = _printable(cell)
    return cell if len(cell) <= WIDEST_CELL else f"{cell[: WIDEST_CELL - 1]}…"


def _printable(text: str) -> str:
    """Keep a terminal from obeying what a record says."""
    return "".join(each if each.isprintable() or each in _SPACES else "\N{REPLACEMENT CHARACTER}" for each in text)


def _wrap(text: str, columns: int, *, indent: int = 0, hang: int = 0) -> str:
    filled = textwrap.fill(
        words.keep_units(_printable(text)),
        columns,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_on_hyphens=False,
    )
    return filled.replace("\N{NO-BREAK SPACE}", " ")
