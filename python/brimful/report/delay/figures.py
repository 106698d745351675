"""Figures of a run on delay: delays over load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log10
from typing import TYPE_CHECKING

from brimful.records import Delay, DelayDistribution, RunFile
from brimful.report import facts, palette, scales
from brimful.report.delay import numbers
from brimful.report.delay.numbers import DIRECTIONS, name_of
from brimful.report.figures import WIDE, Size, arrange, figure_of, to_svg
from brimful.report.palette import DASHED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_LOGARITHMIC_FROM = 8.0
"""Axes are logarithmic where the largest value is this many times the least."""
_APART = 0.012
"""Distance of the marks of directions at one load, as a share of the axis."""
_MARKERS = ("o", "s", "D", "^")
_PERCENTILES: tuple[tuple[str, Callable[[DelayDistribution], float | None]], ...] = (
    ("p50", lambda seen: seen.p50_s),
    ("p90", lambda seen: seen.p90_s),
    ("p99", lambda seen: seen.p99_s),
    ("p99.9", lambda seen: seen.p999_s),
)


def draw_means(file: RunFile, size: Size = WIDE) -> str:
    """Draw the mean delay over load with its interval, each direction apart.

    Parameters
    ----------
    file
        A record with the subject ``delay`` and results.
    size
        `WIDE` or `NARROW`.
    """
    loads = _loads(file)
    places = _Places(loads)
    with figure_of(size, "delay-means", size.height_in * 0.85) as figure:
        axes = figure.subplots()
        values = [time for result in file.delays for time in _ends(result)]
        factor, unit = numbers.unit_of(values)
        for number, direction in enumerate(DIRECTIONS):
            found = [result for result in file.delays if result.direction == direction]
            if not found:
                continue
            colour = palette.goal_colour(number)
            shift = (number - 1) * _APART
            xs = [places.at(result.load, shift) for result in found]
            middle = [result.mean.value_s / factor for result in found]
            below = [(result.mean.value_s - _ends(result)[0]) / factor for result in found]
            above = [(_ends(result)[-1] - result.mean.value_s) / factor for result in found]
            axes.errorbar(
                xs,
                middle,
                [below, above],
                fmt=f"{_MARKERS[number]}-",
                color=colour,
                label=name_of(file, direction),
                linewidth=1.2,
                markersize=4.6,
                elinewidth=1.4,
                capsize=3,
                zorder=4 - number,
            )
        _name_loads(axes, places, file)
        low, high = min(values) / factor, max(values) / factor
        margin = 0.08 * (high - low) or 0.08 * abs(high)
        # Zero belongs to the picture unless everything is far from it.
        axes.set_ylim(0 if 0 <= low < 0.6 * high else low - margin, high + margin)
        axes.set_ylabel(f"{'delay of the device' if file.run.delay and file.run.delay.wire else 'delay'} ({unit})")
        arrange(figure, axes, size, right_in=0.15, gap=0.1)
        return to_svg(figure, f"delay-means-{size.name}")


def draw_percentiles(file: RunFile, size: Size = WIDE) -> str:
    """Draw percentiles over load, of the frames of both directions, through the device and over the wire.

    Parameters
    ----------
    file
        A record with the subject ``delay`` and results.
    size
        `WIDE` or `NARROW`.
    """
    loads = _loads(file)
    places = _Places(loads)
    with figure_of(size, "delay-percentiles", size.height_in * 0.85) as figure:
        axes = figure.subplots()
        found = [result for result in file.delays if result.direction == "all"]
        shown: list[float] = []
        for number, (name, percentile) in enumerate(_PERCENTILES):
            for path, style in (("device", "-"), ("wire", DASHED)):
                seen = [(result.load, result.device if path == "device" else result.wire) for result in found]
                points = [(load, percentile(one)) for load, one in seen if one is not None]
                known = [(places.at(load), time * 1e6) for load, time in points if time]
                shown += [time for _, time in known]
                axes.plot(
                    [x for x, _ in known],
                    [y for _, y in known],
                    marker=_MARKERS[number],
                    linestyle=style,
                    color=palette.goal_colour(number),
                    markerfacecolor=palette.goal_colour(number) if path == "device" else palette.SURFACE,
                    markersize=4.4,
                    linewidth=1.2,
                    label=f"{name}, {path}" if known else None,
                )
        _name_loads(axes, places, file)
        _scale_times(axes.yaxis, shown)
        axes.set_ylabel(f"delay of {facts.units(file.run)}, with the tester's own")
        arrange(figure, axes, size, right_in=0.15, gap=0.1)
        return to_svg(figure, f"delay-percentiles-{size.name}")


class _Places:
    """Where loads stand on their axis, from 0 to 1."""

    def __init__(self, loads: Sequence[float]) -> None:
        self.loads = loads
        self._logarithmic = max(loads) > _LOGARITHMIC_FROM * min(loads)

    def at(self, load: float, shift: float = 0.0) -> float:
        low, high, value = (log10(one) if self._logarithmic else one for one in (self.loads[0], self.loads[-1], load))
        return (value - low) / (high - low) + shift if high > low else 0.5 + shift


def _loads(file: RunFile) -> list[float]:
    return sorted({result.load for result in file.delays})


def _ends(result: Delay) -> tuple[float, ...]:
    mean = result.mean
    return tuple(time for time in (mean.low_s, mean.value_s, mean.high_s) if time is not None)


def _name_loads(axes: Axes, places: _Places, file: RunFile) -> None:
    """Name the loads that were measured, as far as their names do not run into each other."""
    factor, unit = scales.load_scale(places.loads[-1], file.run.load_unit)
    ticks: list[tuple[float, str]] = []
    for load in reversed(places.loads):
        x = places.at(load)
        if not ticks or ticks[-1][0] - x > 0.06:
            ticks.append((x, f"{load / factor:.3g}"))
    axes.set_xticks([x for x, _ in ticks], [name for _, name in ticks])
    axes.set_xlim(-0.05, 1.05)
    axes.set_xlabel(f"load ({unit})")


def _scale_times(axis: Axis, shown: Sequence[float]) -> None:
    """Let a logarithmic axis show times in units that people read."""
    if not shown:
        return
    axis.axes.set_yscale("log")
    low, high = min(shown), max(shown)
    ticks = [
        step * 10.0**decade
        for decade in range(-4, 8)
        for step in ((1, 2, 5) if high < 300 * low else (1,))
        if 0.5 * low <= step * 10.0**decade <= 2 * high
    ]
    axis.axes.set_ylim(0.7 * low, 1.4 * high)
    axis.set_ticks(ticks, [_short(tick * 1e-6) for tick in ticks])
    axis.set_ticks([], minor=True)


def _short(seconds: float) -> str:
    factor, unit = numbers.unit_of([seconds])
    return f"{seconds / factor:.3g} {unit}"
