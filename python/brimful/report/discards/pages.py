"""Pages of figures: panels with axes and layers of points, before anything is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from brimful.report.discards.model import Change, Point, View, Window

RATIO_FLOOR, RATIO_TOP = 1e-6, 1e-1
OUTSIDE = 0.01
"""This share of the points may lie beyond each end of an axis: they stand on the border."""
WIDTH_IN = 8.0
"""Of every figure, so that all have type of one size."""


NARROW_WIDTH_IN, NARROW_PANEL_IN, LEGEND_ROW_IN = 4.1, 2.2, 0.17
LEGEND_COLUMNS = 3
"""Of panels that have their legend above them."""


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """Points with one look."""

    label: str
    """Empty: the legend has it already."""
    style: int
    """Place in the list of looks."""
    points: list[Point]
    """x in Unix seconds, or in decades of bit/s for densities."""
    faint: bool = False


class Axis(msgspec.Struct, frozen=True):
    """The y axis of a panel."""

    label: str
    low: float
    high: float
    is_log: bool = False
    has_zeros: bool = False
    """Zeros stand in a strip of their own below a logarithmic axis."""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One pair of axes."""

    title: str
    note: str = ""
    layers: list[Layer]
    axis: Axis
    changes: list[tuple[int, Change]] = []
    """What began or stopped, with the look of its site."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A figure, or so much of it as fits one page."""

    key: str
    title: str
    caption: str
    size_in: tuple[float, float]
    rows: int
    columns: int
    panels: list[Panel]
    kind: str
    """``time`` or ``density``."""
    shares_legend: bool
    """One legend for all panels, instead of one for each."""
    days: tuple[float, float]
    windows: list[Window]
    is_narrow: bool = False
    """Panels below each other, each with its legend above it: for telephones."""

    @property
    def legend_rows(self) -> int:
        """The rows of the largest legend that stands above a panel."""
        return max(-(-sum(bool(layer.label) for layer in panel.layers) // LEGEND_COLUMNS) for panel in self.panels)


def narrowed(page: Page) -> Page:
    """Give a page as telephones show it."""
    panels = len(page.panels)
    return msgspec.structs.replace(
        page,
        key=f"{page.key}-narrow",
        size_in=(NARROW_WIDTH_IN, panels * (NARROW_PANEL_IN + LEGEND_ROW_IN * page.legend_rows)),
        rows=panels,
        columns=1,
        shares_legend=False,
        is_narrow=True,
    )


def choose_limits(values: Iterable[float], *, is_log: bool = False) -> Point:
    """Give the limits of an axis that fits values: decades, or from 0 to a round number.

    >>> choose_limits([1.2e5, 2e8], is_log=True), choose_limits([3.0, 27.0]), choose_limits([])
    ((100000.0, 1000000000.0), (0.0, 30.0), (0.0, 1.0))
    """
    found = sorted(value for value in values if value > 0 or not is_log)
    if not found:
        return (RATIO_FLOOR, RATIO_TOP) if is_log else (0.0, 1.0)
    least, most = found[int(OUTSIDE * (len(found) - 1))], found[math.ceil((1 - OUTSIDE) * (len(found) - 1))]
    if not is_log:
        return 0.0, _round_up(most) if most > 0 else 1.0
    bottom = 10.0 ** math.floor(math.log10(least))
    return bottom, max(10.0 ** math.ceil(math.log10(most)), 10 * bottom)


def _round_up(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if step * decade >= value)


def paged(
    view: View,
    panels: Sequence[Panel],
    *,
    key: str,
    title: str,
    caption: str,
    height_in: float,
    rows: int,
    columns: int,
    kind: str = "time",
) -> list[Page]:
    """Put panels on as many pages as they need."""
    if not panels:
        return []
    shares_legend = columns > 1
    if len(panels) == 1:
        columns = 1
    per_page = rows * columns
    starts = range(0, len(panels), per_page)
    return [
        Page(
            key=key if len(starts) == 1 else f"{key}-{place}",
            title=title if len(starts) == 1 else f"{title} ({place} of {len(starts)})",
            caption=caption,
            size_in=(WIDTH_IN, height_in),
            rows=rows,
            columns=columns,
            panels=list(panels[start : start + per_page]),
            kind=kind,
            shares_legend=shares_legend,
            days=view.days or (0.0, 0.0),
            windows=view.windows if kind == "time" else [],
        )
        for place, start in enumerate(starts, start=1)
    ]
