"""Files: reading one, whether a place can take one, writing one whole or not at all, keeping one for one process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from pathlib import Path
from typing import IO

from brimful.errors import BrimfulError, RecordError, UsageError


def check_target(path: Path, option: str, *, out: Path | None = None) -> None:
    """Refuse a place where no file can be written, before anything is done that the file should report.

    ``out`` is a directory that will be there by then.

    Raises
    ------
    UsageError
        Naming the option and the place.
    """
    directory = path.resolve().parent
    problem = None
    if path.is_dir():
        problem = "is a directory; name a file"
    elif out is not None and out.resolve().is_relative_to(path.resolve()):
        problem = f"is where the directory --out {out} is made; name another file"
    elif path.exists() and not path.is_file():
        problem = None if os.access(path, os.W_OK) else "cannot be written to; name another file"
    elif out is not None and not out.exists() and directory == out.resolve():
        problem = None
    elif not directory.is_dir():
        problem = f"there is no directory {directory}; make it first"
    elif not os.access(directory, os.W_OK | os.X_OK):
        problem = f"the directory {directory} cannot be written to; name another"
    if problem is not None:
        message = f"{option} {path}: {problem}"
        raise UsageError(message)


def read_file(path: Path) -> bytes:
    """Read a regular file: a device may never end, and a pipe may never begin.

    Raises
    ------
    RecordError
        When it is none, or cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # opening a pipe would wait for its writer
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                message = f"{path}: is no regular file; save what is in it to one first"
                raise RecordError(message)
            return file.read()
    except OSError as error:
        message = f"{path}: cannot read: {error.strerror}"
        raise RecordError(message) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it has its old content or all of the new one, whatever happens in between.

    Raises
    ------
    BrimfulError
        When it cannot be written; what was there is untouched.
    """
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device: there is nothing to put in its place.
            path.write_bytes(content)
            return
        handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
            temporary.replace(path.resolve())
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        message = f"{path}: cannot write: {error.strerror}; nothing was changed"
        raise BrimfulError(message) from error


def lock(file: IO[bytes], path: Path) -> None:
    """Keep a file for this process alone to write, until it is closed; readers are not hindered.

    Raises
    ------
    RecordError
        When another process writes it; the file is closed then.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        message = f"{path}: is being written by another process; wait for it or end it"
        raise RecordError(message) from error
    except OSError:
        # Some file systems have no locks; then users have to see to it themselves.
        pass


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
