"""Traces of connections in a store, and the tests that they complete.

Results of ndt5 have neither bytes nor segments before June 2020; the trace of the connection does. The traces of a
store are kept, also those without a test: whichever comes first, a test is complete once both are in.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.schema import TESTS
from brimful.discards.speed_tests.rows import ROWS
from brimful.discards.speed_tests.traces import Trace
from brimful.discards.store import Partition, Store
from brimful.discards.times import EPOCH

TABLE = "traces"
TRACES = pa.schema(
    [
        pa.field("test_id", pa.string(), nullable=False),
        pa.field("start", pa.timestamp("us"), nullable=False),
        pa.field("end", pa.timestamp("us"), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("sending_s", pa.float64(), nullable=False),
        pa.field("retransmitted", pa.int64(), nullable=False),
        pa.field("sent", pa.int64(), nullable=False),
    ]
)
"""One row for each connection, sorted by test_id: the latest that is known of it. ``retransmitted`` and ``sent`` are
segments. The day of the partition is that of ``start``."""

_TESTS = pa.schema(list(ROWS)[1:])
"""The columns of tests, words spelled out."""

Columns = dict[str, pa.ChunkedArray]
Key = tuple[str, datetime.date]
"""Site and day."""


@dataclass
class Matches:
    """How many connections of a load have a test in the store."""

    matched: int = 0
    waiting: int = 0
    """For a test that may come later; most connections to a server are of no test."""


class Traces:
    """Takes traces in any order and puts them into a store, and into the tests there."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending: defaultdict[Key, list[Trace]] = defaultdict(list)
        self._ids: defaultdict[Key, set[str]] = defaultdict(set)
        self.rows = 0
        """Not merged yet."""

    def add(self, trace: Trace) -> None:
        """Take a trace."""
        day = (EPOCH + datetime.timedelta(microseconds=trace.start)).date()
        self._pending[trace.site, day].append(trace)
        self._ids[trace.site, day].add(trace.test_id)
        self.rows += 1

    def merge(self) -> int:
        """Put all traces taken so far into the store; say how many tests they completed."""
        completed = sum(self._merge_partition(*key, traces) for key, traces in sorted(self._pending.items()))
        self._pending.clear()
        self.rows = 0
        return completed

    def matches(self) -> Matches:
        """Count, of all connections taken, those that a test in the store used."""
        found = Matches()
        for (site, day), ids in self._ids.items():
            tests = {one for near in _near(day) for one in self._ids_of_tests(site, near)}
            found.matched += len(ids & tests)
            found.waiting += len(ids - tests)
        return found

    def _ids_of_tests(self, site: str, day: datetime.date) -> list[str]:
        tests = self._store.read(_tests(site, day), _TESTS)
        return [] if tests is None else tests["test_id"].to_pylist()

    def _merge_partition(self, site: str, day: datetime.date, traces: list[Trace]) -> int:
        stored = _stored(self._store, site, day)
        latest = _latest(pa.concat_tables([stored, _to_table(traces)]))
        if latest.equals(stored):
            return 0
        completed = 0
        for near in _near(day):
            tests = self._store.read(_tests(site, near), _TESTS)
            if tests is None:
                continue
            plain, were = _undo(tests, stored)
            told, are = _complete(plain, latest)
            if not told.equals(tests):
                self._store.write(_tests(site, near), told.cast(TESTS))
            completed += pc.sum(pc.and_not(are, were)).as_py()
        # Last: what a program did that was killed before is done again.
        self._store.write(Partition(TABLE, site, day, TABLE), latest)
        return completed


def complete_from_store(store: Store, site: str, day: datetime.date, tests: pa.Table) -> tuple[pa.Table, pa.Array]:
    """Complete tests of a site and day by the traces of a store; give the ids of those that it changed."""
    # A connection may begin on the day before its test does, or be seen a moment later.
    traces = pa.concat_tables([_stored(store, site, near) for near in _near(day)]).combine_chunks()
    if not traces.num_rows:
        return tests, tests["test_id"].slice(0, 0)
    tests, completed = _complete(tests, traces)
    return tests, tests["test_id"].filter(completed)


