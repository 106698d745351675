"""What `brimful --help` costs, as a multiple of importing click: CPU time of whole processes, interleaved."""

import resource
import statistics
import subprocess
import sys

ROUNDS = 40


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_ratio():
    ours = [sys.executable, "-m", "brimful", "--help"]
    base = [sys.executable, "-c", "import click"]
    pairs = [(cpu_seconds(ours), cpu_seconds(base)) for _ in range(ROUNDS)]
    return statistics.median(first for first, _ in pairs) / statistics.median(second for _, second in pairs)


print(f"brimful --help / python -c 'import click': {cpu_ratio():.2f} (bar 1.5)")
