"""The figure of the frame loss rate over load."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import Loss, LossPlan, RunFile
from brimful.report import palette
from brimful.report.figures import WIDE, Size, arrange, figure_of, to_svg


def draw_losses(file: RunFile, plan: LossPlan, found: Sequence[Loss], size: Size = WIDE) -> str:
    """Draw the share that was lost over the load, both from 0 to 100 %.

    Parameters
    ----------
    file
        The record.
    plan, found
        What was measured, and the loss at each load.
    size
        `WIDE` or `NARROW`.
    """
    colour = palette.goal_colour(0)
    loads = [100 * one.load / plan.reference for one in found]
    with figure_of(size, "losses", size.height_in * 0.85) as figure:
        axes = figure.subplots()
        typical = [100 * (one.ratio if one.typical is None else one.typical) for one in found]
        axes.plot(loads, typical, "o-", color=colour, markersize=4.4, linewidth=1.2, clip_on=False)
        for load, one in zip(loads, found, strict=True):
            if one.typical_low is not None and one.typical_high is not None and one.limit is not None:
                ends = [100 * one.typical_low, 100 * one.typical_high]
                axes.plot([load, load], ends, color=colour, linewidth=2.4, alpha=0.45)
                axes.plot([load, load], [ends[1], 100 * one.limit], color=colour, linewidth=0.8, alpha=0.45)
        axes.set_xlim(0, 102)
        axes.set_ylim(0, 100)
        axes.set_xlabel("load (% of the greatest)")
        axes.set_ylabel("lost (%)")
        arrange(figure, axes, size, right_in=0.15, gap=0.1)
        return to_svg(figure, f"losses-{size.name}")
