"""Everything that a search can drive."""

from __future__ import annotations

from brimful.measurers.base import Description, InvalidTrialError, Measurer, TrialFailedError, TrialOutput
from brimful.measurers.function import FunctionMeasurer

__all__ = [
    "Description",
    "FunctionMeasurer",
    "InvalidTrialError",
    "Measurer",
    "TrialFailedError",
    "TrialOutput",
]
