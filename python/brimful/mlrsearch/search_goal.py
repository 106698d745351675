"""What to search for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchGoal:
    """A loss ratio, and how much evidence decides whether a load meets it.

    Raises
    ------
    ValueError
        When an attribute has a value that it cannot have.
    """

    loss_ratio: float = 0.0
    """A trial that loses a greater share is a bad one."""
    exceed_ratio: float = 0.5
    """Share of bad time that a lower bound may have."""
    relative_width: float = 0.005
    """The search ends when ``(upper - lower) / upper`` is at most this."""
    initial_trial_duration: float = 1.0
    """Of the shortest trials, in seconds."""
    final_trial_duration: float = 1.0
    """Of trials that count in full, in seconds."""
    duration_sum: float = 21.0
    """Seconds of trials that force a verdict about a load."""
    preceding_targets: int = 2
    """Of the load selection of the CSIT library; has no effect here."""
    expansion_coefficient: int = 2
    """Of the load selection of the CSIT library; has no effect here."""
    fail_fast: bool = True
    """Whether a search raises when not even the min load is a lower bound."""

    def __post_init__(self) -> None:
        """Convert and check."""
        for name, kind in _TYPES.items():
            object.__setattr__(self, name, kind(getattr(self, name)))
        wrong = [
            (not 0 <= self.loss_ratio < 1, "loss_ratio", "at least 0 and below 1"),
            (not 0 <= self.exceed_ratio < 1, "exceed_ratio", "at least 0 and below 1"),
            (not 0 < self.relative_width < 1, "relative_width", "above 0 and below 1"),
            (not self.initial_trial_duration > 0, "initial_trial_duration", "above 0"),
            (
                not self.final_trial_duration >= self.initial_trial_duration,
                "final_trial_duration",
                f"at least initial_trial_duration, which is {self.initial_trial_duration:g}",
            ),
            (
                not self.duration_sum >= self.final_trial_duration,
                "duration_sum",
                f"at least final_trial_duration, which is {self.final_trial_duration:g}",
            ),
            (self.expansion_coefficient < 2, "expansion_coefficient", "at least 2"),
            (
                self.preceding_targets < (self.initial_trial_duration < self.duration_sum),
                "preceding_targets",
                "at least 0, and 1 where initial_trial_duration is below duration_sum",
            ),
        ]
        for is_wrong, name, allowed in wrong:
            if is_wrong:
                message = f"{name} is {getattr(self, name):g}; it must be {allowed}"
                raise ValueError(message)


_TYPES = {
    "loss_ratio": float,
    "exceed_ratio": float,
    "relative_width": float,
    "initial_trial_duration": float,
    "final_trial_duration": float,
    "duration_sum": float,
    "preceding_targets": int,
    "expansion_coefficient": int,
    "fail_fast": bool,
}
