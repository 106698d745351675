"""Whose definitions hold."""

from __future__ import annotations

import enum


class Mode(enum.Enum):
    """Whose definitions hold."""

    CORRECT = "correct"
    """Those of brimful."""
    REPORT = "report"
    """Those of the notebook of the 2018 report, to compare with what it published."""
