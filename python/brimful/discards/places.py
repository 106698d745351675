"""Where the files of a store lie: in a directory, or in a bucket of an object store.

Names are relative, with slashes: ``samples/site=dfw02/day=2018-02-01/mlab1.parquet``.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import io
import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
from pyarrow import fs

from brimful.errors import BrimfulError, UsageError, one_line

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

BUCKETS = "s3://"
"""How the name of a store in a bucket begins."""


class Place(ABC):
    """Files of a store; each has its old content or all of the new one, whatever happens in between.

    Methods raise `OSError` of a directory, `BrimfulError` of a bucket: the answers of object stores need other words.
    """

    @property
    @abstractmethod
    def scratch(self) -> Path:
        """For what does not fit into memory: a directory."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the place if it is not there."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Say whether nothing lies here."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """Give the content of a file; nothing where there is none."""

    @abstractmethod
    def replacing(self, name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """Put what is written into the place of a file's content, unless the block fails."""

    def write(self, name: str, content: bytes) -> None:
        """Put a content in the place of a file's."""
        with self.replacing(name) as file:
            file.write(content)

    @abstractmethod
    def append(self, name: str, lines: bytes) -> None:
        """Add whole lines to a file."""

    @abstractmethod
    def directories(self, name: str) -> list[str]:
        """Give the names of the directories in one."""

    @abstractmethod
    def files(self, name: str) -> list[str]:
        """Give the names of the Parquet files in a directory of days, or of sites and days."""

    @abstractmethod
    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Keep other programs from writing, where the place knows how."""

    @abstractmethod
    def for_spark(self) -> str:
        """Give the place as Spark names it."""


class Directory(Place):
    """A directory, on this machine or on a file system that several share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def scratch(self) -> Path:
        """The same directory."""
        return self.path

    def prepare(self) -> None:
        """Make the directory if it is not there."""
        self.path.mkdir(parents=True, exist_ok=True)

    def is_empty(self) -> bool:
        """Say whether nothing lies here."""
        return not any(self.path.iterdir())

    def read(self, name: str) -> bytes | None:
        """Give the content of a file; nothing where there is none."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """Put what is written into the place of a file's content, unless the block fails."""
        path = self.path / name
        # Hidden from readers of the store in the meantime, and written over by the next attempt.
        temporary = path.with_name(f".{path.name}.new")
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def append(self, name: str, lines: bytes) -> None:
        """Add whole lines to a file."""
        with (self.path / name).open("a+b") as file:
            if _is_unfinished(file):
                file.write(b"\n")
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    def directories(self, name: str) -> list[str]:
        """Give the names of the directories in one."""
        return [path.name for path in (self.path / name).glob("*") if path.is_dir()]

    def files(self, name: str) -> list[str]:
        """Give the names of the Parquet files in a directory of days, or of sites and days."""
        return [path.relative_to(self.path).as_posix() for path in (self.path / name).rglob("day=*/*.parquet")]

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other programs from writing.

        Raises
        ------
        UsageError
            When another program writes to the store.
        """
        with (self.path / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                message = f"{self.path}: another program writes to this store; wait for its end"
                raise UsageError(message) from error
            yield

    def for_spark(self) -> str:
        """Give the path."""
        return str(self.path)


_REFUSALS = {
    "NO_SUCH_BUCKET": "there is no such bucket; make it first",
    "ACCESS_DENIED": "no permission: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may read and write",
}


class Bucket(Place):
    """A part of a bucket, as S3 has them; keys and end point are those of the environment that AWS's programs read."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._base = self.url.removeprefix(BUCKETS)
        self._name = self._base.partition("/")[0]
        self.end_point = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        """Nothing: that of AWS."""
        with self._in_words():
            # Small files are one request each, not three.
            self.system = fs.S3FileSystem(
                endpoint_override=self.end_point,
                region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
                allow_delayed_open=True,
            )
            if self.system.get_file_info(self._name).type == fs.FileType.NotFound:
                message = f"{self.url}: there is no bucket {self._name}; make it first"
                raise UsageError(message)

    @functools.cached_property
    def scratch(self) -> Path:
        """A directory of this machine that goes with the process."""
        path = tempfile.mkdtemp(prefix="brimful-")
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
        return Path(path)

    def prepare(self) -> None:
        """Do nothing: files in buckets need no directories."""

    def is_empty(self) -> bool:
        """Say whether nothing lies here."""
        return not self._list("", recursive=False)

    def read(self, name: str) -> bytes | None:
        """Give the content of a file; nothing where there is none."""
        with self._in_words():
            try:
                with self.system.open_input_file(f"{self._base}/{name}") as file:
                    content: bytes = file.read()
                    return content
            except FileNotFoundError:
                return None

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """Put what is written into the place of a file's content, unless the block fails."""
        # A stream to a bucket would keep what it was given even then.
        content = io.BytesIO()
        yield content
        with self._in_words(), self.system.open_output_stream(f"{self._base}/{name}") as file:
            file.write(content.getbuffer())

    def append(self, name: str, lines: bytes) -> None:
        """Add whole lines to a file."""
        self.write(name, (self.read(name) or b"") + lines)

    def directories(self, name: str) -> list[str]:
        """Give the names of the directories in one."""
        return [found.base_name for found in self._list(name, recursive=False) if found.type == fs.FileType.Directory]

    def files(self, name: str) -> list[str]:
        """Give the names of the Parquet files in a directory of days, or of sites and days."""
        paths = (found.path for found in self._list(name, recursive=True) if found.type == fs.FileType.File)
        return [path.removeprefix(f"{self._base}/") for path in paths if path.endswith(".parquet")]

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Let the user see to it that no other program writes: buckets have no locks."""
        yield

    def for_spark(self) -> str:
        """Give the name with the scheme of the connector that Spark has."""
        return f"s3a://{self._base}"

    def dataset(self, directory: str, schema: pa.Schema) -> Dataset:
        """Give the Parquet files in a directory as one table of some columns, with those that the names have."""
        from pyarrow import dataset

        partitioning = dataset.partitioning(pa.schema([schema.field("site"), schema.field("day")]), flavor="hive")
        return dataset.dataset(
            [f"{self._base}/{name}" for name in self.files(directory)],
            schema=schema,
            format="parquet",
            filesystem=self.system,
            partitioning=partitioning,
        )

    def _list(self, name: str, *, recursive: bool) -> list[Any]:
        selector = fs.FileSelector(f"{self._base}/{name}".rstrip("/"), allow_not_found=True, recursive=recursive)
        with self._in_words():
            found: list[Any] = self.system.get_file_info(selector)
            return found

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        """Make what the object store answers an error of one line that says what to do."""
        try:
            yield
        except OSError as error:
            text = one_line(error)
            reason = next((reason for sign, reason in _REFUSALS.items() if sign in text), None)
            if reason is not None:
                message = f"{self.url}: {reason}"
                raise UsageError(message) from error
            message = f"{self.url}: the object store fails: {text}"
            raise BrimfulError(message) from error


def _is_unfinished(file: BinaryIO) -> bool:
    """Say whether the last line has no end: a killed program wrote it."""
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def place_at(path: Path | str) -> Place:
    """Give the place that a path or ``s3://bucket/path`` names.

    Raises
    ------
    UsageError
        When there is no such bucket, or it is not for the user of these keys.
    """
    return Bucket(path) if isinstance(path, str) and path.startswith(BUCKETS) else Directory(Path(path))
