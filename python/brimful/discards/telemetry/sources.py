"""Which files are sources of telemetry, and whether they may be read as it was said."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from brimful.discards import archives
from brimful.discards.capacities import Capacities
from brimful.discards.compression import NO_FILE, DamagedError, bare_name
from brimful.discards.store import Store
from brimful.discards.telemetry import catalogue
from brimful.discards.telemetry.source import Reading, UnreadableError
from brimful.errors import UsageError

UNREADABLE = (UnreadableError, DamagedError, UnicodeDecodeError)
"""What loaders raise where a source is not what its name says."""


def find_sources(paths: Iterable[Path]) -> list[Path]:
    """Give the files that are named, and those in the directories that are.

    Of a directory these are the files and archives of M-Lab's telemetry; where it has none, tables and answers.

    Raises
    ------
    UsageError
        When one is not there or no file, a directory has none, or a name says nothing.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if _is_source(file.name) and file.is_file())
            inside = [file for file in files if archives.holds_telemetry(file.name)] or files
            if not inside:
                message = f"{path}: no file in it ends in {_known_endings()}"
                raise UsageError(message)
            found += inside
        elif not path.exists():
            message = f"{path}: is not there"
            raise UsageError(message)
        elif not path.is_file():
            message = f"{path}: {NO_FILE}"
            raise UsageError(message)
        elif _is_source(path.name):
            found.append(path)
        else:
            message = f"{path}: cannot tell what it holds; the name must end in {_known_endings()}"
            raise UsageError(message)
    return found


def passed_over(paths: Iterable[Path], found: Iterable[Path]) -> list[str]:
    """Say how many files of directories are not among the sources in them, but for hidden ones."""
    taken, notes = set(found), []
    for path in filter(Path.is_dir, paths):
        inside = (file for file in sorted(path.rglob("*")) if file.is_file() and file not in taken)
        names = [str(name) for name in (file.relative_to(path) for file in inside) if not str(name).startswith(".")]
        if names:
            are = "1 file in it is" if len(names) == 1 else f"{len(names)} files in it are"
            notes.append(f"{path}: {are} not read, such as {names[0]}; to read one, name it")
    return notes


def _known_endings() -> str:
    *others, last = catalogue.endings()
    return f"{', '.join(others)} or {last}, compressed or not"


def _is_source(name: str) -> bool:
    return bare_name(name).endswith(tuple(catalogue.endings()))


def check_sources(store: Store, sources: list[Path], ceilings: Capacities, reading: Reading) -> None:
    """Refuse, before anything is written, tables that the store has read otherwise, or that must be asked about.

    Raises
    ------
    UsageError
        When there is one.
    """
    known = store.ingested()
    for path in sources:
        # What cannot be read is counted when it is read.
        with contextlib.suppress(OSError, *UNREADABLE):
            loader = catalogue.loader_of(path)
            noted = known.get(_digest(path)) if known and loader.hears else None
            if noted is not None:
                _check_known(path, noted, reading)
            elif reading.counters is None and loader.doubt is not None:
                doubt = catalogue.named(loader.doubt)(path, reading.zone, ceilings)
                if doubt is not None:
                    message = f"{path}: {doubt}"
                    raise UsageError(message)


def _check_known(path: Path, noted: dict[str, Any], reading: Reading) -> None:
    was = noted.get("options", {}) if noted.get("rows") else {}
    now = {"counters": reading.counters, "timezone": reading.zone}
    told: dict[str, dict[object, str]] = {
        "counters": {True: "counters", False: "differences"},
        "timezone": {None: "times in UTC"},
    }
    for name, value in now.items():
        # What is not said again is as it was.
        if name in was and value is not None and value != was[name]:
            old, new = (told[name].get(one, f"times in {one}") for one in (was[name], value))
            message = f"{path}: is in the store already, read as {old}; to read it as {new}, ingest into a new store"
            raise UsageError(message)


def _digest(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""
