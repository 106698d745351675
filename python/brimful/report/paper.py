"""A page of a report on paper: the same headings, sentences, tables and figures as a PDF."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from brimful.errors import UsageError

TEMPLATE = Path(__file__).parent / "templates" / "paper.typ"
LONG_CELL = 34
"""A column with a longer text shares what the others leave; others are as wide as their texts."""
_VOID = frozenset(("br", "link", "meta"))
_SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)
_COLOUR = re.compile(r"var\(--[\w-]+, (#[0-9a-fA-F]{6})\)")
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3}

Block = dict[str, Any]
"""What the template lays out; ``kind`` says how."""


def render(page: str) -> bytes:
    """Give a page as the bytes of a PDF: the same page always gives the same.

    Parameters
    ----------
    page
        From `brimful.report.web_page.render_page`. What has ``data-paper="no"`` is left out.

    Raises
    ------
    UsageError
        When a package is missing.
    """
    try:
        import matplotlib
        import typst
    except ImportError as error:
        message = f"a PDF needs {error.name}; install it with: pip install 'brimful[report]'"
        raise UsageError(message) from error
    figures: list[str] = []

    def take_out(found: re.Match[str]) -> str:
        figures.append(_alone(found[0]))
        return f'<svg data-number="{len(figures) - 1}"></svg>'

    tree = _parsed(_SVG.sub(take_out, page))
    title = next((_text(node) for node in _all(tree, "title")), "")
    body = next(_all(tree, "main"), tree)
    content = {"title": title, "blocks": list(_blocks(body)), "figures": figures}
    made: bytes = typst.compile(
        TEMPLATE,
        font_paths=[Path(matplotlib.get_data_path()) / "fonts" / "ttf"],
        ignore_system_fonts=True,
        sys_inputs={"page": json.dumps(content)},
    )
    return made


def _alone(svg: str) -> str:
    """Give a figure of a page what the page gives it: a name space, a font, and the colours of daylight."""
    own = '<svg xmlns="http://www.w3.org/2000/svg" font-family="DejaVu Sans" stroke-linejoin="round" '
    return _COLOUR.sub(r"\1", svg.replace("<svg ", own, 1))


class _Node(msgspec.Struct):
    tag: str
    attributes: dict[str, str | None]
    children: list[_Node | str] = []

    def has(self, name: str) -> bool:
        return name in (self.attributes.get("class") or "").split()


class _Tree(HTMLParser):
    """Builds the tree of a page; pages of reports close what they open."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [_Node("page", {}, [])]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = _Node(tag, dict(attrs), [])
        self.open[-1].children.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def _parsed(page: str) -> _Node:
    tree = _Tree()
    tree.feed(page)
    return tree.open[0]


def _nodes(node: _Node) -> Iterator[_Node]:
    return (child for child in node.children if isinstance(child, _Node))


def _all(node: _Node, *tags: str) -> Iterator[_Node]:
    for child in _nodes(node):
        if child.tag in tags:
            yield child
        else:
            yield from _all(child, *tags)


def _text(node: _Node, *, exact: bool = False) -> str:
    parts = []
    for child in node.children:
        if isinstance(child, str):
            parts.append(child)
        elif child.tag == "br":
            parts.append("\v")
        else:
            # What stands on a line of its own there, or in a badge, stays apart here.
            parts.append(
                f" {_text(child, exact=exact)} " if child.tag in {"small", "span"} else _text(child, exact=exact)
            )
    text = "".join(parts)
    return text if exact else re.sub(r"[ \t\n]+", " ", text).replace(" \v ", "\n").replace("\v", "\n").strip(" ")


def _blocks(node: _Node) -> Iterator[Block]:
    for child in _nodes(node):
        if child.attributes.get("data-paper") == "no":
            continue
        make = _MAKERS.get(child.tag)
        if child.tag in _HEADINGS:
            yield {"kind": "heading", "level": _HEADINGS[child.tag], "text": _text(child)}
        elif child.has("cards"):
            yield {"kind": "cards", "cards": [_card(card) for card in _nodes(child)]}
        elif child.has("panels"):
            yield {"kind": "panels", "figures": [_number(svg) for svg in _all(child, "svg")]}
        elif make is not None:
            yield make(child)
        else:
            yield from _blocks(child)


def _paragraph(node: _Node) -> Block:
    roles = [role for role in ("kicker", "lead", "note", "after", "key") if node.has(role)]
    return {"kind": "text", "role": roles[0] if roles else "text", "text": _text(node)}


def _list(node: _Node) -> Block:
    return {"kind": "list", "entries": [_text(entry) for entry in _all(node, "li")]}


def _code(node: _Node) -> Block:
    return {"kind": "code", "text": _text(node, exact=True)}


def _figure(node: _Node) -> Block:
    wide = next((each for each in _all(node, "div") if each.has("wide")), node)
    caption = next((_text(each) for each in _all(node, "figcaption")), "")
    return {"kind": "figure", "number": _number(next(_all(wide, "svg"))), "caption": caption}


def _number(svg: _Node) -> int:
    return int(svg.attributes["data-number"] or 0)


def _card(node: _Node) -> dict[str, Any]:
    name, value, *rest = _nodes(node)
    pairs = [[_text(each) for each in _all(part, "dt", "dd")] for part in rest if part.tag == "dl"]
    return {
        "name": [_text(part) for part in _nodes(name)],
        "value": _text(value),
        "lines": [_text(part) for part in rest if part.tag == "p"],
        "pairs": [cell for cells in pairs for cell in cells],
    }


def _table(node: _Node) -> Block:
    rows = [[_cell(cell) for cell in _nodes(row)] for row in _all(node, "tr")]
    heads = rows.pop(0) if any(_all(node, "thead")) else []
    columns = max((sum(cell["span"] for cell in row) for row in [heads, *rows]), default=0)
    whole = [row for row in [heads, *rows] if len(row) == columns]
    longest = [max((len(row[place]["text"]) for row in whole), default=0) for place in range(columns)]
    # Weights grow with the root: a long text takes more lines, not all of the room.
    weights = [round(length**0.5, 1) if length > LONG_CELL else 0 for length in longest]
    if not heads:
        weights = [3 if place == 0 else 7 for place in range(columns)]
    return {"kind": "table", "heads": heads, "rows": [row for row in rows if row], "weights": weights}


def _cell(node: _Node) -> dict[str, Any]:
    return {
        "text": _text(node),
        "right": node.has("number"),
        "strong": node.tag == "th",
        "span": int(node.attributes.get("colspan") or 1),
    }


_MAKERS = {
    "p": _paragraph,
    "footer": _paragraph,
    "summary": _paragraph,
    "ul": _list,
    "figure": _figure,
    "table": _table,
    "pre": _code,
}
