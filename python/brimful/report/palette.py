"""Looks of figures: dashes, and colours by names that the page turns into its own, light or dark."""

from __future__ import annotations

import re

GOALS = ("#3163c6", "#8b48b8", "#0b8480", "#b84c79", "#6d7516", "#5a6b85")
LEVELS = {
    "clean": "#2c9a5f",
    "between": "#dd9a07",
    "above": "#cf432c",
    "invalid": "#8f98a6",
    "warm-up": "#8f98a5",
}
INK, MUTED, GRID, SURFACE = "#1d2532", "#667084", "#dfe3ea", "#fefefe"
DOTTED, DASHED, LONG_DASHED = (0, (1, 1.8)), (0, (4, 2)), (0, (6, 3))

NAMES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    SURFACE: "surface",
    **{colour: f"level-{level}" for level, colour in LEVELS.items()},
    **{colour: f"goal-{number}" for number, colour in enumerate(GOALS)},
}
"""The custom property of the page that each colour of a figure follows."""

_COLOUR = re.compile("|".join(NAMES), re.IGNORECASE)


def goal_colour(number: int) -> str:
    """Give the colour of a goal by its place; from the seventh on they repeat."""
    return GOALS[number % len(GOALS)]


def follow_page(svg: str) -> str:
    """Let the colours of an SVG follow the custom properties of the page around it.

    >>> follow_page("fill: #1d2532")
    'fill: var(--ink, #1d2532)'
    """
    return _COLOUR.sub(lambda match: f"var(--{NAMES[match[0].lower()]}, {match[0]})", svg)
