"""A plain Python function as a measurer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from brimful.errors import MeasureError, UsageError, shown
from brimful.measurers.base import Description, Measurer, TrialOutput

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


def measurer_of(measure: Any) -> Measurer:  # noqa: ANN401 - whatever a user gave
    """Give a measurer as it is, and one that calls a function.

    Raises
    ------
    UsageError
        When it is neither.
    """
    function = getattr(measure, "measure", measure)
    if isinstance(measure, type) or not callable(function):
        message = f"measure is {shown(measure)}; give a function measure(load, duration) or a Measurer"
        raise UsageError(message)
    if not hasattr(measure, "describe"):
        return FunctionMeasurer(function)
    missing = [name for name in ("describe", "measure", "now") if not callable(getattr(measure, name, None))]
    if missing:
        message = f"measurer {shown(measure)} has no {missing[0]}(); it needs describe(), measure() and now()"
        raise UsageError(message)
    if not isinstance(measure.describe(), Description):
        message = f"describe() of measurer {shown(measure)} returned {shown(measure.describe())}; return a Description"
        raise UsageError(message)
    found: Measurer = measure
    return found
