"""Which build made it slower: how often the answer is right, in virtual time, beside `git bisect` with repeats.

Constants were chosen on seeds below 100,000; the rows here are on those from 1,000,000 on. usage: bench/run bisection
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: small products gain nothing from threads

import msgspec
import numpy as np
from brimful.bisection.decisions import (
    CANNOT_SAY,
    NONE,
    ONE,
    RANGE,
    TWO,
    Answer,
    Costs,
    Settings,
    decide,
)
from brimful.statistics.belief import History, Visit

ANSWERS = (ONE, TWO, RANGE)
Runner = Callable[[Callable[[int], "Result"]], list["Result"]]


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Builds with a known truth; changes are logarithms of ratios."""

    builds: int = 64
    changes: tuple[float, ...] = (math.log(0.98),)
    pair: float = 0.05
    """Deviation of a pair."""
    restart: float = 0.003
    """Deviation of an instance."""
    pairs: int = 20
    pair_s: float = 1.5
    restart_s: float = 5.0
    build_s: float = 60.0
    broken: float = 0.0
    """Share of the builds."""
    loud: float = 0.0
    """Share of the visits whose pairs stray ten times as much: something else used the machine."""
    tolerance: float = 0.01
    either: bool = False
    """Whether one change of two counts as right."""

    @property
    def visit_s(self) -> float:
        return self.restart_s + self.pairs * self.pair_s


