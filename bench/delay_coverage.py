"""How often the interval of `brimful delay` has the true delay in it.

A lab without a device, in which the tester's fault injector holds every frame for a known time, stands for a device;
the bare wire is a second such lab without the fault. Many short runs, each with an interval of its own.
"""

import os
import statistics

from brimful.delay.estimates import DEVICE, WIRE
from brimful.delay.loop import DelayLoop
from brimful.measurers.opening import open_measurer
from brimful.policies import FailurePolicy, Policies
from brimful.records import DelayPlan

RUNS = int(os.environ.get("RUNS", "100"))
ROUNDS = int(os.environ.get("ROUNDS", "10"))
TRIAL_S = float(os.environ.get("TRIAL_S", "0.1"))
LOAD = 10_000.0
DELAYS = {"50us": 50e-6, "1ms": 1e-3}
# Of a hundred runs with 95 %; the bar.
BAR = 0.93
POLICIES = Policies(FailurePolicy(retries=1000), FailurePolicy())


def main() -> None:
    print(f"{RUNS} runs for each delay: {ROUNDS} rounds, trials of {TRIAL_S:g} s, {LOAD:g} frames/s one way\n")
    print("  injected  interval  has it in    bar  median's  mean error  half width  of that the tester's")
    for text, injected_s in DELAYS.items():
        found = measure(text)
        means = [delay.mean for delay in found]
        covered = sum(mean.low_s <= injected_s <= mean.high_s for mean in means)
        typical = sum(delay.median.low_s <= injected_s <= delay.median.high_s for delay in found)
        error = statistics.fmean(mean.value_s - injected_s for mean in means)
        half = statistics.median((mean.high_s - mean.low_s) / 2 for mean in means)
        own = statistics.median(mean.systematic_s for mean in means)
        passed = "met" if covered >= BAR * len(found) else "MISSED"
        print(
            f"  {text:>8}      95 %  {covered:>4} of {len(found):<3} {passed:>6}  {typical:>8}"
            f"  {error * 1e6:>7.3f} us  {half * 1e6:>7.3f} us  {own * 1e6:>7.3f} us"
        )


def measure(delay: str):
    """Give the result of every run with this delay injected."""
    plan = DelayPlan(loads=[LOAD], rounds=ROUNDS, trial_s=TRIAL_S, wire="lab:wire")
    one_way = ["--direction=uni"]
    paths = {DEVICE: [*one_way, f"--fault=ta/send:delay={delay}"], WIRE: one_way}
    measurers = {
        path: open_measurer("lab:wire", timeout_s=30.0, tester_arguments=arguments, detail=True)
        for path, arguments in paths.items()
    }
    try:
        found = []
        while len(found) < RUNS:
            outcome = DelayLoop(plan, measurers, POLICIES).run()
            if outcome.end.reason != "done":
                raise SystemExit(outcome.end.text or outcome.end.reason)
            found += [result for result in outcome.delays if result.direction == "all"]
        return found
    finally:
        for measurer in measurers.values():
            measurer.close()


if __name__ == "__main__":
    main()
