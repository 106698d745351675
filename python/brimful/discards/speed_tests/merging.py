"""Puts rows of tests into their partitions, with a bounded amount of memory, in whatever order they come."""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.schema import TESTS
from brimful.discards.speed_tests.completing import complete_from_store
from brimful.discards.speed_tests.rows import ROWS
from brimful.discards.store import Partition, Store

RUN_ROWS = 300_000
"""The rows that are held in memory; more are sorted and put aside."""
BLOCK_ROWS = 4_000
"""The rows that were put aside and are read at a time."""
WRITERS = 8
MERGED_TOGETHER = 64
PARTITION_NAME = "tests"

Key = tuple[str, datetime.date]
"""Site and day."""
_Place = tuple[int, int, int]
"""Block, first row in it, and the one after the last."""


@dataclass
class Merged:
    """What was new among rows that were merged into a store."""

    added: int = 0
    repeated: int = 0
    """Were there already, the same."""
    conflicts: int = 0
    """Were there already, with other content: the latest is kept."""
    completed: int = 0
    """Of those added, lacked what the trace of their connection has."""
    partitions: int = 0
    """Files that were written."""

    def add(self, other: Merged) -> None:
        """Count what another merge came to as well."""
        self.added += other.added
        self.repeated += other.repeated
        self.conflicts += other.conflicts
        self.completed += other.completed
        self.partitions += other.partitions


class Collector:
    """Takes rows in any order and merges them into a store: an external merge sort by site and day."""

    def __init__(self, store: Store, *, run_rows: int = RUN_ROWS) -> None:
        self._store = store
        self._run_rows = run_rows
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._runs: list[_Run] = []
        self.rows = 0
        """Not merged yet."""
        self._remove_runs()

    def add(self, rows: pa.Table) -> None:
        """Take rows of `ROWS`."""
        self._pending.append(rows)
        self._pending_rows += rows.num_rows
        self.rows += rows.num_rows
        if self._pending_rows >= self._run_rows:
            self._put_aside()

    def merge(self, merged: Merged, progress: Callable[[int, int], None]) -> None:
        """Put all rows taken so far into the store, count what was new, and report how many partitions are done."""
        if self._runs:
            self._put_aside()
        runs = self._runs or [_Run.in_memory(self._sorted_pending())] if self.rows else []
        keys = sorted({key for run in runs for key in run.places})
        # A write waits for the disk most of the time.
        with ThreadPoolExecutor(WRITERS) as pool:
            for first in range(0, len(keys), MERGED_TOGETHER):
                together = keys[first : first + MERGED_TOGETHER]
                rows = [pa.concat_tables([run.rows_of(key) for run in runs if key in run.places]) for key in together]
                for part in pool.map(self._merge_partition, together, rows):
                    merged.add(part)
                progress(min(first + MERGED_TOGETHER, len(keys)), len(keys))
        self._pending, self._pending_rows, self._runs, self.rows = [], 0, [], 0
        self._remove_runs()

    def _merge_partition(self, key: Key, rows: pa.Table) -> Merged:
        return _merge_partition(self._store, key, rows)

    def _put_aside(self) -> None:
        if not self._pending_rows:
            return
        self._directory.mkdir(exist_ok=True)
        self._runs.append(_Run.on_disk(self._sorted_pending(), self._directory / f"{len(self._runs)}.arrow"))
        self._pending, self._pending_rows = [], 0

    def _sorted_pending(self) -> pa.Table:
        rows = pa.concat_tables(self._pending)
        rows = rows.append_column("day", pc.cast(rows["start"], pa.date32(), safe=False))
        # The sort is stable: of two rows with one id, the one that came last stays last.
        return rows.take(pc.sort_indices(rows, [("site", "ascending"), ("day", "ascending")])).combine_chunks()

    @property
    def _directory(self) -> Path:
        return self._store.place.scratch / ".runs"

    def _remove_runs(self) -> None:
        """Remove what was put aside, also by a program that was killed."""
        for path in self._directory.glob("*.arrow"):
            path.unlink()
        with contextlib.suppress(FileNotFoundError):
            self._directory.rmdir()


