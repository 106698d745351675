"""Finds how much load a data plane takes before it spills.

A data plane is anything that you can offer a load to and whose losses you can count.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from brimful.version import VERSION

if TYPE_CHECKING:
    from brimful.errors import BrimfulError, MeasureError, RecordError, UsageError
    from brimful.measurers.base import Description, InvalidTrialError, Measurer, TrialOutput
    from brimful.measurers.function import MeasureFunction
    from brimful.paired.compare import ComparisonResult, compare
    from brimful.records import End, GoalResult, Sums, Trial
    from brimful.throughput.goals import SearchGoal
    from brimful.throughput.result import SearchResult
    from brimful.throughput.run_loop import Progress
    from brimful.throughput.search import Load, search

__version__ = VERSION

__all__ = [
    "BrimfulError",
    "ComparisonResult",
    "Description",
    "End",
    "GoalResult",
    "InvalidTrialError",
    "Load",
    "MeasureError",
    "MeasureFunction",
    "Measurer",
    "Progress",
    "RecordError",
    "SearchGoal",
    "SearchResult",
    "Sums",
    "Trial",
    "TrialOutput",
    "UsageError",
    "compare",
    "search",
]

_HOMES = {
    "Progress": "brimful.throughput.run_loop",
    "Load": "brimful.throughput.search",
    "MeasureFunction": "brimful.measurers.function",
    "Sums": "brimful.records",
    "Trial": "brimful.records",
    "GoalResult": "brimful.records",
    "End": "brimful.records",
    "BrimfulError": "brimful.errors",
    "Description": "brimful.measurers.base",
    "InvalidTrialError": "brimful.measurers.base",
    "MeasureError": "brimful.errors",
    "Measurer": "brimful.measurers.base",
    "RecordError": "brimful.errors",
    "SearchGoal": "brimful.throughput.goals",
    "SearchResult": "brimful.throughput.result",
    "TrialOutput": "brimful.measurers.base",
    "UsageError": "brimful.errors",
    "search": "brimful.throughput.search",
    "compare": "brimful.paired.compare",
    "ComparisonResult": "brimful.paired.compare",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type is that of the name asked for
    """Import a public name on first use, so that `brimful --help` costs next to nothing."""
    if name not in _HOMES:
        message = f"module 'brimful' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Name what is public, imported or not, so that it can be found by looking."""
    return sorted({*globals(), *__all__})
