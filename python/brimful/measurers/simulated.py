"""Simulated systems under test, in virtual time."""

from __future__ import annotations

from brimful import _core
from brimful.errors import UsageError
from brimful.measurers.base import Description, Settings, TrialOutput


class SimulatedMeasurer:
    """A system under test that exists only as a formula, with a clock of its own.

    Examples
    --------
    >>> measurer = SimulatedMeasurer("sharp,capacity=1Mpps")
    >>> measurer.measure(2e6, 1.0).lost
    1000000
    >>> measurer.now()
    1.0
    """

    def __init__(self, spec: str) -> None:
        try:
            self._simulator = _core.Simulator(spec)
        except ValueError as error:
            message = f"measurer 'sim:{spec}': {error}"
            raise UsageError(message) from error

    def describe(self) -> Description:
        """Name the simulated system with all of its parameters."""
        return Description(
            name=f"sim:{self._simulator.spec()}",
            contract="simulated: a frame is lost when the formula says so",
            max_load=self._simulator.link(),
            can_stop_early=True,
            tells_delay=self._simulator.tells_delay(),
            virtual_time=True,
            device={"simulated": self._simulator.spec()},
        )

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Let virtual time pass and count."""
        intended, sent, lost, effective, stopped, delay = self._simulator.measure(load, duration_s, stop_above)
        return TrialOutput(
            intended=intended,
            sent=sent,
            lost=lost,
            effective_duration_s=effective,
            stopped_early=stopped,
            delay_p99_s=delay,
        )

    def now(self) -> float:
        """Give the virtual time."""
        return self._simulator.now()

    def resume_at(self, elapsed_s: float) -> None:
        """Let the virtual time of the interrupted run pass."""
        if elapsed_s > self.now():
            self._simulator.wait(elapsed_s - self.now())

    def close(self) -> None:
        """Nothing is held."""


def open_simulated(spec: str, _settings: Settings) -> SimulatedMeasurer:
    """Open ``KIND[,key=value...]``; nothing is sent."""
    return SimulatedMeasurer(spec)
