"""How parts of a text look.

Apart from `brimful.report.text`, because importing that takes longer than writing a whole report here.
"""

from __future__ import annotations

from collections.abc import Callable

Style = Callable[[str, str], str]
"""Gives a text in a role: ``title``, ``good``, ``bad``, ``faint``."""


def plain(text: str, role: str) -> str:
    """Give the text as it is."""
    return text
