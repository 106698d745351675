"""How often what a loss curve states is true: simulated systems of new seeds, and a device with a rate.

A curve states two things of each load. The interval of a typical trial is judged by the median of many trials of
another seed, and the limit of the mean by their mean. Of a device, frames that leave are those that its rate and its
queue allow in the time that a trial lasted.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from brimful.loss.loop import LossLoop
from brimful.measurers.base import Measurer, Settings
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.measurers.tester import open_lab_measurer
from brimful.policies import Policies
from brimful.records import Loss, LossPlan, Trial
from brimful.statistics.ranks import median_interval

KINDS = ("sharp", "soft-knee", "noisy", "stalls", "flat-loss", "livelock", "buffer", "inversion", "vhost")
RARE = ("noisy,jitter=0,dips=10%,dip-least=90%,dip-most=99%", "noisy,jitter=0,dips=2%,dip-least=90%,dip-most=99%")
"""Nearly everything is lost so seldom that many curves do not show it: what the limit of the mean is for."""
DRIFTS = "vhost"
"""Each of its two regimes lasts for much of a curve of short trials. Such a curve is judged by what was typical in its
own time, which is all that it states; what is typical over a long time is printed without a bar."""
CAPACITY = 1e6
LOADS = [CAPACITY * share for share in (1.6, 1.3, 1.1, 1.0, 0.95, 0.8)]
SWEEPS, TRUTH_TRIALS = 5, 2000
PLANS = {"1 s": (1.0, 0.0), "60 s": (60.0, 5.0)}
"""Length of a trial, and of the rest after it: short, and as RFC 2544 asks, which are the defaults of the command."""
RATE, KEPT, FRAME_BYTES = 1000, 200, 60
"""Of the device, in frames/s; frames that wait or leave at once; bytes without check sequence."""
BAR = 0.95


@dataclass
class Score:
    """Of the points of some curves, how many are right, and how wide their intervals are."""

    points: int = 0
    typical: int = 0
    limit: int = 0
    widths: list[float] = field(default_factory=list)
    reaches: list[float] = field(default_factory=list)

    def add(self, point: Loss, typical: tuple[float, float], mean: float) -> None:
        """Judge a point by what is true: the median within these ends, and the least that the mean can be."""
        if point.typical_low is None or point.typical_high is None or point.limit is None:
            message = f"no interval at {point.load:.10g}/s"
            raise SystemExit(message)
        self.points += 1
        self.typical += point.typical_low <= typical[1] and point.typical_high >= typical[0]
        self.limit += point.limit >= mean
        self.widths.append(point.typical_high - point.typical_low)
        self.reaches.append(point.limit - point.ratio)

    def is_enough(self, *, typical: bool) -> bool:
        """Say whether the bar is met, by the intervals of a typical trial only where they have one."""
        return self.limit >= BAR * self.points and (not typical or self.typical >= BAR * self.points)

    def __str__(self) -> str:
        typical, limit = 100 * self.typical / self.points, 100 * self.limit / self.points
        width, reach = 100 * statistics.fmean(self.widths), 100 * statistics.fmean(self.reaches)
        return (
            f"{self.points} points: typical loss in {typical:.1f} % of the intervals, {width:.4f} % wide; mean below"
            f" {limit:.1f} % of the limits, {reach:.1f} % above the mean found"
        )


def curve(measurer: Measurer, loads: Sequence[float], sweeps: int, plan: str) -> tuple[list[Loss], list[Trial]]:
    """Make a loss curve with intervals."""
    trial_s, rest_s = PLANS[plan]
    asked = LossPlan(list(loads), max(loads), trial_s, sweeps=sweeps, until_lossless=False, rest_s=rest_s)
    trials: list[Trial] = []
    loop = LossLoop(
        asked,
        measurer,
        Policies.read("retry:50", "fail"),
        sink=lambda record: trials.append(record) if isinstance(record, Trial) else None,
    )
    return loop.run().losses, [trial for trial in trials if trial.invalid is None]


def simulated(kind: str, seeds: Sequence[int], plan: str, *, in_its_time: bool = False) -> Score:
    """Judge the curves of a simulated system, by a long time or by what would have been lost in theirs."""
    spec = f"{kind},capacity={CAPACITY:.0f},link=2Mpps"
    truths = {load: truth(f"{spec},seed={max(seeds) + 1}", load, plan, TRUTH_TRIALS) for load in LOADS}
    score = Score()
    for seed in seeds:
        own = f"{spec},seed={seed}"
        if in_its_time:
            truths = {load: truth(own, load, plan, SWEEPS * len(LOADS)) for load in LOADS}
        points, _ = curve(SimulatedMeasurer(own), LOADS, SWEEPS, plan)
        for point in points:
            score.add(point, *truths[point.load])
    return score


def truth(spec: str, load: float, plan: str, number: int) -> tuple[tuple[float, float], float]:
    """Give the ends between which the median of a number of trials is known, and the least that their mean can be."""
    measurer = SimulatedMeasurer(spec)
    trials = [measurer.measure(load, PLANS[plan][0]) for _ in range(number)]
    ratios = np.array([one.lost / one.sent for one in trials])
    if number < TRUTH_TRIALS:
        # These are all that there are.
        return (float(np.quantile(ratios, 0.5, method="lower")), float(np.quantile(ratios, 0.5, method="higher"))), 0.0
    return median_interval(ratios), float(ratios.mean() - 2 * ratios.std(ddof=1) / number**0.5)


def with_rate(rounds: int) -> Score:
    """Judge the curves of a bridge whose output has a rate."""
    loads = [RATE * share for share in (2.0, 1.5, 1.3, 0.9)]
    bits = FRAME_BYTES * 8 * RATE
    command = f"tc qdisc add dev pb root tbf rate {bits}bit burst 6000 limit 6000"
    score = Score()
    for _ in range(rounds):
        settings = Settings(timeout_s=20.0, tester_arguments=["--direction=uni", "--frame-size=64"])
        measurer = open_lab_measurer("bridge,work=0", settings)
        try:
            subprocess.run(measurer.device_command(command.split()), check=True)
            points, trials = curve(measurer, loads, 3, "1 s")
        finally:
            measurer.close()
        for point in points:
            made = [trial for trial in trials if trial.load == point.load]
            lasted_s = statistics.fmean(trial.effective_duration_s or trial.duration_s for trial in made)
            sent = statistics.fmean(trial.sent for trial in made)
            least = max(0.0, 1 - (RATE * lasted_s + KEPT) / sent)
            score.add(point, (least, max(0.0, 1 - RATE * PLANS["1 s"][0] / sent)), least)
    return score


def main() -> None:
    """Print how many points are right, and fail below the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first-seed", type=int, default=1001)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5, help="curves of the device with a rate; 0 without namespaces")
    parser.add_argument("--kinds", nargs="*", default=[*KINDS, *RARE], metavar="KIND")
    parser.add_argument("--trials", nargs="*", choices=PLANS, default=list(PLANS), metavar="LENGTH")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    systems = [(kind, plan) for plan in options.trials for kind in options.kinds]
    found = {f"sim:{kind}, trials of {plan}": simulated(kind, seeds, plan) for kind, plan in systems}
    without_bar = f"sim:{DRIFTS}, trials of 1 s"
    if without_bar in found:
        found[f"{without_bar}, in their time"] = simulated(DRIFTS, seeds, "1 s", in_its_time=True)
    if options.rounds:
        found["lab:bridge with tbf"] = with_rate(options.rounds)
    for name, score in found.items():
        print(f"{name}, {score}{' (typical: no bar)' if name == without_bar else ''}")
    if any(not score.is_enough(typical=name != without_bar) for name, score in found.items()):
        raise SystemExit(f"bar: {100 * BAR:.0f} % of each")


if __name__ == "__main__":
    main()
