"""Axes of figures of a search: loads worth enlarging, and loss with a place for none."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from brimful.report.throughput.model import Report
from brimful.report.throughput.trials import TrialView

NO_LOSS_GAP = 0.8
"""How far below the least loss zero stands, in decades."""


def interesting_loads(report: Report) -> tuple[float, float]:
    """Give the loads that are worth enlarging: those around the final bounds."""
    loads = [trial.load for trial in report.trials]
    if not loads:
        return 0.0, 1.0
    bounds = [bound.load for view in report.goals for bound in (view.lower, view.upper) if bound is not None]
    low, high = min(bounds or loads), max(bounds or loads)
    margin = max(0.6 * (high - low), 0.025 * high)
    low, high = low - margin, high + margin
    low, high = max(low, min(loads) - 0.1 * margin), min(high, max(loads) + 0.1 * margin)
    return (low, high) if high > low else (low, low + (abs(low) or 1.0) * 0.01)


def loss_decade(loss_ratio: float, floor_decade: float) -> float:
    """Give the place of a loss ratio on a logarithmic axis on which zero has a place of its own."""
    return log10(loss_ratio) if loss_ratio > 0 else floor_decade - NO_LOSS_GAP


def least_decade(trials: Sequence[TrialView]) -> int:
    """Give the decade below the least loss that was seen."""
    return floor(log10(min((trial.loss_ratio for trial in trials if trial.loss_ratio > 0), default=1e-3)))


def loss_ticks(floor_decade: int) -> tuple[list[float], list[str]]:
    """Give at most seven ticks of a loss axis, with zero and 100 % always among them."""
    step = max(1, ceil(-floor_decade / 5))
    decades = list(range(0, floor_decade - 1, -step))
    labels = [f"{10.0 ** (decade + 2):g} %" if decade >= -6 else f"1e{decade + 2} %" for decade in decades]
    return [floor_decade - NO_LOSS_GAP, *decades], ["0", *labels]
