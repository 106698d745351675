"""The highest rate at which the tester sends, receives and checks all frames over a bare wire, by `brimful search`.

No frame may be lost and every trial must be on schedule: one that is not counts as lost. The cost is that of trials at
nine tenths of the rate, all threads together, their waiting for the next frame included.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import resource
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


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost_s(direction: str, load: float) -> float | None:
    """Give the processor time of a frame at this load; nothing where no trial could be made."""
    costs = []
    with open_lab("wire") as lab:
        command = lab.command([tester_program(), *lab.tester_arguments(), f"--direction={direction}"])
        for _ in range(COST_TRIALS):
            before, sent = processor_seconds(), 0
            tester = CommandMeasurer(command, timeout_s=30, name="brimful-tester")
            with contextlib.suppress(InvalidTrialError), contextlib.closing(tester):
                sent = tester.measure(load, 2.0).sent
            if sent:
                costs.append((processor_seconds() - before) / sent)
    return statistics.median(costs) if costs else None


def clock_hz() -> float | None:
    """Give the processor's rate as the kernel tells it."""
    found = re.search(r"^cpu MHz\s*:\s*([\d.]+)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return float(found[1]) * 1e6 if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--direction", choices=("uni", "bi"), default="uni")
    parser.add_argument("--max-load", default="2Mpps", help="of each direction")
    arguments = parser.parse_args()
    rate, directions, trials = highest_rate(arguments.direction, arguments.max_load)
    print(
        f"highest rate without loss, on schedule: {rate * directions / 1e3:.0f} kpps in {directions:.0f} direction(s)"
    )
    print(f"after {trials} trials; bar {BAR / 1e3:.0f} kpps")
    if rate == 0.0:
        sys.exit("bench/wire.py: no trial went through on schedule; the machine is too busy")
    cost = cost_s(arguments.direction, rate * COST_LOAD_SHARE)
    hz = clock_hz()
    if cost is not None:
        cycles = "" if hz is None else f", {cost * hz:.0f} cycles at {hz / 1e9:.2f} GHz"
        print(f"cost at {COST_LOAD_SHARE:.0%} of it: {cost * 1e9:.0f} ns of processor time a frame{cycles}")


if __name__ == "__main__":
    main()
