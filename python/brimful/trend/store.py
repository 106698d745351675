"""The store of histories: one SQLite file to which lines are added, and never changed.

A page needs no more than this::

    with Store.open(path) as store:
        for reading in store.read():  # one series at a time: all at once would not fit into memory
            reading.series            # `Series`: columns with an entry for each version, in order
            reading.judgement         # `Judgement`: the last one made, or None; its changes are dated
            reading.words             # `Word`: what people said of it
        store.judgements(series_id)   # what was said, when it was said

`judging.judge` judges a series now, without adding the judgement; `checking.check` judges all and adds what it said.
`findings.found_in` and `findings.grouped` put the open changes of one run in several series together. Why SQLite:
docs/decisions/0010.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from brimful.errors import BrimfulError, RecordError, UsageError, one_line
from brimful.trend.adding import Added, Adding
from brimful.trend.judgement import Judgement, Word
from brimful.trend.measured import Measured
from brimful.trend.series import Series, assemble, name_of

LAYOUT = 1
"""Version of the layout of a store."""
_APPLICATION = 0x62726D66
"""Says in the file that it is a store of brimful."""
_WAIT_S = 60.0
"""For another writer to end."""
_CACHE_KIB = 1 << 16
"""For the pages that a run of thousands of series adds to."""
_TABLES = ("series", "label_set", "run", "value", "judgement", "word")
_SCHEMA = """
CREATE TABLE series (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, unit TEXT NOT NULL, worse TEXT NOT NULL);
CREATE TABLE label_set (id INTEGER PRIMARY KEY, labels TEXT NOT NULL UNIQUE);
CREATE TABLE run (id INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, version TEXT NOT NULL, at REAL,
    label_set INTEGER NOT NULL REFERENCES label_set, report TEXT NOT NULL, added REAL NOT NULL);
CREATE TABLE value (series INTEGER NOT NULL REFERENCES series, run INTEGER NOT NULL REFERENCES run,
    repeat INTEGER NOT NULL, value REAL, error REAL NOT NULL, problem TEXT,
    PRIMARY KEY (series, run, repeat)) WITHOUT ROWID;
CREATE TABLE judgement (id INTEGER PRIMARY KEY, series INTEGER NOT NULL REFERENCES series, made REAL NOT NULL,
    entries INTEGER NOT NULL, words INTEGER NOT NULL, digest TEXT NOT NULL, content TEXT NOT NULL,
    UNIQUE (series, entries, words, digest));
CREATE TABLE word (id INTEGER PRIMARY KEY, series INTEGER NOT NULL REFERENCES series, made REAL NOT NULL,
    content TEXT NOT NULL);
