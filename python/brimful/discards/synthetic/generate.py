"""Writing a world: month by month of each site, in parallel."""

from __future__ import annotations

import collections
import concurrent.futures.process
import contextlib
import csv
import ctypes
import datetime
import io
import json
import multiprocessing
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from brimful.discards.schema import TESTS
from brimful.discards.store import Partition, Store
from brimful.discards.synthetic import tables, truth
from brimful.discards.synthetic.config import BINS_PER_DAY, Config, at
from brimful.discards.synthetic.counters import position
from brimful.discards.synthetic.platform import SECOND_GENERATION
from brimful.discards.synthetic.render_v1 import render_v1
from brimful.discards.synthetic.render_v2 import render_v2
from brimful.discards.synthetic.telemetry import first_generation
from brimful.discards.synthetic.world import SiteDay, site_day
from brimful.errors import BrimfulError, UsageError
from brimful.files import write_atomically

RENDERINGS = ("v1", "v2", "flat", "store", "truth")
DESCRIPTION = "synthetic.json"
_PR_SET_PDEATHSIG = 1
"""Of `linux/prctl.h`."""

# What differs from row to row is not worth a dictionary; times in steps are a third of the size as differences.
_SAMPLES_ENCODING = {
    "use_dictionary": ["machine", "metric", "span_s", "flags"],
    "column_encoding": dict.fromkeys(("bin_start", "bin_end"), "DELTA_BINARY_PACKED"),
}
_TESTS_ENCODING = {"use_dictionary": [field.name for field in TESTS if pa.types.is_dictionary(field.type)] + ["server"]}

# Bytes that a sample and a test take, measured on the default world.
_SAMPLE_BYTES = {"v1": 3.5, "v2": 11.5, "flat": 4.5, "store": 3.0}
_FLAT_TEST_BYTES, _STORED_TEST_BYTES, _TRUE_TEST_BYTES = 53, 52, 5


@dataclass(frozen=True)
class Size:
    """How much there is to write, or was written."""

    samples: dict[str, int]
    """By rendering."""
    tests: int
    octets: int


@dataclass(frozen=True)
class _Chunk:
    config: Config
    renderings: frozenset[str]
    out: Path
    site: str
    days: tuple[datetime.date, ...]

    @property
    def name(self) -> str:
        """As files that hold a month are called."""
        return f"{self.site}-{self.days[0]:%Y%m}"


def estimate(config: Config, renderings: frozenset[str]) -> Size:
    """Give about how much a world is, before it is made."""
    bins = len(config.chosen_sites) * config.machines * BINS_PER_DAY
    metrics = {
        "v1": sum(len(first_generation(config, day)) for day in config.days),
        "v2": len(SECOND_GENERATION) * len(config.days),
        "flat": len(config.metrics) * len(config.days),
        "store": len(config.metrics) * len(config.days),
    }
    samples = {name: bins * metrics[name] for name in sorted(renderings & set(metrics))}
    expected = sum(at(config.metro(site).tests_per_day, day) for site in config.chosen_sites for day in config.days)
    tests = round(expected * config.tests.scale)
    octets = sum(_SAMPLE_BYTES[name] * count for name, count in samples.items())
    octets += tests * (_TRUE_TEST_BYTES + _STORED_TEST_BYTES * ("store" in renderings))
    octets += tests * _FLAT_TEST_BYTES * bool(renderings & {"v1", "v2", "flat"})
    return Size(samples, tests, round(octets))


