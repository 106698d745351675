"""Draws the six search-time graphs of 2018 again, on stand-ins for the systems that they were measured on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import Goal, Trial
from brimful.report import palette, scales
from brimful.report.figures import WIDE, arrange, figure_of, to_svg
from brimful.throughput.run_loop import Plan, SearchLoop
from brimful.throughput.strategies import goal_set

_CAPACITY = 8e6
_SYSTEM = f"vhost,capacity={_CAPACITY:.0f}pps,link=14.88Mpps"
_MIN_LOAD, _MAX_LOAD = 9001.0, 14.88e6
_SHOWN = (6.2e6, 8.6e6)
"""The same part of the loads in all graphs."""
_BOTH, _NDR, _PDR = (0.0, 0.005), (0.0,), (0.005,)


class Graph(msgspec.Struct, frozen=True):
    """One graph: a search to make, and how long its axis is."""

    name: str
    title: str
    strategy: str
    losses: Sequence[float]
    trial_s: float
    seed: int
    axis_s: float
    """Graphs that are to be compared have the same."""


GRAPHS = (
    Graph("published-mdr-10-1", "NDR and PDR, final trials of 10 s", "classic", _BOTH, 10, 1, 200),
    Graph("published-mdr-10-2", "NDR and PDR, final trials of 10 s", "classic", _BOTH, 10, 2, 200),
    Graph("published-mdr-10-3", "NDR and PDR, final trials of 10 s", "classic", _BOTH, 10, 3, 200),
    Graph("published-mdr-60", "NDR and PDR, final trials of 60 s", "classic", _BOTH, 60, 1, 900),
    Graph("published-ndr-60", "NDR by halves, trials of 60 s", "bisect", _NDR, 60, 1, 750),
    Graph("published-pdr-60", "PDR by halves, trials of 60 s", "bisect", _PDR, 60, 1, 750),
)


class Interval(msgspec.Struct, frozen=True):
    """Between which loads the answer for a goal was, when a trial had ended; null: no such load yet."""

    at_s: float
    lower: float | None
    upper: float


def search(graph: Graph) -> tuple[list[Goal], list[Trial]]:
    """Make the search of a graph, in virtual time."""
    goals = goal_set(graph.trial_s, graph.trial_s, 0.0, graph.losses)
    plan = Plan(goals=goals, min_load=_MIN_LOAD, max_load=_MAX_LOAD, strategy=graph.strategy)
    return goals, SearchLoop(plan, SimulatedMeasurer(f"{_SYSTEM},seed={graph.seed}")).run().trials


def phase_begins(trials: Sequence[Trial]) -> list[float]:
    """Give when each phase began; a search without phases has one."""
    firsts = {trial.phase or 0: trial.start_s for trial in reversed(trials)}
    return sorted(firsts.values())


def intervals(goal: Goal, trials: Sequence[Trial]) -> Iterator[Interval]:
    """Give the interval of a goal after each trial.

    Its upper end is the least load that ever lost too much (the goals of 2018 tolerate no such trial), its lower end
    the greatest below that which did not: in trials of the current phase, or of any where that has none yet.
    """
    for number, last in enumerate(trials, start=1):
        upper = min(
            (trial.load for trial in trials[:number] if _loss_ratio(trial) > goal.loss_ratio), default=_MAX_LOAD
        )
        clean = [trial for trial in trials[:number] if trial.load < upper]
        of_phase = [trial for trial in clean if trial.phase == last.phase]
        lower = max((trial.load for trial in of_phase or clean), default=None)
        yield Interval(last.start_s + last.elapsed_s, lower, upper)


def draw(graph: Graph) -> str:
    """Draw a graph as SVG."""
    goals, trials = search(graph)
    low, high = _SHOWN
    with figure_of(WIDE, graph.name, WIDE.height_in * 0.7) as figure:
        axes = figure.subplots()
        for begin_s in phase_begins(trials):
            axes.axvline(begin_s, color=palette.GOALS[0], linewidth=0.9, alpha=0.4)
        for number, goal in enumerate(goals):
            colour = palette.goal_colour(number)
            known = [interval for interval in intervals(goal, trials) if interval.lower is not None]
            times = [interval.at_s for interval in known]
            lower, upper = ([_within(getattr(one, side)) for one in known] for side in ("lower", "upper"))
            axes.fill_between(times, lower, upper, color=colour, alpha=0.1, linewidth=0)
            axes.plot(times, upper, color=colour, linestyle=palette.DASHED, linewidth=1.1)
            axes.plot(times, lower, color=colour, linewidth=1.3, label=f"{goal.name}: lower end (upper: dashed)")
        for level, face in (("clean", "no loss"), ("between", "loss up to 0.5 %"), ("above", "more loss")):
            own = [trial for trial in trials if _level(trial) == level]
            colour = palette.LEVELS[level]
            for trial in own:
                ends = [trial.start_s, trial.start_s + trial.elapsed_s]
                axes.plot(ends, [_within(trial.load)] * 2, color=colour, linewidth=2.4)
            axes.plot([], [], color=colour, linewidth=2.4, label=f"trial: {face}")
        axes.set_ylim(low, high)
        axes.set_xlim(0, graph.axis_s)
        axes.set_ylabel(f"offered load ({scales.scale_loads(axes.yaxis, high, 'frames/s')})")
        axes.set_xlabel(f"time since the start ({scales.scale_times(axes.xaxis, graph.axis_s, WIDE.times)})")
        axes.set_title(graph.title, fontsize="medium", color=palette.MUTED, loc="left", pad=4)
        arrange(figure, axes, WIDE, right_in=0.15, gap=0.1, title=True)
        return to_svg(figure, graph.name)


def _within(load: float) -> float:
    """Give a load, or the border beyond which it is."""
    return min(max(load, _SHOWN[0]), _SHOWN[1])


def _loss_ratio(trial: Trial) -> float:
    return trial.lost / trial.intended


def _level(trial: Trial) -> str:
    ratio = _loss_ratio(trial)
    return "clean" if ratio == 0 else "between" if ratio <= _PDR[0] else "above"
