"""How often the interval of a loss curve holds the true loss: simulated systems of new seeds, and a device with a rate.

The truth of a simulated system is the mean of many trials of another seed; of a device, frames that leave are those
that its rate and its queue allow in the time that a trial lasted.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
from collections.abc import Sequence

from brimful.loss.loop import LossLoop
from brimful.measurers.base import Measurer, Settings
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.measurers.tester import open_lab_measurer
from brimful.policies import Policies
from brimful.records import Loss, LossPlan, Trial

RARE = ("noisy", "stalls", "vhost")
"""Kinds that dip or stall more seldom than once in a few trials, or drift for longer: few trials cannot show that, so
there is no bar."""
KINDS = ("sharp", "soft-knee", "noisy", "stalls", "flat-loss", "livelock", "buffer", "inversion", "vhost")
CAPACITY = 1e6
SHARES = (1.6, 1.3, 1.1, 1.0, 0.95, 0.8)
SWEEPS, TRIAL_S, TRUTH_TRIALS = 5, 1.0, 1000
RATE, KEPT, FRAME_BYTES = 1000, 200, 60
"""Of the device, in frames/s; frames that wait or leave at once; bytes without check sequence."""
BAR = 0.95


def curve(measurer: Measurer, loads: Sequence[float], sweeps: int) -> tuple[list[Loss], list[Trial]]:
    """Make a loss curve with intervals."""
    plan = LossPlan(list(loads), max(loads), TRIAL_S, sweeps=sweeps, until_lossless=False, rest_s=0.0)
    trials: list[Trial] = []
    loop = LossLoop(
        plan,
        measurer,
        Policies.read("retry:50", "fail"),
        sink=lambda record: trials.append(record) if isinstance(record, Trial) else None,
    )
    return loop.run().losses, [trial for trial in trials if trial.invalid is None]


def holds(point: Loss, truth: float, slack: float) -> bool:
    """Say whether an interval holds a truth that is known to a slack."""
    return point.low is not None and point.high is not None and point.low - slack <= truth <= point.high + slack


def simulated(kind: str, seeds: Sequence[int]) -> tuple[int, int]:
    """Count the points of curves, and those whose interval holds the truth."""
    loads = [CAPACITY * share for share in SHARES]
    spec = f"{kind},capacity={CAPACITY:.0f},link=2Mpps"
    truths = {}
    for load in loads:
        measurer = SimulatedMeasurer(f"{spec},seed={max(seeds) + 1}")
        ratios = [one.lost / one.sent for one in (measurer.measure(load, TRIAL_S) for _ in range(TRUTH_TRIALS))]
        truths[load] = (statistics.fmean(ratios), 2 * statistics.stdev(ratios) / TRUTH_TRIALS**0.5)
    right = total = 0
    for seed in seeds:
        points, _ = curve(SimulatedMeasurer(f"{spec},seed={seed}"), loads, SWEEPS)
        total += len(points)
        right += sum(holds(point, *truths[point.load]) for point in points)
    return right, total


def with_rate(rounds: int) -> tuple[int, int]:
    """Count the same of a bridge whose output has a rate."""
    loads = [RATE * share for share in (2.0, 1.5, 1.3, 0.9)]
    bits = FRAME_BYTES * 8 * RATE
    command = f"tc qdisc add dev pb root tbf rate {bits}bit burst 6000 limit 6000"
    right = total = 0
    for _ in range(rounds):
        settings = Settings(timeout_s=20.0, tester_arguments=["--direction=uni", "--frame-size=64"])
        measurer = open_lab_measurer("bridge,work=0", settings)
        try:
            subprocess.run(measurer.device_command(command.split()), check=True)
            points, trials = curve(measurer, loads, 3)
        finally:
            measurer.close()
        for point in points:
            made = [trial for trial in trials if trial.load == point.load]
            lasted_s = statistics.fmean(trial.effective_duration_s or trial.duration_s for trial in made)
            sent = statistics.fmean(trial.sent for trial in made)
            least = max(0.0, 1 - (RATE * lasted_s + KEPT) / sent)
            most = max(0.0, 1 - RATE * TRIAL_S / sent)
            total += 1
            right += point.low is not None and point.high is not None and point.low <= most and point.high >= least
    return right, total


def main() -> None:
    """Print how many points are right, and fail below the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first-seed", type=int, default=1001)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5, help="curves of the device with a rate; 0 without namespaces")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS), metavar="KIND")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    found = {f"sim:{kind}": simulated(kind, seeds) for kind in options.kinds}
    if options.rounds:
        found["lab:bridge with tbf"] = with_rate(options.rounds)
    without_bar = {f"sim:{kind}" for kind in RARE}
    for name, (right, total) in found.items():
        rare = ", no bar: rare events" if name in without_bar else ""
        print(f"{name}: the truth is in the interval of {right} of {total} points ({100 * right / total:.1f} %{rare})")
    if any(right < BAR * total for name, (right, total) in found.items() if name not in without_bar):
        raise SystemExit(f"bar: {100 * BAR:.0f} % of each")


if __name__ == "__main__":
    main()
