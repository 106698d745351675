"""What a report on discards costs at three sizes, the largest a twentieth of the published report's own volume.

The stores are made up by `brimful discards synth` under build/ and kept for the next time. FULL=1 adds the whole
volume, 4e8 samples and 2e7 tests (2 GB, some ten minutes to make).
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STORES = ROOT / "build" / "discards-scale"
BRIMFUL = [sys.executable, "-m", "brimful", "discards"]
SIZES = {
    "1/80": ["--site", "dfw02", "--last-day", "2016-12-15"],
    "1/40": ["--site", "dfw02", "--last-day", "2017-06-30"],
    "1/20": ["--site", "dfw02"],
    "whole": [],
}
BARS = "bars for the whole: 600 s on 2 processors, 4 GB"


def made_up(name: str, options: list[str]) -> Path:
    """Give the store of a size; make it if there is none."""
    out = STORES / name.replace("/", "-")
    if not (out / "truth" / "tests.parquet").exists():
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        command = [*BRIMFUL, "synth", str(out), "--render", "store", "--tests", "0.2", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return out / "store"


def counts(store: Path) -> tuple[int, int]:
    import pyarrow.parquet as pq

    def rows(table: str) -> int:
        return sum(pq.read_metadata(file).num_rows for file in (store / table).rglob("*.parquet"))

    return rows("samples"), rows("tests")


def cost(store: Path) -> tuple[float, float, float]:
    """Give wall seconds, processor seconds and the greatest resident size in GB of a report with all its figures."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [*BRIMFUL, "report", "--store", str(store), "--html", f"{scratch}/report.html"]
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, f"{' '.join(command)} failed"
        return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sizes = list(SIZES) if os.environ.get("FULL") else list(SIZES)[:3]
    print(f"{'size':>6} {'samples':>12} {'tests':>11} {'wall s':>8} {'CPU s':>8} {'GB':>5}  CPU us/sample")
    for name in sizes:
        store = made_up(name, SIZES[name])
        samples, tests = counts(store)
        wall_s, cpu_s, gigabytes = cost(store)
        print(
            f"{name:>6} {samples:12,} {tests:11,} {wall_s:8.1f} {cpu_s:8.1f} {gigabytes:5.2f}  "
            f"{cpu_s / samples * 1e6:13.2f}",
            flush=True,
        )
    print(BARS)


if __name__ == "__main__":
    main()
