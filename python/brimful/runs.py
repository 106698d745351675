"""Where runs are kept, and how an interrupted one is found again."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import platform
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from brimful.errors import RecordError, UsageError, one_line
from brimful.records import SCHEMA, Record, RecordWriter, Run, RunFile, collect, iterate_records, read_run
from brimful.records.format import decode_line, encode
from brimful.run_index import RECORD_NAME, Entry, Index, append_run
from brimful.version import VERSION

HOME = Path("runs")
"""Where runs are kept that were given no directory."""
_LONGEST_START = 1 << 20
"""Bytes of a first line that are read to find when a run began."""
LATEST = "latest"
"""Names the newest run in `HOME` wherever a command takes one."""


def new_run_directory(out: Path | None) -> Path:
    """Make the directory of a new run: the one asked for, or a fresh one under ``runs/``.

    Raises
    ------
    UsageError
        When it cannot be made, or already has a run in it.
    """
    directory = out or HOME / f"{now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"--out {directory}: cannot make the directory: {error.strerror}"
        raise UsageError(message) from error
    if (directory / RECORD_NAME).exists():
        message = f"--out {directory}: there is a run already; continue it with --resume or choose another directory"
        raise UsageError(message)
    return directory


def run_directories(directory: Path) -> list[Path]:
    """Give the runs in a directory, newest first: by when their records say that they began.

    The time of a file is that of the last copy. It stands in only where the record does not have it.
    """
    index = Index(directory)
    found = [path.parent for path in directory.glob(f"*/{RECORD_NAME}")]
    return sorted(found, key=lambda run: _begun(run, index.entry(run.name)), reverse=True)


def _begun(directory: Path, known: Entry | None) -> tuple[float, str]:
    """Give when a run began, in seconds, and its id, which is more exact."""
    record = directory / RECORD_NAME
    try:
        first = _first_line(record) if known is None else {"started": known.started, "run_id": known.run_id}
        started = datetime.datetime.fromisoformat(first["started"])
        if started.tzinfo is not None:
            return started.timestamp(), str(first.get("run_id", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        pass
    try:
        return record.stat().st_mtime, ""
    except OSError:
        return 0.0, ""


def _first_line(record: Path) -> Any:  # noqa: ANN401 - whatever stands there
    with record.open("rb") as file:
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        return json.loads(file.readline(_LONGEST_START)) if is_file else {}


def is_being_written(record: Path) -> bool:
    """Say whether a process writes a record: it holds the lock on it."""
    try:
        with record.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def named_run(path: Path) -> Path:
    """Give the run that a word on the command line names: a path, or the newest run.

    Raises
    ------
    UsageError
        When the newest run is asked for and there is none.
    """
    if str(path) != LATEST or path.exists():
        return path
    newest = next(iter(run_directories(HOME)), None)
    if newest is None:
        message = f"{LATEST}: there is no run in {HOME}/ yet; give the path of one"
        raise UsageError(message)
    return newest


def find_run(out: Path | None, wanted: str) -> RunFile | None:
    """Find the newest run of the same search, in ``out`` or under ``runs/``.

    What is to go on with it has to read it again once it holds the lock: another process may have gone on meanwhile.

    Raises
    ------
    UsageError
        When ``out`` has a run of another search.
    """
    if out is not None:
        _remove_torn_start(out / RECORD_NAME)
        if not (out / RECORD_NAME).exists():
            return None
        found = _begun_run(out)
        if found is not None and found.fingerprint != wanted:
            message = f"--out {out}: the run there is of another search; give the options that it was started with"
            raise UsageError(message)
        return read_run(out) if found else None
    index = Index(HOME)
    for directory in run_directories(HOME):
        known = index.entry(directory.name)
        if known is not None and known.fingerprint != wanted:
            continue
        found = _begun_run(directory)
        if found is not None and found.fingerprint == wanted:
            return read_run(directory)
    return None


def saved_run(out: Path | None, wanted: str, *, resume: bool, what: str, note: Callable[[str], None]) -> RunFile | None:
    """Find the run to go on with; see `find_run`.

    Parameters
    ----------
    out, wanted
        Where to look, and the fingerprint of the run.
    resume
        Whether one is to be gone on with at all.
    what
        Is run, such as "search".
    note
        Called when there is none.

    Raises
    ------
    RecordError
        When it was changed after it was written.
    """
    if not resume:
        return None
    saved = find_run(out, wanted)
    if saved is None:
        note(f"nothing to resume: no run of this {what} yet, so this is its first")
    elif (change := saved.change()) is not None:
        message = f"{saved.path}: {change}; a {what} cannot go on from it, begin another"
        raise RecordError(message)
    return saved


@contextlib.contextmanager
def open_record(
    out: Path | None, saved: RunFile | None, head: Sequence[Record]
) -> Iterator[tuple[RecordWriter, RunFile]]:
    """Begin the record of a new run with these records, or hold that of a saved one, for as long as the block lasts.

    Yields
    ------
    RecordWriter, RunFile
        The record, and what is in it now: another process may have gone on with it since it was found.

    Raises
    ------
    UsageError
        When a record could not be read again: nothing has been measured then, and no directory made.
    """
    if saved is None:
        check_recordable(head)
    path = saved.path if saved is not None else new_run_directory(out) / RECORD_NAME
    with RecordWriter(path) as writer:
        if saved is None:
            for record in head:
                writer.write(record)
        try:
            yield writer, read_run(path)
        finally:
            if path.parent.parent == HOME:
                append_run(path.parent)


def check_recordable(head: Sequence[Record]) -> None:
    """Refuse records that cannot be written, or could not be read again: labels, options and facts of another type.

    Raises
    ------
    UsageError
        Naming the field.
    """
    for record in head:
        try:
            decode_line(encode(record), where="what is to be recorded of this run")
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            message = f"what is to be recorded of this run cannot be kept: {one_line(error)}"
            raise UsageError(message) from error
        except RecordError as error:
            raise UsageError(str(error)) from error


class NoRecord:
    """Stands in the place of a record where none is to be kept."""

    def write(self, record: Record) -> None:
        """Write nothing."""


@contextlib.contextmanager
def no_record(head: Sequence[Record]) -> Iterator[tuple[NoRecord, RunFile]]:
    """Give what stands for a record of a new run that is not kept."""
    check_recordable(head)
    yield NoRecord(), collect(Path(os.devnull), list(head))


def refuse_if_written(out: Path | None, wanted: str) -> None:
    """Refuse to go on with a run that another process writes.

    Raises
    ------
    RecordError
        When one does.
    """
    found = find_run(out, wanted)
    if found is not None and not found.is_ended():
        RecordWriter(found.path).close()


def run_identity() -> dict[str, Any]:
    """Give what the first record of every new run says of itself: who measures, when, where, and by which command."""
    begun = now()
    return {
        "schema": SCHEMA,
        "run_id": f"{begun:%Y%m%dT%H%M%S%fZ}",
        "started": begun.isoformat(timespec="seconds"),
        "tool": {"name": "brimful", "version": VERSION},
        "command": [os.fsencode(word).decode(errors="replace") for word in sys.argv],
        "host": host_facts(),
    }


def now() -> datetime.datetime:
    """Give the time of day in UTC."""
    return datetime.datetime.now(datetime.UTC)


def host_facts() -> dict[str, Any]:
    """Describe this machine: what a reader of a result has to know of it."""
    return {
        "system": platform.platform(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpus": os.cpu_count() or 0,
        "load_average": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
    }


def _remove_torn_start(record: Path) -> None:
    """Remove a record whose writer was killed within its first line: nothing was measured yet."""
    content = record.read_bytes() if record.is_file() else b"\n"
    start = b'{"kind":"run"'
    if b"\n" not in content and content[: len(start)] == start[: len(content)]:
        with RecordWriter(record):  # its writer may be about to write that line
            record.unlink()


def _begun_run(directory: Path) -> Run | None:
    """Give the first record of a run directory, if it is one."""
    try:
        first = next(iterate_records(directory / RECORD_NAME), None)
    except RecordError:
        return None
    return first if isinstance(first, Run) else None


def _cpu_model() -> str:
    try:
        return _named_in(Path("/proc/cpuinfo").read_text()) or platform.processor()
    except OSError:
        return platform.processor()


def _named_in(cpuinfo: str) -> str:
    r"""Give the first processor's name; kernels of Arm have the numbers of its maker and model only.

    >>> _named_in("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")
    'implementer 0x41, part 0xd0c'
    """
    facts: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    numbers = [f"{name} {facts[f'CPU {name}']}" for name in ("implementer", "part") if f"CPU {name}" in facts]
    return facts.get("model name") or ", ".join(numbers)
