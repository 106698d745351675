"""The disk tester against what is known: a limit that is set, a schedule that is asked for, and fio.

Runs of the tester and of fio alternate on one loop device in memory. Everything takes root.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brimful.lab.disk import DiskLab
from brimful.lab.programs import find_own_program
from brimful.measurers.base import InvalidTrialError, TrialFailedError
from brimful.measurers.command import CommandMeasurer
from brimful.records import Trial, read_run

DISK = find_own_program("brimful-disk")
LIMITS = {
    "reads": ("lab:disk,limit=5000iops,deadline=20ms", 5000.0),
    "writes": ("lab:disk,limit=5000iops,deadline=20ms,pattern=randwrite", 5000.0),
    "bytes": ("lab:disk,limit=20480000B/s,deadline=20ms", 5000.0),
}
NEAR = 0.02
GOAL = "loss=0,trial=8s,initial=1s,width=2%"
"""The throttle lends a tenth of a second's IOs, and a queue may grow for a deadline: both are 1.5 % of such a trial. So
a load that is 1.5 % too high is seen, and the greatest one that is not is at most 0.5 % below the limit."""
LOADS = (1e3, 10e3, 30e3, 100e3)
RATE_BOUND, GAP_BOUND = 1e-4, 0.05
GAPS = {"even": (1.0, 1.0, 1.0), "poisson": (-math.log(0.9), math.log(2), math.log(10))}
"""The 10th, 50th and 90th percentile of gaps that are kept, in mean gaps."""
SCHEDULE_S, SCHEDULE_TRIES = 3.0, 10
GAP_LOAD, GAP_SIZES = 8e3, ("4k", "64k")
"""At which fio's gaps were measured elsewhere; what IOs take is a part of an interval, and about one."""
DEPTH, BATCH, PEAK_S = 64, 32, 4


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def unlimited(size: int = 1 << 30) -> Iterator[str]:
    """A loop device that has been written once, without a limit that matters."""
    with DiskLab(limit="900Miops", size=size) as lab:
        subprocess.run(
            [DISK, "--device", lab.path, "--destroy-data", lab.path, "--prepare"], check=True, stdout=subprocess.DEVNULL
        )
        yield lab.path


def truth(limits: list[str], repeats: int, *, shows_trials: bool) -> bool:
    """Search disks of known limit; every result has to be near it, and to come within a minute."""
    passed = True
    for name in limits:
        spec, limit = LIMITS[name]
        for repeat in range(1, repeats + 1):
            found, took_s, trials = search(spec)
            invalid = sum(trial.invalid is not None for trial in trials)
            good = found is not None and abs(found - limit) <= NEAR * limit and took_s <= 60
            passed &= good
            say(
                f"truth  {name:7} run {repeat}: {found or 0:7.0f} IO/s, {took_s:4.0f} s, {len(trials)} trials,"
                f" {invalid} of them invalid  {'ok' if good else 'NOT within 2 % and 60 s'}"
            )
            for trial in trials if shows_trials or not good else ():
                lost = trial.invalid or f"{trial.lost} of {trial.intended} lost"
                say(f"       at {trial.start_s:4.1f} s: {trial.load:7.0f} IO/s for {trial.duration_s:.0f} s: {lost}")
    return passed


def search(spec: str) -> tuple[float | None, float, list[Trial]]:
    command = [
        sys.executable,
        "-m",
        "brimful",
        "search",
        "-m",
        spec,
        "--goal",
        GOAL,
        "--early-termination",
        "--on-invalid",
        "retry:50",
        "--no-calibrate",
        "--json",
        "--quiet",
    ]
    with tempfile.TemporaryDirectory() as place:
        began_s = time.monotonic()
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        took_s = time.monotonic() - began_s
        if not done.stdout:
            say(done.stderr)
            return None, took_s, []
        outcome = json.loads(done.stdout)
        trials = read_run(Path(place, outcome["path"])).trials
    return outcome["goal_results"][0].get("conditional_throughput"), took_s, trials


