"""Fits the series of a result and solves rules on the fitted lines."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable

import msgspec

from brimful._core import Lines, fit_series
from brimful.iocost import selectors
from brimful.iocost.layout import Model
from brimful.iocost.rules import (
    BANDWIDTH,
    ISOLATED_BANDWIDTH,
    ISOLATION,
    LatencyRange,
    OffloadMaximum,
    Target,
    Task,
    VrateRange,
)
from brimful.iocost.selectors import AMOF, AMOF_DELTA, INFO_LATENCIES, LATENCY_IMPACT, MOF, Selector, latency

Points = list[tuple[float, float]]
MAX_MARGIN = 0.1
"""A vrate is moved from the edge of a slope by at most this share."""
MARGIN_FACTOR = 800.0


class UnsolvedError(Exception):
    """A rule has no solution; the message says why."""


class FittedSeries(msgspec.Struct, frozen=True):
    """A series with its line."""

    selector: Selector
    kept: Points
    rejected: Points
    lines: Lines
    error: float


class Setting(msgspec.Struct, frozen=True):
    """A solution before it is rounded: a vrate and QoS parameters as if the model were not scaled."""

    vrate: float
    min: float
    max: float
    rpct: float
    rlat_us: int
    wpct: float
    wlat_us: int


def fit_all(points: dict[Selector, Points], *, isolation_threshold: float, method: str) -> Fits:
    """Fit every series; isolation first, as it says where others are cut."""
    fitted: dict[Selector, FittedSeries] = {}

    def fit(selector: Selector, cut: float | None = None) -> None:
        lines, kept, rejected, error = fit_series(points[selector], selector.shape, method, cut, selector.is_latency)
        fitted[selector] = FittedSeries(selector, kept, rejected, lines, error)

    if selectors.ISOLATION in points:
        fit(selectors.ISOLATION)
    cut = _isolation_cut(fitted[selectors.ISOLATION].lines, isolation_threshold) if fitted else None
    for selector in points:
        if selector not in fitted:
            fit(selector, cut if selector.needs_protection and points[selector] else None)
    return Fits(fitted)


class Fits:
    """The fitted series of a result, by selector."""

    def __init__(self, fitted: dict[Selector, FittedSeries]) -> None:
        self.fitted = fitted

    def __getitem__(self, selector: Selector) -> FittedSeries:
        """Give a series.

        Raises
        ------
        UnsolvedError
            When the result does not hold it.
        """
        if selector not in self.fitted:
            message = f"the result holds no {selector.name}"
            raise UnsolvedError(message)
        return self.fitted[selector]

    def at(self, selector: Selector, vrate: float) -> float:
        """Give the value of a line at a vrate; 0 for a series without points."""
        return self[selector].lines.evaluate(vrate)

    @functools.cached_property
    def vrate_margin(self) -> float:
        """Give the share by which a vrate keeps off the edge of a slope: more for a steep and noisy MOF."""
        series = self[MOF]
        low, high = rightmost_min(series.lines, 0.0), leftmost_max(series.lines, 0.0)
        top = series.lines.evaluate(high)
        if low == high or top == 0:
            return 0.0
        slope = (top - series.lines.evaluate(low)) / (high - low)
        return min(slope * (series.error / top) * MARGIN_FACTOR, MAX_MARGIN)


def solve(target: Target, fits: Fits, task: Task) -> Setting:
    """Find the setting that a rule asks for.

    Raises
    ------
    UnsolvedError
        Saying why there is none.
    """
    low, high = task.scale_min * 100, task.scale_max * 100
    if isinstance(target, VrateRange):
        return _throttled(target, fits)
    if isinstance(target, LatencyRange):
        return _on_latency_slope(target, fits, low, high)
    solver = _offload_maximum if isinstance(target, OffloadMaximum) else _NAMED[target.text]
    vrate = solver(target, fits, low, high)
    if not math.isfinite(vrate):
        message = "the values are too large to compute with"
        raise UnsolvedError(message)
    return _fixed(fits, vrate)


def _isolation_cut(lines: Lines, threshold: float) -> float | None:
    """Give the vrate beyond which isolation is worse than the threshold."""
    if not lines.vertices:
        return None
    left, right = rightmost_max(lines, 0.0), leftmost_min(lines, 0.0)
    worst = lines.evaluate(right)
    slope = (worst - lines.evaluate(left)) / (right - left) if left < right else 0.0
    if slope == 0 or worst >= threshold:
        return None
    low, high = lines.range
    return min(max(right - (worst - threshold) / slope, low), high)


# Where a line has its extremes. On a flat line every place is one: where from the left is sought, the caller says which
# to take; else it is the right end. Off the edge of a slope beside a flat part, a margin is kept.


def leftmost_max(lines: Lines, margin: float, *, flat: float | None = None) -> float:
    """Give the least vrate where the line is highest."""
    found = _find(lines, margin, max, last=False)
    if found is not None:
        return found
    low, high = lines.range
    return low if flat is None else min(max(flat, low), high)


def rightmost_max(lines: Lines, margin: float) -> float:
    """Give the greatest vrate where the line is highest."""
    found = _find(lines, margin, max, last=True)
    return lines.range[1] if found is None else found


def leftmost_min(lines: Lines, margin: float) -> float:
    """Give the least vrate where the line is lowest."""
    found = _find(lines, margin, min, last=False)
    return lines.range[1] if found is None else found


def rightmost_min(lines: Lines, margin: float) -> float:
    """Give the greatest vrate where the line is lowest."""
    found = _find(lines, margin, min, last=True)
    return lines.range[1] if found is None else found


def _find(lines: Lines, margin: float, extreme: Callable[[Iterable[float]], float], *, last: bool) -> float | None:
    """Give where the line has its first or last extreme; nothing where it is flat."""
    vertices = lines.vertices
    heights = [y for _, y in vertices]
    if not heights or min(heights) == max(heights):
        return None
    best = extreme(heights)
    index = len(heights) - 1 - heights[::-1].index(best) if last else heights.index(best)
    return _with_margin(vertices, index, margin)


def _with_margin(vertices: Points, index: int, margin: float) -> float:
    """Move from a vertex into the flat part beside it, where there is one on one side only."""
    vrate = vertices[index][0]
    if index in (0, len(vertices) - 1):
        return vrate
    (_, before), (_, height), (_, after) = vertices[index - 1 : index + 2]
    if before != height and height == after:
        return min(vrate * (1 + margin), vertices[-1][0])
    if before == height and height != after:
        return max(vrate * (1 - margin), vertices[0][0])
    return vrate


def _clamped(fits: Fits, selector: Selector, low: float, high: float) -> Lines:
    series = fits[selector]
    lines = series.lines.clamped(low, high)
    if lines is not None:
        return lines
    if not series.lines.vertices:
        reason = f"{selector.name} has no data"
        if selector.needs_protection:
            reason += ": no run within the threshold of isolation found a size that could be protected"
    else:
        reason = f"{selector.name} has no data between vrate {low:g} and {high:g}"
    raise UnsolvedError(reason)


def _amof_right_end(target: Target, fits: Fits, low: float, high: float) -> float:
    return _clamped(fits, AMOF, low, high).range[1]


def _least_delta(target: Target, fits: Fits, low: float, high: float) -> float:
    return rightmost_min(_clamped(fits, AMOF_DELTA, low, high), fits.vrate_margin)


def _greatest_amof(target: Target, fits: Fits, low: float, high: float) -> float:
    best = rightmost_max(_clamped(fits, AMOF, low, high), fits.vrate_margin)
    return min(max(best, _least_delta(target, fits, low, high)), _amof_right_end(target, fits, low, high))


def _offload_maximum(target: Target, fits: Fits, low: float, high: float) -> float:
    assert isinstance(target, OffloadMaximum)
    lines, margin = _clamped(fits, target.selector, low, high), fits.vrate_margin
    impact = fits[LATENCY_IMPACT].lines.clamped(low, high)
    return leftmost_max(lines, margin, flat=None if impact is None else rightmost_min(impact, margin))


_NAMED: dict[str, Callable[[Target, Fits, float, float], float]] = {
    BANDWIDTH.text: _amof_right_end,
    ISOLATION.text: _least_delta,
    ISOLATED_BANDWIDTH.text: _greatest_amof,
}


def _fixed(fits: Fits, vrate: float) -> Setting:
    # Nothing throttles at a fixed vrate, but the kernel takes its period from the latencies.
    read, write = (microseconds(fits.at(latency(direction, "99"), vrate)) for direction in "rw")
    return Setting(vrate, vrate, vrate, 0.0, read, 0.0, write)


def _throttled(target: VrateRange, fits: Fits) -> Setting:
    sides: list[tuple[float, int]] = []
    for direction, percentile in (("r", target.read_percentile), ("w", target.write_percentile)):
        if percentile is None:
            sides.append((0.0, 0))
        else:
            sides.append((float(percentile), microseconds(fits.at(latency(direction, percentile), target.high))))
    return Setting(target.high, target.low, target.high, *sides[0], *sides[1])


def _on_latency_slope(target: LatencyRange, fits: Fits, low: float, high: float) -> Setting:
    selector = latency(target.direction, target.percentile)
    lines = _clamped(fits, selector, low, high)
    left, right = rightmost_min(lines, 0.0), leftmost_max(lines, 0.0)
    if left >= right:
        message = f"{selector.name} does not rise with vrate, so there is no slope to take a part of"
        raise UnsolvedError(message)
    lowest = left + (right - left) * target.low
    highest = high if target.high >= 1 else left + (right - left) * target.high
    side = float(target.percentile), microseconds(lines.evaluate(highest))
    read, write = (side, (0.0, 0)) if target.direction == "r" else ((0.0, 0), side)
    return Setting(highest, lowest, highest, *read, *write)


def microseconds(seconds: float) -> int:
    """Round to whole microseconds."""
    if not math.isfinite(seconds * 1e6):
        message = "its latency is too large to be one"
        raise UnsolvedError(message)
    return round_half_up(seconds * 1e6)


def round_half_up(value: float) -> int:
    """Round halves away from zero, as the benchmark does; values are not negative."""
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)


def scaled_model(base: Model, scale: float) -> dict[str, int]:
    """Scale each number of a model."""
    return {name: round_half_up(value * scale) for name, value in msgspec.structs.asdict(base).items()}


def scaled_qos(setting: Setting) -> dict[str, float]:
    """Give the QoS parameters for a model that is scaled to the vrate."""
    scale = setting.vrate / 100
    shares = {"rpct": setting.rpct, "wpct": setting.wpct, "min": setting.min / scale, "max": setting.max / scale}
    rounded = {name: float(f"{value:.2f}") for name, value in shares.items()}
    return {
        "rpct": rounded["rpct"],
        "rlat": setting.rlat_us,
        "wpct": rounded["wpct"],
        "wlat": setting.wlat_us,
        "min": rounded["min"],
        "max": rounded["max"],
    }


def expected(fits: Fits, vrate: float, memory_profile_gib: int) -> dict[str, object]:
    """Give what the lines say at a vrate."""
    plain = {"MOF": MOF, "aMOF": AMOF, "aMOF_delta": AMOF_DELTA, "isol": selectors.ISOLATION}
    info: dict[str, object] = {name: fits.at(selector, vrate) for name, selector in plain.items()}
    info["mem_profile"] = memory_profile_gib
    for direction in "rw":
        table: dict[str, dict[str, float]] = {}
        for percentile, time in INFO_LATENCIES:
            table.setdefault(percentile, {})[time] = fits.at(latency(direction, percentile, time), vrate)
        info[f"{direction}lat"] = table
    return info
