"""Small figures, one a series: what was measured, the line through it and where solutions lie."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.records import Fit, RunFile, Series, Solution
from brimful.report import palette
from brimful.report.figures import Size, drawable, figure_of, to_svg
from brimful.report.palette import DASHED, DOTTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL = Size("panel", 3.6, 2.6, 8.5)

POINTS, LINE, REJECTED = palette.GOALS[0], palette.INK, palette.LEVELS["above"]
MARKED = ("MOF", "aMOF", "aMOF-delta", "isol")
"""The series that rules look at to choose a vrate: solutions are marked on them."""
LARGEST = 1e100
"""Values beyond it are not drawn: sums of them would not be finite."""
SQUEEZED = 2.5
"""Rejected points that are this many times as high as all others stand on the border, lest they squeeze the rest."""

_Point = tuple[float, float]


class Mark(msgspec.Struct, frozen=True):
    """A vrate at which solutions lie, and their letters."""

    label: str
    x: float


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One series as it is shown."""

    number: int
    """Its place in the report."""
    series: Series
    fit: Fit | None
    title: str
    quantity: str
    """What the y axis counts, in words."""
    unit: str
    factor: float
    """Makes values of the record values of the unit."""
    threshold: float | None
    """A limit of y, in the unit."""
    marks: list[Mark]
    x_end: float
    """Where the x axis ends: at the same place in all panels."""

    @property
    def has_data(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self.series.points)


class Group(msgspec.Struct, frozen=True):
    """Panels that belong together."""

    title: str
    panels: list[Panel]


def make_panels(file: RunFile) -> list[Panel]:
    """Give a panel for each series in canonical order.

    Parameters
    ----------
    file
        A run on a block device.
    """
    fits = {fit.series: fit for fit in file.fits}
    threshold = file.run.source.get("isolation_threshold")
    marks = make_marks(file.solutions)
    xs = [x for series in file.series for x, _ in series.points]
    xs += [x for fit in file.fits for x, _ in fit.vertices]
    x_end = 1.05 * max([x for x in [*xs, *(mark.x for mark in marks)] if 0 < x < LARGEST], default=100.0)
    panels = []
    for number, series in enumerate(sorted(file.series, key=lambda series: canonical(series.name))):
        quantity, unit, factor = _quantity(series)
        panels.append(
            Panel(
                number=number,
                series=series,
                fit=fits.get(series.name),
                title=title(series.name, percentile=str(file.run.source.get("isolation_percentile", ""))),
                quantity=quantity,
                unit=unit,
                factor=factor,
                threshold=threshold * factor if series.name == "isol" and isinstance(threshold, int | float) else None,
                marks=marks if series.name in MARKED else [],
                x_end=x_end,
            )
        )
    return panels


def letter(number: int) -> str:
    """Give the letter of a solution by its place.

    >>> letter(0), letter(7), letter(26)
    ('A', 'H', 'AA')
    """
    rest, place = divmod(number, 26)
    return (letter(rest - 1) if rest else "") + chr(ord("A") + place)


def make_marks(solutions: Sequence[Solution]) -> list[Mark]:
    """Give the vrates of the solutions from left to right; those of one vrate share a mark."""
    letters: dict[float, list[str]] = {}
    for number, solution in enumerate(solutions):
        if solution.scale_factor is not None and 0 < solution.scale_factor < LARGEST:
            letters.setdefault(round(solution.scale_factor * 100, 2), []).append(letter(number))
    return [Mark(",".join(letters[x]), x) for x in sorted(letters)]


def sections(panels: Sequence[Panel]) -> list[Group]:
    """Group panels by what they are about, for reading on a screen."""
    groups: dict[str, list[Panel]] = {}
    for panel in panels:
        groups.setdefault(_section(panel.series.name), []).append(panel)
    order = ["Memory offloading", "Protection", "Read latency", "Write latency", "Others"]
    return [Group(name, groups[name]) for name in order if name in groups]


def canonical(name: str) -> tuple[int, str, float, float, str]:
    """Give what sorts series into the order in which they are shown."""
    first = {"MOF": 0, "isol": 1, "aMOF": 2, "aMOF-delta": 3, "isol-mean": 5, "lat-imp": 6, "work-csv": 7, "missing": 8}
    if name in first:
        return first[name], "", 0, 0, name
    latency = split_latency(name)
    if latency is not None:
        direction, of_requests, over_time = latency
        return 9, direction, _percentile(over_time), _percentile(of_requests), name
    if name.startswith("isol-"):
        return 4, "", _percentile(name.removeprefix("isol-")), 0, name
    return 10, "", 0, 0, name


