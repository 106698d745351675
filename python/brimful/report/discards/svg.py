"""Figures with very many marks as SVG that is small and quickly shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brimful.report.figures import to_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MANY = 8
"""From this number of marks on, a group is one element."""

_OUTLINE = re.compile(r'<path id="(\w+)" d="([^"]*)"')
_MARK = re.compile(r'<use href="#(\w+)" x="([^"]+)" y="([^"]+)" style="([^"]*)"/>')
_GROUP = re.compile(rf"<g([^>]*)>\s*((?:{_MARK.pattern}\s*){{{MANY},}})</g>")
_NUMBER = re.compile(r"-?\d+\.\d+")


def draw_compact(figure: Figure, name: str) -> str:
    """Give a figure as an SVG element in which all marks of a series are one element.

    Parameters
    ----------
    figure
        Drawn.
    name
        Of the figure in the page.
    """
    text = to_svg(figure, name)
    outlines = dict(_OUTLINE.findall(text))
    markers: dict[tuple[str, str], str] = {}

    def compact(group: re.Match[str]) -> str:
        """Put a marker on each corner of a line that is not drawn itself."""
        marks = _MARK.findall(group[2])
        outline, _, _, style = marks[0]
        marker = markers.setdefault((outline, style), f"{name}-mark-{len(markers)}")
        corners = " ".join(f"{float(x):.1f} {float(y):.1f}" for _, x, y, _ in marks)
        ends = "".join(f' marker-{place}="url(#{marker})"' for place in ("start", "mid", "end"))
        return f'<path{group[1]} d="M{corners}" fill="none"{ends}/>'

    text = _GROUP.sub(compact, text)
    made = "".join(
        f'<marker id="{marker}" overflow="visible" markerUnits="userSpaceOnUse">'
        f'<path d="{_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", outlines[outline])}" style="{style}"/></marker>'
        for (outline, style), marker in markers.items()
    )
    return re.sub(r"\s*\n\s*", "\n", text.replace("<defs>", f"<defs>{made}", 1))
