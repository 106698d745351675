"""What commands take on records of 100,000 trials, in time and memory, and how long the page is."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / name) for name in ("", "attack")]

from large_record import SEARCH, write_record  # noqa: E402

TRIALS = int(os.environ.get("TRIALS", "100000"))
LOADS = [int(text) for text in os.environ.get("LOADS", f"40 {TRIALS}").split()]
BAR_S, BAR_BYTES = 20, 10_000_000


def seconds(*arguments, codes=(0,)):
    """Give wall time and processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "brimful", *map(str, arguments)], capture_output=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(done.stderr.decode())
    wall_s = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(strategy, loads):
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory, "run")
        write_record(out / "run.jsonl", trials=TRIALS, loads=loads, strategy=strategy)
        page = Path(directory, "page.html")
        resumed = (*SEARCH, "--strategy", strategy, "--quiet", "--budget", "1s", "--out", out, "--resume")
        figures = {
            "verify": seconds("verify", out),
            "explain": seconds("explain", out),
            "report --html": seconds("report", out, "--html", page),
            "--resume": seconds(*resumed, codes=(0, 1)),
        }
        for name, (wall_s, cpu_s) in figures.items():
            what = f"{strategy}, {TRIALS} trials at {loads} loads, {name}"
            print(f"{what}: {wall_s:.1f} s, {cpu_s:.1f} s of a processor (bar {BAR_S} s)", flush=True)
        print(f"  page: {page.stat().st_size / 1e6:.1f} MB (bar {BAR_BYTES / 1e6:.0f} MB)", flush=True)


for strategy in os.environ.get("STRATEGIES", "straddle classic bisect").split():
    for loads in LOADS:
        measure(strategy, loads)
print(f"most memory of a command: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6:.1f} GB")
