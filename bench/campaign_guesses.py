"""What shared first guesses save in a campaign, and that they move no result.

Every campaign is searched twice on the same simulated systems in virtual time, with and without shared guesses, one
after the other. A system forwards so many frames a second or so many bits, whichever is less; each search meets weather
of its own. Ratios are with / without, of one campaign; printed are geometric means over seeds with 95 % intervals.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import tempfile
from pathlib import Path

from brimful.campaign.plan import Campaign
from brimful.campaign.run import run_campaign
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import Member
from brimful.statistics.repeatability import summarise
from brimful.throughput.goals import PRESETS, named_goals
from brimful.throughput.manager import SearchRequest

KINDS = ["sharp", "soft-knee", "noisy", "stalls", "vhost", "livelock"]
SIZES: list[str | None] = ["64", "256", "512", "1024", "1518"]
REPEATS = 3
LINK_BPS = 10e9
SIZE_OPTION = "--frame-size="


def wire_bits(size: str) -> float:
    return 8 * (int(size) + 20)


def searched(kind: str, preset: str, seed: int, *, share_guesses: bool) -> list[Member]:
    draw = random.Random(f"{kind} {seed}")
    frames, bits = 10 ** draw.uniform(5.5, 7), LINK_BPS * draw.uniform(0.4, 0.95)

    def open_member(request: SearchRequest) -> SimulatedMeasurer:
        size = next(word for word in request.traffic["arguments"] if word.startswith(SIZE_OPTION))[len(SIZE_OPTION) :]
        link = LINK_BPS / wire_bits(size)
        capacity = min(frames, bits / wire_bits(size))
        weather = seed * 1000 + int(request.measurer) * 100 + SIZES.index(size)
        return SimulatedMeasurer(f"{kind},capacity={capacity!r},link={link!r},seed={weather}")

    search = SearchRequest(
        measurer="system",
        goals=named_goals(PRESETS[preset].goals),
        strategy=PRESETS[preset].strategy,
        traffic={"arguments": []},
    )
    campaign = Campaign(
        search=search, measurers=["{repeat}"], frame_sizes=SIZES, repeats=REPEATS, share_guesses=share_guesses
    )
    with tempfile.TemporaryDirectory() as directory:
        return run_campaign(campaign, open_member, out=Path(directory) / "campaign").members


def cells(members: list[Member], goal: str) -> dict[str, list[float]]:
    """The regular results of each size."""
    found: dict[str, list[float]] = {}
    for member in members:
        for result in member.goal_results:
            if result.goal == goal and result.regular:
                found.setdefault(str(member.frame_size), []).append(result.conditional_throughput or 0.0)
    return found


def spread(logs: list[float]) -> str:
    found = summarise(logs)
    if found is None or found.margin is None:
        return "unknown"
    low, high = (math.exp(end) for end in (found.mean - found.margin, found.mean + found.margin))
    return f"{math.exp(found.mean):.4f} [{low:.4f}, {high:.4f}]"


def main() -> None:
    seeds = int(os.environ.get("SEEDS", "20"))
    for preset in ("csit", "quick"):
        print(f"{preset}, {len(SIZES)} sizes x {REPEATS} repeats, {seeds} campaigns a kind")
        for kind in KINDS:
            compare(kind, preset, seeds)


def compare(kind: str, preset: str, seeds: int) -> None:
    trials, deviations = [], {True: [], False: []}
    moved: dict[str, list[float]] = {}
    irregular = {True: 0, False: 0}
    for seed in range(1, seeds + 1):
        both = {shared: searched(kind, preset, seed, share_guesses=shared) for shared in (True, False)}
        trials.append(math.log(total(both[True]) / total(both[False])))
        for shared, members in both.items():
            irregular[shared] += sum(not member.regular for member in members)
        for goal in [result.goal for result in both[True][0].goal_results]:
            with_guess, without = (cells(both[shared], goal) for shared in (True, False))
            for size in with_guess.keys() & without.keys():
                ours, theirs = with_guess[size], without[size]
                moved.setdefault(goal, []).append(
                    statistics.fmean(map(math.log, ours)) - statistics.fmean(map(math.log, theirs))
                )
                for shared, values in ((True, ours), (False, theirs)):
                    if len(values) > 1:
                        deviations[shared].append(statistics.stdev(map(math.log, values)))
    print(f"{kind:10} trials {spread(trials)}", end="")
    print("".join(f"  {goal} {spread(logs)}" for goal, logs in moved.items()), end="")
    pooled = {shared: math.sqrt(statistics.fmean(value**2 for value in deviations[shared])) for shared in deviations}
    print(f"  deviation {pooled[True]:.4%} and {pooled[False]:.4%}  irregular {irregular[True]}, {irregular[False]}")


def total(members: list[Member]) -> int:
    return sum(member.end.trials for member in members)


if __name__ == "__main__":
    main()
