"""A store: partitioned Parquet files, what they were made from, and what could not be read."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from brimful.discards.places import place_at
from brimful.errors import BrimfulError, UsageError

LAYOUT = 1
"""Version of the layout of a store."""
_DESCRIPTION = "store.json"


@dataclass(frozen=True, order=True)
class Partition:
    """Where rows of one site and day lie; ``name`` is the machine for samples, else the table."""

    table: str
    """``samples``, ``tests`` or ``traces``."""
    site: str
    day: datetime.date
    name: str


class Store:
    """A store, in a directory or in a bucket.

    ``samples/site=dfw02/day=2018-02-01/mlab1.parquet``, ``tests/site=dfw02/day=2018-02-01/tests.parquet``,
    ``traces/site=dfw02/day=2018-02-01/traces.parquet`` (`speed_tests.completing`),
    ``ingested.jsonl`` (a line for each source that is in, whole), ``quarantine.jsonl`` (a line for what could not be
    read) and ``store.json``.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = path
        """A directory, or ``s3://bucket/path``."""
        self.place = place_at(path)

    @classmethod
    def create(cls, path: Path | str) -> Store:
        """Open a store that is written to; make it if there is none.

        Raises
        ------
        UsageError
            When the place is used by something else, or the store is of a later layout.
        BrimfulError
            When it cannot be made.
        """
        store = cls(path)
        try:
            if store.place.read(_DESCRIPTION) is not None:
                return cls.open(path)
            store.place.prepare()
            if not store.place.is_empty():
                message = f"{path}: is neither empty nor a store; choose another directory"
                raise UsageError(message)
            store.place.write(_DESCRIPTION, json.dumps({"layout": LAYOUT}).encode() + b"\n")
        except OSError as error:
            message = f"{path}: cannot make a store: {error.strerror}"
            raise BrimfulError(message) from error
        return store

    @classmethod
    def open(cls, path: Path | str) -> Store:
        """Open a store that is there.

        Raises
        ------
        UsageError
            When it is none, or of a later layout.
        """
        store = cls(path)
        try:
            layout = json.loads(store.place.read(_DESCRIPTION) or b"")["layout"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{path}: is no store of discards; make one with: brimful discards ingest --store {path} FILE..."
            raise UsageError(message) from error
        if layout != LAYOUT:
            message = f"{path}: layout {layout} is not the one that this brimful knows ({LAYOUT}); update brimful"
            raise UsageError(message)
        return store

    @classmethod
    def file(cls, partition: Partition) -> str:
        """Give the name of the file of a partition, there or not."""
        directory = cls.directory(partition.table, partition.site)
        return f"{directory}/day={partition.day.isoformat()}/{quote(partition.name, safe='')}.parquet"

    @staticmethod
    def directory(table: str, site: str) -> str:
        """Give the name of the directory of a table's rows of a site, there or not."""
        return f"{table}/site={quote(site, safe='')}"

    def read(self, partition: Partition, schema: pa.Schema) -> pa.Table | None:
        """Give the rows of a partition, if there are any.

        Raises
        ------
        BrimfulError
            When its file is damaged.
        """
        name = self.file(partition)
        try:
            content = self.place.read(name)
            return None if content is None else pq.ParquetFile(pa.BufferReader(content)).read().cast(schema)
        except (OSError, pa.ArrowException) as error:
            message = f"{self.path}/{name}: cannot read: {_one_line(error)}; move it away and ingest its sources again"
            raise BrimfulError(message) from error

    def write(self, partition: Partition, rows: pa.Table) -> None:
        """Put rows in the place of a partition's, whole or not at all.

        Raises
        ------
        BrimfulError
            When they cannot be written; what was there is untouched.
        """
        name = self.file(partition)
        with self._kept(name), self.place.replacing(name) as file:
            pq.write_table(
                rows, file, compression="zstd", use_dictionary=_REPETITIVE, column_encoding=_encodings(rows.schema)
            )

    def sites(self, table: str) -> list[str]:
        """Give the sites that a table has rows of, sorted."""
        names = self.place.directories(table)
        return sorted(unquote(name.removeprefix("site=")) for name in names if name.startswith("site="))

    def partitions(self, table: str) -> list[Partition]:
        """Give the partitions of a table that there are, sorted."""
        found = []
        for path in self.place.files(table):
            _, site, day, name = path.split("/")
            place = (unquote(site.removeprefix("site=")), datetime.date.fromisoformat(day.removeprefix("day=")))
            found.append(Partition(table, *place, unquote(name.removesuffix(".parquet"))))
        return sorted(found)

    def document(self, name: str) -> bytes | None:
        """Give what is kept under a name; nothing where there is nothing.

        Raises
        ------
        BrimfulError
            When it cannot be read.
        """
        try:
            return self.place.read(name)
        except OSError as error:
            message = f"{self.path}/{name}: cannot read: {error.strerror}"
            raise BrimfulError(message) from error

    def keep(self, name: str, content: bytes) -> None:
        """Keep something under a name, whole or not at all.

        Raises
        ------
        BrimfulError
            When it cannot be written; what was there is untouched.
        """
        with self._kept(name):
            self.place.write(name, content)

    @contextlib.contextmanager
    def _kept(self, name: str) -> Iterator[None]:
        """Say how to go on where a file cannot be written."""
        try:
            yield
        except OSError as error:
            message = (
                f"{self.path}/{name}: cannot write: {error.strerror}; make room and ingest again, what is in stays"
            )
            raise BrimfulError(message) from error

    def ingested(self) -> dict[str, dict[str, Any]]:
        """Give what is known of each source that is in, by the digest of its content."""
        return {line["digest"]: line for line in self._lines("ingested.jsonl")}

    def note_ingested(self, lines: list[dict[str, Any]]) -> None:
        """Say that sources (``digest``, ``name``, counts) are in, whole."""
        self._append("ingested.jsonl", lines)

    def note_unread(self, lines: list[dict[str, Any]]) -> None:
        """Keep what could not be read: ``source``, ``member``, ``line``, ``reason`` and ``text``."""
        self._append("quarantine.jsonl", lines)

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        for line in (self.document(name) or b"").splitlines():
            # A line that a killed program left unfinished is as if it had not been written.
            with contextlib.suppress(ValueError):
                yield json.loads(line)

    def _append(self, name: str, lines: list[dict[str, Any]]) -> None:
        content = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)
        with self._kept(name):
            self.place.append(name, content)


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


def _encodings(schema: pa.Schema) -> dict[str, str]:
    return {
        field.name: "DELTA_BINARY_PACKED"
        for field in schema
        if pa.types.is_timestamp(field.type) or field.name == "counter"
    }


def _one_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
