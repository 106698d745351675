"""A store: a directory of partitioned Parquet files, what they were made from, and what could not be read."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from brimful.errors import BrimfulError, UsageError

LAYOUT = 1
"""Version of the layout of a store."""


@dataclass(frozen=True, order=True)
class Partition:
    """Where rows of one site and day lie; ``name`` is the machine for samples, else the table."""

    table: str
    """``samples``, ``tests`` or ``traces``."""
    site: str
    day: datetime.date
    name: str


class Store:
    """A store on disk.

    ``samples/site=dfw02/day=2018-02-01/mlab1.parquet``, ``tests/site=dfw02/day=2018-02-01/tests.parquet``,
    ``traces/site=dfw02/day=2018-02-01/traces.parquet`` (`speed_tests.completing`),
    ``ingested.jsonl`` (a line for each source that is in, whole), ``quarantine.jsonl`` (a line for what could not be
    read) and ``store.json``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path) -> Store:
        """Open a store that is written to; make it if there is none.

        Raises
        ------
        UsageError
            When the place is used by something else, or the store is of a later layout.
        BrimfulError
            When it cannot be made.
        """
        store = cls(path)
        description = path / "store.json"
        if description.exists():
            return cls.open(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                message = f"{path}: is neither empty nor a store; choose another directory"
                raise UsageError(message)
            description.write_text(json.dumps({"layout": LAYOUT}) + "\n")
        except OSError as error:
            message = f"{path}: cannot make a store: {error.strerror}"
            raise BrimfulError(message) from error
        return store

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open a store that is there.

        Raises
        ------
        UsageError
            When it is none, or of a later layout.
        """
        try:
            layout = json.loads((path / "store.json").read_text())["layout"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{path}: is no store of discards; make one with: brimful discards ingest --store {path} FILE..."
            raise UsageError(message) from error
        if layout != LAYOUT:
            message = f"{path}: layout {layout} is not the one that this brimful knows ({LAYOUT}); update brimful"
            raise UsageError(message)
        return cls(path)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Keep others from writing at the same time.

        Raises
        ------
        UsageError
            When another program writes to the store.
        """
        with (self.path / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                message = f"{self.path}: another program writes to this store; wait for its end"
                raise UsageError(message) from error
            yield

    def file(self, partition: Partition) -> Path:
        """Give the file of a partition, there or not."""
        directory = f"site={quote(partition.site, safe='')}/day={partition.day.isoformat()}"
        return self.path / partition.table / directory / f"{quote(partition.name, safe='')}.parquet"

    def read(self, partition: Partition, schema: pa.Schema) -> pa.Table | None:
        """Give the rows of a partition, if there are any.

        Raises
        ------
        BrimfulError
            When its file is damaged.
        """
        path = self.file(partition)
        if not path.exists():
            return None
        try:
            return pq.ParquetFile(path).read().cast(schema)
        except (OSError, pa.ArrowException) as error:
            message = f"{path}: cannot read: {_one_line(error)}; move it away and ingest its sources again"
            raise BrimfulError(message) from error

    def write(self, partition: Partition, rows: pa.Table) -> None:
        """Put rows in the place of a partition's, whole or not at all.

        Raises
        ------
        BrimfulError
            When they cannot be written; what was there is untouched.
        """
        path = self.file(partition)
        # Hidden from readers of the store in the meantime, and written over by the next attempt.
        temporary = path.with_name(f".{path.name}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(
                rows, temporary, compression="zstd", use_dictionary=_REPETITIVE, column_encoding=_encodings(rows.schema)
            )
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        except (OSError, pa.ArrowException) as error:
            message = f"{path}: cannot write: {_one_line(error)}; make room and ingest again, what is in stays"
            raise BrimfulError(message) from error

    def sites(self, table: str) -> list[str]:
        """Give the sites that a table has rows of, sorted."""
        return sorted(unquote(path.name.removeprefix("site=")) for path in (self.path / table).glob("site=*"))

    def partitions(self, table: str) -> list[Partition]:
        """Give the partitions of a table that there are, sorted."""
        found = []
        for path in (self.path / table).glob("site=*/day=*/*.parquet"):
            site, day = (part.partition("=")[2] for part in path.parts[-3:-1])
            found.append(Partition(table, unquote(site), datetime.date.fromisoformat(day), unquote(path.stem)))
        return sorted(found)

    def ingested(self) -> dict[str, dict[str, Any]]:
        """Give what is known of each source that is in, by the digest of its content."""
        return {line["digest"]: line for line in self._lines("ingested.jsonl")}

    def note_ingested(self, line: dict[str, Any]) -> None:
        """Say that a source (``digest``, ``name``, counts) is in, whole."""
        self._append("ingested.jsonl", [line])

    def note_unread(self, lines: list[dict[str, Any]]) -> None:
        """Keep what could not be read: ``source``, ``member``, ``line``, ``reason`` and ``text``."""
        self._append("quarantine.jsonl", lines)

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        path = self.path / name
        if not path.exists():
            return
        with path.open("rb") as file:
            for line in file:
                # A line that a killed program left unfinished is as if it had not been written.
                with contextlib.suppress(ValueError):
                    yield json.loads(line)

    def _append(self, name: str, lines: list[dict[str, Any]]) -> None:
        path = self.path / name
        try:
            with path.open("a+b") as file:
                if _is_unfinished(file):
                    file.write(b"\n")
                file.writelines(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            message = f"{path}: cannot write: {error.strerror}; make room and ingest again, what is in stays"
            raise BrimfulError(message) from error


_REPETITIVE = [
    "machine",
    "metric",
    "span_s",
    "flags",
    "reported",
    "protocol",
    "direction",
    "server_name",
    "client",
    "server",
]
"""Columns worth a dictionary. Times and counters are worth their differences: together a third of the size."""


def _is_unfinished(file: BinaryIO) -> bool:
    """Say whether the last line has no end: a killed program wrote it."""
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _encodings(schema: pa.Schema) -> dict[str, str]:
    return {
        field.name: "DELTA_BINARY_PACKED"
        for field in schema
        if pa.types.is_timestamp(field.type) or field.name == "counter"
    }


def _one_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
