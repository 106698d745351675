"""Goes through files, archives and archives in archives, a piece of text at a time; never unpacks to disk."""

from __future__ import annotations

import codecs
import io
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from brimful.discards.compression import (
    BLOCK_BYTES,
    DamagedError,
    Peeked,
    Readable,
    bare_name,
    uncompressed,
    without_ending,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

LEAVES = ("switch.json", "switch.jsonl")
"""How the names of files of telemetry end, compressed or not."""
EMPTY = "is empty"
"""Reason against a file of no bytes."""
ARCHIVES = (".tar", ".tgz", ".tbz2", ".txz")
"""How the names of archives end, compressed or not."""
MAX_DEPTH = 8
"""Archives within archives; real ones have one of them."""
PIECE_BYTES = 4 << 20
MAX_LINE_BYTES = 64 << 20
"""A line of a file that spans an hour has 20 KB; what is this long is no telemetry."""
_TAR_BLOCK = 512
_MAX_HEADER_BYTES = 1 << 20


@dataclass(frozen=True)
class Piece:
    """Some whole lines of a file of telemetry."""

    source: str
    member: str
    """Where it is within the source: ``a.tgz/b.json.gz``; empty for the source itself."""
    name: str
    """Name of the file, uncompressed: its ending gives the generation."""
    first_line: int
    content: bytes


@dataclass(frozen=True)
class Unread:
    """What could not be read to its end."""

    source: str
    member: str
    reason: str


def holds_telemetry(name: str) -> bool:
    """Say whether a name is that of a file of telemetry or of an archive."""
    return bare_name(name).endswith((*LEAVES, *ARCHIVES))


def pieces(path: Path, stream: Readable) -> Iterator[Piece | Unread]:
    """Give all lines of the telemetry in a file, in pieces, and what could not be read."""
    found = False
    for item in walk(path, stream, LEAVES, _lines):
        found = True
        yield item
    if not found:
        yield Unread(str(path), "", "has no file of telemetry in it")


@dataclass(frozen=True)
class Place:
    """Where a file is: the source, the way within it, its own name, and how many archives it is in."""

    source: str
    member: str
    name: str
    depth: int

    def inside(self, name: str) -> Place:
        """Give the place of a file in this one."""
        member = f"{self.member}/{name}" if self.member else name
        return Place(self.source, member, name.rpartition("/")[2], self.depth + 1)

    def unread(self, reason: str) -> Unread:
        """Say that it could not be read to its end."""
        return Unread(self.source, self.member, reason)


_Found = TypeVar("_Found")


def walk(
    path: Path,
    stream: Readable,
    leaves: tuple[str, ...],
    read: Callable[[Place, Readable], Iterator[_Found]],
) -> Iterator[_Found | Unread]:
    """Read every file whose name ends so, compressed or not, wherever it is in a source; say what could not be read."""
    yield from _Walk(leaves, read).file(Place(str(path), "", path.name, 0), stream)


@dataclass(frozen=True)
class _Walk(Generic[_Found]):
    leaves: tuple[str, ...]
    read: Callable[[Place, Readable], Iterator[_Found]]

    def file(self, place: Place, stream: Readable) -> Iterator[_Found | Unread]:
        """Go through one file, archive or not, whose content is given."""
        start = Peeked(stream)
        content = uncompressed(start)
        own = {id(start), id(content)}
        try:
            if not start.head(1):
                yield place.unread(EMPTY)
            elif self.is_leaf(place.name):
                yield from self.read(place, content)
            else:
                yield from self.archive(place, content)
        except DamagedError as error:
            if id(error.stream) not in own:
                raise
            yield place.unread(str(error))

    def archive(self, place: Place, stream: Readable) -> Iterator[_Found | Unread]:
        if place.depth == MAX_DEPTH:
            yield place.unread(f"is an archive in {MAX_DEPTH} others")
            return
        for name, member in _members(stream):
            if self.is_leaf(name) or bare_name(name).endswith(ARCHIVES):
                yield from self.file(place.inside(name), member)
            member.skip()
        # The checksum of compressed data is behind the last byte.
        while stream.read(BLOCK_BYTES):
            pass

    def is_leaf(self, name: str) -> bool:
        return bare_name(name).endswith(self.leaves)


def _members(stream: Readable) -> Iterator[tuple[str, _Member]]:
    """Give name and content of every regular file of an archive; extended headers with any keys are fine."""
    long_name: str | None = None
    long_size: int | None = None
    while True:
        header = _exactly(stream, _TAR_BLOCK)
        if not any(header):
            return
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        except tarfile.HeaderError as error:
            raise DamagedError(stream, f"is no archive, or damaged: {error}") from error
        if info.type in {tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME}:
            if info.size > _MAX_HEADER_BYTES:
                raise DamagedError(stream, "is damaged: an extended header is too long")
            text = _exactly(stream, -(-info.size // _TAR_BLOCK) * _TAR_BLOCK)[: info.size]
            if info.type == tarfile.XHDTYPE:
                keys = _extended(stream, text)
                long_name = keys.get("path", long_name)
                long_size = int(keys["size"]) if keys.get("size", "").isdecimal() else None
            else:
                long_name = text.rstrip(b"\0").decode(errors="replace")
            continue
        member = _Member(stream, info.size if long_size is None else long_size)
        if info.isreg():
            yield long_name or info.name, member
        else:
            member.skip()
        if info.type not in {tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK}:
            long_name = long_size = None


def _extended(stream: Readable, text: bytes) -> dict[str, str]:
    """Read the records ``LENGTH KEY=VALUE`` of an extended header (POSIX.1-2001, pax)."""
    keys = {}
    while text.strip(b"\0"):
        length, _, _ = text.partition(b" ")
        if not length.isdigit() or not len(length) + 1 < int(length) <= len(text):
            raise DamagedError(stream, "is damaged: an extended header cannot be read")
        key, _, value = text[len(length) + 1 : int(length)].removesuffix(b"\n").partition(b"=")
        keys[key.decode(errors="replace")] = value.decode(errors="replace")
        text = text[int(length) :]
    return keys


def _exactly(stream: Readable, size: int) -> bytes:
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise DamagedError(stream, "is cut off")
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _lines(place: Place, stream: Readable) -> Iterator[Piece | Unread]:
    """Give whole lines; the last may lack its end."""
    parts: list[bytes] = []
    size = 0
    line = 1
    try:
        while block := stream.read(BLOCK_BYTES):
            if not parts and line == 1:
                block = block.removeprefix(codecs.BOM_UTF8)
            parts.append(block)
            size += len(block)
            if size >= PIECE_BYTES and b"\n" in block:
                whole, _, rest = b"".join(parts).rpartition(b"\n")
                yield _piece(place, line, whole)
                line += whole.count(b"\n") + 1
                parts = [rest]
                size = len(rest)
            elif size > MAX_LINE_BYTES:
                yield place.unread(f"line {line} is longer than {MAX_LINE_BYTES >> 20} MiB")
                return
    except DamagedError:
        # What came before the damage is as good as ever; the line in which it is, is not.
        whole, end, _ = b"".join(parts).rpartition(b"\n")
        if end:
            yield _piece(place, line, whole)
        raise
    content = b"".join(parts)
    if content:
        yield _piece(place, line, content.removesuffix(b"\n"))
    elif line == 1:
        yield place.unread("is empty")


def _piece(place: Place, first_line: int, content: bytes) -> Piece:
    return Piece(place.source, place.member, without_ending(place.name), first_line, content)


class WholeLines(io.RawIOBase):
    """A stream of text as a file that ends with the last whole line before damage; ``damage`` says what that is."""

    def __init__(self, stream: Readable) -> None:
        super().__init__()
        self.damage: DamagedError | None = None
        self._stream = stream
        self._ready = memoryview(b"")
        self._rest: list[bytes] = []
        """Of a line whose end has not come yet."""
        self._ended = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read some bytes; none at the end or at the damage."""
        into = memoryview(buffer).cast("B")
        while not self._ready and not self._ended:
            self._fetch(len(into))
        block = self._ready[: len(into)]
        into[: len(block)] = block
        self._ready = self._ready[len(block) :]
        return len(block)

    def _fetch(self, size: int) -> None:
        try:
            block = self._stream.read(max(size, 1 << 16))
        except DamagedError as error:
            self.damage, self._ended = error, True
            return
        if not block:
            self._ready, self._ended = memoryview(b"".join(self._rest)), True
            return
        whole, end, rest = block.rpartition(b"\n")
        if end:
            self._ready = memoryview(b"".join([*self._rest, whole, end]))
            self._rest = [rest]
        else:
            self._rest.append(block)


class _Member:
    """The content of a file in an archive, padding left out."""

    def __init__(self, stream: Readable, size: int) -> None:
        self.stream = stream
        self.left = size
        self.padding = -size % _TAR_BLOCK

    def read(self, size: int) -> bytes:
        if not self.left:
            return b""
        block = self.stream.read(min(size, self.left))
        if not block:
            raise DamagedError(self.stream, "is cut off")
        self.left -= len(block)
        return block

    def skip(self) -> None:
        while self.left:
            self.read(BLOCK_BYTES)
        _exactly(self.stream, self.padding)
        self.padding = 0
