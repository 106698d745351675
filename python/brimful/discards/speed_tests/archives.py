"""The files in archives: tar, compressed or not, with archives and compressed files in them."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

DAMAGED = (tarfile.TarError, EOFError, zlib.error, OSError)
"""What reading an archive or a member may raise."""


class Member(NamedTuple):
    """A file; read it before the next one is asked for."""

    name: str
    """With the names of the archives that it lies in, without the ending of compressed files."""
    file: BinaryIO


def members(name: str, file: BinaryIO) -> Iterator[Member]:
    """Give the files in an archive, or a plain file itself."""
    if name.lower().endswith((".tgz", ".tar.gz", ".tar")):
        with tarfile.open(fileobj=file, mode="r|*") as archive:
            for entry in archive:
                inner = archive.extractfile(entry) if entry.isfile() else None
                if inner is not None:
                    yield from members(f"{name}/{entry.name}", inner)  # type: ignore[arg-type]
    elif name.lower().endswith(".gz"):
        yield Member(name[:-3], gzip.GzipFile(fileobj=file))  # type: ignore[arg-type]
    else:
        yield Member(name, file)
