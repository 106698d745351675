"""The figures of a live comparison: ratios, pairs over time, and what each device forwarded."""

from __future__ import annotations

import math
from collections.abc import Sequence

from brimful.records import Pair, PairedPlan, Ratio, RunFile, Trial
from brimful.report import palette
from brimful.report.figures import Size, arrange, drawable, figure_of, to_svg
from brimful.report.palette import DASHED
from brimful.report.scales import scale_loads, scale_times

_ROW_IN = 0.45


def draw_ratios(plan: PairedPlan, ratios: Sequence[Ratio], size: Size) -> str:
    """Draw each ratio with its interval against the threshold."""
    with figure_of(size, "ratios", 1.1 + _ROW_IN * len(ratios)) as figure:
        axes = figure.subplots()
        for place, ratio in enumerate(ratios):
            if ratio.ratio is None:
                continue
            colour = palette.goal_colour(place)
            if ratio.low is not None and ratio.high is not None:
                axes.plot([ratio.low, ratio.high], [place, place], color=colour, linewidth=2)
            axes.plot([ratio.ratio], [place], linestyle="", marker="o", color=colour, markersize=6)
        axes.axvline(1, color=palette.MUTED, linewidth=0.8)
        axes.axvline(
            1 - plan.tolerance, color=palette.LEVELS["above"], linestyle=DASHED, linewidth=1, label="threshold"
        )
        first = plan.devices[0].name
        axes.set_yticks(
            range(len(ratios)), [drawable(f"{ratio.device}/{first}", longest=size.longest_name) for ratio in ratios]
        )
        axes.set_ylim(len(ratios) - 0.5, -0.5)
        axes.set_xlabel("capacity, as a ratio to that of the first device")
        arrange(figure, axes, size, right_in=0.15, gap=0.1, left_types=9)
        return to_svg(figure, f"ratios-{size.name}")


def draw_pairs(file: RunFile, plan: PairedPlan, pairs: Sequence[Pair], size: Size) -> str:
    """Draw the ratio of each pair by when it was measured, and the mean up to there."""
    ends = _ends_of_rounds(file.trials)
    with figure_of(size, "pairs", size.height_in * 0.8) as figure:
        axes = figure.subplots()
        names = [device.name for device in plan.devices[1:]]
        for place, name in enumerate(names):
            own = [pair for pair in pairs if pair.device == name]
            if not own:
                continue
            times = [ends.get(pair.round, 0.0) for pair in own]
            colour, label = palette.goal_colour(place), drawable(name, longest=size.longest_name)
            axes.plot(
                times,
                [math.exp(pair.log_ratio) for pair in own],
                linestyle="",
                marker="o",
                markersize=3,
                alpha=0.45,
                color=colour,
                label=f"pairs of {label}",
            )
            sums, means = 0.0, []
            for count, pair in enumerate(own, start=1):
                sums += pair.log_ratio
                means.append(math.exp(sums / count))
            axes.plot(times, means, color=colour, linewidth=1.6, label=f"mean of {label}")
        axes.axhline(1, color=palette.MUTED, linewidth=0.8)
        axes.axhline(
            1 - plan.tolerance, color=palette.LEVELS["above"], linestyle=DASHED, linewidth=1, label="threshold"
        )
        axes.set_ylabel("ratio")
        axes.set_xlim(left=0)
        unit = scale_times(axes.xaxis, max(ends.values(), default=1.0), size.times)
        axes.set_xlabel(f"time ({unit})")
        arrange(figure, axes, size, right_in=0.15, gap=0.1)
        return to_svg(figure, f"pairs-{size.name}")


def draw_forwarded(file: RunFile, plan: PairedPlan, size: Size) -> str:
    """Draw what each device forwarded in each trial of a pair."""
    with figure_of(size, "forwarded", size.height_in * 0.7) as figure:
        axes = figure.subplots()
        most, end_s = 0.0, 1.0
        for place, device in enumerate(plan.devices):
            own = [trial for trial in file.counted() if trial.path == device.name and trial.step == "pairs"]
            if not own:
                continue
            loads = [_forwarded(trial, device.queue or 0.0) for trial in own]
            most, end_s = max(most, *loads), max(end_s, own[-1].start_s)
            # Colours are those of the ratios, with one more for the first device.
            colour = palette.INK if place == 0 else palette.goal_colour(place - 1)
            label = drawable(device.name, longest=size.longest_name)
            times = [trial.start_s for trial in own]
            axes.plot(times, loads, linestyle="", marker=".", markersize=4, alpha=0.6, color=colour, label=label)
        axes.set_xlim(left=0)
        axes.set_ylabel(f"forwarded ({scale_loads(axes.yaxis, most, file.run.load_unit)})")
        axes.set_xlabel(f"time ({scale_times(axes.xaxis, end_s, size.times)})")
        arrange(figure, axes, size, right_in=0.15, gap=0.1)
        return to_svg(figure, f"forwarded-{size.name}")


def _forwarded(trial: Trial, queue: float) -> float:
    return trial.load * max(0.0, trial.forwarded - queue) / max(1, trial.intended)


def _ends_of_rounds(trials: Sequence[Trial]) -> dict[int, float]:
    """Give when each round ended."""
    return {trial.round or 0: trial.start_s + trial.elapsed_s for trial in trials if trial.step == "pairs"}
