"""Search time of the strategies and of the CSIT library on systems whose features are drawn at random.

A seed draws a system: which features it has and how strong they are, each on its own (see `drawn.rs` of the example
`search_time`). All strategies meet the same system and weather. Ratios are by draw; the sum is over all draws. With
several weathers, the time of a draw is the mean over searches of one system: what is left is less luck. How much luck
there is in a single search, another line tells: the same strategy on the same systems in other weather.

From four weathers on, there are more lines. They tell what the ratios would be without luck of our own, compare the
answers, and count the searches without one. The bias of a strategy on a draw is how far the mean of its answers is from
the median of the answers of all strategies, the spread is their standard deviation, both as shares of that median.
"""

from __future__ import annotations

import argparse
import math
import statistics
from functools import cache

import references
from search_time import percentile
from searches import GOAL_SETS, straddle

GOALS = "production,e0-21,e0-60,rfc2544-full"
MANY_WEATHERS = 4
PERIODS_S = (3, 4, 5, 7, 10, 12, 15, 20, 25)


def times(options: argparse.Namespace, strategy: str, kind: str, goals: str) -> list[float]:
    """Mean seconds of each draw."""
    found = [searches(options, strategy, each, goals) for each in weathers(options, kind)]
    return [statistics.fmean(each["time"] for each in draw) for draw in zip(*found, strict=True)]


def weathers(options: argparse.Namespace, kind: str) -> list[str]:
    return [f"{kind},weather={weather}" for weather in range(options.weathers)]


def searches(options: argparse.Namespace, strategy: str, kind: str, goals: str) -> list[dict]:
    """One search of each draw."""
    return searches_from(
        options.binary, strategy, strategy == options.strategy, kind, goals, options.first, options.seeds
    )


@cache
def searches_from(
    binary: str, strategy: str, is_new: bool, kind: str, goals: str, first: int, seeds: int
) -> list[dict]:
    search = straddle if is_new else references.searches
    found = search(binary, strategy, kind, goals, first, seeds)
    if len(found) != seeds:
        raise SystemExit(f"{strategy} {goals}: {len(found)} of {seeds} searches ended")
    return found


def describe(ours: list[float], theirs: list[float]) -> str:
    ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
    logarithms = [math.log(ratio) for ratio in ratios]
    mean = math.exp(statistics.fmean(logarithms))
    error = mean * statistics.stdev(logarithms) / math.sqrt(len(ratios))
    above = sum(ratio > 2 for ratio in ratios)
    return (
        f"geometric mean {mean:5.3f} ±{error:5.3f}  sum {sum(ours) / sum(theirs):5.3f}  "
        f"p50 {percentile(ratios, 0.5):5.2f}  p90 {percentile(ratios, 0.9):5.2f}  p99 {percentile(ratios, 0.99):5.2f}  "
        f"worst {max(ratios):6.2f}  above 2: {100 * above / len(ratios):4.1f} %"
    )


def compare(options: argparse.Namespace, goals: str) -> None:
    others = options.others.split(",")
    ours = times(options, options.strategy, "drawn", goals)
    print(f"== {goals}: {options.strategy} / others over {options.seeds} draws from {options.first}")
    all_theirs = {other: times(options, other, "drawn", goals) for other in others}
    all_theirs["best"] = [min(draw) for draw in zip(*all_theirs.values(), strict=True)]
    for other, theirs in all_theirs.items():
        print(f"{other:8} {describe(ours, theirs)}", flush=True)
        if options.worst:
            seeds = range(options.first, options.first + options.seeds)
            worst = sorted(zip(seeds, ours, theirs, strict=True), key=lambda each: each[2] / each[1])[: options.worst]
            print("         " + ", ".join(f"{seed}: {our:.0f}/{their:.0f} s" for seed, our, their in worst))


def luck(options: argparse.Namespace, strategy: str, goals: str) -> None:
    """How much one strategy differs from itself: a search of each draw against one in other weather."""
    found = [searches(options, strategy, f"drawn,weather={weather}", goals) for weather in range(2)]
    first, second = ([each["time"] for each in draws] for draws in found)
    print(f"{strategy} / itself in other weather: {describe(first + second, second + first)}", flush=True)


