"""From sources of results to the tests of a store."""

from __future__ import annotations

import contextlib
import datetime
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.compression import NO_FILE, bare_name
from brimful.discards.speed_tests.clients import name_clients, settle_clients
from brimful.discards.speed_tests.completing import Matches, Traces
from brimful.discards.speed_tests.merging import Collector, Merged
from brimful.discards.speed_tests.reading import ENDINGS, KNOWN, Settings, read_source
from brimful.discards.speed_tests.rows import COUNTED_OUT, SpeedTest, Tally, to_table
from brimful.discards.speed_tests.traces import Trace
from brimful.discards.store import Store
from brimful.errors import UsageError

BATCH_TESTS = 20_000
MERGE_TRACES = 200_000
MERGE_ROWS = 5_000_000
"""Rows are put aside on disk until there are this many; then they are merged into their partitions."""


class Progress(Protocol):
    """What shows how far a load is."""

    def reading(self, done_bytes: int, tests: int) -> None:
        """Say how many bytes of the sources are read, and how many tests were found in them."""
        ...

    def writing(self, done: int, total: int) -> None:
        """Say how many partitions of those that change are written."""
        ...


@dataclass
class Summary:
    """What a load came to."""

    sources: int = 0
    known_sources: int = 0
    """Are in the store already: they were not read again."""
    known_results: int = 0
    """That those had when they were read."""
    known_bad: int = 0
    """Of them, those that could not be read."""
    results: int = 0
    tests: int = 0
    empty: int = 0
    without_transfer: int = 0
    traces: int = 0
    observed: int = 0
    """Connections of SideStream that are no tests of several streams."""
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Tests by protocol and direction."""
    sites: set[str] = field(default_factory=set)
    first: datetime.datetime | None = None
    """Earliest and latest start of a test."""
    last: datetime.datetime | None = None
    bad: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Results that could not be read, by source and reason."""
    merged: Merged = field(default_factory=Merged)
    completed: int = 0
    """Tests that traces completed, whichever came first."""
    matches: Matches = field(default_factory=Matches)

    @property
    def bad_share(self) -> float:
        """How many of the results could not be read, those of sources that are in already included."""
        results = self.results + self.known_results
        return (self.bad.total() + self.known_bad) / results if results else 0.0

    def add_known(self, noted: dict[str, Any]) -> None:
        """Count a source that is in already, by what was noted of it."""
        self.known_sources += 1
        self.known_results += int(noted.get("results", 0))
        self.known_bad += sum(noted.get("bad", {}).values())

    def add_rows(self, rows: pa.Table) -> None:
        """Count tests."""
        counts = rows.group_by(["protocol", "direction"]).aggregate([([], "count_all")])
        for row in counts.to_pylist():
            self.kinds[row["protocol"], row["direction"]] += row["count_all"]
        self.sites |= set(pc.unique(rows["site"]).to_pylist())
        bounds = pc.min_max(rows["start"]).as_py()
        self.first = min(filter(None, (self.first, bounds["min"])))
        self.last = max(filter(None, (self.last, bounds["max"])))

    def add_tally(self, tally: Tally) -> None:
        """Count the results of a source."""
        for name in ("results", "tests", *COUNTED_OUT):
            setattr(self, name, getattr(self, name) + getattr(tally, name))
        for reason, count in tally.bad.items():
            self.bad[tally.source, reason] += count


