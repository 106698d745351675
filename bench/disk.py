"""The disk tester against what is known: a limit that is set, a schedule that is asked for, and fio.

Runs of the tester and of fio alternate on one loop device in memory. Everything takes root.
"""

from __future__ import annotations

import argparse
import json
import os
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

DISK = find_own_program("brimful-disk")
LIMITS = {
    "reads": ("lab:disk,limit=5000iops,deadline=20ms", 5000.0),
    "writes": ("lab:disk,limit=5000iops,deadline=20ms,pattern=randwrite", 5000.0),
    "bytes": ("lab:disk,limit=20480000B/s,deadline=20ms", 5000.0),
}
NEAR = 0.02
GOAL = "loss=0,trial=8s,initial=1s,width=1%"
"""The throttle lends a tenth of a second's IOs, and a queue may grow for a deadline: both are 1.5 % of such a trial."""
LOADS = (1e3, 10e3, 30e3, 100e3)
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


def truth(limits: list[str], repeats: int) -> bool:
    """Search disks of known limit; every result has to be near it, and to come within a minute."""
    passed = True
    for name in limits:
        spec, limit = LIMITS[name]
        for repeat in range(1, repeats + 1):
            found, took_s, trials = search(spec)
            good = found is not None and abs(found - limit) <= NEAR * limit and took_s <= 60
            passed &= good
            say(
                f"truth  {name:7} run {repeat}: {found or 0:7.0f} IO/s, {took_s:4.0f} s, {trials} trials"
                f"  {'ok' if good else 'NOT within 2 % and 60 s'}"
            )
    return passed


def search(spec: str) -> tuple[float | None, float, int]:
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
        return None, took_s, 0
    outcome = json.loads(done.stdout)
    return outcome["goal_results"][0].get("conditional_throughput"), took_s, outcome["trials"]


def schedule() -> None:
    """Show how the tester keeps its schedule, at several loads, even and Poisson."""
    say("schedule  load      rate error    lateness p99/p99.9/max us   gap p10/p50/p90 of the interval")
    with unlimited() as device:
        for arrivals in ("even", "poisson"):
            for load in LOADS:
                pacing = trial(device, load, arrivals)
                gaps = [pacing[f"gap_p{share}_s"] * load for share in (10, 50, 90)]
                late = [pacing[key] * 1e6 for key in ("lateness_p99_s", "lateness_p999_s", "max_lateness_s")]
                said = f"  {pacing['invalid']}" if pacing.get("invalid") else ""
                say(
                    f"{arrivals:8}  {load:7.0f}  {pacing['rate_error']:+.6%}   "
                    + "/".join(f"{value:.0f}" for value in late).rjust(24)
                    + "   "
                    + "/".join(f"{value:.3f}" for value in gaps)
                    + said
                )


def trial(device: str, load: float, arrivals: str) -> dict[str, Any]:
    """Give the pacing of the first trial that the machine did not spoil, or of the last."""
    processor = max(os.sched_getaffinity(0))
    command = [DISK, "--device", device, f"--arrivals={arrivals}", "--deadline=10ms", f"--cpu={processor}"]
    tester = CommandMeasurer(command, name="brimful-disk", timeout_s=30)
    pacing: dict[str, Any] = {}
    try:
        for _ in range(5):
            try:
                return tester.measure(load, 3.0).extra["pacing"]
            except InvalidTrialError as error:
                pacing = {**error.reply["pacing"], "invalid": str(error)}
            except TrialFailedError as error:
                say(str(error))
    finally:
        tester.close()
    return pacing


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


def fio(device: str) -> list[str]:
    return [
        "fio",
        "--name=peak",
        f"--filename={device}",
        "--rw=randread",
        "--bs=4k",
        "--direct=1",
        "--offset=1m",
        "--ioengine=io_uring",
        f"--iodepth={DEPTH}",
        "--time_based",
        f"--runtime={PEAK_S}",
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
    arguments = parser.parse_args()
    say(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    passed = True
    for part in arguments.parts:
        if part == "truth":
            passed &= truth(arguments.limits.split(","), arguments.repeats)
        elif part == "schedule":
            schedule()
        else:
            peak(arguments.repeats)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
