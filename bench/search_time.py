"""Compare the search time of `straddle` with the CSIT library's on the same simulated systems.

Needs the PyPI package MLRsearch and a release build of the example `search_time` of the crate brimful-search.
Both search a system of the same kind and seed, hence meet the same weather at the same virtual time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

KINDS = ["sharp", "soft-knee", "noisy", "stalls", "vhost", "livelock", "tester-limit", "inversion"]
# What the default strategy was not built for; its looks and its guard were chosen with these kinds, and its model knows
# the queues since.
HELD_OUT = [
    "held-buffer",
    "held-step",
    "held-ramp",
    "held-warm-up",
    "held-staircase",
    "held-two-knees",
    "held-periodic",
    "held-regime",
    "held-bands",
    "held-collapse",
    "held-drizzle",
    "held-second-noise",
    "held-very-soft",
    "held-chaos",
    "held-policer",
    "held-hysteresis",
    "held-outages",
    "held-waves",
    "held-wake-up",
    "held-moody",
    "held-cliff",
    "held-climb",
    "held-bridge",
    "held-queues",
]
# The product's own kinds, stronger, weaker and elsewhere than its strategy was tuned on.
STRENGTHS = [
    "sharp,capacity=30kpps",
    "soft-knee,softness=0.05%",
    "soft-knee,softness=2%",
    "noisy,dips=15%",
    "noisy,dips=40%",
    "noisy,jitter=2%",
    "noisy,jitter=6%",
    "noisy,jitter=10%",
    "stalls,stall-every=5s",
    "stalls,stall-most=500ms",
    "vhost,gap=20%",
    "vhost,dwell=3s",
    "vhost,stray=0pps",
    "livelock,collapse=1",
    "livelock,capacity=30kpps",
    "inversion,band-from=90%,band-to=99%",
]
KIND_SETS = {"held-out": HELD_OUT, "strengths": STRENGTHS}
LINK = 14.88e6
MIN_LOAD = 9001.0
WIDTH = 0.005
# name: (goals as (loss, exceed, final duration, duration sum), what the specification of the system adds)
GOAL_SETS = {
    "production": ([(0.0, 0.5, 1.0, 21.0), (0.005, 0.5, 1.0, 21.0)], "overhead=0.5s,overhead-counts=yes"),
    "e0-21": ([(0.0, 0.0, 1.0, 21.0), (0.005, 0.0, 1.0, 21.0)], ""),
    "e0-60": ([(0.0, 0.0, 1.0, 60.0), (0.005, 0.0, 1.0, 60.0)], ""),
    "rfc2544": ([(0.0, 0.0, 60.0, 60.0)], "rest=2s"),
    "rfc2544-full": ([(0.0, 0.0, 60.0, 60.0)], "rest=2s"),
    "60s": ([(0.0, 0.0, 60.0, 60.0), (0.005, 0.0, 60.0, 60.0)], ""),
    "tst009": ([(0.0, 0.5, 60.0, 120.0)], "rest=2s"),
}


def with_parameters(kind: str, goals: str) -> str:
    return ",".join(part for part in [kind, GOAL_SETS[goals][1]] if part)


class System:
    """The simulator of the example binary, spoken to line by line."""

    def __init__(self, binary: str) -> None:
        self._process = subprocess.Popen(
            [binary, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.now_s = 0.0
        self.trials = 0

    def _ask(self, line: str) -> str:
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def new(self, spec: str) -> float:
        self.now_s, self.trials = 0.0, 0
        return float(self._ask(f"new {spec}"))

    def measure(self, load: float, duration_s: float) -> tuple[int, int, int, float]:
        intended, sent, lost, effective_s, self.now_s = self._ask(f"{load!r} {duration_s!r}").split()
        self.now_s = float(self.now_s)
        self.trials += 1
        return int(intended), int(sent), int(lost), float(effective_s)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def csit_config(goals: str, min_load: float, max_load: float):
    """The CSIT library's configuration for a set of goals."""
    from MLRsearch import Config, SearchGoal
    from MLRsearch.search_goal_tuple import SearchGoalTuple

    attributes, _ = GOAL_SETS[goals]
    config = Config()
    config.goals = SearchGoalTuple(
        tuple(
            SearchGoal(
                loss_ratio=loss,
                exceed_ratio=exceed,
                relative_width=WIDTH,
                initial_trial_duration=1.0,
                final_trial_duration=final,
                duration_sum=total,
                fail_fast=False,
            )
            for loss, exceed, final, total in attributes
        )
    )
    config.min_load, config.max_load = min_load, max_load
    config.search_duration_max, config.warmup_duration = 1200.0, None
    return config


def search_with_csit(system: System, spec: str, goals: str) -> dict:
    from MLRsearch import AbstractMeasurer, MeasurementResult, MultipleLossRatioSearch

    class Adapter(AbstractMeasurer):
        def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
            intended, sent, lost, effective_s = system.measure(intended_load, intended_duration)
            return MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                offered_count=sent,
                loss_count=lost,
                intended_count=intended,
                duration_with_overheads=effective_s,
            )

    config = csit_config(goals, MIN_LOAD, LINK)
    capacity = system.new(spec)
    try:
        found = MultipleLossRatioSearch(config=config).search(Adapter(), debug=lambda _: None)
    except RuntimeError as error:
        return {"time": system.now_s, "trials": system.trials, "failed": str(error), "goals": []}

    def goal(result) -> dict:
        lower, upper = result.relevant_lower_bound, result.relevant_upper_bound
        return {
            "ct": float(result.conditional_throughput) / capacity if lower else None,
            "lower": float(lower) / capacity if lower else None,
            "upper": float(upper) / capacity if upper else None,
        }

    return {
        "time": system.now_s,
        "trials": system.trials,
        "goals": [goal(found[each]) for each in config.goals],
    }


def csit(binary: str, kind: str, goals: str, first: int, count: int, cache: Path | None) -> list[dict]:
    name = f"{with_parameters(kind, goals)}_{goals}_{first}_{count}".replace("/", "-")
    stored = cache / f"{name}.json" if cache else None
    if stored and stored.exists():
        return json.loads(stored.read_text())
    system = System(binary)
    results = [
        search_with_csit(system, f"{with_parameters(kind, goals)},seed={seed}", goals)
        for seed in range(first, first + count)
    ]
    system.close()
    if stored:
        stored.write_text(json.dumps(results))
    return results


def straddle(binary: str, strategy: str, kind: str, goals: str, first: int, count: int) -> list[dict]:
    command = [binary, "run", strategy, goals, with_parameters(kind, goals), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{kind} {goals}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


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
    return ours, csit(options.binary, kind, goals, options.first, options.seeds, options.cache)


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
    parser.add_argument("--cache", type=Path, help="where to keep the results of the CSIT library")
    options = parser.parse_args()
    if options.cache:
        options.cache.mkdir(parents=True, exist_ok=True)
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
