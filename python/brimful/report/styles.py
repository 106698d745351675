"""How parts of a text look.

Apart from `brimful.report.lines`, because importing that takes longer than writing a whole report here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Style = Callable[[str, str], str]
"""Gives a text in a role: ``title``, ``good``, ``bad``, ``quiet``, ``faint``."""


def plain(text: str, role: str) -> str:
    """Give the text as it is."""
    return text


def coloured(text: str, role: str) -> str:
    """Give the text in the colours of a terminal."""
    import click

    looks: dict[str, Any] = {
        "title": {"bold": True},
        "good": {"fg": "green"},
        "bad": {"fg": "red", "bold": True},
        "faint": {"dim": True},
        "quiet": {},
    }
    return click.style(text, **looks[role])
