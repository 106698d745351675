"""A system behind a tester that cannot offer more than a load."""

from brimful.measurers.base import InvalidTrialError
from brimful.measurers.simulated import SimulatedMeasurer


class TooSlow(SimulatedMeasurer):
    """Its trials above a load are late, from a trial on; ``lasts`` trials, where it recovers."""

    def __init__(self, spec, most, *, after=0, lasts=10**9, reason="frames of a to b were late by 3 ms"):
        super().__init__(spec)
        self._most, self._reason, self._trials = most, reason, range(after, after + lasts)
        self.calls = 0

    def measure(self, load, duration_s, *, stop_above=None):
        self.calls += 1
        if load > self._most and self.calls - 1 in self._trials:
            raise InvalidTrialError(self._reason)
        return super().measure(load, duration_s, stop_above=stop_above)