def split_latency(name: str) -> tuple[str, str, str] | None:
    """Take the name of a latency series apart.

    >>> split_latency("rlat-99-mean"), split_latency("isol")
    (('read', '99', 'mean'), None)
    """
    parts = name.split("-")
    if len(parts) != 3 or parts[0] not in {"rlat", "wlat"}:
        return None
    return ("read" if parts[0] == "rlat" else "write"), parts[1], parts[2]


def title(name: str, *, percentile: str = "") -> str:
    """Say in words what a series is, its name beside.

    >>> title("rlat-99-mean"), title("isol", percentile="05")
    ('p99 read latency, mean over time (rlat-99-mean)', 'Isolation, 5th percentile (isol)')
    """
    words = {
        "MOF": "Memory offloading factor",
        "aMOF": "Adjusted memory offloading factor",
        "aMOF-delta": "What protection costs: MOF - aMOF",
        "lat-imp": "Latency impact of a memory hog",
        "work-csv": "Work conservation",
        "missing": "Missing reports",
        "isol": f"Isolation, {_ordinal(percentile)}" if percentile else "Isolation",
        "isol-mean": "Isolation, mean",
    }.get(name)
    latency = split_latency(name)
    if latency is not None:
        direction, of_requests, over_time = latency
        rank = _rank(of_requests)
        rank = rank if rank.startswith("p") else rank.capitalize()
        when = "at its worst" if over_time == "100" else f"{_rank(over_time)} over time"
        words = f"{rank} {direction} latency, {when}"
    elif words is None and name.startswith("isol-"):
        words = f"Isolation, {_ordinal(name.removeprefix('isol-'))}"
    return f"{words} ({name})" if words else name


def draw(panel: Panel) -> str:
    """Draw a series as an SVG element.

    Parameters
    ----------
    panel
        From `make_panels`.
    """
    with figure_of(PANEL, f"series-{panel.number}", PANEL.height_in) as figure:
        figure.subplots_adjust(left=0.19, right=0.975, bottom=0.18, top=0.81)
        draw_panel(figure.subplots(), panel, font_pt=PANEL.font_pt)
        return to_svg(figure, f"series-{panel.number}")


def draw_panel(axes: Axes, panel: Panel, *, font_pt: float) -> None:
    """Draw a series on axes: points, rejected points, line, threshold and marks.

    Parameters
    ----------
    axes
        Of a figure with the looks of reports.
    panel
        From `make_panels`.
    font_pt
        Size of its text.
    """
    axes.annotate(
        drawable(panel.title, longest=60),
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(-5.5 * font_pt, 2.3 * font_pt),
        textcoords="offset points",
        color=palette.INK,
        annotation_clip=False,
    )
    axes.set_xlabel(drawable(f"{panel.series.x_name} ({panel.series.x_unit})", longest=40), labelpad=2)
    axes.set_ylabel(panel.quantity + (f" ({panel.unit})" if panel.unit else ""))
    axes.yaxis.set_label_coords(-4.6 * font_pt / _size_pt(axes)[0], 0.5)
    rejected = list(_scaled(panel.fit.rejected, panel.factor)) if panel.fit else []
    kept = list((Counter(_scaled(panel.series.points, panel.factor)) - Counter(rejected)).elements())
    line = list(_scaled(panel.fit.vertices, panel.factor)) if panel.fit else []
    axes.set_xlim(0, panel.x_end)
    if not kept and not rejected:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", color=palette.MUTED)
        return
    low, high = _limits(panel, kept + line, rejected)
    axes.set_ylim(low, high)
    axes.ticklabel_format(useOffset=False, style="plain" if high < 1e7 else "sci", axis="y")
    axes.locator_params(axis="y", nbins=5)
    axes.locator_params(axis="x", nbins=6)
    if panel.threshold is not None:
        axes.axhline(panel.threshold, color=palette.GOALS[1], linewidth=1.1, linestyle=DASHED, zorder=2)
    # Nothing is clipped: half of a point on the border would be lost, and all lie within the limits.
    dots: dict[str, Any] = {
        "markersize": 4.4,
        "markeredgecolor": palette.SURFACE,
        "markeredgewidth": 0.4,
        "clip_on": False,
    }
    axes.plot(*_columns(kept), "o", color=POINTS, zorder=3, **dots)
    inside = [(x, y) for x, y in rejected if y <= high]
    above = [(x, high) for x, y in rejected if y > high]
    crosses: dict[str, Any] = {"color": REJECTED, "markersize": 4.6, "clip_on": False, "zorder": 5}
    axes.plot(*_columns(inside), "x", markeredgewidth=1.3, **crosses)
    axes.plot(*_columns(above), "^", **crosses)
    axes.plot(*_columns(line), "s" if len(line) == 1 else "-", color=LINE, linewidth=1.35, markersize=3, zorder=4)
    _draw_marks(axes, panel.marks, font_pt * 0.92)


