"""Two writers that add to one store, of which one after the other is killed: what was acknowledged must be there."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from brimful.trend.measured import Measured, Point
from brimful.trend.store import Store

SERIES = 3
WRITER = """
import sys
from pathlib import Path
from killed_writers import run
from brimful.trend.store import Store
store, name, first = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(first, first + 100_000):
    with Store.create(store) as opened:
        opened.add([run(name, number)], now=1.8e9)
    print(number, flush=True)
"""


def run(writer, number):
    """A run with a value in each of the series."""
    points = [Point(key={"name": f"s{each}"}, worse="higher", value=1.0 + number + each) for each in range(SERIES)]
    return Measured(source=f"{writer} {number}", version=f"{writer} {number}", at=1.7e9 + number, points=points)


def kill_writers(directory, points, seed):
    """Kill writers at this number of points; give what was lost or is there twice, and how many were acknowledged."""
    store, chance = directory / "store", random.Random(seed)
    acknowledged = Counter()
    writers = {name: _start(store, name, 0) for name in ("a", "b")}
    try:
        for point in range(points):
            name = "ab"[point % 2]
            first = int(writers[name].stdout.readline())  # it adds now
            time.sleep(chance.uniform(0, 0.1))
            os.kill(writers[name].pid, signal.SIGKILL)
            lines = [first, *map(int, writers[name].communicate()[0].split())]
            acknowledged[name] = lines[-1] + 1
            # The last one may be in the store, unacknowledged: it is added again.
            writers[name] = _start(store, name, acknowledged[name])
    finally:
        for name, writer in writers.items():
            os.kill(writer.pid, signal.SIGKILL)
            lines = writer.communicate()[0].split()
            acknowledged[name] = int(lines[-1]) + 1 if lines else acknowledged[name]
    return problems(store, acknowledged), sum(acknowledged.values())


def problems(store, acknowledged):
    """Give runs that are missing, in parts, or there twice, and what adding all again changes."""
    found = []
    with Store.open(store) as opened:
        for reading in opened.read():
            counts = dict(zip(reading.series.versions, reading.series.counts, strict=True))
            for name, number in acknowledged.items():
                lost = [each for each in range(number) if f"{name} {each}" not in counts]
                found += [f"{reading.series.name}: {name} {each} is lost" for each in lost]
            found += [f"{reading.series.name}: {version} is there twice" for version, n in counts.items() if n != 1]
        sizes = {len(reading.series) for reading in opened.read()}
        found += [f"runs are there in parts: {sizes}"] if len(sizes) > 1 else []
        again = opened.add([run(name, each) for name, n in acknowledged.items() for each in range(n)], now=1.8e9)
        found += [f"added again: {again}"] if again.runs or again.values else []
    return found


def _start(store, name, first):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(store), name, str(first)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}"},
    )
