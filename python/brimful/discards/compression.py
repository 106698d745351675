"""Compressed data of the usual kinds, recognised by their first bytes, whatever a file is called."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, NoReturn, Protocol

import pyarrow as pa
from isal import isal_zlib

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

ENDINGS = (".gz", ".bz2", ".xz", ".zst")
"""How the names of compressed files end."""
NO_FILE = "is no file, which is read more than once: save in one what comes out of it"
"""Said of pipes and devices."""
BLOCK_BYTES = 1 << 18
_GZIP = b"\x1f\x8b"
_SMALL_BYTES = 1 << 12
"""What Arrow has read when it comes to damage is lost: it is asked for little at a time."""


class Readable(Protocol):
    """Gives bytes in order."""

    def read(self, size: int, /) -> bytes:
        """Give at most `size` bytes; none at the end."""
        ...


class DamagedError(Exception):
    """A stream is not what it should be from somewhere on; ``stream`` says whose fault that is."""

    def __init__(self, stream: object, reason: str) -> None:
        super().__init__(reason)
        self.stream = stream


def without_ending(name: str) -> str:
    """Give the name of what is in a file, compressed or not."""
    return next((name[: -len(ending)] for ending in ENDINGS if name.lower().endswith(ending)), name)


def bare_name(name: str) -> str:
    """Give a name by whose end the kind of a file is known.

    >>> bare_name("Edge.CSV.xz")
    'edge.csv'
    """
    return without_ending(name).lower()


class Peeked:
    """A stream whose first bytes can be looked at."""

    def __init__(self, stream: Readable) -> None:
        self.stream = stream
        self.begin = b""

    def head(self, size: int) -> bytes:
        """Give the first bytes, fewer where there are not as many."""
        while len(self.begin) < size and (block := self.stream.read(BLOCK_BYTES)):
            self.begin += block
        return self.begin[:size]

    def read(self, size: int) -> bytes:
        """Give what comes next."""
        if not self.begin:
            return self.stream.read(size)
        block, self.begin = self.begin[:size], self.begin[size:]
        return block


def uncompressed(stream: Readable) -> Readable:
    """Give what is in a file, compressed or not, whatever its name."""
    start = stream if isinstance(stream, Peeked) else Peeked(stream)
    head = start.head(max(map(len, _KINDS)))
    return next((read(start) for magic, read in _KINDS.items() if head.startswith(magic)), start)


class _Opened:
    """Uncompresses with what a library has for files."""

    def __init__(self, file: IO[bytes], most_bytes: int = BLOCK_BYTES) -> None:
        self.file = file
        self.most_bytes = most_bytes

    def read(self, size: int) -> bytes:
        try:
            return self.file.read1(min(size, self.most_bytes))  # type: ignore[attr-defined,no-any-return]
        except EOFError:
            reason = "the compressed data are cut off"
        except (OSError, lzma.LZMAError) as error:
            cut = "truncated" in str(error).lower()
            reason = f"the compressed data are {'cut off' if cut else f'damaged ({error})'}"
        raise DamagedError(self, reason) from None


class AsFile(io.RawIOBase):
    """A stream as a file."""

    def __init__(self, stream: Readable) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read some bytes; none at the end."""
        into = memoryview(buffer).cast("B")
        block = self._stream.read(len(into))
        into[: len(block)] = block
        return len(block)


class _Gunzip:
    """Uncompresses, member after member of the compressed data."""

    def __init__(self, stream: Readable) -> None:
        self.stream = stream
        self.member = isal_zlib.decompressobj(wbits=31)
        self.rest = b""
        """Compressed data not yet used."""
        self.ready = memoryview(b"")
        """Uncompressed data not yet given."""

    def read(self, size: int) -> bytes:
        if not self.ready:
            self.ready = memoryview(self._uncompress())
        block = bytes(self.ready[:size])
        self.ready = self.ready[size:]
        return block

    def _uncompress(self) -> bytes:
        while True:
            block = self.rest or self.stream.read(BLOCK_BYTES)
            self.rest = b""
            if self.member.eof:
                if not block:
                    return b""
                # Padding behind the last member is usual on tapes.
                block = block.lstrip(b"\0")
                if not block:
                    continue
                if not block.startswith(_GZIP[:1]):
                    self._damaged("there are other data behind its end")
                self.member = isal_zlib.decompressobj(wbits=31)
            try:
                content = self.member.decompress(block, 4 * BLOCK_BYTES)
            except isal_zlib.error as error:  # type: ignore[misc]  # Its stubs take the class for an instance.
                self._damaged(f"the compressed data are damaged ({error})")
            self.rest = self.member.unused_data if self.member.eof else self.member.unconsumed_tail
            if content:
                return content
            if not block and not self.member.eof:
                self._damaged("the compressed data are cut off")

    def _damaged(self, reason: str) -> NoReturn:
        raise DamagedError(self, reason)


_KINDS: dict[bytes, Callable[[Readable], Readable]] = {
    _GZIP: _Gunzip,
    b"BZh": lambda stream: _Opened(bz2.BZ2File(AsFile(stream))),
    b"\xfd7zXZ\0": lambda stream: _Opened(lzma.LZMAFile(io.BufferedReader(AsFile(stream)))),  # noqa: SIM115
    b"\x28\xb5\x2f\xfd": lambda stream: _Opened(pa.CompressedInputStream(AsFile(stream), "zstd"), _SMALL_BYTES),
}
"""What compressed data begin with: how they are read."""