def find_sources(paths: list[Path]) -> list[Path]:
    """Give the files that are named, and those with known endings in the directories that are.

    Raises
    ------
    UsageError
        When one is not there or no file, or a directory has none.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if bare_name(file.name).endswith(KNOWN) and file.is_file())
            if not inside:
                message = f"{path}: no file in it ends in {ENDINGS}"
                raise UsageError(message)
            found += inside
        elif not path.exists():
            message = f"{path}: is not there"
            raise UsageError(message)
        elif not path.is_file():
            message = f"{path}: {NO_FILE}"
            raise UsageError(message)
        else:
            found.append(path)
    return found


def load(store: Store, sources: list[Path], settings: Settings, *, progress: Progress) -> Summary:
    """Put the tests in sources into a store.

    A source is noted once all its tests are in; one that is noted is not read again.

    Raises
    ------
    UsageError
        When a source is not there, or the store holds clients under other pseudonyms.
    BrimfulError
        When the store cannot be written.
    """
    paths = find_sources(sources)
    with store.place.writing():
        settle_clients(store, settings.pseudonyms)
        return _Load(store, settings, progress).run(paths)


class _Load:
    def __init__(self, store: Store, settings: Settings, progress: Progress) -> None:
        self._store = store
        self._settings = settings
        self._progress = progress
        self._collector = Collector(store)
        self._traces = Traces(store)
        self._summary = Summary()
        self._noted: dict[str, dict[str, Any]] = {}
        """What is said of how a source was read, by digest."""
        self._read: dict[str, Tally] = {}
        """Sources that were read whole and whose rows are not merged yet, by digest."""
        self._waiting: list[SpeedTest] = []

    def run(self, paths: list[Path]) -> Summary:
        known = self._store.ingested()
        by_content = {line["content"]: line for line in known.values() if "content" in line}
        digests: dict[Path, tuple[str, str]] = {}
        for path in paths:
            with contextlib.suppress(OSError):
                digests[path] = self._settings.digests(path)
                digest, content = digests[path]
                if digest not in known and content in by_content:
                    _check_options(path, by_content[content], self._settings.options(path))
        done = 0
        for path in paths:
            self._summary.sources += 1
            if path not in digests:
                self._refuse(path)
                continue
            digest, content = digests[path]
            self._noted[digest] = {"content": content, "options": self._settings.options(path)}
            if digest in known:
                self._summary.add_known(known[digest])
            else:
                known[digest] = {}
                self._read_source(path, digest, done)
            done += path.stat().st_size
            self._progress.reading(done, self._summary.tests)
        self._merge()
        self._summary.completed += self._summary.merged.completed
        self._summary.matches = self._traces.matches()
        return self._summary

    def _refuse(self, path: Path) -> None:
        """Count a source that cannot be opened; it is read the next time."""
        reason = "cannot be opened"
        try:
            path.open("rb").close()
        except OSError as error:
            reason = f"cannot be opened: {error.strerror}"
        tally = Tally(str(path), results=1)
        tally.reject(reason)
        self._store.note_unread(tally.unread)
        self._summary.add_tally(tally)

    def _read_source(self, path: Path, digest: str, done: int) -> None:
        tally = Tally(str(path), names_clients=self._settings.pseudonyms is None)
        with path.open("rb") as file:
            for found in read_source(path, file, self._settings, tally):
                if isinstance(found, Trace):
                    self._traces.add(found)
                elif isinstance(found, SpeedTest):
                    tally.tests += 1
                    self._waiting.append(found)
                    if len(self._waiting) < BATCH_TESTS:
                        continue
                    self._add_waiting()
                else:
                    tally.tests += found.num_rows
                    self._add_waiting()
                    self._add(found)
                self._progress.reading(done + file.tell(), self._summary.tests + tally.tests)
                if self._collector.rows >= MERGE_ROWS or self._traces.rows >= MERGE_TRACES:
                    self._merge()
        if not tally.results:
            tally.results += 1
            tally.reject("has no result of a speed test in it")
        self._summary.add_tally(tally)
        self._read[digest] = tally

    def _add_waiting(self) -> None:
        """Make a table of tests that came one by one, of however many sources."""
        self._add(to_table(self._waiting))
        self._waiting = []

    def _add(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self._summary.add_rows(rows)
            self._collector.add(name_clients(rows, self._settings.pseudonyms))

    def _merge(self) -> None:
        self._add_waiting()
        self._summary.completed += self._traces.merge()
        self._collector.merge(self._summary.merged, self._progress.writing)
        if unread := [line for tally in self._read.values() for line in tally.unread]:
            self._store.note_unread(unread)
        for digest, tally in self._read.items():
            noted = self._noted.pop(digest)
            self._store.note_ingested([{"digest": digest, "table": "tests", **tally.counts(), **noted}])
        self._read = {}


def _check_options(path: Path, noted: dict[str, Any], options: dict[str, str | None]) -> None:
    """Refuse a source that is in the store already as something else: its tests would be there twice.

    Raises
    ------
    UsageError
        When it is.
    """
    changed = [name for name, value in options.items() if noted["options"].get(name) != value]
    if noted.get("tests") and changed:
        message = (
            f"{path}: is in the store already, with another {' and '.join(changed)}; "
            "give the same, or load all sources into a new store"
        )
        raise UsageError(message)
