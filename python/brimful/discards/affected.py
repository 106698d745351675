"""The tests that ran while the uplink discarded packets, or while that is not known."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from ibis.expr.types import Table

from brimful.discards import analysis
from brimful.discards.engine import Engine
from brimful.errors import UsageError
from brimful.files import write_atomically

CLASSES = ("zero", "non-zero", "unknown")
Days = tuple[datetime.date | None, datetime.date | None]
"""First and last day, both included; nothing where there is no bound."""

Counts = dict[str, dict[str, int]]
"""Site, class of overlap: tests."""

_A_DAY = datetime.timedelta(days=1)
_WRITERS: dict[str, Callable[[pa.Table, io.BytesIO], None]] = {
    ".parquet": pq.write_table,
    ".csv": pyarrow.csv.write_csv,
}


def affected_tests(
    engine: Engine, overlap: str, *, sites: Sequence[str] = (), days: Days = (None, None)
) -> tuple[pa.Table, Counts]:
    """Give the tests of a class (or ``all``) of some sites and days, and the number of those of every class by site.

    They are sorted by site and start; `brimful.discards.analysis.test_overlap` says what the columns are.
    """
    since, until = days

    def question(samples: Table, tests: Table) -> Table:
        # A test of the last hour of a day ends on the next, and a sample may reach into it from the day before.
        if since is not None:
            samples, tests = samples.filter(samples.day >= since - _A_DAY), tests.filter(tests.day >= since)
        if until is not None:
            samples, tests = samples.filter(samples.day <= until + _A_DAY), tests.filter(tests.day <= until)
        return analysis.test_overlap(tests, samples)

    listed = []
    counts: Counts = {}
    for rows in engine.each_site(question, sites):
        _count(rows, counts)
        listed.append(rows if overlap == "all" else rows.filter(pc.equal(rows["overlap"], overlap)))
    order = [("site", "ascending"), ("start", "ascending"), ("test_id", "ascending")]
    return pa.concat_tables(listed).sort_by(order), dict(sorted(counts.items()))


def _count(rows: pa.Table, counts: Counts) -> None:
    for group in rows.group_by(["site", "overlap"]).aggregate([([], "count_all")]).to_pylist():
        counts.setdefault(group["site"], dict.fromkeys(CLASSES, 0))[group["overlap"]] += group["count_all"]


def check_name(path: Path) -> None:
    """Refuse a file of a kind that is not written.

    Raises
    ------
    UsageError
        When its name has no known ending.
    """
    if path.suffix not in _WRITERS:
        message = f"--out {path}: the name must end in .csv or .parquet"
        raise UsageError(message)


def write(rows: pa.Table, path: Path) -> None:
    """Write a list of tests as its name says: ``.parquet`` or ``.csv``.

    Raises
    ------
    UsageError
        When the name has no known ending.
    BrimfulError
        When it cannot be written.
    """
    check_name(path)
    content = io.BytesIO()
    _WRITERS[path.suffix](rows, content)
    write_atomically(path, content.getvalue())
