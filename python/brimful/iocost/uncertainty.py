"""How far a scale factor would move if the benchmark were run again: a bootstrap over the runs.

A run gives one point to every series, so runs are drawn, not points: what is correlated stays so. A merged result has
no runs; there, the points at one vrate are drawn together.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import msgspec

from brimful.iocost import selectors, solve
from brimful.iocost.analysis import Analysis
from brimful.iocost.read import Points
from brimful.iocost.rules import Rule, VrateRange
from brimful.iocost.selectors import Selector
from brimful.iocost.solve import Fits, UnsolvedError

RESAMPLES = 200
CONFIDENCE = 0.95
FEWEST_SOLVED = 0.5
"""Where fewer of the resamples have a solution, no interval is given."""
FEWEST_RUNS = 4
"""With fewer runs, resamples say nothing."""
ADDED_RUNS = (2, 4, 8)
WORTH_SAYING = 0.02
"""An interval narrower than this share of the base model needs no further runs."""

HALVED, NARROWED = 0.55, 0.8
"""Shares of its width to which an interval is called about halved, or narrowed at all."""

_Sample = dict[Selector, Points]


class Uncertainty(msgspec.Struct, frozen=True):
    """What the resamples of one rule came to."""

    interval: tuple[float, float] | None
    """In which the scale factor lies with 95 % confidence."""
    solved_share: float
    """Of the resamples that have a solution at all."""

    @property
    def width(self) -> float:
        """Width of the interval, 0 where there is none."""
        return self.interval[1] - self.interval[0] if self.interval else 0.0


class Advice(msgspec.Struct, frozen=True):
    """Further runs that would narrow the interval of a solution."""

    name: str
    vrates: list[float]
    width_now: float
    width_then: float
    """As a simulation of the further runs says."""


def intervals(analysis: Analysis, *, resamples: int = RESAMPLES) -> dict[str, Uncertainty]:
    """Give the uncertainty of every solved rule whose vrate depends on the data.

    Parameters
    ----------
    analysis
        Fitted and solved.
    resamples
        How many; 0 for none.
    """
    rules = [rule for rule in analysis.task.rules if rule.name in analysis.settings and _depends_on_data(rule)]
    points = _deciding(analysis, rules)
    return _bootstrap(analysis, rules, _draw(points, resamples, random.Random(1)), resamples)


def advise(analysis: Analysis, known: dict[str, Uncertainty], *, resamples: int = RESAMPLES // 5) -> Advice | None:
    """Say what a few further runs would do to the widest interval; nothing where none is wide.

    Each resample has its own further runs, simulated on the fitted lines with the scatter that the measured ones have.
    """
    name = max(known, key=lambda name: known[name].width, default=None)
    if name is None or known[name].interval is None or known[name].width < WORTH_SAYING:
        return None
    rule = next(rule for rule in analysis.task.rules if rule.name == name)
    low, high = (scale * 100 for scale in known[name].interval or (0.0, 0.0))
    measured = _deciding(analysis, [rule])

    def simulate(count: int) -> Advice:
        vrates = [round(low + (high - low) * (number + 0.5) / count, 1) for number in range(count)]
        generator = random.Random(2)
        samples = (
            {
                selector: sorted(drawn + _simulated(analysis.fits, selector, measured[selector], vrates, generator))
                for selector, drawn in sample.items()
            }
            for sample in _draw(measured, resamples, generator)
        )
        width = _bootstrap(analysis, [rule], samples, resamples)[name].width
        return Advice(name, vrates, known[name].width, width)

    most = simulate(ADDED_RUNS[-1])
    if most.width_then > NARROWED * most.width_now:
        return most
    fewer = map(simulate, ADDED_RUNS[:-1])
    return next((advice for advice in fewer if advice.width_then <= HALVED * advice.width_now), most)


def in_words(advice: Advice) -> str:
    """Say what further runs would do.

    >>> in_words(Advice("isolation", [50.0, 55.0], 0.2, 0.1))
    '2 more intervals around vrate 50-55 would about halve the interval of isolation, from 20 to 10 points.'
    >>> in_words(Advice("isolation", [50.0, 55.0], 0.2, 0.19))
    'Even 2 more intervals around vrate 50-55 would hardly narrow the interval of isolation, from 20 to 19 points.'
    """
    share = advice.width_then / advice.width_now
    verb = "about halve" if share <= HALVED else "narrow" if share <= NARROWED else "hardly narrow"
    low, high = min(advice.vrates), max(advice.vrates)
    now, then = advice.width_now * 100, advice.width_then * 100
    return (
        f"{'' if share <= NARROWED else 'Even '}{len(advice.vrates)} more intervals around vrate {low:.0f}-{high:.0f} "
        f"would {verb} the interval of {advice.name}, from {now:.0f} to {then:.0f} points."
    )


def job_spec(advice: Advice) -> str:
    """Give the advice as the benchmark takes it."""
    return "iocost-qos:" + "".join(f":vrate={vrate:g}" for vrate in advice.vrates)


def _depends_on_data(rule: Rule) -> bool:
    return not isinstance(rule.target, VrateRange)


def _deciding(analysis: Analysis, rules: list[Rule]) -> _Sample:
    """Give the series that decide the vrates of rules; the others only say what to expect there."""
    wanted = {selectors.MOF, selectors.ISOLATION, *(need for rule in rules for need in rule.target.needs)}
    return {selector: points for selector, points in analysis.points.items() if selector in wanted and points}


def _bootstrap(
    analysis: Analysis, rules: list[Rule], samples: Iterable[_Sample], resamples: int
) -> dict[str, Uncertainty]:
    found: dict[str, list[float]] = {rule.name: [] for rule in rules}
    for sample in samples:
        refitted = solve.fit_all(
            sample, isolation_threshold=analysis.result.isolation_threshold, method=analysis.method
        )
        fits = Fits({**analysis.fits.fitted, **refitted.fitted})
        for rule in rules:
            try:
                found[rule.name].append(solve.solve(rule.target, fits, analysis.task).vrate / 100)
            except UnsolvedError:
                continue
    return {name: _summarise(scales, resamples) for name, scales in found.items()}


def _draw(points: _Sample, resamples: int, generator: random.Random) -> Iterator[_Sample]:
    """Draw runs with replacement, as many as there are; nothing where there are too few."""
    vrates = sorted({vrate for series in points.values() for vrate, _ in series})
    if len(vrates) < FEWEST_RUNS:
        return
    at: dict[Selector, dict[float, Points]] = {selector: {} for selector in points}
    for selector, series in points.items():
        for point in series:
            at[selector].setdefault(point[0], []).append(point)
    for _ in range(resamples):
        drawn = sorted(generator.choices(vrates, k=len(vrates)))
        yield {
            selector: [point for vrate in drawn for point in groups.get(vrate, ())] for selector, groups in at.items()
        }


def _summarise(scales: list[float], resamples: int) -> Uncertainty:
    share = len(scales) / resamples if resamples else 0.0
    if not scales or share < FEWEST_SOLVED:
        return Uncertainty(None, share)
    scales.sort()
    outside = (1 - CONFIDENCE) / 2
    return Uncertainty((_quantile(scales, outside), _quantile(scales, 1 - outside)), share)


def _quantile(values: list[float], share: float) -> float:
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def _simulated(fits: Fits, selector: Selector, series: Points, vrates: list[float], generator: random.Random) -> Points:
    lines = fits[selector].lines
    scatter = [value - lines.evaluate(vrate) for vrate, value in series]
    return [(vrate, lines.evaluate(vrate) + generator.choice(scatter)) for vrate in vrates]
