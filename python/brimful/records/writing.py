"""Files of records as they are written: whole lines, each on disk before the next."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from types import TracebackType

from brimful.errors import RecordError
from brimful.files import lock
from brimful.records.format import encode
from brimful.records.record import Record


class RecordWriter:
    """Appends records to a file that nobody else writes meanwhile; each line is on disk before `write` returns.

    It refuses a file that another process writes. The lock goes with the process, and hinders no reader.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Unbuffered: a line that failed must not be tried again when the file is closed.
        self._file = path.open("ab", buffering=0)
        lock(self._file, path)
        _cut_torn_line(path)

    def write(self, record: Record) -> None:
        """Append one record and sync it.

        Raises
        ------
        RecordError
            When the line cannot be written whole; what was written of it is taken back.
        """
        before = self._file.tell()
        try:
            line = encode(record)
            while line:
                line = line[self._file.write(line) :]
            self._sync()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            message = f"{self.path}: cannot write: {error.strerror}; make room and continue with --resume"
            raise RecordError(message) from error

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


def _cut_torn_line(path: Path) -> None:
    """Cut off a last line that a killed run left without its end."""
    if not path.is_file():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
