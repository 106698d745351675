"""Raw telemetry into a store: which sources, in which order, and what became of them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from brimful.discards.archives import EMPTY, Piece, Unread
from brimful.discards.capacities import Capacities
from brimful.discards.schema import Flag
from brimful.discards.store import Partition, Store
from brimful.discards.telemetry import catalogue, disco
from brimful.discards.telemetry.columns import Decoded
from brimful.discards.telemetry.interleaved import BETWEEN
from brimful.discards.telemetry.merging import Counts, Merged, judge_machine, merge_machine, rows_between
from brimful.discards.telemetry.rows import Rows
from brimful.discards.telemetry.seen import Seen
from brimful.discards.telemetry.source import AS_IT_IS, Reading, Settled, Source
from brimful.discards.telemetry.sources import UNREADABLE, check_sources

BATCH_BYTES = 1 << 20
"""Text that is decoded at a time."""
BUFFERED_ROWS = 3_000_000
"""Rows that wait for being merged into their days, twice: while some are merged, others are read."""
_MAX_REASONS = 1000
_MAX_PLACES = 1000
_MAX_UNREAD = 10_000
"""Lines for the quarantine that are kept until their source is done."""


class IngestSummary(msgspec.Struct):
    """What an ingest did."""

    sources_new: int = 0
    sources_known: int = 0
    unreadable: int = 0
    """Sources and members that could not be read to their end."""
    unreadable_places: list[str] = msgspec.field(default_factory=list)
    """The first of them, with the reason."""
    lines: int = 0
    samples: int = 0
    """Each is a row, or repeated, left out or of a line that was not taken."""
    repeated_samples: int = 0
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    """Samples that say nothing, by reason: they are no bad lines."""
    notes: list[str] = msgspec.field(default_factory=list)
    """Of files that are not read, and of ports: the first ones."""
    rows_new: int = 0
    rows_known: int = 0
    rows_conflicting: int = 0
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    """Lines that were not taken, by reason."""
    refused_samples: int = 0
    """Samples of theirs that were not taken."""
    days: int = 0
    """Of a machine each, that rows were put into."""
    missing_bins: dict[str, int] = msgspec.field(default_factory=dict)
    """In those days, by type of metric."""
    flags: dict[str, int] = msgspec.field(default_factory=dict)
    """Rows of those days, by flag."""
    values: int = 0
    """Rows of those days that have a value."""
    without_value: dict[str, int] = msgspec.field(default_factory=dict)
    """Those that have none, each for one reason."""
    bytes: int = 0
    """Of text, uncompressed."""
    quarantine: str | None = None
    max_bad: float = 0.01

    @property
    def bad_lines(self) -> int:
        """Lines that were not taken; what could not be read counts as one each."""
        return sum(self.refused.values()) + self.unreadable

    @property
    def too_many_bad(self) -> bool:
        """Whether more than the share that was allowed was bad."""
        return self.bad_lines > self.max_bad * (self.lines + self.unreadable)


class Progress(Protocol):
    """What shows how far an ingest is."""

    def start(self, total_bytes: int) -> None:
        """Learn how large the sources are, as they lie on disk."""
        ...

    def advance(self, read_bytes: int) -> None:
        """Learn that so much more of them was read."""
        ...


@dataclass
class _Work:
    """A step in the order of the sources: text to decode, then what is known after it."""

    pieces: list[Piece] = field(default_factory=list)
    decoded: Decoded | None = None
    """Instead of text, where that was read elsewhere."""
    settles: bool = False
    """What came before must be in the store before anything else is read."""
    unread: list[Unread] = field(default_factory=list)
    finished: list[dict[str, object]] = field(default_factory=list)
    """Sources that end here, as `Store.note_ingested` takes them."""


def ingest(
    store: Store,
    sources: list[Path],
    *,
    ceilings: Capacities,
    workers: int,
    max_bad: float,
    progress: Progress,
    reading: Reading = AS_IT_IS,
) -> IngestSummary:
    """Put sources into a store, those that are in it left out.

    Parameters
    ----------
    store
        Where to.
    sources
        Files, in the order in which the later wins where two differ.
    ceilings
        What uplinks carry.
    workers
        Threads that decode and merge: both happen outside of the interpreter's lock.
    max_bad
        Share of lines that may be bad.
    progress
        Gets how many bytes of the files were read.
    reading
        How to read them.

    Raises
    ------
    BrimfulError
        When the store cannot be written. What is in stays; ingesting again goes on.
    """
    with store.place.writing():
        check_sources(store, sources, ceilings, reading)
        return _Ingest(store, ceilings, workers, progress, reading, max_bad).run(sources)


def judge_again(store: Store, ceilings: Capacities, workers: int) -> int:
    """Clean all that is in a store by other capacities; give how many days of machines changed.

    Raises
    ------
    BrimfulError
        When the store cannot be written. Judging again goes on.
    """
    with store.place.writing(), ThreadPoolExecutor(workers) as pool:
        machines: dict[tuple[str, str], list[Partition]] = {}
        for partition in store.partitions("samples"):
            machines.setdefault((partition.site, partition.name), []).append(partition)
        judged = [pool.submit(judge_machine, store, sorted(days), ceilings) for days in machines.values()]
        return sum(future.result() for future in judged)


class _Ingest:
    def __init__(
        self, store: Store, ceilings: Capacities, workers: int, progress: Progress, reading: Reading, max_bad: float
    ) -> None:
        self.store = store
        self.ceilings = ceilings
        self.progress = progress
        self.reading = reading
        self.workers = workers
        self.pool = ThreadPoolExecutor(workers)
        ledger = store.ingested()
        self.known = set(ledger)
        self.seen = Seen(one for line in ledger.values() for one in line.get("series", []))
        self.summary = IngestSummary(max_bad=max_bad)
        self.buffer: dict[tuple[str, str], dict[int, list[Rows]]] = {}
        self.buffered = 0
        self.finished: list[dict[str, object]] = []
        """Sources whose last rows are in the buffer."""
        self.merging: tuple[list[Future[Merged]], list[dict[str, object]]] = ([], [])
        self.unread: list[dict[str, object]] = []
        self.days: dict[Partition, Counts] = {}

    def run(self, sources: list[Path]) -> IngestSummary:
        self.progress.start(sum(_size(path) for path in sources))
        try:
            for work, decoding in self._ahead(self._work(sources)):
                self._take(work, work.decoded or decoding.result())
                if work.settles:
                    self._flush()
                    self._wait()
            self._flush()
            self._wait()
        finally:
            self.pool.shutdown(cancel_futures=True)
        self._note_unread()
        self._sum_up()
        return self.summary

    def _ahead(self, works: Iterator[_Work]) -> Iterator[tuple[_Work, Future[Decoded]]]:
        """Decode a few steps ahead, and give them in order."""
        queue: deque[tuple[_Work, Future[Decoded]]] = deque()
        for work in works:
            queue.append((work, self.pool.submit(disco.decode, work.pieces, self.reading.latest_s)))
            while queue and (work.settles or len(queue) > 2 * self.workers):
                yield queue.popleft()
        yield from queue

    def _work(self, sources: list[Path]) -> Iterator[_Work]:
        """Give text in portions that are worth decoding, of one generation each."""
        work = _Work()
        size = 0
        for item in itertools.chain.from_iterable(map(self._read, sources)):
            if isinstance(item, Piece):
                if work.pieces and disco.is_second(work.pieces[0].name) != disco.is_second(item.name):
                    yield work
                    work, size = _Work(), 0
                work.pieces.append(item)
                size += len(item.content)
            elif isinstance(item, Decoded | Settled):
                yield work
                yield _Work(settles=True) if isinstance(item, Settled) else _Work(decoded=item)
                work, size = _Work(), 0
            elif isinstance(item, Unread):
                work.unread.append(item)
            else:
                work.finished.append(item)
            if size >= BATCH_BYTES:
                yield work
                work, size = _Work(), 0
        yield work

    def _read(self, path: Path) -> Iterator[Piece | Decoded | Settled | Unread | dict[str, object]]:
        """Give what is in a source, and last what to note of it."""
        noted: dict[str, object] = {}
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                if digest in self.known:
                    self.summary.sources_known += 1
                    self.progress.advance(_size(path))
                    return
                self.known.add(digest)
                file.seek(0)
                counted = _Counted(file, self.progress)
                yield from self._read_by_loader(path, counted, noted)
                self.progress.advance(_size(path) - counted.read_bytes)
        except OSError as error:
            yield Unread(str(path), "", f"cannot be read: {error.strerror}")
            return
        self.summary.sources_new += 1
        yield {"digest": digest, "name": str(path), "bytes": _size(path), **noted}

    def _read_by_loader(
        self, path: Path, stream: _Counted, noted: dict[str, object]
    ) -> Iterator[Piece | Decoded | Settled | Unread]:
        """Give what the loader of a source reads in it; ``noted`` gets what to note of it."""
        rows = 0
        if not _size(path):
            yield Unread(str(path), "", EMPTY)
            return
        try:
            loader = catalogue.loader_of(path)
            # Nothing is written while a source looks: what was read for one metric serves the others of its port.
            between = functools.lru_cache(maxsize=1)(functools.partial(rows_between, self.store))
            source = Source(path, stream, self.reading, self.seen, between)
            for found in catalogue.named(loader.reader)(source):
                rows += sum(map(len, found.rows.values())) if isinstance(found, Decoded) else 0
                yield found
        except UNREADABLE as error:
            yield Unread(str(path), "", str(error))
        if rows and loader.hears:
            options = {"counters": bool(self.reading.counters), "timezone": self.reading.zone}
            noted |= {"rows": rows, "options": {name: options[name] for name in loader.hears}}
        if self.seen.new:
            noted["series"], self.seen.new = self.seen.new, []

    def _take(self, work: _Work, decoded: Decoded) -> None:
        summary = self.summary
        summary.lines += decoded.lines
        summary.samples += decoded.samples
        summary.repeated_samples += decoded.repeated
        summary.refused_samples += decoded.refused_samples
        for reason, count in decoded.left_out.items():
            summary.left_out[reason] = summary.left_out.get(reason, 0) + count
        summary.notes += [note for note in dict.fromkeys(decoded.notes) if note not in summary.notes][
            : _MAX_PLACES - len(summary.notes)
        ]
        summary.bytes += sum(len(piece.content) + 1 for piece in work.pieces)
        for refused in decoded.refused:
            reason = refused.reason
            if reason not in summary.refused and len(summary.refused) == _MAX_REASONS:
                reason = "for other reasons"
            summary.refused[reason] = summary.refused.get(reason, 0) + 1
            self.unread.append(
                {
                    "source": refused.source,
                    "member": refused.member,
                    "line": refused.line,
                    "reason": refused.reason,
                    "text": refused.text,
                }
            )
        for unread in work.unread:
            place = f"{unread.source}: {unread.member}" if unread.member else unread.source
            summary.unreadable += 1
            if summary.unreadable <= _MAX_PLACES:
                summary.unreadable_places.append(f"{place}: {unread.reason}")
            self.unread.append(
                {"source": unread.source, "member": unread.member, "line": 0, "reason": unread.reason, "text": ""}
            )
        if len(self.unread) > _MAX_UNREAD:
            self._note_unread()
        for (site, machine, day), rows in decoded.rows.items():
            self.buffer.setdefault((site, machine), {}).setdefault(day, []).append(rows)
            self.buffered += len(rows)
        self.finished += work.finished
        if self.buffered >= BUFFERED_ROWS:
            self._flush()

    def _flush(self) -> None:
        """Begin to merge what is buffered, once what was before is merged."""
        self._wait()
        self._note_unread()
        merging = [
            self.pool.submit(merge_machine, self.store, site, machine, days, self.ceilings)
            for (site, machine), days in self.buffer.items()
        ]
        self.merging = (merging, self.finished)
        self.buffer, self.buffered, self.finished = {}, 0, []

    def _wait(self) -> None:
        """Wait for what is being merged; only then are its sources in."""
        merging, finished = self.merging
        for future in merging:
            merged = future.result()
            self.summary.rows_new += merged.new
            self.summary.rows_known += merged.known
            self.summary.rows_conflicting += merged.conflicting
            if merged.left_out:
                self.summary.left_out[BETWEEN] = self.summary.left_out.get(BETWEEN, 0) + merged.left_out
            if merged.may_count_twice:
                site, machine = merged.place
                self.summary.notes.append(
                    f"{site}: differences of {machine} in one source lie evenly between those of another: if these are "
                    "of two pollers, what was counted counts twice; ingest one of them into a new store"
                )
            self.days.update(merged.days)
        if finished:
            self.store.note_ingested(finished)
        self.merging = ([], [])

    def _note_unread(self) -> None:
        if self.unread:
            self.store.note_unread(self.unread)
            self.summary.quarantine = f"{self.store.path}/quarantine.jsonl"
            self.unread = []

    def _sum_up(self) -> None:
        self.summary.days = len(self.days)
        for counts in self.days.values():
            self.summary.values += counts.values
            for reason, number in counts.without_value.items():
                self.summary.without_value[reason] = self.summary.without_value.get(reason, 0) + number
            for kind, number in counts.missing_bins.items():
                self.summary.missing_bins[kind] = self.summary.missing_bins.get(kind, 0) + number
            for flag, number in counts.flags.items():
                name = str(Flag(flag).name).lower()
                self.summary.flags[name] = self.summary.flags.get(name, 0) + number


class _Counted:
    """A file that reports how much of it was read."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        self.file = file
        self.progress = progress
        self.read_bytes = 0

    def read(self, size: int) -> bytes:
        block = self.file.read(size)
        self.progress.advance(len(block))
        self.read_bytes += len(block)
        return block


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
