"""Writes the site of a store so that what is there is always whole.

``index.html`` names the directory with the data of all series. That is written aside, under a name that its content
gives, before ``index.html`` is put in the place of the old one; what the old one named is removed last.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec

from brimful.errors import BrimfulError, UsageError
from brimful.files import lock, write_atomically
from brimful.report.trend import badge, feed, index_file, series_file
from brimful.report.trend.index_file import Row
from brimful.report.trend.page import render
from brimful.report.trend.reported import First, Reported, first_report, place, reported
from brimful.trend.findings import Found, found_in, grouped
from brimful.trend.store import Reading, Store

_OURS = b'<meta name="generator" content="brimful">'
_NEW = ".data-new"
_LOCK = ".lock"
_DIGITS = 12
"""Of the digest in the name of the data."""


class Written(msgspec.Struct, frozen=True):
    """What was written."""

    series: int
    findings: int
    unchecked: int
    """Series that were not checked with their newest version."""


def write(store: Store, directory: Path, *, now: float) -> Written:
    """Write the site, or bring the one that is there up to date.

    Parameters
    ----------
    store
        What it shows: the judgements that are in it.
    directory
        Where; it is made.
    now
        Time of day, in seconds since 1970.

    Raises
    ------
    UsageError
        When the directory has a page of something else.
    BrimfulError
        When the store cannot be read, or the site cannot be written; the old one is untouched then.
    """
    with _errors(directory), _kept(directory):
        new = directory / _NEW
        try:
            scripts = _Scripts(new)
            rows, found = _write_series(store, scripts, directory)
            title, origin = store.path.stem, rows[0].name if rows else ""
            scripts.write("index", "index", index_file.content(rows, found))
            data = f"data-{scripts.digest}"
            if not (directory / data).exists():
                new.rename(directory / data)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        write_atomically(directory / "index.html", render(title, data, now).encode())
        write_atomically(directory / "feed.xml", feed.render(f"Trend of {title}", found, origin=origin, now=now))
        write_atomically(directory / "badge.svg", badge.render(rows, found).encode())
        for old in directory.glob(f"data-{'[0-9a-f]' * _DIGITS}"):
            if old.name != data:
                shutil.rmtree(old, ignore_errors=True)
    return Written(len(rows), len(found), sum(not row.current for row in rows))


class _Scripts:
    """Scripts that hand values over, in a directory of their own: from a file, a page can load nothing else."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sum = hashlib.sha256()
        directory.mkdir()

    def write(self, name: str, function: str, *arguments: object) -> None:
        """Write the script that calls a function of the page."""
        content = f"brimful.{function}(".encode() + b", ".join(map(msgspec.json.encode, arguments)) + b");\n"
        (self._directory / f"{name}.js").write_bytes(content)
        self._sum.update(f"{name} {len(content)}\n".encode() + content)

    @property
    def digest(self) -> str:
        """Give the digest of all that was written."""
        return self._sum.hexdigest()[:_DIGITS]


def _write_series(store: Store, scripts: _Scripts, directory: Path) -> tuple[list[Row], list[Reported]]:
    """Write a file for each series; give the rows of the index."""
    link = functools.lru_cache(maxsize=1 << 16)(functools.partial(_link, directory))
    rows: list[Row] = []
    found: list[Found] = []
    firsts: dict[tuple[int, str], First] = {}
    for reading in store.read():
        id = reading.series.id
        rows.append(index_file.row_of(reading))
        scripts.write(str(id), "series", id, series_file.content(reading, link))
        changes = _open_changes(reading)
        made = store.made(id) if changes else []
        found += changes
        firsts |= {place(each): first_report(each.change, made) for each in changes}
    return rows, reported(grouped(found), firsts)


def _open_changes(reading: Reading) -> list[Found]:
    return found_in(reading.series, reading.judgement.changes) if reading.judgement is not None else []


def _link(directory: Path, report: str) -> str:
    """Give the address of a report from a page in a directory; empty when there is none."""
    if report.startswith(("https://", "http://")):
        return report
    if not report or not os.path.exists(report):  # noqa: PTH110 - Path.exists() raises where a name is too long
        return ""
    return quote(os.path.relpath(Path(report).resolve(), directory.resolve()))


@contextlib.contextmanager
def _kept(directory: Path) -> Iterator[None]:
    """Keep a directory for this process; make it if there is none, and remove what a killed one left."""
    if not directory.exists() and not directory.resolve().parent.is_dir():
        message = f"{directory}: there is no directory {directory.resolve().parent}; make it first"
        raise UsageError(message)
    directory.mkdir(exist_ok=True)
    page = directory / "index.html"
    if page.exists() and _OURS not in page.read_bytes()[:4096]:
        message = f"{page}: is a page of something else; name another directory"
        raise UsageError(message)
    with (directory / _LOCK).open("wb") as file:
        lock(file, directory)
        shutil.rmtree(directory / _NEW, ignore_errors=True)
        yield


@contextlib.contextmanager
def _errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{directory}: cannot write the page: {error.strerror}; the page that was there is untouched"
        raise BrimfulError(message) from error