class Drawn:
    """One history of a world, and what time has passed in it."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self._draw = np.random.default_rng(seed)
        self.at = sorted(self._draw.choice(world.builds, len(world.changes), replace=False) + 1)
        self.level = np.zeros(world.builds + 1)
        for build, change in zip(self.at, world.changes, strict=True):
            self.level[build:] += change
        self.is_broken = self._draw.random(world.builds + 1) < world.broken
        self.is_broken[[0, world.builds]] = False
        self.made = {0}
        self.broken: set[int] = set()
        self.seconds = 0.0
        self.visits: list[Visit] = []

    def make(self, build: int) -> bool:
        if build not in self.made:
            self.seconds += self.world.build_s
            (self.broken if self.is_broken[build] else self.made).add(build)
        return build in self.made

    def visit(self, build: int, beside: int) -> Visit:
        world, draw = self.world, self._draw
        self.seconds += world.visit_s
        pair = world.pair * (10 if world.loud and draw.random() < world.loud else 1)
        own = draw.normal(0, world.restart) + draw.normal(0, pair) / math.sqrt(world.pairs)
        freedom = max(1, world.pairs - 1)
        deviation = pair * math.sqrt(draw.chisquare(freedom) / freedom)
        found = Visit(build, beside, float(self.level[build] - self.level[beside] + own), world.pairs, deviation)
        self.visits.append(found)
        return found


class Result(msgspec.Struct, frozen=True):
    """What came of one history."""

    kind: str
    right: bool
    seconds: float
    builds: int
    visits: int
    held: int = 0
    """Builds in the answer."""


def bisected(world: World, seed: int, confidence: float = 0.95) -> Result:
    drawn, history = Drawn(world, seed), History.linear(world.builds)
    settings = Settings(confidence=confidence, tolerance=world.tolerance)
    costs = Costs(build_s=world.build_s, visit_s=world.visit_s)
    while True:
        step, _ = decide(history, drawn.visits, settings=settings, costs=costs, made=drawn.made, broken=drawn.broken)
        if isinstance(step, Answer):
            return judged(drawn, step)
        if drawn.make(step.build) and drawn.make(step.beside):
            drawn.visit(step.build, step.beside)


def judged(drawn: Drawn, answer: Answer) -> Result:
    truth = set(drawn.at)
    held = {build for group in answer.builds for build in group}
    if answer.kind == ONE and drawn.world.either:
        right = held <= truth
    elif answer.kind in (ONE, TWO):
        right = held == truth
    elif answer.kind == RANGE:
        right = bool(truth) and truth <= held
    else:
        right = not truth
    return Result(
        answer.kind, right, drawn.seconds, len(drawn.made) + len(drawn.broken) - 1, len(drawn.visits), len(held)
    )


def by_git(world: World, repeats: int, seed: int, *, threshold_known: bool) -> Result:
    """`git bisect run`: the mean of so many visits against the middle of the ends, which have to be measured too."""
    drawn = Drawn(world, seed)
    good, bad = 0, world.builds

    def mean(build: int) -> float:
        drawn.make(build)
        return statistics.fmean(drawn.visit(build, 0).mean for _ in range(repeats))

    middle = (drawn.level[bad] if threshold_known else mean(bad)) / 2
    while bad - good > 1:
        build = (good + bad) // 2
        if abs(mean(build)) > abs(middle):
            bad = build
        else:
            good = build
    return Result(ONE, {bad} <= set(drawn.at), drawn.seconds, len(drawn.made) - 1, len(drawn.visits))


ROWS = {
    "2 %": World(),
    "1 %": World(changes=(math.log(0.99),), tolerance=0.005),
    "5 %": World(changes=(math.log(0.95),)),
    "restarts 1 %": World(restart=0.01),
    "pairs 10 %": World(pair=0.1),
    "1,000 builds": World(builds=1000),
    "a build takes 600 s": World(build_s=600.0),
    "a build takes nothing": World(build_s=0.0),
    "10 pairs": World(pairs=10),
    "40 pairs": World(pairs=40),
    "two changes of 1 %": World(changes=(math.log(0.99),) * 2, either=True),
    "no change": World(changes=()),
    "no change, restarts 1 %": World(changes=(), restart=0.01),
    "1,000 builds, 5 %": World(builds=1000, changes=(math.log(0.95),)),
    "two changes of 1.5 %": World(changes=(math.log(0.985),) * 2),
    "a tenth broken": World(broken=0.1),
    "a tenth of visits loud": World(loud=0.1),
    "no change, a tenth loud": World(changes=(), loud=0.1),
}


def line(name: str, results: list[Result]) -> str:
    kinds = [result.kind for result in results]
    answers = [result for result in results if result.kind in ANSWERS]
    times = sorted(result.seconds for result in results)
    return (
        f"{name:24} right {sum(result.right for result in answers):3} of {len(answers):3} answers, of them"
        f" {kinds.count(RANGE):3} ranges; none {kinds.count(NONE):3}, cannot say {kinds.count(CANNOT_SAY):2};"
        f" {statistics.median(times):5.0f} s (90 %: {times[int(0.9 * len(times))]:5.0f}),"
        f" {statistics.median(result.visits for result in results):3.0f} visits,"
        f" at most {max(result.builds for result in results)} builds"
    )


def bar(what: str, value: float, least: float, *, most: bool = False) -> None:
    holds = value <= least if most else value >= least
    print(
        f"  {'holds' if holds else 'FAILS'}: {what}: {value:.3g} (bar: {'<=' if most else '>='} {least:g})", flush=True
    )


def judge(name: str, results: list[Result]) -> None:
    """Print the bars of a row."""
    runs = len(results)
    answers = [result for result in results if result.kind in ANSWERS]
    right = sum(result.right for result in answers)
    if name.startswith("no change"):
        bar("no difference, of 100", 100 * sum(result.kind == NONE for result in results) / runs, 97)
        return
    bar("coverage among answers, of 100", 100 * right / max(1, len(answers)), 93)
    named = sum(result.right and result.kind in (ONE, TWO) for result in results)
    if name == "2 %":
        bar("right, of 100", 100 * named / runs, 95)
    if name == "1,000 builds, 5 %":
        bar("right, of 100", 100 * named / runs, 97)
        bar("builds made at most", max(result.builds for result in results), 25, most=True)
    if name == "two changes of 1.5 %":
        bar("both named or in a range, of 100", 100 * right / runs, 90)
    if name == "a tenth broken":
        bar("answer or range holds the build, of 100", 100 * right / runs, 95)


def judge_time(ours: list[Result], all_of: Runner, *, ends_known: bool) -> None:
    """Print our time against that of `git bisect` with as many visits a step as it needs to be right as often."""
    wanted = sum(result.right and result.kind == ONE for result in ours)
    for repeats in range(4, 41, 2):
        theirs = all_of(partial(by_git, World(), repeats, threshold_known=ends_known))
        if sum(result.right for result in theirs) >= wanted:
            break
    ends = "its threshold given to it" if ends_known else "its threshold measured"
    print(line(f"git bisect, {repeats} visits", theirs))
    ratio = statistics.median(result.seconds for result in ours) / statistics.median(one.seconds for one in theirs)
    bar(f"median time / that of git bisect, {ends}", ratio, 0.7, most=True)


def in_labs(runs: int, first: int) -> None:
    """Find which of 32 bridges is 8 % slower, with real frames; the others differ by a hair, as commits do."""
    right = 0
    for seed in range(first, first + runs):
        slower = int(np.random.default_rng(seed).integers(1, 33))
        works = [10_000 + number + 870 * (number >= slower) for number in range(33)]
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "list").write_text("".join(f"{work}\n" for work in works))
            command = [
                "bisect",
                "-m",
                "lab:bridge,work={version}",
                "--versions",
                "list",
                "--pairs",
                "10",
                "--quiet",
                "--json",
            ]
            ends = ["--good", str(works[0]), "--bad", str(works[-1]), "--seed", str(seed)]
            done = subprocess.run(
                [sys.executable, "-m", "brimful", *command, *ends], cwd=directory, capture_output=True, text=True
            )
        answer = json.loads(done.stdout)["answer"] if done.stdout else None
        found = answer is not None and answer["builds"] == [[slower]]
        right += found
        print(f"lab: build {slower} is slower: {'found' if found else answer or done.stderr}", flush=True)
    bar("real frames, right of 5", 5 * right / runs, 5)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=1_000_000)
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    parser.add_argument("--lab", type=int, metavar="N", help="bisect N histories with real frames instead")
    options = parser.parse_args()
    if options.lab:
        in_labs(options.lab, options.first)
        return
    with ProcessPoolExecutor(2) as pool:

        def all_of(run: Callable[[int], Result]) -> list[Result]:
            seeds = range(options.first, options.first + options.runs)
            return list(pool.map(run, seeds, chunksize=max(1, options.runs // 20)))

        for name in options.rows:
            results = all_of(partial(bisected, ROWS[name]))
            print(line(name, results))
            judge(name, results)
            if name == "2 %":
                judge_time(results, all_of, ends_known=True)
                judge_time(results, all_of, ends_known=False)


if __name__ == "__main__":
    main()
