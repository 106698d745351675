"""What `run` starts inside the guest: measures the disk, then shows that the numbers protect and wrong ones do not."""

import contextlib
import statistics
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

from brimful.iocost.controller import CostController
from brimful.iocost.measure import solutions
from brimful.iocost.measure.disk import Disk
from brimful.iocost.measure.protection import Groups, Protection
from brimful.records import Done, read_run

DEVICE, DEADLINE, DEADLINE_S = "/dev/nullb0", "20ms", 0.02
NUMBER = Path("/sys/block/nullb0/dev").read_text().strip()
TRIAL_S = 5.0
SHORT_S = 100.0
"""A measurement that is shorter only shows that everything is done."""
OFF_LEAST, FOUND_MOST, USED_LEAST, NEAR = 0.2, 0.01, 0.75, 0.05
SETTLED, SETTLED_NEAR = 50.0, 6.0
FILES = ("io.cost.qos", "io.cost.model")
failed = []


def say(text):
    print(f"disk_guest: {text}", flush=True)


def show(what, good, text):
    if not good:
        failed.append(what)
    say(f"{'ok' if good else 'FAILED'}: {what}: {text}")


def shown():
    texts = [Path("/sys/fs/cgroup", name).read_text() for name in FILES]
    lines = [line for text in texts for line in text.splitlines() if line.startswith(f"{NUMBER} ")]
    # A device that the controller has seen is shown with what it would do by itself.
    return [line for line in lines if "ctrl=auto" not in line or "enable=1" in line]


def measure(seconds):
    command = ["iocost", "measure", DEVICE, "--destroy-data", DEVICE, "--deadline", DEADLINE, "--working-set", "900M"]
    command += ["--pause", "sleep"]
    began_s = time.monotonic()
    done = subprocess.run(
        ["/bin/run_python", "-m", "brimful", *command, "--budget", f"{seconds}s", "--out", "/tmp/run"],
        text=True,
        stdout=subprocess.PIPE,
        check=False,
    )
    for line in done.stdout.splitlines():
        say(f"  {line}")
    say(f"exit code {done.returncode} after {time.monotonic() - began_s:.0f} s")
    run = read_run(Path("/tmp/run"))
    for trial in run.trials:
        lost = f"invalid: {trial.invalid}" if trial.invalid else f"{trial.lost} of {trial.sent} late"
        say(f"  {trial.step}: {trial.load:.1f} for {trial.duration_s:.1f} s: {lost}")
    results = {record.name: record.result for record in run.others if isinstance(record, Done)}
    for trial in results.get("vrate", {}).get("trials", []):
        say(f"  {facts(trial)}")
    for trial in results.get("confirmation", {}).get("trials", []):
        say(f"  longer: {facts(trial)}")
    for name, trials in results.get("validation", {}).items():
        for trial in trials:
            say(f"  {name}: {facts(trial)}")
    targets = solutions.targets_us(results, deadline_s=DEADLINE_S)
    say(f"  model {solutions.base_model(results)}, targets {targets} us, needed {solutions.latencies_us(results)} us")
    return results


def facts(trial):
    late = f"{trial['late']} of {trial['sent']} late"
    return f"vrate {trial['set']:.1f} set, {trial['vrate']} at the end: {late}, hog {trial['hog_rate']:.0f} IO/s"


def late(trials):
    return sum(trial["late"] for trial in trials) / sum(trial["sent"] for trial in trials)


def check_measured(results):
    probe = results["rrandiops"]["rate"]
    load = results["late-reads"]["p99"]["lower"] or 0.0
    show("truth", abs(load / probe - 1) <= NEAR, f"{load:.0f} IO/s at most 1 % late, {probe:.0f} in a closed loop")
    found = results["validation"]
    if not found:
        show("found", False, "no vrate protects")
        return
    off, pinned, dynamic = (late(found[name]) for name in ("off", "pinned", "dynamic"))
    show("off", off >= OFF_LEAST, f"{off:.1%} late (bar: at least {OFF_LEAST:.0%})")
    show("found", pinned <= FOUND_MOST, f"{pinned:.2%} late (bar: at most {FOUND_MOST:.0%})")
    show("found, dynamic rule", dynamic <= FOUND_MOST, f"{dynamic:.2%} late (bar: at most {FOUND_MOST:.0%})")
    rates = [trial["hog_rate"] for trial in found["pinned"]]
    used = (sum(rates) / len(rates) + results["vrate"]["load"]) / probe
    show("used", used >= USED_LEAST, f"hog and protected have {used:.0%} of the disk (bar: at least {USED_LEAST:.0%})")


