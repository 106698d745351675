"""A plain Python function as a measurer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from brimful.errors import MeasureError
from brimful.measurers.base import Description, TrialFailedError, TrialOutput, check_delay

MeasureFunction = Callable[[float, float], Any]
"""``measure(load, duration) -> (sent, lost)``, ``(sent, lost, effective_duration)`` or a `TrialOutput`."""


class FunctionMeasurer:
    """Calls a function for each trial."""

    def __init__(self, function: MeasureFunction) -> None:
        self._function = function

    def describe(self) -> Description:
        """Name it after the function. Whether it tells delays shows with its first trial."""
        return Description(
            name=getattr(self._function, "__qualname__", type(self._function).__name__), tells_delay=True
        )

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Call the function and check what it returns."""
        answer = self._function(load, duration_s)
        call = f"measure({load:g}, {duration_s:g})"
        if isinstance(answer, TrialOutput):
            check_delay(answer, where=call)
            return answer
        if not isinstance(answer, tuple) or len(answer) not in (2, 3):
            message = (
                f"measure({load:g}, {duration_s:g}) returned {answer!r}; return (sent, lost) or (sent, lost, seconds)"
            )
            raise MeasureError(message)
        sent, lost = (_count(value, name, load) for value, name in zip(answer, ("sent", "lost"), strict=False))
        if lost > sent:
            message = f"{call} returned lost {lost} above sent {sent}"
            raise TrialFailedError(message)
        effective = float(answer[2]) if len(answer) == 3 else None
        if effective is not None and not 0 < effective <= 1e9:
            message = (
                f"measure({load:g}, {duration_s:g}) returned the effective duration {effective}; it must be above 0 s"
            )
            raise TrialFailedError(message)
        return TrialOutput(sent=sent, lost=lost, effective_duration_s=effective)

    def now(self) -> float:
        """Give the time of the wall clock."""
        return time.monotonic()

    def resume_at(self, elapsed_s: float) -> None:
        """Nothing to do: the past is past."""

    def close(self) -> None:
        """Nothing to do: the function belongs to the caller."""


def _count(value: Any, name: str, load: float) -> int:  # noqa: ANN401 - whatever a user's function returned
    is_whole = hasattr(value, "__index__") or (isinstance(value, float) and value.is_integer())
    if not is_whole or not 0 <= int(value) < 2**63:
        message = f"measure at load {load:g} returned {name} = {value!r}; it must be a whole number, 0 or more"
        raise TrialFailedError(message)
    return int(value)
