"""Lines of text for a terminal: tables, bullets, filled sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from brimful.report import words
from brimful.report.blocks import Block, Bullets, Card, Figure, Sentence, Table
from brimful.report.styles import Style

WIDTH = 100
WIDEST = 132
"""No table is wider, but for its first columns and one more."""
_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


def table(
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    indent: int = 2,
    columns: int | None = None,
    lead: int = 1,
) -> str:
    """Align rows in columns two spaces apart; the columns of ``right`` at their right edge.

    A row of a single cell stands above those that follow, and takes no room. A table that is too wide for
    ``columns`` goes on below itself, each part with the first of them, as many as ``lead`` says.

    >>> print(table([["goal", "load"], ["ndr", "9.5 Mpps"]], right=[1], indent=0))
    goal      load
    ndr   9.5 Mpps
    >>> print(table([["goal", "load", "loss"], ["ndr", "9.5 Mpps", "0"]], indent=0, columns=15))
    goal  load
    ndr   9.5 Mpps
    <BLANKLINE>
    goal  loss
    ndr   0
    """
    if not rows:
        return ""
    rows = [[printable(cell) for cell in row] for row in rows]
    whole = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[column]) for row in whole) for column in range(len(rows[0]))]
    parts = [list(range(len(widths)))]
    room = None if columns is None else max(columns, WIDEST if columns >= WIDTH else 0) - indent
    if room is not None and sum(widths) + 2 * len(widths) - 2 > room:
        parts = _parts(widths, room, lead)
    return "\n\n".join("\n".join(_line(row, part, widths, right, indent) for row in rows) for part in parts)


def _line(row: Sequence[str], part: Sequence[int], widths: Sequence[int], right: Sequence[int], indent: int) -> str:
    if len(row) < len(widths):
        return " " * (indent - 2) + row[0]
    cells = [row[place].rjust(widths[place]) if place in right else row[place].ljust(widths[place]) for place in part]
    return (" " * indent + "  ".join(cells)).rstrip()


def _parts(widths: Sequence[int], room: int, lead: int) -> list[list[int]]:
    """Divide the columns of a table into parts that have room, each with the leading ones; at least one more each."""
    heads = list(range(lead))
    taken = sum(widths[column] + 2 for column in heads)
    parts: list[list[int]] = []
    used = room
    for column in range(lead, len(widths)):
        if not parts or used + 2 + widths[column] > room:
            parts.append([*heads])
            used = taken - 2
        parts[-1].append(column)
        used += 2 + widths[column]
    return parts or [heads]


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
        first, *rest = textwrap.wrap(printable(row[-1]), room, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{head:<{indent}}{first}".rstrip(), *(" " * indent + part for part in rest)]
    return lines


def printable(text: str) -> str:
    """Keep a terminal from obeying what a record says."""
    return "".join(
        each if each.isprintable() or each in _SPACES else " " if each.isspace() else "\N{REPLACEMENT CHARACTER}"
        for each in text
    )


def wrap(text: str, indent: int, *, hang: int = 0, columns: int = WIDTH) -> str:
    """Fill lines without parting a number from its unit."""
    filled = textwrap.fill(
        words.keep_units(printable(text)),
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
    if isinstance(block, Bullets):
        return bullets(block.title, block.entries, style, columns)
    if isinstance(block, Figure):
        return block.terminal
    if not isinstance(block, Table) or block.folded or not block.rows:
        return ""
    made = _wrapped(block, columns) if block.terminal else _aligned(block, columns)
    for cell, role in block.badges.items():
        made = made.replace(cell, style(cell, role)) if role == "bad" else made
    notes = (style(wrap(text, 2, columns=columns), "faint") for text in block.notes)
    title = (style(line, "title") for line in wrap(block.title, 0, columns=columns).splitlines())
    return "\n".join([*title, made, *notes])


def _wrapped(block: Table, columns: int) -> str:
    return "\n".join(wrapped_table([[row[place] for place in block.terminal] for row in block.rows], columns))


def _aligned(block: Table, columns: int) -> str:
    first = int(block.grouped)
    rows = [list(block.names[first:])]
    above = None
    for row in block.rows:
        if block.grouped and row[0] != above:
            above = row[0]
            rows.append([above])
        rows.append(list(row[first:]))
    heads = block.words - first
    indent = 4 if block.grouped else 2
    return table(rows, right=range(heads, len(rows[0])), indent=indent, columns=columns, lead=max(1, heads))


def lines_of_cards(title: str, cards: Sequence[Card], style: Style, columns: int) -> str:
    """Write a line for each card, and its caption below it."""
    names = max(len(card.name) for card in cards)
    values = max(len(card.value) for card in cards)
    lines = [style(title, "title")]
    for card in cards:
        found = f"  {style(card.name.ljust(names), 'title')}  {card.value.rjust(values)}"
        has_room = columns >= WIDTH or 6 + names + values + len(card.badge) <= columns
        badge = card.badge if has_room else wrap(card.badge, 4 + names, columns=columns)
        badge = style(badge, card.role) if card.role else badge
        lines.append(f"{found}  {badge}" if has_room else f"{found}\n{badge}")
        lines.append(wrap(card.caption, 4 + names, columns=columns))
    return "\n".join(lines)
