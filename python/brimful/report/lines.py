"""Lines of text for a terminal: tables, bullets, filled sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from brimful.report import words
from brimful.report.blocks import Block, Figure, Sentence
from brimful.report.styles import Style

WIDTH = 100


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: int = 2) -> str:
    """Align rows in columns two spaces apart; the columns of ``right`` at their right edge.

    >>> print(table([["goal", "load"], ["ndr", "9.5 Mpps"]], right=[1], indent=0))
    goal      load
    ndr   9.5 Mpps
    """
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((" " * indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def bullets(title: str, entries: Sequence[str], style: Style, columns: int = WIDTH) -> str:
    """Write a title and a line or more for each entry; nothing where there are none."""
    if not entries:
        return ""
    return "\n".join([style(title, "title"), *(wrap(f"- {entry}", 2, hang=2, columns=columns) for entry in entries)])


def wrapped_table(rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    """Align rows of which the last cell may be long: it goes on below itself."""
    if not rows:
        return []
    heads = table([[*row[:-1], ""] for row in rows]).splitlines()
    indent = 2 + sum(max(len(row[column]) for row in rows) + 2 for column in range(len(rows[0]) - 1))
    room = max(columns - indent, 20)
    lines = []
    for head, row in zip(heads, rows, strict=True):
        first, *rest = textwrap.wrap(row[-1], room, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{head:<{indent}}{first}".rstrip(), *(" " * indent + part for part in rest)]
    return lines


def wrap(text: str, indent: int, *, hang: int = 0, columns: int = WIDTH) -> str:
    """Fill lines without parting a number from its unit."""
    filled = textwrap.fill(
        words.keep_units(text),
        max(columns, indent + hang + 1),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace("\N{NO-BREAK SPACE}", " ")


def lines_of(block: Block, style: Style, columns: int) -> str:
    """Write one block for a terminal."""
    if isinstance(block, Sentence):
        return wrap(block.text, 0, columns=columns)
    if isinstance(block, Figure):
        return ""
    right = range(block.words, len(block.names))
    return "\n".join([style(block.title, "title"), table([list(block.names), *block.rows], right=right)])