def prepare(out: Path, *, again: bool) -> None:
    """Make the directory for a world; ``again``: in the place of one that is there, whole or not.

    Raises
    ------
    UsageError
        When the directory holds something else.
    BrimfulError
        When it cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            if not (again and (out / DESCRIPTION).is_file()):
                advice = "choose another directory" if again else "choose another, or --force if it is synthetic data"
                message = f"{out}: is not empty; {advice}"
                raise UsageError(message)
            for name in (*RENDERINGS, "tests", "parts"):
                if (out / name).exists():
                    shutil.rmtree(out / name)
    except OSError as error:
        message = f"{out}: cannot make it: {error.strerror}"
        raise BrimfulError(message) from error


def generate(
    config: Config,
    renderings: frozenset[str],
    out: Path,
    *,
    workers: int,
    progress: Callable[[int], None],
) -> Size:
    """Write a world and its truth; ``progress`` gets how many site-days more are there.

    Raises
    ------
    BrimfulError
        When something cannot be written.
    """
    try:
        _describe(config, renderings, out, complete=False)
        if "store" in renderings:
            Store.create(out / "store")
        chunks = [
            _Chunk(config, renderings, out, site, days) for site in config.chosen_sites for days in _months(config)
        ]
        counts: collections.Counter[str] = collections.Counter()
        for chunk, written in zip(chunks, _run(chunks, workers), strict=True):
            counts.update(written)
            progress(len(chunk.days))
        _join_truth(config, out, [chunk.name for chunk in chunks])
        _describe(config, renderings, out, complete=True)
        octets = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    except (OSError, pa.ArrowException) as error:
        message = f"{out}: cannot write: {str(error).splitlines()[0]}; make room and run it again with --force"
        raise BrimfulError(message) from error
    except concurrent.futures.process.BrokenProcessPool as error:
        message = (
            f"{out}: a process was killed, maybe for want of memory; run it again with --force and fewer --workers"
        )
        raise BrimfulError(message) from error
    tests = counts.pop("tests")
    return Size(dict(counts), tests, octets)


def _months(config: Config) -> list[tuple[datetime.date, ...]]:
    months: dict[tuple[int, int], list[datetime.date]] = {}
    for day in config.days:
        months.setdefault((day.year, day.month), []).append(day)
    return [tuple(days) for days in months.values()]


def _run(chunks: list[_Chunk], workers: int) -> Iterator[dict[str, int]]:
    if workers == 1 or len(chunks) == 1:
        yield from map(_write_chunk, chunks)
        return
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        min(workers, len(chunks)), mp_context=context, initializer=_begin_worker
    ) as pool:
        yield from pool.map(_write_chunk, chunks)


def _begin_worker() -> None:
    """Leave interrupts to the process that started this one, and end with it.

    It lets its workers finish what they are at, and starts nothing more; where it is killed, so are they.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _write_chunk(chunk: _Chunk) -> dict[str, int]:
    """Write a month of a site; give how many samples of each rendering, and tests, there are."""
    config = chunk.config
    counts: collections.Counter[str] = collections.Counter()
    with contextlib.ExitStack() as files:

        def month(directory: str, name: str, schema: pa.Schema) -> _Month:
            return files.enter_context(_Month(chunk.out / directory / f"{name}.parquet", schema))

        tests = month("tests", chunk.name, tables.FLAT_TESTS) if chunk.renderings & {"flat", "v1", "v2"} else None
        rows = month("flat", chunk.name, tables.SWITCH) if "flat" in chunk.renderings else None
        true_tests = month("parts", f"{chunk.name}-tests", truth.TRUE_TESTS)
        true_days = month("parts", f"{chunk.name}-days", truth.TRUE_DAYS)
        positions = {}
        if "v2" in chunk.renderings:
            positions = {
                machine: position(config, chunk.site, machine, chunk.days[0]) for machine in config.machine_names
            }
        for world, following in _pairs(config, chunk):
            true_tests.add(truth.true_tests(config, world, following))
            true_days.add(truth.true_days(config, world))
            counts["tests"] += len(world.tests.start_us)
            if tests:
                tests.add(tables.flat_tests_table(config, world))
            if rows:
                table = tables.switch_table(config, world)
                rows.add(table)
                counts["flat"] += table.num_rows
            if "store" in chunk.renderings:
                counts["store"] += _write_partitions(config, chunk.out / "store", world)
            if "v1" in chunk.renderings:
                counts["v1"] += render_v1(config, chunk.out / "v1", world, following)
            for machine, begin in positions.items():
                positions[machine], samples = render_v2(config, chunk.out / "v2", world, machine, begin)
                counts["v2"] += samples
    return dict(counts)


def _pairs(config: Config, chunk: _Chunk) -> Iterator[tuple[SiteDay, SiteDay]]:
    """Give each day with the one after it."""
    world = site_day(config, chunk.site, chunk.days[0])
    for day in chunk.days:
        following = site_day(config, chunk.site, day + datetime.timedelta(1))
        yield world, following
        world = following


def _write_partitions(config: Config, store: Path, world: SiteDay) -> int:
    samples = 0
    for machine in config.machine_names:
        table = tables.samples_table(config, world, machine)
        if table.num_rows:
            partition = Partition("samples", world.site, world.day, machine)
            _write_partition(store, partition, table, _SAMPLES_ENCODING)
            samples += table.num_rows
    tests = tables.tests_table(config, world)
    if tests.num_rows:
        _write_partition(store, Partition("tests", world.site, world.day, "tests"), tests, _TESTS_ENCODING)
    return samples


def _write_partition(store: Path, partition: Partition, table: pa.Table, encoding: dict[str, Any]) -> None:
    # Store.write() waits for the disk after each file, which data that can be made again need not.
    path = store / Store.file(partition)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd", **encoding)


class _Month(contextlib.AbstractContextManager["_Month"]):
    """A Parquet file of plain columns to which days are added; it is written at the end."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._schema = schema
        self._days: list[pa.Table] = []

    def add(self, table: pa.Table) -> None:
        """Add rows."""
        self._days.append(table)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.concat_tables(self._days).cast(self._schema), self._path, compression="zstd")


def _join_truth(config: Config, out: Path, names: list[str]) -> None:
    directory = out / "truth"
    directory.mkdir(exist_ok=True)
    for kind, schema in (("tests", truth.TRUE_TESTS), ("days", truth.TRUE_DAYS)):
        with pq.ParquetWriter(directory / f"{kind}.parquet", schema, compression="zstd") as whole:
            for name in names:
                whole.write_table(pq.read_table(out / "parts" / f"{name}-{kind}.parquet"))
    shutil.rmtree(out / "parts")
    changes = json.dumps(truth.true_changes(config), indent=2) + "\n"
    write_atomically(directory / "changes.json", changes.encode())
    capacities = io.StringIO()
    writer = csv.writer(capacities, lineterminator="\n")
    writer.writerow(("site", "since", "capacity"))
    for site in config.chosen_sites:
        writer.writerow((site, config.first_day, f"{config.sites[site].capacity_bps / 1e9:g}Gbps"))
    write_atomically(out / "capacities.csv", capacities.getvalue().encode())


def _describe(config: Config, renderings: frozenset[str], out: Path, *, complete: bool) -> None:
    """Write what a world is made from, first of all: it marks the directory as one that may be written over."""
    content = {"complete": complete, "renderings": sorted(renderings), "config": msgspec.to_builtins(config)}
    write_atomically(out / DESCRIPTION, (json.dumps(content, indent=1) + "\n").encode())
