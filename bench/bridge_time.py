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
from MLRsearch import AbstractMeasurer, MeasurementResult, MultipleLossRatioSearch
from searches import GOAL_SETS, WIDTH, csit_config

MIN_LOAD, MAX_LOAD = 300.0, 300e3
GOALS = "production"
ATTEMPTS = 20
"""At a trial that the tester itself spoils."""


class Bridge(AbstractMeasurer):
    """Trials on the bridge, for both libraries; intended, lost, and seconds with all that goes with a trial."""

    def __init__(self, tester: CommandMeasurer) -> None:
        self._tester = tester

    def trial(self, load: float, duration_s: float) -> tuple[int, int, float]:
        for _ in range(ATTEMPTS):
            start = time.monotonic()
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
    goals = [
        brimful.SearchGoal(
            loss_ratio=loss,
            exceed_ratio=exceed,
            initial_trial_duration_s=1.0,
            final_trial_duration_s=final,
            duration_sum_s=total,
            width=WIDTH,
        )
        for loss, exceed, final, total in GOAL_SETS[GOALS][0]
    ]
    found = brimful.search(bridge.trial, goals=goals, min_load=MIN_LOAD, max_load=MAX_LOAD)
    return [result.conditional_throughput for result in found.goal_results]


def csit(bridge: Bridge) -> list[float | None]:
    config = csit_config(GOALS, MIN_LOAD, MAX_LOAD)
    found = MultipleLossRatioSearch(config=config).search(bridge, debug=lambda _: None)
    results = [found[goal] for goal in config.goals]
    return [float(each.conditional_throughput) if each.relevant_lower_bound else None for each in results]


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
