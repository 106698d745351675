"""Strategies against simulated systems, many times, with our figures beside those published in 2018 and 2024."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence

import msgspec

from brimful import _core
from brimful.errors import UsageError
from brimful.records import Goal
from brimful.throughput.goals import SearchGoal, named_goals, problem_json

_MIN_LOAD = 9001.0
_LINK_RATE = 14.88e6
_LOSS_RATIOS = (0.0, 0.005)


class Figure(msgspec.Struct, frozen=True):
    """A mean with its standard deviation."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """Summarise a sample; the deviation of a single value is 0."""
        mean = sum(values) / len(values)
        square = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
        return cls(mean, math.sqrt(square))

    def scaled(self, factor: float) -> Figure:
        """Give both in another unit."""
        return Figure(self.mean * factor, self.deviation * factor)


class Searches(msgspec.Struct, frozen=True):
    """Complete searches of one kind of system with one set of goals."""

    duration_s: Figure
    throughput: list[Figure]
    """Conditional throughput of each goal as a share of the system's capacity."""
    irregular: int


class Published2018(msgspec.Struct, frozen=True):
    """Published search seconds of one system and final trial duration (mean, standard deviation of 6 runs)."""

    system: str
    trial_s: float
    kind: str
    both: Figure
    ndr_binary: Figure
    pdr_binary: Figure


def _six_runs(mean: float, average_deviation: float) -> Figure:
    """Give the deviation of one run: the source prints that of the mean of 6, which is sqrt(6) times smaller."""
    return Figure(mean, average_deviation * math.sqrt(6))


# Source: the 2018 description of NDR and PDR in one search, its table 1.
PUBLISHED_2018 = (
    Published2018("IP4", 10, "soft-knee", _six_runs(50.8, 1.2), _six_runs(98.9, 0.1), _six_runs(98.9, 0.1)),
    Published2018("IP4", 30, "soft-knee", _six_runs(109.0, 10.0), _six_runs(278.6, 0.1), _six_runs(278.6, 0.1)),
    Published2018("IP4", 60, "soft-knee", _six_runs(202.8, 11.7), _six_runs(548.8, 0.1), _six_runs(548.8, 0.1)),
    Published2018("vhost", 10, "vhost", _six_runs(80.5, 9.0), _six_runs(119.8, 0.1), _six_runs(119.7, 0.1)),
    Published2018("vhost", 30, "vhost", _six_runs(201.9, 20.6), _six_runs(339.3, 0.1), _six_runs(339.3, 0.1)),
    Published2018("vhost", 60, "vhost", _six_runs(474.9, 58.2), _six_runs(669.6, 0.2), _six_runs(669.5, 0.1)),
)


class Published2024(msgspec.Struct, frozen=True):
    """Published figures of one goal set on one real system."""

    name: str
    trial_s: float
    sum_s: float
    exceed: float
    duration_s: Figure
    throughput: tuple[Figure, Figure]
    """0 % and 0.5 % conditional throughput, packets per second."""


# Source: slides on draft-ietf-bmwg-mlrsearch-06 at IETF 119, the table of sample results.
PUBLISHED_2024 = (
    Published2024("1x60s, 0%", 60, 60, 0.0, Figure(315, 101), (Figure(30405394, 367722), Figure(33542114, 138155))),
    Published2024("60x1s, 0%", 1, 60, 0.0, Figure(289, 28), (Figure(29966406, 140646), Figure(33419650, 129493))),
    Published2024("21x1s, 0%", 1, 21, 0.0, Figure(165, 21), (Figure(30152424, 144197), Figure(33425449, 122457))),
    Published2024("21x1s, 50%", 1, 21, 0.5, Figure(147, 22), (Figure(30806424, 98543), Figure(33481149, 132460))),
)


def goal_set(trial_s: float, sum_s: float, exceed: float, losses: Sequence[float] = _LOSS_RATIOS) -> list[Goal]:
    """Give the goals of a comparison: one a loss ratio, initial trials of 1 s, width 0.5 %."""
    goals = [
        SearchGoal(
            loss_ratio=loss,
            exceed_ratio=exceed,
            final_trial_duration_s=trial_s,
            duration_sum_s=sum_s,
            initial_trial_duration_s=1.0,
        )
        for loss in losses
    ]
    return named_goals(goals)


