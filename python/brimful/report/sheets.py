"""Sheets of paper: headings, paragraphs and tables in a proportional font, laid out from top to bottom."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.report import palette
from brimful.report.figures import drawable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_PT, HEIGHT_PT = 612.0, 792.0
"""US letter, upright."""
MARGIN_PT, TOP_PT, BOTTOM_PT = 46.0, 50.0, 50.0
INNER_PT = WIDTH_PT - 2 * MARGIN_PT
TITLE, HEADING, PROSE, CELL, NOTE = 20.0, 12.5, 9.0, 7.6, 7.6
"""Sizes of type, in points."""
LEADING = 1.42
WIDEST_CELL_PT = 190.0
_GAP_PT, _BULLET_PT = 11.0, 10.0

Drawing = Callable[["Figure", float], None]
"""Draws at so many points below the top of a sheet."""


class Item(msgspec.Struct, frozen=True):
    """What is never parted."""

    height_pt: float
    draw: Drawing
    kept: bool = False
    """It stays with what follows."""
    heads: tuple[Item, ...] = ()
    """Come before it again where it begins a sheet."""


def text(
    words: str, size: float = PROSE, *, bold: bool = False, colour: str = palette.INK, after: float = 3
) -> list[Item]:
    """Give a paragraph, an item a line, with some points of space behind it."""
    lines = wrapped(words, INNER_PT, size, bold=bold)
    return [*_lines(lines, 0.0, size, bold=bold, colour=colour), _space(after)]


def heading(words: str, size: float = HEADING) -> list[Item]:
    """Give a heading, which stays with what follows."""
    lines = _lines(wrapped(words, INNER_PT, size, bold=True), 0.0, size, bold=True, colour=palette.INK)
    return [msgspec.structs.replace(item, kept=True) for item in (_space(12), *lines, _space(3))]


def bullets(entries: Sequence[str]) -> list[Item]:
    """Give entries with a dot before each."""
    found = []
    for entry in entries:
        first, *others = _lines(wrapped(entry, INNER_PT - _BULLET_PT, PROSE), _BULLET_PT, PROSE)
        found += [_together(first, partial(_draw_text, words="•", x_pt=1.0, size=PROSE)), *others, _space(2.5)]
    return found


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> list[Item]:
    """Give a table, its first columns (``words``) to the left, numbers to the right.

    What is wider than a sheet goes on below itself; each part begins with the first columns.
    """
    cells = [[_cut(cell) for cell in row] for row in [heads, *rows]]
    widths = [
        max(width_pt(row[place], CELL, bold=number == 0) for number, row in enumerate(cells))
        for place in range(len(heads))
    ]
    found: list[Item] = []
    for group in _groups(widths, words):
        head, *lines = ([row[place] for place in group] for row in cells)
        draw = partial(_row, widths=[widths[place] for place in group], words=words)
        top = msgspec.structs.replace(draw(head, is_head=True), kept=True)
        found.append(top)
        found += [msgspec.structs.replace(draw(line), heads=(top,)) for line in lines]
        found.append(_space(6))
    return found


def _groups(widths: Sequence[float], words: int) -> Iterator[list[int]]:
    """Give the columns in groups that fit a sheet, words first in each."""
    names = list(range(words))
    start = sum(widths[place] + _GAP_PT for place in names)
    group, used = list(names), start
    for place in range(words, len(widths)):
        if used + widths[place] > INNER_PT and len(group) > len(names):
            yield group
            group, used = list(names), start
        group.append(place)
        used += widths[place] + _GAP_PT
    yield group


def paginate(items: Sequence[Item]) -> list[list[tuple[float, Item]]]:
    """Put items on sheets; give for each sheet its items with their places below its top."""
    sheets: list[list[tuple[float, Item]]] = [[]]
    at = TOP_PT
    for place, item in enumerate(items):
        if at + _kept_pt(items, place) > HEIGHT_PT - BOTTOM_PT and sheets[-1]:
            sheets.append([])
            at = TOP_PT
            for head in item.heads:
                sheets[-1].append((at, head))
                at += head.height_pt
        sheets[-1].append((at, item))
        at += item.height_pt
    return sheets


def _kept_pt(items: Sequence[Item], place: int) -> float:
    """Give the height of an item and of all that it stays with."""
    height = items[place].height_pt
    while items[place].kept and place + 1 < len(items):
        place += 1
        height += items[place].height_pt
    return height


def draw(figure: Figure, sheet: Sequence[tuple[float, Item]]) -> None:
    """Draw a sheet of `paginate`."""
    for at, item in sheet:
        item.draw(figure, at)


def wrapped(words: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """Fill lines; a word that is longer than a line is broken.

    >>> wrapped("one two three", 40.0, 9.0)
    ['one two', 'three']
    """
    lines, line = [], ""
    for word in map(_drawn, words.split(" ")):
        longer = f"{line} {word}" if line else word
        if width_pt(longer, size, bold=bold) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        while width_pt(word, size, bold=bold) > width:
            fits = next(n for n in range(len(word), 0, -1) if n == 1 or width_pt(word[:n], size, bold=bold) <= width)
            lines.append(word[:fits])
            word = word[fits:]
        line = word
    return [*lines, line] if line or not lines else lines


def width_pt(words: str, size: float, *, bold: bool = False) -> float:
    """Give how wide a text is, in points."""
    return sum(_advance(character, bold=bold) for character in words) * size


@functools.cache
def _advance(character: str, *, bold: bool) -> float:
    """Give the width of a character, in sizes of its type."""
    from matplotlib import font_manager

    properties = font_manager.FontProperties(family=["sans-serif"], weight="bold" if bold else "normal")
    font = font_manager.get_font(font_manager.findfont(properties))
    font.set_size(100, 72)
    return float(font.load_char(ord(character)).linearHoriAdvance) / 65536 / 100


def _drawn(words: str) -> str:
    # Spaces at which lines are not parted are as wide as others here.
    return drawable(re.sub("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]", " ", words))


def _cut(cell: str) -> str:
    cell = _drawn(cell)
    if width_pt(cell, CELL) <= WIDEST_CELL_PT:
        return cell
    while width_pt(cell, CELL) > WIDEST_CELL_PT - CELL:
        cell = cell[:-1]
    return f"{cell}…"


def _lines(
    lines: Sequence[str], x_pt: float, size: float, *, bold: bool = False, colour: str = palette.INK
) -> list[Item]:
    looks: dict[str, Any] = {"x_pt": x_pt, "size": size, "bold": bold, "colour": colour}
    return [Item(size * LEADING, partial(_draw_text, words=line, **looks)) for line in lines]


def _space(height_pt: float) -> Item:
    return Item(height_pt, lambda figure, at: None)


def _together(item: Item, other: Drawing) -> Item:
    def both(figure: Figure, at: float) -> None:
        item.draw(figure, at)
        other(figure, at)

    return msgspec.structs.replace(item, draw=both)


def _row(cells: Sequence[str], *, widths: Sequence[float], words: int, is_head: bool = False) -> Item:
    def draw_row(figure: Figure, at: float) -> None:
        x_pt = 0.0
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            to_right = place >= words
            _draw_text(
                figure,
                at + 1.5,
                words=cell,
                x_pt=x_pt + width if to_right else x_pt,
                size=CELL,
                bold=is_head,
                align="right" if to_right else "left",
            )
            x_pt += width + _GAP_PT
        _draw_rule(figure, at + height, x_pt - _GAP_PT, palette.MUTED if is_head else palette.GRID)

    height = CELL * LEADING + 3
    return Item(height, draw_row)


def _draw_text(
    figure: Figure,
    at: float,
    *,
    words: str,
    x_pt: float,
    size: float,
    bold: bool = False,
    colour: str = palette.INK,
    align: str = "left",
) -> None:
    looks: dict[str, Any] = {"fontsize": size, "fontweight": "bold" if bold else "normal", "color": colour}
    # Capitals reach to about 0.76 of the size above the base line.
    place = (MARGIN_PT + x_pt) / WIDTH_PT, 1 - (at + size) / HEIGHT_PT
    figure.text(*place, words, ha=align, va="baseline", **looks)


def _draw_rule(figure: Figure, at: float, width: float, colour: str) -> None:
    from matplotlib.lines import Line2D

    y = 1 - at / HEIGHT_PT
    ends = [MARGIN_PT / WIDTH_PT, (MARGIN_PT + width) / WIDTH_PT]
    figure.add_artist(Line2D(ends, [y, y], color=colour, linewidth=0.5))
