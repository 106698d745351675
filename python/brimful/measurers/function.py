"""A plain Python function as a measurer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from brimful.errors import MeasureError, shown
from brimful.measurers.base import Description, TrialOutput

MeasureFunction = Callable[[float, float], Any]
"""``measure(load, duration) -> (sent, lost)``, ``(sent, lost, effective_duration)`` or a `TrialOutput`."""


class FunctionMeasurer:
    """Calls a function for each trial."""

    def __init__(self, function: MeasureFunction) -> None:
        self._function = function

    def describe(self) -> Description:
        """Name it after the function. Whether it reports delays shows with its first trial."""
        return Description(
            name=getattr(self._function, "__qualname__", type(self._function).__name__), tells_delay=True
        )

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Call the function and give its answer as a trial output, unchecked."""
        answer = self._function(load, duration_s)
        if isinstance(answer, TrialOutput):
            return answer
        values = answer.tolist() if hasattr(answer, "tolist") else answer
        if not isinstance(values, tuple | list) or len(values) not in (2, 3):
            message = (
                f"measure({load:g}, {duration_s:g}) returned {shown(answer)};"
                " return (sent, lost) or (sent, lost, seconds)"
            )
            raise MeasureError(message)
        return TrialOutput(**dict(zip(("sent", "lost", "effective_duration_s"), values, strict=False)))

    def now(self) -> float:
        """Give the time of the wall clock."""
        return time.monotonic()

    def resume_at(self, elapsed_s: float) -> None:
        """Nothing to do: the past is past."""

    def close(self) -> None:
        """Nothing to do: the function belongs to the caller."""
