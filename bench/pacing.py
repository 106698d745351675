"""How punctual the tester is beside a loop that only looks at the clock, and what it says without its processor.

Each round performs a trial on a wire and runs the bare loop for as long, on the same processor with the same priority,
so that what else goes on hits both alike; the figures are medians of the rounds, the ratios with lowest and highest.
A second loop spends as long on each frame as the tester just did in the mean, interruptions included: it shows how much
of the lateness comes from that cost alone.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brimful.lab import Lab, open_lab
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.tester import tester_program

ROOT = Path(__file__).resolve().parent.parent
BUSY_LOOP = ROOT / "target" / "release" / "examples" / "busy_loop"
LOADS = (10e3, 100e3, 300e3)
RATE_ERROR_BAR, LATENESS_BAR = 1e-5, 1.5
HIGHEST_PRIORITY = -20
HOGS = 8
"""On the processor of a tester without priority: it has a ninth of the time."""
HOG_TRIALS = 5


def processors(lab: Lab) -> list[int]:
    """Give what the lab keeps for the tester, the sender's first; the first there is where it keeps none."""
    words = lab.tester_arguments()
    kept = [int(value) for word, value in itertools.pairwise(words) if word == "--cpu"]
    return kept or sorted(os.sched_getaffinity(0))[:1]


def open_tester(lab: Lab, *arguments: str) -> CommandMeasurer:
    command = lab.command([tester_program(), *lab.tester_arguments(), "--direction=uni", *arguments])
    return CommandMeasurer(command, timeout_s=30, name="brimful-tester")


def take_precedence() -> None:
    """Give a process the place in the queue that the tester gives itself."""
    os.setsid()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, HIGHEST_PRIORITY)
        Path("/proc/self/autogroup").write_text(str(HIGHEST_PRIORITY))


def busy_loop(processor: int, load: float, seconds: float, spent_ns: int = 0) -> dict[str, float]:
    command = ["taskset", "-c", str(processor), str(BUSY_LOOP), str(load), str(seconds), str(spent_ns)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, preexec_fn=take_precedence)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextlib.contextmanager
def hogs(processor: int) -> Iterator[None]:
    """Keep a processor busy."""
    command = ["taskset", "-c", str(processor), sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(HOGS)]
    try:
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()


@dataclass(frozen=True)
class Paced:
    """A trial: how its sender kept the schedule, the nanoseconds it spent on a frame, and whether the trial counts."""

    pacing: dict[str, Any]
    spent_ns: int
    counts: bool


def paced_trial(tester: CommandMeasurer, load: float, seconds: float) -> Paced:
    try:
        output = tester.measure(load, seconds)
        directions, costs, counts = output.directions, output.extra["cost"], True
    except InvalidTrialError as error:
        directions, costs, counts = error.reply["directions"], error.reply["cost"], False
    sender = costs[0]
    spent_ns = round(sender["busy_s"] / max(sender["sent"], 1) * 1e9)
    return Paced(directions[0]["pacing"], spent_ns, counts)


def compare(lab: Lab, rounds: int, seconds: float) -> None:
    print(
        f"{'load':>8} {'rate error':>11} {'p99 lateness':>13} {'bare loop':>10}   ratio (lowest to highest)   invalid"
        "   loop as busy"
    )
    for load in LOADS:
        trials, bare, busy = [], [], []
        with contextlib.closing(open_tester(lab)) as tester:
            for _ in range(rounds):
                trials.append(paced_trial(tester, load, seconds))
                processor = processors(lab)[0]
                bare.append(busy_loop(processor, load, seconds)["lateness_p99_s"])
                busy.append(busy_loop(processor, load, seconds, trials[-1].spent_ns)["lateness_p99_s"])
        own = [trial.pacing["lateness_p99_s"] for trial in trials]
        error = statistics.median(abs(trial.pacing["rate_error"]) for trial in trials)
        ratios = [late / loop for late, loop in zip(own, bare, strict=True)]
        spent_ns = statistics.median(trial.spent_ns for trial in trials)
        invalid = sum(not trial.counts for trial in trials)
        print(
            f"{load:8.0f} {error:11.5%} {statistics.median(own) * 1e6:10.2f} us"
            f" {statistics.median(bare) * 1e6:7.2f} us   {statistics.median(ratios):5.2f}"
            f" ({min(ratios):.2f} to {max(ratios):.2f})        {invalid:5} of {rounds}"
            f" {statistics.median(busy) * 1e6:9.2f} us at {spent_ns:.0f} ns"
        )
    print(f"bars: rate error {RATE_ERROR_BAR:.3%}, ratio {LATENESS_BAR}")


def crowd_out(lab: Lab) -> None:
    """Take the tester's processor from it: all trials must be invalid, none lossy."""
    with contextlib.closing(open_tester(lab, "--priority=normal")) as tester, hogs(processors(lab)[0]):
        counts = [paced_trial(tester, LOADS[1], 0.5).counts for _ in range(HOG_TRIALS)]
    print(
        f"beside {HOGS} busy programs on the tester's processor: {counts.count(False)} of {HOG_TRIALS} trials invalid"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    with open_lab("wire") as lab:
        compare(lab, arguments.rounds, arguments.seconds)
        crowd_out(lab)


if __name__ == "__main__":
    main()
