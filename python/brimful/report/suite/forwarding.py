"""The greatest rate of frames that came out, at any load: RFC 2889 section 5.6."""

from __future__ import annotations

from brimful.records import RunFile, Trial
from brimful.units import format_load


def best_trial(file: RunFile) -> Trial | None:
    """Give the trial with the maximum forwarding rate."""
    return max((trial for trial in file.trials if trial.invalid is None), key=rate_of, default=None)


def rate_of(trial: Trial) -> float:
    """Give the rate of the frames that arrived, in frames/s."""
    return (trial.sent - trial.lost) / (trial.effective_duration_s or trial.duration_s)


def forwarding_row(file: RunFile) -> list[str]:
    """Give the maximum forwarding rate, and at which load it was reached."""
    best = best_trial(file)
    if best is None:
        return []
    unit = file.run.load_unit
    return [format_load(rate_of(best), unit), format_load(best.load, unit), "not seen, not excluded"]
