"""Traffic profiles, as far as Python has to know them: the tester reads and checks them."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

from brimful.errors import UsageError


def digest(profile: Path) -> str:
    """Digest a profile and the capture that it replays, so that a change of either is noticed.

    Parameters
    ----------
    profile
        The TOML file.

    Returns
    -------
    str
        Hexadecimal digits.

    Raises
    ------
    UsageError
        When a file cannot be read.
    """
    content = _content(profile, f"--profile {profile}")
    found = hashlib.sha256(content)
    try:
        capture = tomllib.loads(content.decode()).get("replay", {}).get("file")
    except (AttributeError, ValueError):
        capture = None  # The tester says what is wrong, and where.
    if isinstance(capture, str):
        path = profile.parent / capture
        found.update(_content(path, f"--profile {profile}: replay.file: {path}"))
    return found.hexdigest()[:16]


def _content(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{name}: {error.strerror}"
        raise UsageError(message) from error
