"""Compare search times of one program with the CSIT library and with `brimful.mlrsearch`: only the import differs.

Needs the PyPI package MLRsearch. Times are those of the simulated systems.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
from typing import Any

from brimful._core import Simulator
from searches import GOAL_SETS, KINDS, MIN_LOAD, WIDTH, with_parameters

LIBRARIES = ("brimful.mlrsearch", "MLRsearch")


def search(library: Any, spec: str, goals: str) -> tuple[float, list[float | None]]:
    """Give seconds of virtual time, and conditional throughputs as shares of the capacity."""
    system = Simulator(spec)

    class Measurer(library.AbstractMeasurer):
        def measure(self, intended_duration: float, intended_load: float):
            intended, sent, lost, effective_s, _, _ = system.measure(intended_load, intended_duration)
            return library.MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                offered_count=sent,
                loss_count=lost,
                intended_count=intended,
                duration_with_overheads=effective_s,
            )

    config = library.Config(
        goals=[
            library.SearchGoal(
                loss_ratio=loss,
                exceed_ratio=exceed,
                relative_width=WIDTH,
                final_trial_duration=final,
                duration_sum=total,
                fail_fast=False,
            )
            for loss, exceed, final, total in GOAL_SETS[goals][0]
        ],
        min_load=MIN_LOAD,
        max_load=system.link(),
        warmup_duration=None,
    )
    found = library.MultipleLossRatioSearch(config=config).search(Measurer(), debug=lambda _: None)
    throughputs = [result.conditional_throughput for result in found.values()]
    return system.now(), [None if each is None else float(each) / system.capacity() for each in throughputs]


def row(kind: str, goals: str, seeds: range) -> float:
    """Print one kind; give the ratio of the sums of times."""
    found = [
        [search(importlib.import_module(name), f"{with_parameters(kind, goals)},seed={seed}", goals) for seed in seeds]
        for name in LIBRARIES
    ]
    ours, theirs = (sum(time for time, _ in results) for results in found)
    cells = [f"{kind:14} {ours / theirs:5.3f}", f"{ours / len(seeds):7.1f} /{theirs / len(seeds):7.1f} s"]
    for index in range(len(GOAL_SETS[goals][0])):
        means = [
            statistics.fmean(each for _, answers in results if (each := answers[index]) is not None)
            for results in found
        ]
        cells.append("CT {:.2f} /{:.2f} %".format(*(100 * mean for mean in means)))
    print("  ".join(cells), flush=True)
    return ours / theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--goals", default="production,e0-21,rfc2544", help="names of goal sets")
    parser.add_argument("--first", type=int, default=1001, help="the first seed")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    for goals in options.goals.split(","):
        print(f"== {goals}: brimful.mlrsearch / MLRsearch, mean seconds, conditional throughput in % of capacity")
        seeds = range(options.first, options.first + options.seeds)
        ratios = [row(kind, goals, seeds) for kind in KINDS]
        print(f"geometric mean {statistics.geometric_mean(ratios):.3f}, worst {max(ratios):.3f}\n", flush=True)


if __name__ == "__main__":
    main()