@contextlib.contextmanager
def watched(controller):
    """Give the vrates that the kernel goes through: where a queue is deep it swings, and the last one says little."""
    vrates, done = [], threading.Event()

    def watch():
        while not done.wait(0.1):
            vrates.append(controller.vrate() or 0.0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield vrates
    finally:
        done.set()
        watcher.join()


def beside_hog(tester):
    found = tester.facts_beside_hog(100.0, TRIAL_S)
    if found is None:
        raise SystemExit("the tester was late in every trial beside the hog: is the machine busy?")
    return found


def check_doubled(results):
    """A model twice too fast: pinned it protects nobody, the dynamic rule finds half of it."""
    model = {key: 2 * value for key, value in solutions.base_model(results).items()}
    targets = solutions.targets_us(results, deadline_s=DEADLINE_S)
    disk = Disk(DEVICE, destroy_data=None, options=[f"--deadline={DEADLINE}"], ignore_signature=False)
    controller = CostController(NUMBER)
    groups = Groups(controller.directory)
    tester = Protection(disk, groups, controller, results["vrate"]["load"])
    try:
        with disk.claimed():
            controller.set(model, solutions.pinned(100.0, targets))
            pinned = beside_hog(tester)
            controller.set(model, {**solutions.dynamic(100.0, targets), "min": 10.0})
            beside_hog(tester)
            with watched(controller) as vrates:
                dynamic = beside_hog(tester)
    finally:
        tester.close()
        controller.restore()
        groups.close()
    share = late([pinned])
    show("doubled, pinned", share >= OFF_LEAST, f"{share:.1%} late (bar: at least {OFF_LEAST:.0%}: the check can fail)")
    vrate = statistics.mean(vrates)
    around = f"on average, from {min(vrates):.1f} to {max(vrates):.1f}"
    text = f"vrate {vrate:.1f} {around} (bar: {SETTLED:.0f} +- {SETTLED_NEAR:.0f})"
    show("doubled, dynamic rule", abs(vrate - SETTLED) <= SETTLED_NEAR, text)
    # The kernel's rule swings about its aim where the disk's queue is deep, and each swing upwards makes some late.
    less = late([dynamic])
    show("doubled, dynamic rule helps", less <= share / 2, f"{less:.1%} late (bar: at most half as many as pinned)")


def check_short(results):
    """In a moment nothing is measured that could be held against a bar, but all of it is done."""
    run = read_run(Path("/tmp/run"))
    names = [solution.name for solution in run.solutions if solution.unsolved is None]
    show("a solution", "naive" in names, f"{names}")
    trials = results.get("vrate", {}).get("trials", [])
    show("vrate was tried", bool(trials), f"{len(trials)} times")
    show("the record is whole", run.is_done(), run.ends[-1].reason)


def main():
    before = shown()
    seconds = float(Path("/seconds").read_text())
    try:
        results = measure(seconds)
        if seconds < SHORT_S:
            check_short(results)
        else:
            check_measured(results)
            check_doubled(results)
    finally:
        # However it ended.
        show("as before", shown() == before, f"{shown()}")
        groups = [path.name for path in Path("/sys/fs/cgroup").iterdir() if path.is_dir()]
        show("nothing is left", not groups, f"{groups}")
    say(f"up for {time.clock_gettime(time.CLOCK_BOOTTIME):.0f} s")
    say("failed: " + ", ".join(failed) if failed else "passed")


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        say("failed: see above")
