"""How often a search says that its system moved or has two modes: on steady systems, on steps, and on two modes.

Everything in virtual time. Constants were fitted on seeds 1 to 250; report others (`FIRST_SEED`).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from brimful import _core
from brimful.measurers.base import Description, TrialOutput
from brimful.records import Run
from brimful.statistics.steadiness import find_two_groups
from brimful.throughput.goals import PRESETS, named_goals
from brimful.throughput.run_loop import Plan, SearchLoop, SearchResult
from brimful.throughput.steadiness import MOVED, TWO_MODES, steadiness_warnings

LINK = 14.88e6
STEADY = ["sharp", "soft-knee", "noisy", "jitter", "stalls", "livelock"]
CHANGING = ["sharp", "soft-knee", "noisy"]


class Turns:
    """Simulated systems of which one is there at a time."""

    def __init__(self, specs: list[str], which: Callable[[float], int]) -> None:
        self._systems = [_core.Simulator(spec) for spec in specs]
        self._which = which

    def describe(self) -> Description:
        return Description(max_load=LINK, virtual_time=True)

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        present = self._systems[self._which(self.now())]
        intended, sent, lost, effective_s, *_ = present.measure(load, duration_s, stop_above)
        for system in self._systems:
            if system.now() < present.now():
                system.wait(present.now() - system.now())
        return TrialOutput(intended=intended, sent=sent, lost=lost, effective_duration_s=effective_s)

    def now(self) -> float:
        return self._systems[0].now()

    def resume_at(self, elapsed_s: float) -> None: ...

    def close(self) -> None: ...


def drawn(kind: str, seed: int, capacity: float) -> str:
    draw = random.Random(f"{kind} {seed}")
    features = {
        "sharp": "sharp",
        "soft-knee": f"soft-knee,softness={draw.choice([0.1, 0.3, 0.5, 1, 2, 4])}%",
        "noisy": f"noisy,jitter={draw.choice([0.05, 0.1, 0.3, 1])}%,dips={draw.choice([1, 3, 10, 30])}%",
        "jitter": f"livelock,collapse=0,jitter={draw.choice([0.1, 0.3, 1, 2])}%",
        "stalls": f"stalls,stall-every={draw.choice([5, 10, 35])}s",
        "livelock": f"livelock,jitter={draw.choice([0.03, 0.1, 0.3])}%,collapse={draw.choice([0.2, 0.5, 1])}",
    }
    return f"{features[kind]},capacity={capacity!r},link={LINK!r},seed={draw.randrange(1 << 30)}"


def searched(preset: str, system: Turns) -> tuple[SearchResult, str]:
    """Give a search and what it warns of."""
    goals = named_goals(PRESETS[preset].goals)
    plan = Plan(goals=goals, min_load=LINK / 1000, max_load=LINK, strategy=PRESETS[preset].strategy)
    result = SearchLoop(plan, system).run()
    run = Run(1, "bench", "", {}, [], {}, goals=goals)
    return result, next((warning.code for warning in steadiness_warnings(run, result.trials)), "")


def capacity(seed: int) -> float:
    return LINK * random.Random(seed).uniform(0.2, 0.6)


def told(codes: list[str]) -> str:
    return f"moved {codes.count(MOVED):3}  two modes {codes.count(TWO_MODES):3}  of {len(codes)}"


def of_steady(preset: str, seeds: range) -> None:
    for kind in STEADY:
        codes = [searched(preset, Turns([drawn(kind, seed, capacity(seed))], lambda _: 0))[1] for seed in seeds]
        print(f"{preset:8} steady {kind:10} {told(codes)}", flush=True)


def of_steps(preset: str, seeds: range) -> None:
    """The capacity changes once, between a fifth and four fifths of the time of the search without a change."""
    for factor in (0.7, 0.9, 0.98, 1.02, 1.1, 1.45):
        codes = []
        for seed in seeds:
            kind = CHANGING[seed % len(CHANGING)]
            first, second = (drawn(kind, seed, capacity(seed) * share) for share in (1, factor))
            steady_s = searched(preset, Turns([first], lambda _: 0))[0].end.search_s
            change_s = steady_s * random.Random(seed).uniform(0.2, 0.8)
            codes.append(searched(preset, Turns([first, second], lambda at, change=change_s: int(at >= change)))[1])
        print(f"{preset:8} step x {factor:<8g} {told(codes)}", flush=True)


def of_modes(preset: str, seeds: range) -> None:
    """Which of two capacities is there is drawn anew each time that a mode has lasted."""
    for gap in (0.1, 0.3):
        for dwell_s in (1, 3, 10, 20):
            codes = []
            for seed in seeds:
                kind = CHANGING[seed % len(CHANGING)]
                specs = [drawn(kind, seed, capacity(seed) * share) for share in (1, 1 - gap)]

                def which(at_s: float, seed: int = seed, dwell_s: int = dwell_s) -> int:
                    return random.Random(f"{seed} {at_s // dwell_s}").randrange(2)

                codes.append(searched(preset, Turns(specs, which))[1])
            print(f"{preset:8} modes {gap:.0%} apart for {dwell_s:2} s  {told(codes)}", flush=True)


def of_repeats(seeds: range) -> None:
    """Results of repeats, one width of the goal being 0.5 %: of one capacity, and of two that are 15 % apart."""
    for count in (4, 6, 10, 20):
        found = {}
        for name, modes in (("normal", 1), ("even", 1), ("two modes", 2)):
            found[name] = 0
            for seed in range(seeds.start, seeds.start + 20 * len(seeds)):
                draw = random.Random(f"{name} {count} {seed}")
                deviation = draw.choice([0.001, 0.005, 0.02])
                values = [
                    1
                    - 0.15 * draw.randrange(modes)
                    + deviation * (draw.gauss() if name != "even" else 3.46 * draw.random())
                    for _ in range(count)
                ]
                found[name] += find_two_groups(values, 0.005) is not None
        of = 20 * len(seeds)
        print(
            f"{count:2} repeats: two groups " + ", ".join(f"{name} {hits}" for name, hits in found.items()), f"of {of}"
        )


def main() -> None:
    first, count = int(os.environ.get("FIRST_SEED", "1001")), int(os.environ.get("SEEDS", "60"))
    seeds = range(first, first + count)
    for preset in ("csit", "rfc2544"):
        of_steady(preset, seeds)
        of_steps(preset, seeds)
        of_modes(preset, seeds)
    of_repeats(seeds)


if __name__ == "__main__":
    main()