def without_luck(options: argparse.Namespace, goals: str) -> None:
    """What the ratios would be without luck of our own: the median of the times that the first of the others takes on a
    draw, divided by the time of each single search of it, and of the best of all others.
    """
    others = options.others.split(",")
    kinds = weathers(options, "drawn")
    found = {
        other: [[each["time"] for each in searches(options, other, kind, goals)] for kind in kinds] for other in others
    }
    medians = [statistics.median(draw) for draw in zip(*found[others[0]], strict=True)] * len(kinds)
    single = {other: [time for draws in found[other] for time in draws] for other in others}
    single["best"] = [min(draw) for draw in zip(*single.values(), strict=True)]
    for name in (others[0], "best"):
        print(f"median of {others[0]} / single search of {name}: {describe(medians, single[name])}", flush=True)


def answers(options: argparse.Namespace, goals: str) -> None:
    """Bias and spread of the answers of each strategy, over draws of which all searches have an answer."""
    strategies = [options.strategy, *options.others.split(",")]
    for goal in range(len(GOAL_SETS[goals][0])):
        biases: dict[str, list[float]] = {strategy: [] for strategy in strategies}
        spreads: dict[str, list[float]] = {strategy: [] for strategy in strategies}
        without = dict.fromkeys(strategies, 0)
        for draw in range(options.seeds):
            found = {
                strategy: [searches(options, strategy, kind, goals)[draw] for kind in weathers(options, "drawn")]
                for strategy in strategies
            }
            rates = {
                strategy: [each["goals"][goal]["ct"] if each["goals"] else None for each in each_in]
                for strategy, each_in in found.items()
            }
            for strategy, each in rates.items():
                without[strategy] += each.count(None)
            if any(None in each for each in rates.values()):
                continue
            middle = statistics.median(rate for each in rates.values() for rate in each)
            for strategy, each in rates.items():
                biases[strategy].append(100 * abs(statistics.fmean(each) / middle - 1))
                spreads[strategy].append(100 * statistics.stdev(each) / middle)
        print(f"answers, goal {goal + 1}, {len(biases[options.strategy])} draws: bias and spread in %, p50 and p90")
        for strategy in strategies:
            cells = [
                f"{what} {percentile(values, 0.5):5.2f} {percentile(values, 0.9):5.2f}"
                for what, values in (("bias", biases[strategy]), ("spread", spreads[strategy]))
            ]
            share = without[strategy] / (options.seeds * options.weathers)
            print(f"{strategy:8} {'  '.join(cells)}  without an answer {100 * share:4.1f} %", flush=True)


def stalls(options: argparse.Namespace, goals: str) -> None:
    """Periodic stalls and nothing else: mean seconds over the seeds."""
    strategies = [options.strategy, *options.others.split(",")]
    print(f"== {goals}: mean seconds with stalls of {options.stalls} every so often: {', '.join(strategies)}")
    for period in PERIODS_S:
        kind = f"pulse,every={period}s,length={options.stalls}"
        means = [statistics.fmean(times(options, strategy, kind, goals)) for strategy in strategies]
        ratios = "  ".join(
            f"/ {name} {means[0] / mean:5.2f}" for name, mean in zip(strategies[1:], means[1:], strict=True)
        )
        print(f"every {period:2} s  " + " ".join(f"{mean:8.1f}" for mean in means) + "  " + ratios, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="target/release/examples/search_time")
    parser.add_argument("--strategy", default="straddle")
    parser.add_argument("--others", default="csit,classic,bisect")
    parser.add_argument("--goals", default=GOALS, help="names of goal sets")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--weathers", type=int, default=1, help="searches of each draw, in other weather each")
    parser.add_argument("--stalls", metavar="LENGTH", help="periodic stalls of this length instead of drawn systems")
    parser.add_argument("--worst", type=int, default=0, help="name so many of the slowest draws")
    options = parser.parse_args()
    for goals in options.goals.split(","):
        if options.stalls:
            stalls(options, goals)
        else:
            compare(options, goals)
            luck(options, "classic", goals)
            if options.weathers >= MANY_WEATHERS:
                without_luck(options, goals)
                answers(options, goals)


if __name__ == "__main__":
    main()
