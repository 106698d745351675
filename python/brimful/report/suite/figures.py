"""The figures of a suite: throughput over frame sizes, and the loss rate over load with a line for each size."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import Loss
from brimful.report import palette, scales
from brimful.report.figures import WIDE, Size, arrange, figure_of, to_svg
from brimful.report.palette import DASHED


def draw_throughputs(
    sizes: Sequence[str], found: Sequence[float], limits: Sequence[float | None], unit: str, size: Size = WIDE
) -> str:
    """Draw the throughput of each frame size, and what 100 % was.

    Parameters
    ----------
    sizes, found, limits
        Of frames; the throughputs; the greatest loads that could be offered, where they are known.
    unit
        Of the loads.
    size
        `WIDE` or `NARROW`.
    """
    known = [limit for limit in limits if limit is not None]
    factor, name = scales.load_scale(max([*found, *known]), unit)
    places = range(len(sizes))
    with figure_of(size, "throughputs", size.height_in * 0.85) as figure:
        axes = figure.subplots()
        if known:
            shown = [(place, limit / factor) for place, limit in zip(places, limits, strict=True) if limit is not None]
            axes.plot(
                [x for x, _ in shown],
                [y for _, y in shown],
                linestyle=DASHED,
                color=palette.MUTED,
                linewidth=1.2,
                label="100 %",
                zorder=3,
            )
        axes.plot(
            places,
            [load / factor for load in found],
            "o-",
            color=palette.goal_colour(0),
            markersize=4.6,
            label="measured",
            clip_on=False,
        )
        axes.set_xticks(list(places), list(sizes))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("frame size (bytes)")
        axes.set_ylabel(f"throughput ({name})")
        arrange(figure, axes, size, right_in=0.15, gap=0.1)
        return to_svg(figure, f"throughputs-{size.name}")


def draw_curves(curves: Sequence[tuple[str, float, Sequence[Loss]]], size: Size = WIDE) -> str:
    """Draw the loss rate over load, both from 0 to 100 %, a line for each frame size (RFC 2544 section 26.3).

    Parameters
    ----------
    curves
        Name of the size, the load that is 100 %, and the losses.
    size
        `WIDE` or `NARROW`.
    """
    with figure_of(size, "curves", size.height_in * 0.85) as figure:
        axes = figure.subplots()
        for number, (name, reference, losses) in enumerate(curves):
            axes.plot(
                [100 * one.load / reference for one in losses],
                [100 * one.ratio for one in losses],
                marker="osD^v<>"[number % 7],
                color=palette.goal_colour(number),
                markersize=4.2,
                linewidth=1.2,
                label=name,
                clip_on=False,
            )
        axes.set_xlim(0, 102)
        axes.set_ylim(0, 100)
        axes.set_xlabel("load (% of the greatest)")
        axes.set_ylabel("lost (%)")
        arrange(figure, axes, size, right_in=0.15, gap=0.1)
        return to_svg(figure, f"curves-{size.name}")
