"""Compare the search time of `straddle` with the CSIT library's on a real Linux bridge, searches in turns.

Needs the PyPI package MLRsearch and namespaces. Both measure the same bridge with the same tester, NDR and PDR (0.5 %)
with the goals that CSIT has in production.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time

import brimful
from brimful.lab import open_lab
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.tester import tester_program
from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
from MLRsearch.search_goal_tuple import SearchGoalTuple

MIN_LOAD, MAX_LOAD = 300.0, 300e3
LOSS_RATIOS = (0.0, 0.005)
GOAL = {"exceed_ratio": 0.5, "initial_trial_duration": 1.0, "final_trial_duration": 1.0, "duration_sum": 21.0}
WIDTH = 0.005
ATTEMPTS = 20
"""At a trial that the tester itself spoils."""


class Bridge(AbstractMeasurer):
    """Trials on the bridge, for both libraries; intended, lost, and seconds with all that goes with a trial."""

    def __init__(self, tester: CommandMeasurer) -> None:
        self._tester = tester

    def trial(self, load: float, duration_s: float) -> tuple[int, int, float]:
        start = time.monotonic()
        for _ in range(ATTEMPTS):
            with contextlib.suppress(InvalidTrialError):
                directions = self._tester.measure(load, duration_s).directions
                intended = sum(each["intended"] for each in directions)
                lost = sum(each["lost"] + each["unsent"] for each in directions)
                return intended, lost, time.monotonic() - start
        raise SystemExit(f"{ATTEMPTS} invalid trials in a row at {load:.0f} frames/s; leave the machine alone")

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        intended, lost, seconds = self.trial(intended_load, intended_duration)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=intended,
            offered_count=intended,
            loss_count=lost,
            duration_with_overheads=seconds,
        )


def straddle(bridge: Bridge) -> list[float | None]:
    goals = [brimful.SearchGoal(loss_ratio=ratio, width=WIDTH, **GOAL) for ratio in LOSS_RATIOS]
    found = brimful.search(bridge.trial, goals=goals, min_load=MIN_LOAD, max_load=MAX_LOAD)
    return [result.conditional_throughput for result in found.goal_results]


def csit(bridge: Bridge) -> list[float | None]:
    config = Config()
    config.goals = SearchGoalTuple(
        tuple(SearchGoal(loss_ratio=ratio, relative_width=WIDTH, fail_fast=False, **GOAL) for ratio in LOSS_RATIOS)
    )
    config.min_load, config.max_load = MIN_LOAD, MAX_LOAD
    config.search_duration_max, config.warmup_duration = 1200.0, None
    found = MultipleLossRatioSearch(config=config).search(bridge, debug=lambda _: None)
    return [float(found[goal].conditional_throughput) for goal in config.goals]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    seconds: dict[str, list[float]] = {"straddle": [], "csit": []}
    searches = [("straddle", straddle), ("csit", csit)]
    with open_lab("bridge") as lab:
        command = lab.command([tester_program(), *lab.tester_arguments()])
        with contextlib.closing(CommandMeasurer(command, timeout_s=30, name="brimful-tester")) as tester:
            for index in range(rounds):
                for name, search in searches[:: 1 if index % 2 == 0 else -1]:
                    start = time.monotonic()
                    answers = search(Bridge(tester))
                    seconds[name].append(time.monotonic() - start)
                    rates = ", ".join("-" if rate is None else f"{rate / 1e3:.2f} kpps" for rate in answers)
                    print(f"{name:8} {seconds[name][-1]:5.0f} s  {rates}", flush=True)
    ratio = sum(seconds["straddle"]) / sum(seconds["csit"])
    ratios = [ours / theirs for ours, theirs in zip(*seconds.values(), strict=True)]
    print(f"straddle / csit, of all seconds: {ratio:.2f}; of pairs {min(ratios):.2f} to {max(ratios):.2f}", end="")
    print(f", median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
