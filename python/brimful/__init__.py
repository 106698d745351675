"""Finds how much load a data plane takes before it spills.

A data plane is anything you can offer a load to and count what it lost.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brimful.errors import BrimfulError, MeasureError, RecordError, UsageError
    from brimful.measurers.base import Description, InvalidTrialError, Measurer, TrialOutput
    from brimful.throughput.goals import SearchGoal
    from brimful.throughput.run_loop import SearchResult
    from brimful.throughput.search import search

__version__ = "0.1.0"

__all__ = [
    "BrimfulError",
    "Description",
    "InvalidTrialError",
    "MeasureError",
    "Measurer",
    "RecordError",
    "SearchGoal",
    "SearchResult",
    "TrialOutput",
    "UsageError",
    "search",
]

_HOMES = {
    "BrimfulError": "brimful.errors",
    "Description": "brimful.measurers.base",
    "InvalidTrialError": "brimful.measurers.base",
    "MeasureError": "brimful.errors",
    "Measurer": "brimful.measurers.base",
    "RecordError": "brimful.errors",
    "SearchGoal": "brimful.throughput.goals",
    "SearchResult": "brimful.throughput.run_loop",
    "TrialOutput": "brimful.measurers.base",
    "UsageError": "brimful.errors",
    "search": "brimful.throughput.search",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type is that of the name asked for
    """Import a public name on first use, so that `brimful --help` costs next to nothing."""
    if name not in _HOMES:
        message = f"module 'brimful' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
