"""The figure of a bisection: the belief over builds, and what was measured of them."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import Bisected, BisectionPlan
from brimful.report import palette
from brimful.report.bisection.measured import Measured
from brimful.report.figures import Size, arrange, figure_of, to_svg
from brimful.report.palette import DASHED


def draw_belief(plan: BisectionPlan, answer: Bisected, found: Sequence[Measured], size: Size) -> str:
    """Draw the probability of each build, and below it each visited build with its interval."""
    with figure_of(size, "belief", size.height_in) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        builds = range(len(answer.belief))
        above.bar(builds, answer.belief, color=palette.goal_colour(0), label="changed something", width=0.9)
        above.set_ylabel("probability")
        above.set_ylim(0, 1)
        above.axhline(
            plan.confidence, color=palette.LEVELS["above"], linestyle=DASHED, linewidth=1, label="confidence asked for"
        )
        for one in found:
            below.plot([one.build, one.build], [one.low, one.high], color=palette.goal_colour(1), linewidth=1.6)
        below.plot(
            [one.build for one in found],
            [one.ratio for one in found],
            linestyle="",
            marker="o",
            markersize=4,
            color=palette.goal_colour(1),
        )
        below.axhline(1, color=palette.MUTED, linewidth=0.8)
        below.set_ylabel("ratio")
        below.set_xlabel("build, from the good one (0) to the bad one")
        below.set_xlim(-0.7, len(answer.belief) - 0.3)
        arrange(figure, above, size, right_in=0.15, gap=0.15)
        return to_svg(figure, f"belief-{size.name}")
