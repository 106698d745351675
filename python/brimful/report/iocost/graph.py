"""Graphs of a series and its fitted line in characters.

At 80 columns they have the geometry of the text of resctl-bench, character by character, so that people can lay the
two side by side. Nothing here is slow: all 18 graphs of a device are drawn whenever results are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from brimful.records import Fit, Series

COLUMNS = 80
"""Cells of the plotting area across, unless asked otherwise."""
ROWS = 24
"""Cells of the plotting area from the x axis to the top."""

LINE, POINT, REJECTED = "■", "●", "×"

_GREATEST_TICKS = 6
_BASE_STEPS = (1, 2, 4, 5)
_TICK_DECIMALS = 5
_LEAST_HEIGHT = 1e-6
"""Of the y axis, before scaling: a series of zeros has a graph too."""

Point = tuple[float, float]
Points = Sequence[Point]


class Axis(msgspec.Struct, frozen=True):
    """A range of values on a number of cells; cell 0 is the other axis."""

    lower: float
    upper: float
    cells: int

    def cell(self, value: float) -> int:
        """Give the nearest cell, or -1 for a value that is outside.

        >>> [Axis(0.0, 10.0, 5).cell(value) for value in (0.0, 0.9, 1.0, 10.0, 11.1)]
        [0, 0, 1, 5, -1]
        """
        width = (self.upper - self.lower) / self.cells
        if not 0 < width < math.inf:
            return -1
        position = (value - self.lower) / width
        # Halves go up here; `round` would take every second one down.
        return math.floor(position + 0.5) if -0.5 <= position < self.cells + 0.5 else -1

    def ticks(self) -> dict[int, str]:
        """Give the labels of the ticks by their cells.

        >>> Axis(0.0, 134.0, 80).ticks()
        {0: '0', 24: '40', 48: '80', 72: '120'}
        """
        step = tick_step(self.lower, self.upper)
        count = _tick_count(self.lower, self.upper, step)
        # No digit of a smaller step would show.
        if not count or step < 10**-_TICK_DECIMALS:
            return {0: _tick_label(self.lower)}
        values = [self.lower + number * step for number in range(count)]
        return {self.cell(value): _tick_label(value) for value in values}


class Scale(msgspec.Struct, frozen=True):
    """How the values of a series are shown."""

    factor: float
    starts_at_one: bool
    """Whether 1 means no effect, so that the axis starts there."""


def scale_of(name: str) -> Scale:
    """Give the scale of a series: ratios are shown in per cent, latencies in milliseconds.

    >>> scale_of("isol").factor, scale_of("rlat-99-mean").factor, scale_of("aMOF").starts_at_one
    (100.0, 1000.0, True)
    """
    if name.startswith(("rlat", "wlat")):
        return Scale(1000.0, False)
    if name.startswith("isol") or name in ("lat-imp", "work-csv", "missing"):
        return Scale(100.0, False)
    return Scale(1.0, name in ("MOF", "aMOF"))


def draw(
    series: Series,
    fit: Fit | None,
    *,
    columns: int = COLUMNS,
    rows: int = ROWS,
    x_max: float,
    label: str | None = None,
) -> list[str]:
    """Draw one series with its line as lines of text without blanks at their ends.

    Parameters
    ----------
    series
        What was measured, rejected points included.
    fit
        Its line; without one only the points are drawn.
    columns, rows
        Cells of the plotting area. Labels come on top of it: three columns and the widest of the y axis.
    x_max
        Right end of the x axis, the same for all graphs that are compared: see `right_end`.
    label
        What the y axis shows; the name of the series if not given.

    >>> series = Series("MOF", [(10.0, 1.05), (30.0, 1.3), (50.0, 1.4), (70.0, 1.4)])
    >>> fit = Fit("MOF", "exact", "non-decreasing", [(10.0, 1.1), (50.0, 1.4), (70.0, 1.4)], 0.0125)
    >>> for line in draw(series, fit, columns=60, rows=6, x_max=77.0):
    ...     print(line)
       1.5-|
           |
     M 1.4-|                             ■■■■■■■■●■■■■■■■■■■■■■■■●
     O 1.3-|                   ■■●■■■■■■■
     F 1.2-|          ■■■■■■■■■
       1.1-|      ●■■■
         1+------------------------------------------------------------
          |               |              |               |
          0              20             40              60
           vrate 10.0-70.0 (min=1.100 max=1.400 infls=50.0 err=0.013)
    """
    scale = scale_of(series.name)
    vertices = fit.vertices if fit else []
    rejected = set(fit.rejected) if fit else set()
    x_axis = Axis(0.0, x_max, columns)
    y_axis = y_axis_of(series.points, scale, rows)
    axes = (x_axis, y_axis)
    face = [[" "] * columns for _ in range(rows)]
    _mark(face, axes, scale.factor, sample(vertices, columns), LINE)
    _mark(face, axes, scale.factor, rejected, REJECTED)
    _mark(face, axes, scale.factor, [point for point in series.points if point not in rejected], POINT)
    y_ticks = y_axis.ticks()
    gutter = 3 + max(len(text) for text in y_ticks.values())
    lines = _left_of(face, y_ticks, gutter, series.name if label is None else label)
    lines += _under(x_axis, gutter)
    lines.append(" " * gutter + x_label(series, fit, scale.factor).center(columns))
    return [line.rstrip() for line in lines]


def right_end(fits: Iterable[Fit]) -> float:
    """Give the right end of the x axis that all graphs of a device share.

    >>> right_end([Fit("MOF", "exact", "any", [(10.0, 1.0), (100.0, 1.0)], 0.0)])
    110.00000000000001
    """
    return 1.1 * max((fit.vertices[-1][0] for fit in fits if fit.vertices), default=0.0)


def y_label(name: str, *, mem_profile: int | None = None, isolation_percentile: str = "") -> str:
    """Give what the y axis shows: offload factors hold for one size of memory, isolation for one percentile.

    >>> y_label("aMOF", mem_profile=16), y_label("isol", isolation_percentile="05"), y_label("rlat-99-mean")
    ('aMOF@16', 'isol-05', 'rlat-99-mean')
    """
    if name in ("MOF", "aMOF", "aMOF-delta") and mem_profile is not None:
        return f"{name}@{mem_profile}"
    return f"isol-{isolation_percentile}" if name == "isol" and isolation_percentile else name


def x_label(series: Series, fit: Fit | None, factor: float) -> str:
    """Describe the line below the x axis: its ends, least and greatest value, inner vertices and error.

    >>> points = [(10.0, 0.5), (50.0, 0.9), (70.0, 0.9)]
    >>> x_label(Series("isol", points), Fit("isol", "exact", "any", points, 0.01), 100.0)
    'vrate 10.0-70.0 (min=50.000 max=90.000 infls=50.0 err=1.000)'
    """
    vertices = fit.vertices if fit else []
    if not vertices:
        return f"{series.x_name} 0.0-0.0 (mean=0.000 err={_error(fit, factor)})"
    values = [y for _, y in vertices]
    least, greatest = min(values), max(values)
    parts = (
        [f"mean={least * factor:.3f}"]
        if least == greatest
        else [f"min={least * factor:.3f}", f"max={greatest * factor:.3f}"]
    )
    if len(vertices) > 2:
        parts.append("infls=" + ",".join(f"{x:.1f}" for x, _ in vertices[1:-1]))
    parts.append(f"err={_error(fit, factor)}")
    return f"{series.x_name} {vertices[0][0]:.1f}-{vertices[-1][0]:.1f} ({' '.join(parts)})"


def y_axis_of(points: Points, scale: Scale, rows: int) -> Axis:
    """Give the y axis: from 0, or from 1 where that means no effect, to a little above the greatest value."""
    least = min((y for _, y in points), default=1.0 if scale.starts_at_one else 0.0)
    greatest = max((y for _, y in points), default=0.0)
    lower = 0.0
    if scale.starts_at_one:
        lower = 1.0 if least >= 1 else least - (greatest - least) / 10
    upper = max(1.1 * greatest, lower + _LEAST_HEIGHT)
    return Axis(lower * scale.factor, upper * scale.factor, rows)


def sample(vertices: Points, count: int) -> list[Point]:
    """Give points of a polyline for ``count`` equal steps of x from 0 to its right end.

    >>> sample([(2.0, 1.0), (4.0, 3.0)], 4)
    [(2.0, 1.0), (3.0, 2.0)]
    """
    if not vertices:
        return []
    left, right = vertices[0][0], vertices[-1][0]
    points = []
    segment = 0
    for number in range(count):
        x = number * right / count
        if x < left:
            continue
        while segment < len(vertices) - 2 and x > vertices[segment + 1][0]:
            segment += 1
        points.append((x, _interpolate(vertices, segment, x)))
    return points


def tick_step(lower: float, upper: float) -> float:
    """Give the step between ticks: 1, 2, 4 or 5 times a power of ten.

    Of the steps that give as many ticks as the smallest one that is allowed, it is the largest.

    >>> [tick_step(0.0, upper) for upper in (1.0, 13.0, 15.0, 134.0)]
    [0.2, 4.0, 5.0, 40.0]
    """
    height = upper - lower
    if not 0 < height < math.inf:
        return 0.0
    # The least float has no sixth part.
    power = math.floor(math.log10(height / _GREATEST_TICKS or height))
    # As text, for 2 * 10.0**-1 would be right and 4 * 10.0**-4 not quite, and the largest powers no floats.
    steps = [float(f"{base}e{exponent}") for exponent in range(power, power + 3) for base in _BASE_STEPS]
    counts = [_tick_count(lower, upper, step) for step in steps]
    count = next((count for count in counts if count <= _GREATEST_TICKS), 0)
    return max((step for step, found in zip(steps, counts, strict=True) if found == count), default=0.0)


def _tick_count(lower: float, upper: float, step: float) -> int:
    if not 0 < step < math.inf or not upper - lower < math.inf:
        return 0
    steps = math.floor((upper - lower) / step + 1e-9)
    # Rounding alone must neither lose the tick at the upper end nor make one beyond it.
    return steps + 1 if round(lower + steps * step, 15) <= upper else steps


def _tick_label(value: float) -> str:
    if abs(value) >= 1e9:
        return f"{value:.3g}"
    return f"{value:.{_TICK_DECIMALS}f}".rstrip("0").rstrip(".")


def _error(fit: Fit | None, factor: float) -> str:
    return f"{fit.error * factor if fit else 0.0:.3f}"


def _interpolate(vertices: Points, segment: int, x: float) -> float:
    left_x, left_y = vertices[segment]
    right_x, right_y = vertices[min(segment + 1, len(vertices) - 1)]
    if right_x <= left_x:
        return left_y
    return left_y + (right_y - left_y) * (x - left_x) / (right_x - left_x)


def _mark(face: list[list[str]], axes: tuple[Axis, Axis], factor: float, points: Iterable[Point], mark: str) -> None:
    x_axis, y_axis = axes
    rows = len(face)
    for x, y in points:
        column = x_axis.cell(x)
        row = y_axis.cell(y * factor)
        # The axes themselves carry no marks.
        if column > 0 and row > 0:
            face[rows - row][column - 1] = mark


def _left_of(face: list[list[str]], ticks: dict[int, str], gutter: int, label: str) -> list[str]:
    """Put the y axis, its ticks and its label before the rows, and the x axis below them."""
    rows = len(face)
    letters = " " * ((rows + 1 - len(label)) // 2) + label
    lines = []
    for line in range(rows + 1):
        letter = letters[line] if line < len(letters) else " "
        row = rows - line
        text = ticks.get(row, "").rjust(gutter - 3)
        if row == 0:
            lines.append(f" {letter} {text}+{'-' * (len(face[0]))}")
        else:
            # The axis stands on the first column of cells and hides marks there, as it does in the reference.
            lines.append(f" {letter} {text}{'-' if row in ticks else ' '}|{''.join(face[line][1:])}")
    return lines


def _under(axis: Axis, gutter: int) -> list[str]:
    """Give the ticks of the x axis and the line of their labels, each centred on its tick."""
    ticks = [" "] * (axis.cells + 1)
    labels = ""
    for cell, text in axis.ticks().items():
        if cell < 0:
            continue
        ticks[cell] = "|"
        labels = labels.ljust(gutter + cell - len(text) // 2) + text
    return [" " * gutter + "".join(ticks), labels]
