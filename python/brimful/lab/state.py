"""What labs there are: one small file a lab, removed with it, and outlived by it only when its owner was killed."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import stat
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from brimful.errors import MeasureError, RecordError, UsageError
from brimful.lab.namespaces import Namespace, Process


class Life(StrEnum):
    """Whether a lab still exists."""

    ALIVE = "alive"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Entry:
    """One lab as its file has it."""

    lab_id: str
    device: str
    created: float
    """Seconds since 1970."""
    owner: Process | None
    """The process that the lab ends with; none for a lab that stays up."""
    namespaces: tuple[Namespace, ...]

    @property
    def life(self) -> Life:
        """Whether any of its keepers still runs."""
        return Life.ALIVE if any(namespace.is_alive() for namespace in self.namespaces) else Life.STALE


def new_id() -> str:
    """Return a name for a lab that no other has."""
    while True:
        lab_id = secrets.token_hex(3)
        if not _path(lab_id).exists():
            return lab_id


def save(entry: Entry) -> None:
    """Write the file of a lab."""
    path = _path(entry.lab_id)
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(json.dumps(dataclasses.asdict(entry)))
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        message = f"{path}: cannot note the lab: {error.strerror}; make room there, or set XDG_RUNTIME_DIR"
        raise MeasureError(message) from error


def make_directory(lab_id: str) -> Path:
    """Make a directory for the files of a device's programs, removed with the file of the lab."""
    directory = _files(lab_id)
    directory.mkdir(mode=0o700)
    return directory


def forget(lab_id: str) -> None:
    """Remove the file of a lab, and the files of its programs."""
    shutil.rmtree(_files(lab_id), ignore_errors=True)
    _path(lab_id).unlink(missing_ok=True)


def read_all() -> list[Entry]:
    """Return every lab of this user, oldest first."""
    entries = [entry for path in _directory().glob("*.json") if (entry := _read(path)) is not None]
    return sorted(entries, key=lambda entry: entry.created)


def clean_stale() -> list[Entry]:
    """Remove the files of labs that are gone, and return them."""
    stale = [entry for entry in read_all() if entry.life is Life.STALE]
    for entry in stale:
        forget(entry.lab_id)
    return stale


def sweep() -> None:
    """Forget labs that ended with their owner and could not be forgotten by it."""
    for path in _directory().glob("*.json"):
        # A file that cannot be read is reported where labs are listed.
        with contextlib.suppress(RecordError):
            entry = _read(path)
            if entry is None or entry.life is Life.ALIVE:
                continue
            if entry.owner is None or not entry.owner.is_alive():
                forget(entry.lab_id)


def clean_one(lab_id: str) -> Entry:
    """End one lab, even one of another user, and return it."""
    for entry in read_all():
        if entry.lab_id == lab_id:
            _end(entry)
            return entry
    message = f"there is no lab {lab_id!r}: `brimful lab list` shows those there are"
    raise UsageError(message)


def clean_all() -> list[Entry]:
    """End every lab that stays up and remove what is stale, but spare labs of programs that still run."""
    ended = [entry for entry in read_all() if entry.owner is None or not entry.owner.is_alive()]
    for entry in ended:
        _end(entry)
    return ended


def now() -> float:
    """Return the time as `Entry.created` has it."""
    return time.time()


def _end(entry: Entry) -> None:
    for namespace in reversed(entry.namespaces):
        namespace.end()
    forget(entry.lab_id)


def _directory() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir() and Path(runtime).stat().st_uid == os.geteuid():
        directory = Path(runtime) / "brimful"
    elif os.geteuid() == 0:
        directory = Path("/run/brimful")
    else:
        directory = Path(f"/tmp/brimful-{os.geteuid()}")
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    # Anyone may make a directory in /tmp first; what is written there would name processes for us to end.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        message = f"{directory} is not a private directory of this user: remove it, or set XDG_RUNTIME_DIR"
        raise UsageError(message)
    return directory


def _path(lab_id: str) -> Path:
    return _directory() / f"{lab_id}.json"


def _files(lab_id: str) -> Path:
    return _directory() / lab_id


def _read(path: Path) -> Entry | None:
    try:
        data = json.loads(path.read_text())
        namespaces = tuple(
            Namespace(
                lab_id=str(item["lab_id"]),
                role=str(item["role"]),
                keeper=_process(item["keeper"]),
                in_user_namespace=bool(item["in_user_namespace"]),
            )
            for item in data["namespaces"]
        )
        owner = None if data["owner"] is None else _process(data["owner"])
        return Entry(str(data["lab_id"]), str(data["device"]), float(data["created"]), owner, namespaces)
    except FileNotFoundError:  # the lab ended meanwhile
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"cannot read the state of a lab, {path}: {type(error).__name__}: remove the file"
        raise RecordError(message) from error


def _process(data: dict[str, int]) -> Process:
    return Process(pid=int(data["pid"]), start=int(data["start"]))