def searches(goals: list[Goal], strategy: str, spec: str, seeds: Sequence[int]) -> Searches:
    """Search a kind of system once a seed.

    Raises
    ------
    UsageError
        When the kind or the strategy is unknown.
    """
    problem = problem_json(goals, _MIN_LOAD, _LINK_RATE)
    try:
        found = json.loads(_core.simulate(problem, strategy, spec, list(seeds)))
    except ValueError as error:
        raise UsageError(str(error)) from error
    throughput = [
        Figure.of([(run["goals"][index]["conditional_throughput"] or 0.0) / run["capacity"] for run in found])
        for index in range(len(goals))
    ]
    irregular = sum(not all(goal["regular"] for goal in run["goals"]) for run in found)
    return Searches(Figure.of([run["search_s"] for run in found]), throughput, irregular)


def table_2018(
    strategies: Sequence[str], seeds: Sequence[int], notice: Callable[[str], None], kinds: Sequence[str] = ()
) -> str:
    """Write search durations of NDR and PDR together, beside two binary searches (the tables of 2018).

    Parameters
    ----------
    strategies, seeds
        What searches, and how often each system.
    notice
        Gets what is searched.
    kinds
        Simulated systems; none: for each published system the kind that is like it.
    """
    wide = _wide(["published", *(_label(kind, name) for kind in kinds or [""] for name in strategies)])
    lines = [
        "Search duration in seconds, mean +- standard deviation; in brackets as a share of one NDR binary search",
        "",
        f"{'system':<7}{'trial':>6}  {'':<{wide}}{'NDR and PDR together':<26}{'NDR binary':<16}{'PDR binary'}",
    ]
    for row in PUBLISHED_2018:
        share = row.both.mean / row.ndr_binary.mean
        lines.append(
            f"{row.system:<7}{row.trial_s:>4g} s  {'published':<{wide}}{_text(row.both):<18}[{100 * share:>3.0f} %]  "
            f"{_text(row.ndr_binary):<16}{_text(row.pdr_binary)}"
        )
        for kind in kinds or [row.kind]:
            notice(f"{kind if kinds else row.system}, {row.trial_s:g} s trials")
            ndr, pdr = (
                searches(goal_set(row.trial_s, row.trial_s, 0, [loss]), "bisect", kind, seeds).duration_s
                for loss in _LOSS_RATIOS
            )
            for strategy in strategies:
                both = searches(goal_set(row.trial_s, row.trial_s, 0), strategy, kind, seeds).duration_s
                together = f"{_text(both):<18}[{100 * both.mean / ndr.mean:>3.0f} %]"
                label = _label(kind if kinds else "", strategy)
                lines.append(f"{'':<15}{label:<{wide}}{together}  {_text(ndr):<16}{_text(pdr)}")
    return "\n".join(lines)


def _label(kind: str, strategy: str) -> str:
    return f"{kind}: {strategy}" if kind else strategy


def _wide(names: Sequence[str]) -> int:
    """Give the width of a column that has these names in it, and a gap."""
    return max(11, 2 + max(map(len, names)))


def table_2024(
    strategies: Sequence[str], kinds: Sequence[str], seeds: Sequence[int], notice: Callable[[str], None]
) -> str:
    """Write duration and conditional throughput for the four goal sets (the table of 2024)."""
    system, wide = _wide(["one real", *kinds]), _wide(["published", *strategies])
    lines = [
        "Search duration in seconds, and conditional throughput (CT): mean +- standard deviation.",
        "Published CT in Mpps; simulated CT in % of the capacity.",
        "",
        f"{'goals':<12}{'system':<{system}}{'strategy':<{wide}}"
        f"{'duration':<16}{'0 % CT':<18}{'0.5 % CT':<18}{'irregular':>9}",
    ]
    for row in PUBLISHED_2024:
        ndr, pdr = (_text(figure.scaled(1e-6), 3) for figure in row.throughput)
        lines.append(
            f"{row.name:<12}{'one real':<{system}}{'published':<{wide}}{_text(row.duration_s, 0):<16}{ndr:<18}{pdr}"
        )
        goals = goal_set(row.trial_s, row.sum_s, row.exceed)
        for kind in kinds:
            for strategy in strategies:
                notice(f"{row.name} on {kind} by {strategy}")
                found = searches(goals, strategy, kind, seeds)
                ndr, pdr = (_text(figure.scaled(100), 2) for figure in found.throughput)
                lines.append(
                    f"{'':<12}{kind:<{system}}{strategy:<{wide}}{_text(found.duration_s, 0):<16}{ndr:<18}{pdr:<18}"
                    f"{found.irregular:>9}"
                )
    return "\n".join(lines)


def _text(figure: Figure, digits: int = 1) -> str:
    return f"{figure.mean:.{digits}f} +- {figure.deviation:.{digits}f}"
