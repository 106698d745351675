"""Files of records as they are written: whole lines, each on disk before the next."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from types import TracebackType

from brimful.errors import RecordWriteError
from brimful.files import lock
from brimful.records.digest import Digest
from brimful.records.record import Record


class RecordWriter:
    """Appends records to a file that no other process writes meanwhile; each line is on disk before `write` returns.

    It refuses a file that another process writes. The lock goes with the process, and hinders no reader.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Unbuffered: a line that failed must not be tried again when the file is closed.
        self._file = path.open("ab", buffering=0)
        lock(self._file, path)
        self._digest = Digest(_whole_lines(path))

    def write(self, record: Record) -> None:
        """Append one record and sync it.

        Raises
        ------
        RecordWriteError
            When the line cannot be written whole; what was written of it is taken back.
        """
        before = self._file.tell()
        try:
            line = left = self._digest.line(record)
            while left:
                left = left[self._file.write(left) :]
            self._sync()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            message = f"{self.path}: cannot write: {error.strerror}; make room and continue with --resume"
            raise RecordWriteError(message) from error
        self._digest.add(line)

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            # Pipes and some devices cannot be synced, and need not be.
            if error.errno not in (errno.EINVAL, errno.EROFS):
                raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> RecordWriter:
        """Give the writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()


def _whole_lines(path: Path) -> bytes:
    """Give what is in a file, a last line that a killed run left without its end cut off."""
    if not path.is_file():
        return b""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    return content[:whole]
