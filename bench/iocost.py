"""What `brimful iocost` costs on published results: CPU time and memory of whole processes, interleaved.

The measure is Python's own gunzip and JSON parser on the same files, within a process that has them loaded already.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SHARED = Path(os.environ.get("BRIMFUL_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "iocost" / "raw"
BRIMFUL = [sys.executable, "-m", "brimful", "iocost"]
PARSE = """
import gzip, json, sys, time
before = time.process_time()
for name in sys.argv[1:]:
    with gzip.open(name) as file:
        json.loads(file.read())
print(time.process_time() - before)
"""
REFERENCE_OVER_PARSE = {"tune": 3, "solve": 5, "merge": 3}


def run(command):
    """Give CPU seconds and peak memory in MB of a command, children of it included."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def environment():
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def parse(files):
    done = subprocess.run([sys.executable, "-c", PARSE, *files], check=True, capture_output=True, text=True)
    return float(done.stdout)


def row(name, kind, files, arguments):
    pairs = []
    for _ in range(ROUNDS):
        pairs.append((*run([*BRIMFUL, *arguments, *files]), parse(files)))
        time.sleep(0.05)
    ours, memory, base = (statistics.median(column) for column in zip(*pairs, strict=True))
    factor = REFERENCE_OVER_PARSE[kind]
    print(f"{name:<34}{ours:>9.3f}{base:>10.3f}{ours / base:>8.2f}{ours / base / factor:>12.2f}{memory:>9.0f}")
    return ours / base / factor


def main():
    files = sorted(map(str, SHARED.glob("*/*/*.json.gz")), key=os.path.getsize)
    if not files:
        print("the published results are not here; set BRIMFUL_SHARED", file=sys.stderr)
        return 2
    run([*BRIMFUL, "tune", files[0], "--html", "/dev/null"])  # compiles what is not compiled yet
    same = sorted(map(str, SHARED.glob("2.2/Samsung_SSD_870/*.json.gz")))
    print(f"{'':<34}{'brimful':>9}{'parse':>10}{'ratio':>8}{'/reference':>12}{'MB':>9}")
    print(f"{'':<34}{'CPU s':>9}{'CPU s':>10}")
    ratios = [row(f"tune {Path(file).parent.name[:28]}", "tune", [file], ["tune"]) for file in files]
    row("solve, largest", "solve", files[-1:], ["solve"])
    row("tune --resamples 0, largest", "tune", files[-1:], ["tune", "--resamples", "0"])
    row(f"merge of {len(same)}", "merge", same, ["merge"])
    print(
        f"tune, CPU time / reference: largest {ratios[-1]:.2f}, median of all {statistics.median(ratios):.2f} (bar 0.5)"
    )
    return 0


sys.exit(main())
