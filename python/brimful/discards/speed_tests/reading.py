"""What a source has in it: tests, tables of tests, and traces, whatever it is packed in."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from brimful.discards.archives import ARCHIVES, EMPTY, Place, Unread, WholeLines, walk
from brimful.discards.compression import AsFile, Readable, bare_name, without_ending
from brimful.discards.speed_tests import sidestream
from brimful.discards.speed_tests.documents import read_documents
from brimful.discards.speed_tests.mapping import Mapping
from brimful.discards.speed_tests.ookla import FLENT
from brimful.discards.speed_tests.pseudonyms import Pseudonyms
from brimful.discards.speed_tests.rows import Server, SpeedTest, Tally, find_server
from brimful.discards.speed_tests.snaplogs import ENDINGS as SNAPLOG_ENDINGS
from brimful.discards.speed_tests.snaplogs import read_snaplog
from brimful.discards.speed_tests.table_files import read_csv, read_parquet
from brimful.discards.speed_tests.traces import ENDING as TRACE_ENDING
from brimful.discards.speed_tests.traces import Trace, read_trace

DOCUMENTS = (".json", ".jsonl", ".ndjson")
CSV = (".csv", ".tsv")
LINES = (*DOCUMENTS, *CSV)
"""What is good up to the line in which a file is damaged."""
SNAPLOGS = tuple(SNAPLOG_ENDINGS)
LEAVES = (*LINES, ".parquet", *SNAPLOGS, sidestream.ENDING)
KNOWN = (*LEAVES, *ARCHIVES)
"""How the names of sources end, compressed or not."""
ENDINGS = f"{', '.join(KNOWN[:-1])} or {KNOWN[-1]}, compressed or not"
BUFFER_BYTES = 1 << 18

Found: TypeAlias = SpeedTest | Trace | pa.Table
"""Tests of `rows.ROWS`, one by one or as tables, and what completes them."""


@dataclass(frozen=True)
class Settings:
    """What the sources do not say themselves."""

    server: Server | None = None
    """Of results that do not name theirs."""
    mappings: tuple[Mapping, ...] | None = None
    """Of the columns of tables that are not known."""
    pseudonyms: Pseudonyms | None = None
    zone: str | None = None
    """Of times in tables that have none."""

    def digests(self, path: Path) -> tuple[str, str]:
        """Give the digest of a source, and that of its content alone.

        Another server or other settings make other rows of the same content.
        """
        digest = hashlib.blake2b(digest_size=20)
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        content = digest.hexdigest()
        key = self.pseudonyms.fingerprint if self.pseudonyms else None
        server = find_server(path.name) or self.server
        said = (server, self.mappings, key) if self.zone is None else (server, self.mappings, key, self.zone)
        digest.update(repr(said).encode())
        return digest.hexdigest(), content

    def options(self, path: Path) -> dict[str, str | None]:
        """Give the options that say how a source is read, as the ledger of a store keeps them."""
        server = None if find_server(path.name) else self.server
        return {
            "--server": server and server.name,
            "--columns": hashlib.blake2b(repr(self.mappings).encode(), digest_size=8).hexdigest()
            if self.mappings
            else None,
            "--timezone": self.zone,
        }


def read_source(path: Path, file: io.BufferedReader, settings: Settings, tally: Tally) -> Iterator[Found]:
    """Give what a source has in it; what cannot be read goes to the tally."""

    def read_leaf(place: Place, stream: Readable) -> Iterator[Found]:
        # Of a trace, what it ends with counts.
        if _is_trace(place) or not bare_name(place.name).endswith(LINES):
            yield from _read_leaf(place, io.BufferedReader(AsFile(stream), BUFFER_BYTES), settings, tally)
            return
        lines = WholeLines(stream)
        yield from _read_leaf(place, io.BufferedReader(lines, BUFFER_BYTES), settings, tally)
        if lines.damage is not None:
            raise lines.damage

    if not bare_name(path.name).endswith(KNOWN):
        tally.results += 1
        is_flent = bare_name(path.name).endswith(".flent")
        tally.reject(FLENT if is_flent else f"cannot tell what it holds; the name must end in {ENDINGS}")
        return
    if path.name.lower().endswith(".parquet"):
        # Its description is at its end: it is not read in order.
        found = _read_leaf(Place(str(path), "", path.name, 0), file, settings, tally)
    else:
        found = walk(path, file, LEAVES, read_leaf)
    for one in found:
        if not isinstance(one, Unread):
            yield one
        elif one.reason == EMPTY:
            tally.results += 1
            tally.empty += 1
        else:
            tally.results += 1
            tally.reject(one.reason, member=one.member)


def _read_leaf(place: Place, file: io.BufferedReader, settings: Settings, tally: Tally) -> Iterator[Found]:
    before = tally.results
    yield from _read_content(place, file, settings, tally)
    if tally.results == before:
        tally.results += 1
        tally.empty += 1


def _is_trace(place: Place) -> bool:
    return place.name.endswith(TRACE_ENDING)


def _read_content(place: Place, file: io.BufferedReader, settings: Settings, tally: Tally) -> Iterator[Found]:
    server = find_server(f"{Path(place.source).name}/{place.member}") or settings.server
    name = bare_name(place.name)
    if _is_trace(place):
        yield from read_trace(file, place.member, server, tally)
    elif name.endswith(DOCUMENTS):
        lines_alone = name.endswith((".jsonl", ".ndjson"))
        yield from read_documents(
            file,
            place.member,
            server,
            tally,
            lines_alone=lines_alone,
            mappings=settings.mappings,
            zone=settings.zone,
        )
    elif name.endswith(SNAPLOGS):
        yield from read_snaplog(file, without_ending(place.name), place.member, server, tally)
    elif name.endswith(sidestream.ENDING):
        yield from sidestream.read_connections(file, place.member, server, tally)
    elif name.endswith(CSV):
        yield from read_csv(file, settings.mappings, server, tally, member=place.member, zone=settings.zone)
    else:
        yield from read_parquet(
            io.BytesIO(file.read()) if place.member else file,
            settings.mappings,
            server,
            tally,
            member=place.member,
            zone=settings.zone,
        )
