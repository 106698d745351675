"""The index of the runs in a directory: what lists and searches of runs ask of a record, a line for each that ended.

Records stay the truth. A line holds for a record of the same size and times, written by this version; of any other
record nothing is believed, and it is read. A missing, cut or wrong index is therefore only slow.
"""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from brimful.errors import BrimfulError
from brimful.files import read_file, write_atomically
from brimful.records import RunFile, read_run
from brimful.records.experiment import key
from brimful.records.subjects import load, subject_of
from brimful.version import VERSION

INDEX_NAME = "index.jsonl"
RECORD_NAME = "run.jsonl"
"""The record file within a run directory."""


class Stamp(msgspec.Struct, frozen=True):
    """What a file shows of a change without being read; times in nanoseconds."""

    size: int
    written_ns: int
    changed_ns: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One run that ended."""

    name: str
    """Of its directory."""
    stamp: Stamp
    """Of its record."""
    version: str
    """Of the brimful that wrote this line: another may put the result in other words."""
    started: str
    run_id: str
    subject: str
    what: str
    """The measurer, or nothing."""
    result: str
    """In one line."""
    fingerprint: str
    experiment: str
    """Digest of its `brimful.records.experiment.key`."""
    digest: str
    """Of the last end; empty where the record has none."""


_decoder = msgspec.json.Decoder(Entry)


class Index:
    """The lines of the index of a directory that hold."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        lines = _lines(directory / INDEX_NAME)
        self._entries = {entry.name: entry for entry in map(_decoded, lines) if entry is not None}
        self._has_more = len(lines) > len(self._entries)

    def entry(self, name: str) -> Entry | None:
        """Give the line of a run, where it holds for the record as it is now."""
        entry = self._entries.get(name)
        if entry is None or entry.stamp != stamp_of(self._directory / name / RECORD_NAME):
            return None
        return entry

    def rebuild(self, names: Iterable[str]) -> None:
        """Write the index anew, if it is not that of these runs."""
        fresh = {name: entry for name in names if (entry := self.entry(name) or read_entry(self._directory / name))}
        if self._has_more or fresh != self._entries:
            with contextlib.suppress(BrimfulError, OSError):  # without an index all is as before, and slower
                content = b"".join(msgspec.json.encode(entry) + b"\n" for entry in fresh.values())
                write_atomically(self._directory / INDEX_NAME, content)
            self._entries, self._has_more = fresh, False


def append_run(directory: Path) -> None:
    """Add a run to the index of the directory that it is in, once its record is closed; one that has not ended is none.

    What cannot be written is left out: the run itself has succeeded or failed by then.
    """
    with contextlib.suppress(BrimfulError, OSError):
        entry = read_entry(directory)
        if entry is not None:
            with (directory.parent / INDEX_NAME).open("ab", buffering=0) as file:
                # In front, an end for a line that was cut; all in one piece, as other runs may end at this moment.
                file.write(b"\n" + msgspec.json.encode(entry) + b"\n")


def read_entry(directory: Path) -> Entry | None:
    """Give the line of a run from its record; none where it has not ended, or cannot be read."""
    stamp = stamp_of(directory / RECORD_NAME)  # before it is read: a change meanwhile is then seen later
    try:
        file = read_run(directory)
        if stamp is None or not file.is_ended():
            return None
        return Entry(
            name=directory.name,
            stamp=stamp,
            version=VERSION,
            started=file.run.started,
            run_id=file.run.run_id,
            subject=file.run.subject,
            what=file.run.measured,
            result=result_of(file),
            fingerprint=file.run.fingerprint,
            experiment=key(file.run).digest,
            digest=file.ends[-1].digest,
        )
    except BrimfulError:
        return None


def result_of(file: RunFile) -> str:
    """Give the result of a run in one line.

    Raises
    ------
    RecordError
        When its subject is not known.
    """
    text: str = load(subject_of(file.run, where=str(file.path)).line)(file)
    return text


def stamp_of(record: Path) -> Stamp | None:
    """Give the stamp of a regular file; none where there is none."""
    try:
        found = record.stat()
    except OSError:
        return None
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns) if stat.S_ISREG(found.st_mode) else None


def _lines(path: Path) -> list[bytes]:
    try:
        return [line for line in read_file(path).split(b"\n") if line]
    except BrimfulError:
        return []


def _decoded(line: bytes) -> Entry | None:
    """Give a line that holds: whole, of this version, and without what would steer a terminal."""
    try:
        entry = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    texts = (entry.started, entry.run_id, entry.subject, entry.what, entry.result)
    return entry if entry.version == VERSION and all(text.isprintable() for text in texts) else None
