"""Ranges, ticks and units of the axes of figures."""

from __future__ import annotations

import itertools
from math import floor, log10
from typing import TYPE_CHECKING

from brimful.units import format_load

if TYPE_CHECKING:
    from matplotlib.axis import Axis


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
    """Let an axis show at most `most` times in round numbers and give the unit."""
    divisor, unit = (3600, "h") if end > 3 * 3600 else (60, "min") if end > 600 else (1, "s")
    step = _round_step(max(end, 1e-9) / divisor / most)
    ticks = [index * step for index in range(int(end / divisor / step) + 1)]
    axis.set_ticks([tick * divisor for tick in ticks], [f"{tick:g}" for tick in ticks])
    return unit


def _round_step(least: float) -> float:
    decade = 10.0 ** floor(log10(least))
    return next(step * decade for step in (1, 2, 5, 10) if step * decade >= least * (1 - 1e-9))