def _limits(panel: Panel, kept: Sequence[_Point], rejected: Sequence[_Point]) -> _Point:
    """Give the range of the y axis."""
    used, refused = [y for _, y in kept], [y for _, y in rejected]
    top = max(used + refused)
    if used and 0 < SQUEEZED * max(used) < top:
        top = 1.25 * max(used)
    bottom = min([y for y in used + refused if y <= top], default=top)
    if panel.series.name in {"MOF", "aMOF"}:
        margin = 0.08 * (top - bottom) or 0.1
        return (1.0 if bottom >= 1 and top > 1 else bottom - margin), top + margin
    if panel.series.name.startswith("isol"):
        top = max(top, 100.0)
    if top <= 0:
        return (bottom * 1.08, 0.0) if bottom < 0 else (0.0, 1.0)
    return min(0.0, bottom * 1.08), top * 1.08


def _draw_marks(axes: Axes, marks: Sequence[Mark], font_pt: float) -> None:
    """Draw a dotted line at each vrate, its letters above the panel and apart from each other, if there is room."""
    for mark in marks:
        axes.axvline(mark.x, color=palette.MUTED, linewidth=0.8, linestyle=DOTTED, zorder=1)
    width, height = _size_pt(axes)
    end = axes.get_xlim()[1]
    widths = [len(mark.label) * font_pt * 0.5 + 5 for mark in marks]
    if not marks or sum(widths) > width:
        return
    places = [mark.x / end * width for mark in marks]
    for left, right in itertools.pairwise(range(len(marks))):
        places[right] = max(places[right], places[left] + (widths[left] + widths[right]) / 2)
    border = width + 4 - widths[-1] / 2
    for index in reversed(range(len(marks))):
        places[index] = min(places[index], border)
        if index:
            border = places[index] - (widths[index] + widths[index - 1]) / 2
    for mark, place in zip(marks, places, strict=True):
        axes.annotate(
            mark.label,
            xy=(mark.x, 1),
            xycoords=("data", "axes fraction"),
            xytext=(place, height + 5),
            textcoords="axes points",
            ha="center",
            va="bottom",
            fontsize=font_pt,
            color=palette.MUTED,
            arrowprops={"arrowstyle": "-", "color": palette.MUTED, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0},
        )


def _size_pt(axes: Axes) -> tuple[float, float]:
    figure = axes.get_figure(root=True)
    assert figure is not None
    extent = axes.get_window_extent()
    return extent.width * 72 / figure.dpi, extent.height * 72 / figure.dpi


def _scaled(points: Sequence[_Point], factor: float) -> Iterator[_Point]:
    return ((x, y * factor) for x, y in points if 0 <= x < LARGEST and abs(y) < LARGEST)


def _columns(points: Sequence[_Point]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _quantity(series: Series) -> tuple[str, str, float]:
    """Give what the values of a series are, the unit they are shown in and the factor to it."""
    if series.y_unit == "s":
        return "latency", "ms", 1e3
    if series.name in {"lat-imp", "work-csv", "missing"} or series.name.startswith("isol"):
        return "increase" if series.name == "lat-imp" else "share", "%", 100.0
    return "factor" if "MOF" in series.name else "value", drawable(series.y_unit, longest=12), 1.0


def _section(name: str) -> str:
    latency = split_latency(name)
    if latency is not None:
        return f"{latency[0].capitalize()} latency"
    if name in {"MOF", "aMOF", "aMOF-delta"}:
        return "Memory offloading"
    if name.startswith("isol") or name in {"lat-imp", "work-csv", "missing"}:
        return "Protection"
    return "Others"


def _percentile(text: str) -> float:
    """Give what sorts percentiles; the mean comes before them."""
    try:
        return float(text)
    except ValueError:
        return -1.0 if text == "mean" else 1e9


def _rank(text: str) -> str:
    return {"00": "minimum", "50": "median", "100": "maximum", "mean": "mean"}.get(text, f"p{text}")


def _ordinal(text: str) -> str:
    if not _rank(text).startswith("p") or not text.replace(".", "").isdigit():
        return _rank(text).removeprefix("p")
    number = text.lstrip("0") or "0"
    ending = "th" if number[-2:-1] == "1" or "." in number else {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")
    return f"{number}{ending} percentile"