"""


class Reading(msgspec.Struct, frozen=True):
    """All that is known of a series."""

    series: Series
    judgement: Judgement | None
    """The last one; null: it was never judged."""
    words: list[Word]
    entries: int
    """Number of its values, repeated ones and missing ones included: what a judgement rests on."""


class Kept(msgspec.Struct, frozen=True):
    """A judgement, and the numbers of entries and of words that it rests on."""

    entries: int
    words: int
    judgement: Judgement


class Store:
    """A store on disk. Several processes may add to one at a time: each waits for the other."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def create(cls, path: Path) -> Store:
        """Open a store to add to; make it if there is none.

        Raises
        ------
        UsageError
            When the file is something else, or the store is of a later layout.
        """
        if not path.exists() and not path.resolve().parent.is_dir():
            message = f"{path}: there is no directory {path.resolve().parent}; make it first"
            raise UsageError(message)
        return cls._opened(path)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open a store that is there.

        Raises
        ------
        UsageError
            When it is none, or of a later layout.
        """
        if not path.is_file():
            message = f"{path}: there is no store; make one with: brimful trend add {path} RUN..."
            raise UsageError(message)
        return cls._opened(path)

    @classmethod
    def _opened(cls, path: Path) -> Store:
        if path.is_dir():
            message = f"{path}: is a directory; a store is a file"
            raise UsageError(message)
        with _errors(path):
            connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        store = cls(path, connection)
        try:
            with _errors(path):
                store._check_layout()
        except BaseException:
            store.close()
            raise
        return store

    def _check_layout(self) -> None:
        if self._number("PRAGMA application_id") == 0:
            with self.writing():
                if self._number("SELECT count(*) FROM sqlite_master") == 0:
                    self._make()
        if self._number("PRAGMA application_id") != _APPLICATION:
            message = f"{self.path}: is no store of histories; choose another file"
            raise UsageError(message)
        layout = self._number("PRAGMA user_version")
        if layout != LAYOUT:
            message = f"{self.path}: layout {layout} is not the one that this brimful knows ({LAYOUT}); update brimful"
            raise UsageError(message)

    def _make(self) -> None:
        for statement in _SCHEMA.split(";\n"):
            self._connection.execute(statement)
        for table in _TABLES:
            for change in ("UPDATE", "DELETE"):
                self._connection.execute(
                    f"CREATE TRIGGER no_{change.lower()}_of_{table} BEFORE {change} ON {table} "
                    "BEGIN SELECT RAISE(ABORT, 'lines of a store are never changed'); END"
                )
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {LAYOUT}")

    def _number(self, query: str) -> int:
        return int(self._connection.execute(query).fetchone()[0])

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Add all that is added in the block, or nothing of it; others wait until its end.

        Raises
        ------
        BrimfulError
            When it cannot be written, or another process writes for too long.
        """
        with _errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def add(self, runs: Iterable[Measured], *, now: float) -> Added:
        """Add the values of runs, all or none; what is there already is not added again.

        Parameters
        ----------
        runs
            What was measured.
        now
            Time of day, in seconds since 1970.

        Raises
        ------
        UsageError
            When a value is in another unit than its series.
        BrimfulError
            When it cannot be written.
        """
        with self.writing():
            adding = Adding(self.path, self._connection, now)
            for run in runs:
                adding.add(run)
        return adding.added

    def read(self, only: Collection[int] | None = None) -> Iterator[Reading]:
        """Give each series with its last judgement, in the order in which they were first added.

        The store is read as it is when the first is asked for: what others add meanwhile is left out.

        Parameters
        ----------
        only
            Ids of the series to give; null: all.

        Raises
        ------
        RecordError
            When the store is damaged.
        """
        with _errors(self.path):
            self._connection.execute("BEGIN")
            try:
                label_sets = dict(self._label_sets())
                for row in self._connection.execute("SELECT id, key, unit, worse FROM series ORDER BY id").fetchall():
                    if only is None or row[0] in only:
                        yield self._reading(row, label_sets)
            finally:
                self._connection.execute("COMMIT")

    def _reading(self, row: tuple[int, str, str, str], label_sets: dict[int, dict[str, str]]) -> Reading:
        id, key, unit, worse = row
        rows = self._connection.execute(_ROWS, (id,)).fetchall()
        series = assemble(id=id, key=json.loads(key), unit=unit, worse=worse, rows=rows, label_sets=label_sets)
        last = self._connection.execute(_LAST, (id,)).fetchone()
        words = self._connection.execute("SELECT content FROM word WHERE series = ? ORDER BY id", (id,))
        return Reading(
            series,
            None if last is None else msgspec.json.decode(last[0], type=Judgement),
            [msgspec.json.decode(content, type=Word) for (content,) in words],
            len(rows),
        )

    def _label_sets(self) -> Iterator[tuple[int, dict[str, str]]]:
        for number, labels in self._connection.execute("SELECT id, labels FROM label_set"):
            yield number, json.loads(labels)

    def count(self) -> int:
        """Give the number of series."""
        with _errors(self.path):
            return self._number("SELECT count(*) FROM series")

    def names(self) -> dict[int, str]:
        """Give the name of each series by its id."""
        with _errors(self.path):
            rows = self._connection.execute("SELECT id, key FROM series ORDER BY id").fetchall()
        return {id: name_of(json.loads(key)) for id, key in rows}

    def judgements(self, series: int) -> list[Judgement]:
        """Give all judgements of a series, in the order in which they were made."""
        with _errors(self.path):
            query = "SELECT content FROM judgement WHERE series = ? ORDER BY id"
            rows = self._connection.execute(query, (series,)).fetchall()
        return [msgspec.json.decode(content, type=Judgement) for (content,) in rows]

    def made(self, series: int) -> list[tuple[float, Judgement]]:
        """Give all judgements of a series with when they were made, in seconds since 1970, in that order."""
        with _errors(self.path):
            query = "SELECT made, content FROM judgement WHERE series = ? ORDER BY id"
            rows = self._connection.execute(query, (series,)).fetchall()
        return [(made, msgspec.json.decode(content, type=Judgement)) for made, content in rows]

    def keep(self, made: Iterable[Kept], *, now: float) -> None:
        """Add judgements as they were made; one that is there already for the same values is not added again."""
        with self.writing():
            for each in made:
                content = msgspec.json.encode(each.judgement)
                digest = hashlib.sha256(content).hexdigest()
                row = (each.judgement.series, now, each.entries, each.words, digest, content.decode())
                self._connection.execute(_KEEP, row)

    def say(self, words: Iterable[Word], *, now: float) -> None:
        """Add what a person says."""
        with self.writing():
            for word in words:
                self._connection.execute(
                    "INSERT INTO word (series, made, content) VALUES (?, ?, ?)",
                    (word.series, now, msgspec.json.encode(word).decode()),
                )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        """Give the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()


_ROWS = """SELECT run.version, run.at, value.value, value.error, value.problem, run.label_set, run.report
FROM value JOIN run ON run.id = value.run WHERE value.series = ? ORDER BY value.run, value.repeat"""
_KEEP = "INSERT OR IGNORE INTO judgement (series, made, entries, words, digest, content) VALUES (?, ?, ?, ?, ?, ?)"
_LAST = "SELECT content FROM judgement WHERE id = (SELECT max(id) FROM judgement WHERE series = ?)"


@contextlib.contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Say in one line what SQLite has to say of a file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        message = f"{path}: cannot use the store: {one_line(error)}"
        raise BrimfulError(message) from error
    except (sqlite3.DatabaseError, msgspec.DecodeError, ValueError) as error:
        message = f"{path}: is no store of histories, or damaged: {one_line(error)}"
        raise RecordError(message) from error
