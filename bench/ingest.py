"""What `brimful discards ingest` costs: whole processes, interleaved with such that only unpack, or unpack and parse.

The data are made up in the exact format of the second generation: a day of four machines is 1,152 files of five
minutes with 20 metrics, 90 MB of text, in one tar.gz a machine, as the collectors' uploader makes them.
"""

import io
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS = int(os.environ.get("ROUNDS", "5"))
DAYS = [int(days) for days in os.environ.get("DAYS", "1 4").split()]
BEGIN_S = 1_646_092_800
METRICS = [
    f"switch.{kind}.{scope}.{direction}"
    for kind in ("broadcast", "discards", "errors", "octets", "unicast")
    for scope in ("local", "uplink")
    for direction in ("rx", "tx")
]
BAR_MB_PER_S = 150

UNPACK = """
import sys, tarfile
for name in sys.argv[1:]:
    with tarfile.open(name, "r|gz") as archive:
        for member in archive:
            archive.extractfile(member).read()
"""
PARSE = """
import json, sys, tarfile
for name in sys.argv[1:]:
    with tarfile.open(name, "r|gz") as archive:
        for member in archive:
            for line in archive.extractfile(member).read().splitlines():
                json.loads(line)
"""
DECODE = """
import sys, tarfile, msgspec
class Sample(msgspec.Struct, gc=False):
    timestamp: int
    value: int
    counter: int
class Line(msgspec.Struct, gc=False):
    experiment: str
    hostname: str
    metric: str
    sample: list[Sample]
decode = msgspec.json.Decoder(Line).decode
for name in sys.argv[1:]:
    with tarfile.open(name, "r|gz") as archive:
        for member in archive:
            for line in archive.extractfile(member).read().splitlines():
                decode(line)
"""


def write_archives(directory, days):
    """Write the archives; give their files and how many bytes of text are in them."""
    random = np.random.default_rng(1)
    files, size = [], 0
    for day in range(days):
        for machine in range(1, 5):
            counters = dict.fromkeys(METRICS, 0) | {name: 2**40 for name in METRICS if "octets" in name}
            path = Path(directory) / f"{day}-switch-mlab{machine}-dfw02-utilization.tgz"
            with tarfile.open(path, "w:gz", compresslevel=6) as archive:
                for number in range(288):
                    text = file_text(random, counters, machine, BEGIN_S + day * 86_400 + number * 300)
                    info = tarfile.TarInfo(f"switch/2022/03/{day + 1:02}/mlab{machine}/{number:03}-switch.jsonl")
                    info.size = len(text)
                    archive.addfile(info, io.BytesIO(text))
                    size += len(text)
            files.append(str(path))
    return files, size


def file_text(random, counters, machine, begin):
    times = begin + 10 * np.arange(30)
    starts, ends = times * 10**9 + random.integers(9e5, 2e6, 30), times * 10**9 + random.integers(3e7, 9e7, 30)
    head = f'"experiment":"s1-dfw02.measurement-lab.org","hostname":"mlab{machine}-dfw02.mlab-oti.measurement-lab.org"'
    packets = random.lognormal(10, 1.2, (30, 4)).astype(int)
    lines = []
    for metric in METRICS:
        lane = 2 * ("uplink" in metric) + metric.endswith("tx")
        if "octets" in metric:
            values = packets[:, lane] * random.integers(1200, 1400, 30)
        elif "unicast" in metric:
            values = packets[:, lane]
        else:
            values = np.where(random.random(30) < 0.03, random.integers(1, 50, 30), 0)
        totals = counters[metric] + np.cumsum(values)
        counters[metric] = int(totals[-1])
        samples = ",".join(
            f'{{"timestamp":{at},"collectstart":{start},"collectend":{end},"value":{value},"counter":{total}}}'
            for at, start, end, value, total in zip(times, starts, ends, values, totals, strict=True)
        )
        lines.append(f'{{{head},"metric":"{metric}","sample":[{samples}]}}\n')
    return "".join(lines).encode()


def run(command):
    """Give wall and CPU seconds and peak memory in MB of a command."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[:6]} ended with {process.returncode}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(directory, days):
    files, size = write_archives(directory, days)
    store = f"{directory}/store"
    ingest = [sys.executable, "-m", "brimful", "discards", "ingest", "--store", store]
    commands = {
        "ingest": [*ingest, *files],
        "ingest, one worker": [*ingest, "--workers", "1", *files],
        "unpack alone": [sys.executable, "-c", UNPACK, *files],
        "tarfile and json": [sys.executable, "-c", PARSE, *files],
        "tarfile and msgspec": [sys.executable, "-c", DECODE, *files],
    }
    rounds = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            shutil.rmtree(store, ignore_errors=True)
            rounds[name].append(run(command))
    packed = sum(Path(file).stat().st_size for file in files)
    print(f"{days} days of 4 machines: {size / 1e6:.0f} MB of text in {packed / 1e6:.0f} MB")
    print(f"{'':<20}{'wall s':>8}{'MB/s':>7}{'CPU s':>8}{'MB':>7}{'wall/unpack':>13}{'CPU/unpack':>12}")
    base = rounds["unpack alone"]
    for name, measured in rounds.items():
        wall, cpu, memory = (statistics.median(column) for column in zip(*measured, strict=True))
        ratios = [
            statistics.median(one[place] / other[place] for one, other in zip(measured, base, strict=True))
            for place in (0, 1)
        ]
        print(
            f"{name:<20}{wall:>8.2f}{size / 1e6 / wall:>7.0f}{cpu:>8.2f}{memory:>7.0f}"
            f"{ratios[0]:>13.2f}{ratios[1]:>12.2f}"
        )
    best = min(wall for wall, _, _ in rounds["ingest"])
    print(f"best round of ingest: {size / 1e6 / best:.0f} MB/s (bar {BAR_MB_PER_S})\n")


def main():
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    for days in DAYS:
        with tempfile.TemporaryDirectory() as directory:
            measure(directory, days)


main()
