"""Compare the search time of `straddle` with the CSIT library's on real devices of the lab, searches in turns.

Needs the PyPI package MLRsearch and namespaces. Both measure the same device with the same tester, NDR and PDR (0.5 %)
with the goals that CSIT has in production, whose durations are multiplied by a scale. Prints, for each device, the
ratio of search times and of the answers and their spread, with 95 % intervals (bootstrap over pairs).
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence

import brimful
from brimful.lab import open_lab
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.tester import tester_program
from MLRsearch import AbstractMeasurer, MeasurementResult, MultipleLossRatioSearch
from searches import GOAL_SETS, WIDTH, csit_config

MIN_LOAD = 300.0
GOALS = "production"
ATTEMPTS = 20
"""At a trial that the tester itself spoils."""
RESAMPLES = 2000
GOAL_NAMES = ("NDR", "PDR")

Answers = list[float | None]
Pair = tuple[tuple[float, Answers], tuple[float, Answers]]
"""Seconds and conditional throughputs, of straddle and of the CSIT library."""


class Device(AbstractMeasurer):
    """Trials on a device, for both libraries: intended, lost, and seconds with all that goes with a trial."""

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


def straddle(device: Device, max_load: float, scale: float) -> Answers:
    goals = [
        brimful.SearchGoal(
            loss_ratio=loss,
            exceed_ratio=exceed,
            initial_trial_duration_s=scale,
            final_trial_duration_s=final * scale,
            duration_sum_s=total * scale,
            width=WIDTH,
        )
        for loss, exceed, final, total in GOAL_SETS[GOALS][0]
    ]
    found = brimful.search(device.trial, goals=goals, min_load=MIN_LOAD, max_load=max_load)
    return [result.conditional_throughput for result in found.goal_results]


def csit(device: Device, max_load: float, scale: float) -> Answers:
    config = csit_config(GOALS, MIN_LOAD, max_load, scale)
    found = MultipleLossRatioSearch(config=config).search(device, debug=lambda _: None)
    results = [found[goal] for goal in config.goals]
    return [float(each.conditional_throughput) if each.relevant_lower_bound else None for each in results]


def interval(pairs: Sequence[Pair], of: Callable[[Sequence[Pair]], float]) -> str:
    """Give a statistic of pairs with its bootstrap interval."""
    dice = random.Random(1)
    again = sorted(of(dice.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    low, high = again[round(0.025 * RESAMPLES)], again[round(0.975 * RESAMPLES) - 1]
    return f"{of(pairs):.2f} ({low:.2f} to {high:.2f})"


def of_times(pairs: Sequence[Pair]) -> float:
    return sum(ours for (ours, _), _ in pairs) / sum(theirs for _, (theirs, _) in pairs)


def of_pairs(pairs: Sequence[Pair]) -> float:
    return math.exp(statistics.fmean(math.log(ours / theirs) for (ours, _), (theirs, _) in pairs))


def answers(pairs: Sequence[Pair], who: int, goal: int) -> list[float]:
    return [answer for pair in pairs if (answer := pair[who][1][goal]) is not None]


def report(device: str, pairs: Sequence[Pair]) -> None:
    print(f"{device}: straddle / csit, of all seconds: {interval(pairs, of_times)}", end="")
    print(f"; geometric mean of {len(pairs)} pairs: {interval(pairs, of_pairs)}")
    for goal, name in enumerate(GOAL_NAMES):
        both = [answers(pairs, who, goal) for who in (0, 1)]
        if min(map(len, both)) < 2:
            print(f"{device} {name}: too few answers")
            continue

        def mean_ratio(some: Sequence[Pair], goal: int = goal) -> float:
            ours, theirs = (answers(some, who, goal) for who in (0, 1))
            return statistics.fmean(ours) / statistics.fmean(theirs) if ours and theirs else math.nan

        def deviation(some: Sequence[Pair], who: int, goal: int = goal) -> float:
            found = answers(some, who, goal)
            return 100 * statistics.pstdev(found) / statistics.fmean(found) if found else math.nan

        print(f"{device} {name}: mean answer straddle / csit {interval(pairs, mean_ratio)}", end="")
        for who, label in enumerate(("straddle", "csit")):
            spread = interval(pairs, lambda some, who=who, of=deviation: of(some, who))
            print(f"; standard deviation of {label} {spread} %", end="")
        print(flush=True)


def compare(device: str, max_load: float, rounds: int, scale: float) -> list[Pair]:
    pairs: list[Pair] = []
    searches = [("straddle", straddle), ("csit", csit)]
    with open_lab(device) as lab:
        command = lab.command([tester_program(), *lab.tester_arguments()])
        with contextlib.closing(CommandMeasurer(command, timeout_s=30, name="brimful-tester")) as tester:
            for index in range(rounds):
                done = {}
                for name, search in searches[:: 1 if index % 2 == 0 else -1]:
                    start = time.monotonic()
                    found = search(Device(tester), max_load, scale)
                    done[name] = (time.monotonic() - start, found)
                    rates = ", ".join("-" if rate is None else f"{rate / 1e3:.2f} kpps" for rate in found)
                    print(f"{device} {name:8} {done[name][0]:5.1f} s  {rates}", flush=True)
                pairs.append((done["straddle"], done["csit"]))
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("devices", nargs="+", help="devices of the lab, such as bridge or xdp,work=500")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--scale", type=float, default=0.1, help="multiplies the durations of all goals")
    parser.add_argument("--max-load", type=float, default=300e3, help="frames a second in each direction")
    chosen = parser.parse_args()
    for device in chosen.devices:
        report(device, compare(device, chosen.max_load, chosen.rounds, chosen.scale))


if __name__ == "__main__":
    main()
