"""Compare the search time of `straddle` with the CSIT library's on the same simulated systems.

Both search a system of the same kind and seed, hence meet the same weather at the same virtual time.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import references
from searches import GOAL_SETS, KIND_SETS, KINDS, straddle


def spread(results: list[dict], goal: int) -> tuple[float, float]:
    rates = [each["goals"][goal]["ct"] for each in results if len(each["goals"]) > goal]
    percent = [100 * rate for rate in rates if rate is not None]
    if len(percent) < 2:
        return math.nan, math.nan
    return statistics.fmean(percent), statistics.stdev(percent)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def ratio_of_means(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """With its relative standard error over seeds; both meet the same weather, so their times go in pairs."""
    our_mean, their_mean = statistics.fmean(ours), statistics.fmean(theirs)
    moved = [our / our_mean - their / their_mean for our, their in zip(ours, theirs, strict=True)]
    return our_mean / their_mean, statistics.stdev(moved) / math.sqrt(len(moved)) if len(moved) > 1 else math.nan


def row(kind: str, goals: str, ours: list[dict], theirs: list[dict]) -> tuple[float, float]:
    our_times, their_times = [each["time"] for each in ours], [each["time"] for each in theirs]
    ratio, error = ratio_of_means(our_times, their_times)
    cells = [
        f"{kind[:34]:34} {ratio:5.3f} ±{ratio * error:5.3f}",
        f"{statistics.fmean(our_times):7.1f} /{statistics.fmean(their_times):7.1f}",
        f"p95 {percentile(our_times, 0.95):6.0f} /{percentile(their_times, 0.95):6.0f}",
        f"max {max(our_times):6.0f} /{max(their_times):6.0f}",
        f"trials {statistics.fmean(each['trials'] for each in ours):6.1f} /"
        f"{statistics.fmean(each['trials'] for each in theirs):6.1f}",
    ]
    oracle = statistics.fmean(each["oracle"] for each in ours)
    if oracle:
        cells.append(f"oracle {oracle:6.1f} (ours x {statistics.fmean(our_times) / oracle:4.2f})")
    for index in range(len(GOAL_SETS[goals][0])):
        (mean, deviation), (their_mean, their_deviation) = spread(ours, index), spread(theirs, index)
        cells.append(f"CT {mean:6.2f} ±{deviation:5.2f} /{their_mean:6.2f} ±{their_deviation:5.2f}")
    regular = sum(all(goal["reason"] == "regular" for goal in each["goals"]) for each in ours)
    failed = sum("failed" in each for each in theirs)
    if regular < len(ours) or failed:
        cells.append(f"irregular {len(ours) - regular} / failed {failed}")
    decisions = sum(each["trials"] for each in ours)
    cells.append(f"{1e6 * sum(each['cpu'] for each in ours) / decisions:4.0f} us")
    print("  ".join(cells), flush=True)
    return ratio, error


def both(options: argparse.Namespace, goals: str, kind: str) -> tuple[list[dict], list[dict]]:
    ours = straddle(options.binary, options.strategy, kind, goals, options.first, options.seeds)
    return ours, references.searches(options.binary, "csit", kind, goals, options.first, options.seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="target/release/examples/search_time")
    parser.add_argument("--strategy", default="straddle")
    parser.add_argument("--goals", default="production,e0-21,e0-60,rfc2544", help="names of goal sets")
    parser.add_argument(
        "--kinds",
        default=" ".join(KINDS),
        help="specifications of systems, spaces between, or a set of them: held-out, strengths",
    )
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kinds at a time; times are virtual ones")
    options = parser.parse_args()
    kinds = KIND_SETS.get(options.kinds) or options.kinds.split()
    for goals in options.goals.split(","):
        print(f"== {goals}: ours / CSIT ± standard error, seconds of virtual time, CT in % of capacity")
        with ProcessPoolExecutor(options.jobs) as pool:
            pairs = pool.map(partial(both, options, goals), kinds)
            ratios, errors = zip(
                *[row(kind, goals, *pair) for kind, pair in zip(kinds, pairs, strict=True)], strict=True
            )
        mean = statistics.geometric_mean(ratios)
        error = mean * math.hypot(*errors) / len(errors)
        print(f"geometric mean {mean:.4f} ± {error:.4f}, worst {max(ratios):.3f}\n", flush=True)


if __name__ == "__main__":
    main()
