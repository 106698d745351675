"""The highest rate at which the tester sends, receives and checks all frames over a bare wire, by `brimful search`.

No frame may be lost and every trial must be on schedule: one that is not counts as lost. The cost is that of trials at
nine tenths of the rate, turns in which a thread found nothing to do left out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from brimful.lab import open_lab
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.tester import tester_program

BAR = 500e3
GOAL = "name=wire,loss=0%,exceed=50%,trial=1s,sum=5s,initial=0.5s,width=1%"
COST_LOAD_SHARE = 0.9
COST_TRIALS = 5


def highest_rate(direction: str, max_load: str) -> tuple[float, float, int]:
    """Give the rate of each direction, how many directions there are, and the trials that it took."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "brimful", "search", "--measurer=lab:wire", f"--goal={GOAL}"]
        command += ["--no-calibrate", f"--max-load={max_load}", "--min-load=10kpps", "--on-invalid=loss"]
        command += [f"--direction={direction}", f"--out={scratch}/run", "--json", "--quiet"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"bench/wire.py: brimful search ended with {done.returncode}")
        run = json.loads(Path(scratch, "run", "run.jsonl").read_text().splitlines()[0])
    found = json.loads(done.stdout)
    return found["goal_results"][0].get("lower_bound", 0.0), run["conversion_factor"], found["trials"]


def costs(direction: str, load: float) -> dict[str, list[tuple[float, float | None]]]:
    """Give nanoseconds and cycles of a frame by thread of the tester, of each trial at this load that counts."""
    found: dict[str, list[tuple[float, float | None]]] = {}
    with open_lab("wire") as lab:
        command = lab.command([tester_program(), *lab.tester_arguments(), f"--direction={direction}"])
        with contextlib.closing(CommandMeasurer(command, timeout_s=30, name="brimful-tester")) as tester:
            for _ in range(COST_TRIALS):
                with contextlib.suppress(InvalidTrialError):
                    for cost in tester.measure(load, 1.0).extra["cost"]:
                        # A thread that does both handles each frame twice: it sends it and receives it.
                        frames = max(cost["sent"], cost["received"])
                        cycles = cost["busy_cycles"]
                        found.setdefault(cost["thread"], []).append(
                            (cost["busy_s"] / frames * 1e9, None if cycles is None else cycles / frames)
                        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--direction", choices=("uni", "bi"), default="uni")
    parser.add_argument("--max-load", default="5Mpps", help="of each direction")
    arguments = parser.parse_args()
    rate, directions, trials = highest_rate(arguments.direction, arguments.max_load)
    print(
        f"highest rate without loss, on schedule: {rate * directions / 1e3:.0f} kpps in {directions:.0f} direction(s)"
    )
    print(f"after {trials} trials; bar {BAR / 1e3:.0f} kpps")
    if rate == 0.0:
        sys.exit("bench/wire.py: no trial went through on schedule; the machine is too busy")
    for thread, spent in costs(arguments.direction, rate * COST_LOAD_SHARE).items():
        nanoseconds = statistics.median(each for each, _ in spent)
        cycles = [each for _, each in spent if each is not None]
        in_cycles = f", {statistics.median(cycles):.0f} cycles" if cycles else ""
        print(f"cost at {COST_LOAD_SHARE:.0%} of it, {thread}: {nanoseconds:.0f} ns{in_cycles} a frame")


if __name__ == "__main__":
    main()
