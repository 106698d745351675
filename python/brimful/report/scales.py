"""Ranges, ticks and units of the axes of figures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from brimful.report.model import Report
from brimful.report.trials import TrialView
from brimful.units import format_load

if TYPE_CHECKING:
    from matplotlib.axis import Axis

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


def scale_loads(axis: Axis, largest: float, unit: str) -> str:
    """Let an axis show loads as small numbers and give the unit that makes them so."""
    factor, name = load_scale(largest, unit)
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
    step = min((after - before for before, after in itertools.pairwise(ticks)), default=factor) / factor
    digits = min(9, max(0, -floor(log10(step) + 1e-9))) if step > 0 else 0
    digits += any(round(tick / factor, digits) != round(tick / factor, digits + 1) for tick in ticks)
    axis.set_ticks(ticks, [f"{tick / factor:.{digits}f}" for tick in ticks])
    return name


def load_scale(largest: float, unit: str) -> tuple[float, str]:
    """Give a factor and the unit it makes.

    >>> load_scale(9.5e6, "frames/s"), load_scale(950.0, "IO/s")
    ((1000000.0, 'Mpps'), (1.0, 'IO/s'))
    """
    name = format_load(1.0, unit).split(" ", 1)[1]
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if largest >= factor:
            return factor, prefix + name
    return 1.0, name


def scale_times(axis: Axis, end: float, most: int) -> str:
    """Let an axis show at most so many times in round numbers and give the unit."""
    divisor, unit = (3600, "h") if end > 3 * 3600 else (60, "min") if end > 600 else (1, "s")
    step = _round_step(max(end, 1e-9) / divisor / most)
    ticks = [index * step for index in range(int(end / divisor / step) + 1)]
    axis.set_ticks([tick * divisor for tick in ticks], [f"{tick:g}" for tick in ticks])
    return unit


def _round_step(least: float) -> float:
    decade = 10.0 ** floor(log10(least))
    return next(step * decade for step in (1, 2, 5, 10) if step * decade >= least * (1 - 1e-9))