def schedule() -> bool:
    """Show how the tester keeps its schedule, at several loads, even and Poisson, and the gaps of fio beside it."""
    say("schedule    load      rate error    lateness p99/p99.9/max us   gap p10/p50/p90 of the interval")
    passed = True
    with unlimited() as device:
        for arrivals in GAPS:
            for load in LOADS:
                passed &= shows_schedule(device, arrivals, load)
        for size in GAP_SIZES:
            passed &= compares_gaps(device, size)
    return passed


def shows_schedule(device: str, arrivals: str, load: float) -> bool:
    pacing = trial(device, load, arrivals)
    gaps = [pacing[f"gap_p{share}_s"] * load for share in (10, 50, 90)]
    late = [pacing[key] * 1e6 for key in ("lateness_p99_s", "lateness_p999_s", "max_lateness_s")]
    # The mean of Poisson arrivals has a standard error.
    rate_bound = RATE_BOUND if arrivals == "even" else 3 / math.sqrt(load * SCHEDULE_S)
    faults = [pacing["invalid"]] if "invalid" in pacing else []
    faults += ["rate"] if abs(pacing["rate_error"]) > rate_bound else []
    far = max(abs(gap - due) for gap, due in zip(gaps, GAPS[arrivals], strict=True))
    faults += [f"gaps {far:.0%} off"] if far > GAP_BOUND else []
    say(
        f"{arrivals:8}  {load:7.0f}  {pacing['rate_error']:+.6%}   "
        + "/".join(f"{value:.0f}" for value in late).rjust(24)
        + "   "
        + "/".join(f"{value:.3f}" for value in gaps)
        + f"  after {pacing['spoiled']} spoiled  {'NOT ok: ' + ', '.join(faults) if faults else 'ok'}"
    )
    return not faults


def trial(device: str, load: float, arrivals: str) -> dict[str, Any]:
    """Give the pacing of the first trial that the machine did not spoil, or of the last, and how many it spoiled."""
    processor = max(os.sched_getaffinity(0))
    command = [DISK, "--device", device, f"--arrivals={arrivals}", "--deadline=10ms", f"--cpu={processor}"]
    tester = CommandMeasurer(command, name="brimful-disk", timeout_s=30)
    pacing: dict[str, Any] = {}
    try:
        for spoiled in range(SCHEDULE_TRIES):
            try:
                return {**tester.measure(load, SCHEDULE_S).extra["pacing"], "spoiled": spoiled}
            except InvalidTrialError as error:
                pacing = {**error.reply["pacing"], "invalid": str(error), "spoiled": spoiled + 1}
            except TrialFailedError as error:
                say(str(error))
    finally:
        tester.close()
    return pacing


