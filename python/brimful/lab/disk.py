"""`lab:disk`: a loop device on memory, behind a throttle of the kernel whose limit is known."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Self

from brimful.changes import Note
from brimful.errors import MeasureError, UsageError
from brimful.lab.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

DEFAULT_LIMIT = "5000iops"
DEFAULT_BYTES = 256 << 20
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_NAME = "brimful-disk-"
_ENTER = 'echo $$ > "$0" && exec "$@"'


class Throttle:
    """A control group that limits what its processes do to one device.

    Kernels have one of two interfaces: ``io.max`` of the second version of control groups, or the ``blkio`` controller
    of the first.
    """

    def __init__(self, device: str, limit: str) -> None:
        self._device = device
        self._enabled: tuple[Path, Note] | None = None
        root, self._is_second = _controller()
        _sweep(root)
        self._directory = root / f"{_NAME}{os.getpid()}-{Path(device).name.replace(':', '-')}"
        try:
            if self._is_second:
                self._enable(root)
            self._directory.mkdir()
            self.limit(limit)
        except OSError as error:
            self.close()
            message = f"lab:disk cannot limit a disk here: {root}: {error.strerror}; it takes root"
            raise MeasureError(message) from error

    def limit(self, text: str) -> None:
        """Set another limit, of the same kind."""
        kind, number = _limit(text)
        if self._is_second:
            (self._directory / "io.max").write_text(f"{self._device} r{kind}={number} w{kind}={number}\n")
            return
        for what in ("read", "write"):
            (self._directory / f"blkio.throttle.{what}_{kind}_device").write_text(f"{self._device} {number}\n")

    def command(self, argv: Sequence[str]) -> list[str]:
        """Give the command line that runs a program under the limit."""
        return ["/bin/sh", "-c", _ENTER, str(self._directory / "cgroup.procs"), *argv]

    def close(self) -> None:
        """Remove it; the processes in it have ended."""
        with contextlib.suppress(OSError):
            self._directory.rmdir()
        if self._enabled is not None:
            switch, note = self._enabled
            with contextlib.suppress(OSError):
                switch.write_text("-io\n")
            note.close()
            self._enabled = None

    def _enable(self, root: Path) -> None:
        switch = root / "cgroup.subtree_control"
        if "io" not in switch.read_text().split():
            self._enabled = switch, Note([(switch, "-io")])
            switch.write_text("+io\n")


class DiskLab:
    """A disk that exists until it is closed, or this process ends.

    Its data are in memory that has no name, and the loop device goes away with the last who holds it.

    Examples
    --------
    >>> with DiskLab(limit="5000iops") as lab:  # doctest: +SKIP
    ...     subprocess.run(lab.command(["brimful-disk", "--device", lab.path]))
    """

    def __init__(self, *, limit: str = DEFAULT_LIMIT, size: int = DEFAULT_BYTES) -> None:
        self._limit = limit
        self._size = size
        _limit(limit)
        # The number says whose it is, in the list of loop devices too.
        self._memory = os.memfd_create(f"{_NAME}{os.getpid()}")
        self._loop: int | None = None
        self._throttle: Throttle | None = None
        try:
            os.ftruncate(self._memory, size)
            self.path = self._attach()
            number = Path(f"/sys/block/{Path(self.path).name}/dev").read_text().strip()
            self._throttle = Throttle(number, limit)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def command(self, argv: Sequence[str]) -> list[str]:
        """Give the command line that runs a program under the limit."""
        return self._open().command(argv)

    def limit(self, text: str) -> None:
        """Set another limit, of the same kind, for a device that changes."""
        self._open().limit(text)
        self._limit = text

    def _open(self) -> Throttle:
        if self._throttle is None:
            message = "the lab is closed"
            raise AssertionError(message)
        return self._throttle

    def describe(self) -> dict[str, str | int]:
        """Say what it is made of, for the record."""
        return {
            "lab": "a loop device on memory",
            "limit": self._limit,
            "memory_bytes": self._size,
            "isolation": "a loop device of its own, which nobody else uses",
        }

    def close(self) -> None:
        """End it."""
        if self._throttle is not None:
            self._throttle.close()
            self._throttle = None
        for descriptor in (self._loop, self._memory):
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        self._loop = None

    def _attach(self) -> str:
        losetup = find_program("losetup", device="disk", package="mount")
        file = f"/proc/{os.getpid()}/fd/{self._memory}"
        path = _run([losetup, "--find", "--show", "--direct-io=on", file])
        try:
            self._loop = os.open(path, os.O_RDONLY)
        finally:
            # While somebody holds it, the kernel only notes that it goes away with the last of them.
            _run([losetup, "--detach", path])
        return path


def obstacle() -> str | None:
    """Say in one line why there can be no such disk here; none where there can."""
    try:
        DiskLab(size=1 << 20).close()
    except (MeasureError, OSError) as error:
        return str(error)
    return None


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or "no reason given"
        message = f"lab:disk cannot make a loop device: {said}; it takes root"
        raise MeasureError(message)
    return done.stdout.strip()


def _limit(text: str) -> tuple[str, int]:
    """Read a limit: what the kernel calls it, and the number.

    >>> _limit("5000iops"), _limit("20MB/s")
    (('iops', 5000), ('bps', 20000000))
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kMG]?)(iops|B/s)", text)
    number = round(float(match[1]) * _PREFIXES[match[2]]) if match else 0
    if match is None or not 1 <= number < 2**63:
        message = f"limit is {text}: use one like 5000iops or 20MB/s"
        raise UsageError(message)
    return ("iops" if match[3] == "iops" else "bps"), number


def _controller() -> tuple[Path, bool]:
    """Find where groups that limit disks can be made, and whether they are of the second version."""
    first = None
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options = line.split()[:4]
        root = Path(place)
        if kind == "cgroup2" and "io" in _controllers(root):
            return root, True
        if kind == "cgroup" and "blkio" in options.split(","):
            first = root
    if first is None:
        message = "lab:disk cannot limit a disk here: no control groups with the controller io (or blkio) are mounted"
        raise MeasureError(message)
    return first, False


def _controllers(root: Path) -> list[str]:
    try:
        return (root / "cgroup.controllers").read_text().split()
    except OSError:
        return []


def _sweep(root: Path) -> None:
    """Remove what killed processes left."""
    for directory in root.glob(f"{_NAME}*"):
        number = directory.name.removeprefix(_NAME).partition("-")[0]
        if number.isdecimal() and not Path(f"/proc/{number}").exists():
            with contextlib.suppress(OSError):
                directory.rmdir()
