"""The search."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brimful import _core
from brimful.mlrsearch.config import Config
from brimful.mlrsearch.goal_result import GoalResult
from brimful.mlrsearch.pep3140 import Pep3140Dict
from brimful.mlrsearch.search_goal import SearchGoal
from brimful.mlrsearch.trial_measurement import AbstractMeasurer, MeasurementResult, expected_and_missing
from brimful.mlrsearch.trimmed_stat import TargetStat, TrimmedStat
from brimful.records import Goal
from brimful.throughput.goals import problem_json

_STRATEGY = "straddle"


class SearchFailedError(RuntimeError):
    """A search that did not reach its end; ``result`` has the bounds that it found."""

    def __init__(self, message: str, result: Pep3140Dict[SearchGoal, GoalResult]) -> None:
        super().__init__(message)
        self.result = result


@dataclass
class MultipleLossRatioSearch:
    """Finds the conditional throughput for all goals of a configuration in one search.

    Examples
    --------
    >>> class OneMillion(AbstractMeasurer):
    ...     def measure(self, intended_duration, intended_load):
    ...         sent = int(intended_duration * intended_load)
    ...         received = min(sent, int(intended_duration * 1e6))
    ...         return MeasurementResult(
    ...             intended_duration, intended_load, offered_count=sent, forwarding_count=received
    ...         )
    >>> config = Config(goals=[SearchGoal()], min_load=1e3, max_load=1e9)
    >>> (result,) = MultipleLossRatioSearch(config).search(OneMillion()).values()
    >>> 0.995e6 < float(result.conditional_throughput) <= 1e6
    True
    """

    config: Config

    def search(
        self, measurer: AbstractMeasurer, debug: Callable[[str], None] | None = None
    ) -> Pep3140Dict[SearchGoal, GoalResult]:
        """Search, and give a result for each goal.

        Parameters
        ----------
        measurer
            Performs the trials.
        debug
            Is given lines about each trial; default: `logging.debug`.

        Raises
        ------
        ValueError
            When a search with this configuration is not possible.
        SearchFailedError
            A `RuntimeError`: the search took too long, or a goal with ``fail_fast`` has no lower bound. ``result`` has
            what was found until then.
        """
        return _Search(self.config, measurer, debug or logging.debug).run()


class _Search:
    """One search."""

    def __init__(self, config: Config, measurer: AbstractMeasurer, debug: Callable[[str], None]) -> None:
        if not config.min_load < config.max_load:
            message = f"min_load is {config.min_load:g}; it must be below max_load, which is {config.max_load:g}"
            raise ValueError(message)
        self._config, self._measurer, self._debug = config, measurer, debug
        self._goals = list(config.goals)
        self._scale = _scale(config.min_load * min(goal.initial_trial_duration for goal in self._goals))
        problem = problem_json(
            [_record(index, goal) for index, goal in enumerate(self._goals)],
            config.min_load * self._scale,
            config.max_load * self._scale,
        )
        self._controller = _core.Controller(problem, _STRATEGY)

    def run(self) -> Pep3140Dict[SearchGoal, GoalResult]:
        """Have trials performed until all goals are reached."""
        end_s = time.monotonic() + self._config.search_duration_max
        if self._config.warmup_duration:
            self._debug("Warm-up, not counted")
            self._measure(self._config.max_load, self._config.warmup_duration)
        while (trial := self._controller.next()) is not None:
            if time.monotonic() >= end_s:
                self._controller.stop("time-budget")
                message = (
                    f"the search did not end within search_duration_max, {self._config.search_duration_max:g} s;"
                    " allow more, or ask for a greater relative_width or a smaller duration_sum"
                )
                raise SearchFailedError(message, self._results())
            load, duration_s = trial
            result = self._measure(load / self._scale, duration_s)
            self._controller.record((load, *_counted(result), False, None))
            self._check_lower_bounds(ended=False)
        self._check_progress()
        self._check_lower_bounds(ended=True)
        return self._results()

    def _measure(self, load: float, duration_s: float) -> MeasurementResult:
        self._debug(f"Trial of {duration_s:g} s at {load}/s")
        result = self._measurer.measure(intended_duration=duration_s, intended_load=load)
        if result.intended_load != load:
            message = (
                f"a trial at {load}/s was asked for; the result says that its intended_load is {result.intended_load}"
            )
            raise ValueError(message)
        self._debug(f"Loss ratio {result.loss_ratio:g}")
        return result

    def _check_progress(self) -> None:
        """Raise where the engine gave a load up that had no verdict after very many trials."""
        if any(one["reason"] == "no-progress" for one in json.loads(self._controller.results_json())):
            message = (
                "a load has no verdict after very many trials: they are shorter than final_trial_duration, or their"
                " duration_with_overheads is close to 0; see what the measurer gives"
            )
            raise SearchFailedError(message, self._results())

    def _check_lower_bounds(self, *, ended: bool) -> None:
        """Raise as soon as it is certain that a goal with ``fail_fast`` will have no lower bound."""
        min_load = self._config.min_load * self._scale
        for goal, (lower, upper) in zip(self._goals, self._controller.bounds(), strict=True):
            if goal.fail_fast and lower is None and (ended or upper == min_load):
                message = (
                    f"even min_load, {self._config.min_load:g}/s, does not meet the goal with loss_ratio"
                    f" {goal.loss_ratio:g}; lower min_load, or set fail_fast=False to get a result without lower bound"
                )
                raise SearchFailedError(message, self._results())

    def _results(self) -> Pep3140Dict[SearchGoal, GoalResult]:
        found = json.loads(self._controller.results_json())
        return Pep3140Dict(
            {
                goal: GoalResult(
                    relevant_lower_bound=self._bound(goal, one, "lower_bound"),
                    relevant_upper_bound=self._bound(goal, one, "upper_bound"),
                )
                for goal, one in zip(self._goals, found, strict=True)
            }
        )

    def _bound(self, goal: SearchGoal, result: dict[str, Any], side: str) -> TrimmedStat | None:
        load = result.get(side)
        if load is None:
            return None
        throughput = result["conditional_throughput"] if side == "lower_bound" else None
        sums = result[f"{side}_sums"]
        stat = TargetStat(
            good_long=sums["full_low_s"],
            bad_long=sums["full_high_s"],
            good_short=sums["short_low_s"],
            bad_short=sums["short_high_s"],
            pessimistic_loss_ratio=None if throughput is None else 1 - throughput / load,
        )
        return TrimmedStat(load / self._scale, goal, stat, None if throughput is None else throughput / self._scale)


def _scale(units: float) -> float:
    """Give a power of two that makes one unit or more of the units of the smallest trial.

    The engine refuses trials of less than one unit. Here loads may be in any unit, like Mbit/s.

    >>> _scale(9001.0), _scale(0.3)
    (1.0, 4.0)
    """
    return 2.0 ** max(0, 1 - math.frexp(units)[1])


def _record(index: int, goal: SearchGoal) -> Goal:
    return Goal(
        name=f"goal {index + 1}",
        loss_ratio=goal.loss_ratio,
        exceed_ratio=goal.exceed_ratio,
        final_trial_duration_s=goal.final_trial_duration,
        duration_sum_s=goal.duration_sum,
        initial_trial_duration_s=goal.initial_trial_duration,
        width=goal.relative_width,
    )


def _counted(result: MeasurementResult) -> tuple[float, int, int, int, float]:
    """Give intended duration, intended, sent and lost units, and the effective duration of a trial.

    Units not sent are as lost: all that should have been forwarded counts as sent, and all that is missing as lost.

    Raises
    ------
    ValueError
        When fewer than no units were sent.
    """
    expected, missing = expected_and_missing(result)
    if expected < 0:
        message = f"a result has an offered_count of {result.offered_count}; it must be at least 0"
        raise ValueError(message)
    return result.intended_duration, expected, expected, min(missing, expected), result.duration_with_overheads