@dataclass
class _Run:
    """Rows sorted by site and day, in blocks of which one at a time is in memory."""

    places: dict[Key, _Place]
    read: Callable[[int], pa.Table]
    number: int = -1
    block: pa.Table | None = None

    @classmethod
    def in_memory(cls, rows: pa.Table) -> _Run:
        return cls({key: (0, first, after) for key, first, after in _edges(rows)}, lambda _number: rows)

    @classmethod
    def on_disk(cls, rows: pa.Table, path: Path) -> _Run:
        """Write rows to a file, so that those of a site and day lie in one block."""
        places = {}
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            number = begin = 0
            for key, first, after in _edges(rows):
                places[key] = (number, first - begin, after - begin)
                if after - begin >= BLOCK_ROWS or after == rows.num_rows:
                    writer.write_table(rows.slice(begin, after - begin))
                    number, begin = number + 1, after
        reader = pa.ipc.open_file(pa.OSFile(str(path)))
        return cls(places, lambda number: pa.Table.from_batches([reader.get_batch(number)]))

    def rows_of(self, key: Key) -> pa.Table:
        number, first, after = self.places[key]
        if number != self.number or self.block is None:
            self.number, self.block = number, self.read(number)
        return self.block.slice(first, after - first).select(ROWS.names)


def _edges(rows: pa.Table) -> Iterator[tuple[Key, int, int]]:
    """Give each site and day of sorted rows, its first row and the one after its last."""
    sites = pc.rank(rows["site"], tiebreaker="dense").to_numpy()
    days = rows["day"].cast(pa.int32()).to_numpy()
    edges = np.flatnonzero((np.diff(sites) != 0) | (np.diff(days) != 0)) + 1
    for first, after in itertools.pairwise([0, *edges.tolist(), rows.num_rows]):
        yield (rows["site"][first].as_py(), rows["day"][first].as_py()), first, after


def _merge_partition(store: Store, key: Key, rows: pa.Table) -> Merged:
    site, day = key
    partition = Partition("tests", site, day, PARTITION_NAME)
    rows, completed = complete_from_store(store, site, day, rows.drop_columns(["site"]))
    stored = store.read(partition, TESTS)
    if stored is not None:
        rows = pa.concat_tables([stored.cast(rows.schema), rows])
    kept, conflicts = keep_latest(rows)
    dropped = rows.num_rows - kept.num_rows
    added = kept.num_rows - (stored.num_rows if stored is not None else 0)
    if added or conflicts:
        store.write(partition, kept.sort_by([("start", "ascending"), ("test_id", "ascending")]).cast(TESTS))
    if stored is not None:
        completed = completed.filter(pc.invert(pc.is_in(completed, value_set=stored["test_id"].combine_chunks())))
    return Merged(
        added=added,
        repeated=dropped - conflicts,
        conflicts=conflicts,
        completed=len(completed.unique()),
        partitions=int(bool(added or conflicts)),
    )


def keep_latest(rows: pa.Table) -> tuple[pa.Table, int]:
    """Keep the last row of each id; say how many of the others differ from it."""
    ids = pc.dictionary_encode(rows["test_id"].combine_chunks()).indices.to_numpy()
    places = np.arange(len(ids))
    last = np.zeros(len(ids), dtype=np.int64)
    np.maximum.at(last, ids, places)
    keepers = last[ids]
    dropped = np.flatnonzero(keepers != places)
    if not len(dropped):
        return rows, 0
    old, new = rows.take(dropped), rows.take(keepers[dropped])
    differ = np.zeros(len(dropped), dtype=bool)
    for one, other in zip(old.columns, new.columns, strict=True):
        same = pc.or_kleene(pc.equal(one, other), pc.and_(pc.is_null(one), pc.is_null(other)))
        differ |= ~pc.fill_null(same, False).to_numpy()
    return rows.filter(pa.array(keepers == places)), int(differ.sum())
