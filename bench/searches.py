"""Searches of simulated systems: by strategies of brimful and by the CSIT library, on the same systems and weather.

Needs the PyPI package MLRsearch and a release build of the example `search_time` of the crate brimful-search.
"""

from __future__ import annotations

import json
import subprocess
import sys

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


def csit_config(goals: str, min_load: float, max_load: float, scale: float = 1.0):
    """The CSIT library's configuration for a set of goals, whose durations are multiplied by a scale."""
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
                initial_trial_duration=scale,
                final_trial_duration=final * scale,
                duration_sum=total * scale,
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


def csit(binary: str, kind: str, goals: str, first: int, count: int) -> list[dict]:
    system = System(binary)
    results = [
        search_with_csit(system, f"{with_parameters(kind, goals)},seed={seed}", goals)
        for seed in range(first, first + count)
    ]
    system.close()
    return results


def straddle(binary: str, strategy: str, kind: str, goals: str, first: int, count: int) -> list[dict]:
    command = [binary, "run", strategy, goals, with_parameters(kind, goals), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{kind} {goals}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]
