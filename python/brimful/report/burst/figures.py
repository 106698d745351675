"""The figure of a run on back-to-back frames: every burst that was tried."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import Trial
from brimful.report import palette, words
from brimful.report.figures import WIDE, Size, arrange, figure_of, to_svg
from brimful.report.palette import DASHED

LOGARITHMIC_FROM = 100
"""The axis of frames is logarithmic where the longest burst is this many times the shortest."""


def draw_bursts(trials: Sequence[Trial], size: Size = WIDE) -> str:
    """Draw the length of each burst in its order, those with and without loss apart.

    Parameters
    ----------
    trials
        The bursts.
    size
        `WIDE` or `NARROW`.
    """
    colour = palette.goal_colour(0)
    with figure_of(size, "bursts", size.height_in * 0.75) as figure:
        axes = figure.subplots()
        for is_lost, label, face in ((False, "no loss", colour), (True, "loss", palette.SURFACE)):
            shown = [(place, trial.burst or 0) for place, trial in enumerate(trials) if (trial.lost > 0) is is_lost]
            axes.plot(
                [place + 1 for place, _ in shown],
                [frames for _, frames in shown],
                linestyle="",
                marker="o",
                color=colour,
                markerfacecolor=face,
                markersize=4.4,
                label=label if shown else None,
            )
        for place in (place for place in range(1, len(trials)) if trials[place].round != trials[place - 1].round):
            axes.axvline(place + 0.5, color=palette.MUTED, linestyle=DASHED, linewidth=0.6)
        lengths = [trial.burst or 0 for trial in trials]
        # Decades are named only where several are shown.
        if max(lengths, default=1) > LOGARITHMIC_FROM * min(lengths, default=1):
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter(lambda value, _: "")
        axes.set_xlabel("burst")
        axes.set_ylabel("frames")
        axes.yaxis.set_major_formatter(lambda value, _: words.group(int(value)))
        arrange(figure, axes, size, right_in=0.15, gap=0.1, left_types=8.4)
        return to_svg(figure, f"bursts-{size.name}")
