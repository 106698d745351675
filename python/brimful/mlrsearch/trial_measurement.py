"""What performs trials, and what a trial gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(init=False)
class MeasurementResult:
    """What was counted in one trial.

    Two of the counts ``offered_count``, ``loss_count`` and ``forwarding_count`` have to be given; the third follows.
    """

    intended_duration: float
    """Seconds that the trial should have taken."""
    intended_load: float
    """What was asked for, in units per second, usually of one direction."""
    offered_count: int
    """Units that were sent, over all directions."""
    loss_count: int
    """Units that were sent and not received."""
    forwarding_count: int
    """Units that were received."""
    offered_duration: float
    """Seconds of sending; default: as intended."""
    duration_with_overheads: float
    """Seconds from the call to the result, which count as evidence; default: those of sending."""
    intended_count: int
    """Units that should have been sent; default: those that were."""

    def __init__(
        self,
        intended_duration: float,
        intended_load: float,
        offered_count: int | None = None,
        loss_count: int | None = None,
        forwarding_count: int | None = None,
        offered_duration: float | None = None,
        duration_with_overheads: float | None = None,
        intended_count: int | None = None,
        *,
        forwarded_count: int | None = None,
    ) -> None:
        """Convert what was given, and fill in the rest.

        ``forwarded_count`` is what versions after 1.2.1 call ``forwarding_count``.

        Raises
        ------
        ValueError
            When fewer than two of the three counts are there.
        """
        received = forwarding_count if forwarding_count is not None else forwarded_count
        if [offered_count, loss_count, received].count(None) > 1:
            message = "a result needs two of offered_count, loss_count and forwarding_count"
            raise ValueError(message)
        if received is None:
            received = int(offered_count or 0) - int(loss_count or 0)
        if offered_count is None:
            offered_count = int(received) + int(loss_count or 0)
        self.intended_duration = float(intended_duration)
        self.intended_load = float(intended_load)
        self.offered_count = int(offered_count)
        self.forwarding_count = int(received)
        self.loss_count = self.offered_count - self.forwarding_count if loss_count is None else int(loss_count)
        self.offered_duration = self.intended_duration if offered_duration is None else float(offered_duration)
        self.duration_with_overheads = (
            self.offered_duration if duration_with_overheads is None else float(duration_with_overheads)
        )
        self.intended_count = self.offered_count if intended_count is None else int(intended_count)

    @property
    def forwarded_count(self) -> int:
        """What versions after 1.2.1 call ``forwarding_count``."""
        return self.forwarding_count

    @property
    def unsent_count(self) -> int:
        """Units that should have been sent and were not."""
        return self.intended_count - self.offered_count

    @property
    def loss_ratio(self) -> float:
        """Share of units that are missing; 0 where there were none to send."""
        expected, missing = expected_and_missing(self)
        return missing / expected if expected else 0.0

    @property
    def relative_forwarding_rate(self) -> float:
        """Intended load times the share that was not missing."""
        return self.intended_load * (1.0 - self.loss_ratio)


def expected_and_missing(result: MeasurementResult) -> tuple[int, int]:
    """Give how many units loss is a share of, and how many are missing.

    The first are the intended or the sent ones, whichever are more. Missing are those lost and those not sent; surplus
    ones, which are as wrong, count too.
    """
    expected = max(result.intended_count, result.offered_count)
    return expected, abs(result.loss_count) + abs(result.intended_count - result.offered_count)


class AbstractMeasurer(ABC):
    """What a program that searches has to bring: something that performs a trial."""

    @abstractmethod
    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        """Offer a load for a time and count; arguments are passed by name.

        Parameters
        ----------
        intended_duration
            Seconds.
        intended_load
            Units per second.
        """
