"""Figures of own splits: one for each value of a column, with a panel and a colour for those of two others."""

from __future__ import annotations

from brimful.report.discards.figures import MBPS
from brimful.report.discards.model import Point, Split, View
from brimful.report.discards.pages import Axis, Layer, Page, Panel, choose_limits, paged

MOST_COLOURS = {"time": 7, "density": 4}
"""In a panel: how many looks differ, and how many names fit above panels of densities."""
_WHOLE = ""
"""What stands in the place of a column that there is none of."""


def make_pages(view: View) -> list[Page]:
    """Give the figures of all own splits.

    Parameters
    ----------
    view
        From `brimful.report.discards.model.build`.
    """
    return [page for split in view.splits for figure in split.values("figure") for page in _pages(view, split, figure)]


def _pages(view: View, split: Split, figure: str) -> list[Page]:
    kind = "density" if split.is_distribution else "time"
    colours = split.values("colour")
    styles = {colour: place for place, colour in enumerate(colours)}
    axis = _axis(split)
    groups = [colours[start : start + MOST_COLOURS[kind]] for start in range(0, len(colours), MOST_COLOURS[kind])]
    pages: list[Page] = []
    for place, group in enumerate(groups, start=1):
        panels = [_panel(split, figure, panel, group, styles, axis) for panel in split.values("panel")]
        name = f"{split.title}: {split.columns['figure']} {figure}" if figure != _WHOLE else split.title
        pages += paged(
            view,
            [panel for panel in panels if panel.layers],
            key=f"split-{split.number}-{split.values('figure').index(figure) + 1}"
            + (f"-{place}" if len(groups) > 1 else ""),
            title=name if len(groups) == 1 else f"{name}, {split.columns['colour']} {group[0]} to {group[-1]}",
            caption=_caption(split),
            height_in=6.4,
            rows=3,
            columns=2 if kind == "density" else 1,
            kind=kind,
        )
    return pages


def _panel(
    split: Split, figure: str, panel: str, colours: list[str], styles: dict[str, int], axis: Axis | None
) -> Panel:
    layers = [
        Layer(label=colour or "all", style=styles[colour] % MOST_COLOURS["time"], points=_scaled(split, points))
        for colour in colours
        if (points := split.points.get((figure, panel, colour)))
    ]
    top = max((y for layer in layers for _, y in layer.points), default=1.0)
    return Panel(title=panel or "all", layers=layers, axis=axis or Axis("density", 0.0, top * 1.1 or 1.0))


def _scaled(split: Split, points: list[Point]) -> list[Point]:
    factor = MBPS if _is_in_mbps(split) else 1.0
    return [(x, y * factor) for x, y in points]


def _is_in_mbps(split: Split) -> bool:
    return split.quantity in ("download_rate", "upload_rate")


def _axis(split: Split) -> Axis | None:
    """Give the axis that all panels share, so that they can be compared; a density has one of its own."""
    if split.is_distribution:
        return None
    values = [y for points in split.points.values() for _, y in _scaled(split, points)]
    is_log = split.quantity in ("uplink_rate", "discards", "loss_ratio", "retransmission_ratio")
    label = "Mbit/s" if _is_in_mbps(split) else split.unit or "ratio"
    limits = choose_limits(values, is_log=is_log)
    return Axis(label, *limits, is_log, has_zeros=is_log and any(value <= 0 for value in values))


def _caption(split: Split) -> str:
    places = ", ".join(f"{place} by {name}" for place, name in split.columns.items())
    return f"{split.title}: {places}. By the definitions of the mode “correct”, days in UTC."
