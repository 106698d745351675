"""Whether a report by Spark on two workers is the one by DuckDB, and what each costs.

SIZES="4e6 4e7" samples, as near as whole days come; the stores are made up by `brimful discards synth` under build/ and
kept for the next time. The workers have MEMORY=2g each.
"""

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STORES = ROOT / "build" / "discards-spark"
BRIMFUL = [sys.executable, "-m", "brimful", "discards"]
DAYS = {4e6: ["--last-day", "2016-08-17"], 4e7: []}
"""Of two sites, whose samples are 26,000 a day each or so."""
OF_A_RUN = ("run_id", "started")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def made_up(samples: float) -> Path:
    """Give the store of a size; make it if there is none."""
    out = STORES / f"{samples:.0e}"
    if not (out / "truth" / "tests.parquet").exists():
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        options = ["--render", "store", "--tests", "0.2", "--site", "dfw02", "--site", "lga02", *DAYS[samples]]
        subprocess.run([*BRIMFUL, "synth", str(out), *options], check=True, stdout=subprocess.DEVNULL, stderr=-3)
    return out / "store"


def rows(store: Path) -> int:
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(file).num_rows for file in (store / "samples").rglob("*.parquet"))


class Memory:
    """The greatest resident size of some processes and of all that they start, in GB."""

    def __init__(self, *roots: int) -> None:
        self._roots = roots
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.greatest = 0.0

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            self.greatest = max(self.greatest, self._now())

    def _now(self) -> float:
        children: dict[int, list[int]] = {}
        for directory in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(directory.name))
        pages, left = 0, list(self._roots)
        while left:
            process = left.pop()
            left += children.get(process, [])
            with contextlib.suppress(OSError):
                pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return pages * PAGE_BYTES / 1e9


@contextlib.contextmanager
def cluster(memory: str):
    """Have two workers; give the master's name and the process that runs all."""
    command = [sys.executable, str(ROOT / "tools" / "spark-cluster"), memory]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            assert url, "the cluster does not start"
            yield url, process
        finally:
            process.terminate()


def report(store: Path, options: list[str], beside: list[int], environment: dict[str, str]) -> tuple[dict, str]:
    """Give the JSON of a report, and what it took."""
    with tempfile.TemporaryFile("w+") as printed:
        begin = time.monotonic()
        command = [*BRIMFUL, "report", "--store", str(store), "--json", *options]
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.DEVNULL, env=os.environ | environment)
        with Memory(process.pid, *beside) as memory:
            assert process.wait() == 0, f"{' '.join(command)} failed"
        cost = f"{time.monotonic() - begin:8.1f} s {memory.greatest:6.2f} GB"
        printed.seek(0)
        return json.load(printed), cost


def differences(one: object, other: object, place: str = "") -> list[tuple[str, float]]:
    """Give where two values differ, with the relative difference: infinite but for numbers."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differences(one[key], other[key], f"{place}/{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [found for number, pair in pairs for found in differences(*pair, f"{place}/{number}")]
    if one == other:
        return []
    if isinstance(one, float) and isinstance(other, float):
        return [(place, abs(one - other) / max(abs(one), abs(other)))]
    return [(place, math.inf)]


def main() -> int:
    sizes = [float(size) for size in os.environ.get("SIZES", "4e6 4e7").split()]
    memory = os.environ.get("MEMORY", "2g")
    worst = 0.0
    for size in sizes:
        store = made_up(size)
        print(f"{rows(store):,} samples of {store.relative_to(ROOT)}", flush=True)
        expected, cost = report(store, [], [], {})
        print(f"  DuckDB              {cost}", flush=True)
        with cluster(memory) as (url, process):
            environment = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_EXECUTOR_MEMORY": memory}
            found, cost = report(store, ["--engine", "spark", "--master", url], [process.pid], environment)
        print(f"  Spark, two workers  {cost}", flush=True)
        for name in OF_A_RUN:
            found.pop(name), expected.pop(name)
        differing = differences(found, expected)
        worst = max([worst, *(by for _, by in differing)])
        print(f"  values that differ: {len(differing)}", *(f"{place} by {by:.1e}" for place, by in differing[:10]))
    print("bar: the same JSON but for run id and time")
    return 1 if worst > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