def _near(day: datetime.date) -> list[datetime.date]:
    return [day + datetime.timedelta(days=days) for days in (-1, 0, 1)]


def _tests(site: str, day: datetime.date) -> Partition:
    return Partition("tests", site, day, "tests")


def _stored(store: Store, site: str, day: datetime.date) -> pa.Table:
    stored = store.read(Partition(TABLE, site, day, TABLE), TRACES)
    return TRACES.empty_table() if stored is None else stored


def _to_table(traces: list[Trace]) -> pa.Table:
    columns = dict(zip(Trace._fields, zip(*traces, strict=True), strict=True))
    return pa.table([pa.array(columns[one.name], one.type) for one in TRACES], schema=TRACES)


def _latest(rows: pa.Table) -> pa.Table:
    """Keep the last row of each connection: its counts only grow."""
    # All columns, so that what is kept does not depend on the order in which rows came.
    columns = ["test_id", "end", *(name for name in TRACES.names if name not in {"test_id", "end"})]
    rows = rows.sort_by([(name, "ascending") for name in columns]).combine_chunks()
    ids = rows["test_id"].to_pylist()
    last = [one != after for one, after in zip(ids, [*ids[1:], None], strict=True)]
    return rows.filter(pa.array(last, pa.bool_()))


def _complete(tests: pa.Table, traces: pa.Table) -> tuple[pa.Table, pa.ChunkedArray]:
    """Fill in what results of ndt5 lack; give which rows were filled in."""
    told = _told(tests, traces)
    lacking = pc.and_(pc.is_null(tests["bytes"]), pc.is_null(tests["retransmitted"]))
    mask = pc.and_(_traced(tests, told), lacking)
    return _replaced(tests, mask, told), mask


def _undo(tests: pa.Table, traces: pa.Table) -> tuple[pa.Table, pa.ChunkedArray]:
    """Take out what these traces filled in, so that later ones of the same connections can; give from which rows."""
    told = _told(tests, traces)
    mask = _traced(tests, told)
    for name, column in told.items():
        mask = pc.and_(mask, pc.fill_null(pc.equal(tests[name], column), False))
    # The sending time of a result that does not have it is its duration: it is not null before, nor needs to be.
    nothing = {name: pa.scalar(None, column.type) for name, column in told.items() if name != "sending_s"}
    return _replaced(tests, mask, nothing), mask


def _told(tests: pa.Table, traces: pa.Table) -> Columns:
    """Give what traces say of tests, null where there is no trace."""
    found = traces.take(pc.index_in(tests["test_id"], value_set=traces["test_id"].combine_chunks()))
    durations_s = pc.divide(pc.cast(pc.subtract(tests["end"], tests["start"]), pa.int64()), 1e6)
    return {
        "bytes": found["bytes"],
        # As for results that say it themselves: a kernel may not report how long a connection was sending.
        "sending_s": pc.if_else(pc.equal(found["sending_s"], 0.0), durations_s, found["sending_s"]),
        "retransmitted": found["retransmitted"],
        "sent": found["sent"],
        "retransmission_unit": pc.if_else(pc.is_valid(found["sent"]), "segments", pa.scalar(None, pa.string())),
    }


def _traced(tests: pa.Table, told: Columns) -> pa.ChunkedArray:
    ndt5 = pc.and_(pc.equal(tests["protocol"], "ndt5"), pc.equal(tests["direction"], "download"))
    return pc.and_(ndt5, pc.is_valid(told["bytes"]))


def _replaced(tests: pa.Table, mask: pa.ChunkedArray, columns: Columns | dict[str, pa.Scalar]) -> pa.Table:
    for name, column in columns.items():
        index = tests.schema.get_field_index(name)
        tests = tests.set_column(index, tests.schema.field(index), pc.if_else(mask, column, tests[name]))
    return tests
