"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from brimful.errors import BrimfulError


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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