def compares_gaps(device: str, size: str) -> bool:
    """Compare the gaps between IOs, as the kernel sees them come, with those of fio."""
    if shutil.which("fio") is None:
        say("gaps: fio is not installed")
        return True
    passed = True
    processor = max(os.sched_getaffinity(0))
    ours = CommandMeasurer([DISK, "--device", device, f"--size={size}", f"--cpu={processor}"], name="brimful-disk")
    theirs = [*fio(device, size, SCHEDULE_S), f"--rate_iops={GAP_LOAD:.0f}"]

    def run_ours() -> None:
        with contextlib.suppress(InvalidTrialError):
            ours.measure(GAP_LOAD, SCHEDULE_S)
        ours.close()

    def run_theirs() -> None:
        subprocess.run(theirs, check=True, stdout=subprocess.DEVNULL)

    for name, run in (("brimful-disk", run_ours), ("fio", run_theirs)):
        times = arrivals_at(device, run)
        gaps = sorted(later - earlier for earlier, later in itertools.pairwise(times[len(times) // 4 :]))
        if not gaps:
            say("gaps: the kernel does not show when IOs come: it needs tracefs and block events")
            return passed
        shares = [gaps[len(gaps) * share // 10] * 1e6 for share in (1, 5, 9)]
        good = name == "fio" or all(abs(gap * GAP_LOAD / 1e6 - 1) <= GAP_BOUND for gap in shares)
        passed &= good
        shown = "/".join(f"{gap:.0f}" for gap in shares)
        say(
            f"gaps  {size:4}  {name:12}  p10/p50/p90 {shown} us, {1e6 / GAP_LOAD:.0f} asked  {'' if good else 'NOT ok'}"
        )
    return passed


def arrivals_at(device: str, run: Callable[[], None]) -> list[float]:
    """Let a program run, and give the times at which IOs came to the device; none where the kernel does not tell."""
    with tempfile.TemporaryDirectory() as place:
        if subprocess.run(["mount", "-t", "tracefs", "none", place], check=False, capture_output=True).returncode != 0:
            return []
        instance = Path(place, "instances", f"brimful-{os.getpid()}")
        try:
            instance.mkdir()
            major, minor = Path(f"/sys/block/{Path(device).name}/dev").read_text().split(":")
            event = instance / "events" / "block" / "block_bio_queue"
            (event / "filter").write_text(f"dev == {int(major) << 20 | int(minor)}")
            (instance / "buffer_size_kb").write_text("16384")
            (event / "enable").write_text("1")
            run()
            (event / "enable").write_text("0")
            found = re.findall(r"([0-9]+\.[0-9]+): block_bio_queue", (instance / "trace").read_text())
        finally:
            if instance.exists():
                instance.rmdir()
            subprocess.run(["umount", place], check=True)
    return sorted(map(float, found))


def peak(rounds: int) -> None:
    """Compare the highest rate with that of fio, tuned and plain."""
    if shutil.which("fio") is None:
        say("peak: fio is not installed")
        return
    with unlimited() as device:
        ways: dict[str, tuple[list[str], Callable[[str], float]]] = {
            "brimful-disk": (
                [str(DISK), "--device", device, f"--depth={DEPTH}", f"--duration={PEAK_S}s"],
                lambda text: float(json.loads(text)["rate"]),
            ),
            "fio tuned": (
                [
                    *fio(device),
                    "--fixedbufs",
                    "--registerfiles",
                    f"--iodepth_batch={BATCH}",
                    f"--iodepth_batch_complete_max={BATCH}",
                    "--gtod_reduce=1",
                ],
                fio_rate,
            ),
            "fio plain": (fio(device), fio_rate),
        }
        for name, (command, _) in ways.items():
            say(f"peak  {name}: {' '.join(command)}")
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (command, rate_of) in ways.items():
                before = busy_s()
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                rate = rate_of(done.stdout)
                found[name].append((rate, (busy_s() - before) / (rate * PEAK_S)))
        best = statistics.median(rate for rate, _ in found["fio tuned"])
        for name, values in found.items():
            rate = statistics.median(rate for rate, _ in values)
            cost = statistics.median(cost for _, cost in values)
            say(
                f"peak  {name:12}  {rate / 1e3:6.1f} k IO/s ({rate / best:.2f} of fio tuned), {cost * 1e6:.2f} us of"
                f" processors an IO; {', '.join(f'{rate / 1e3:.0f}' for rate, _ in values)}"
            )


def fio(device: str, size: str = "4k", seconds: float = PEAK_S) -> list[str]:
    return [
        "fio",
        "--name=peak",
        f"--filename={device}",
        "--rw=randread",
        f"--bs={size}",
        "--direct=1",
        "--offset=1m",
        "--ioengine=io_uring",
        f"--iodepth={DEPTH}",
        "--time_based",
        f"--runtime={seconds:.0f}",
        "--readonly",
        "--norandommap",
        "--output-format=json",
    ]


def fio_rate(text: str) -> float:
    return float(json.loads(text[text.index("{") :])["jobs"][0]["read"]["iops"])


def busy_s() -> float:
    """Give what all processors have worked, of whatever kind, in seconds."""
    words = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, _ = map(int, words)
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["truth", "schedule", "peak"], metavar="truth|schedule|peak")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limits", default=",".join(LIMITS), help="what is limited in searches for the truth")
    parser.add_argument("--trials", action="store_true", help="show the trials of those that find it, too")
    arguments = parser.parse_args()
    say(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    passed = True
    for part in arguments.parts:
        if part == "truth":
            passed &= truth(arguments.limits.split(","), arguments.repeats, shows_trials=arguments.trials)
        elif part == "schedule":
            passed &= schedule()
        else:
            peak(arguments.repeats)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
