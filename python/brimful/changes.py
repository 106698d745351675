"""What brimful changes outside itself for a while: noted before it is changed, so that a killed run leaves it known.

A note is a file of its own in `NOTES`, locked by the process that changes something. Where the lock is free and the
note is there, that process was killed, and the next command puts back what the note says. Settings of the kernel last
until the machine is started anew, and so does the directory.

Programs of ours that use AF_XDP (`crates/netdev/src/tags.rs`) note a feature of an interface in the same way, in a
directory below: in place of a file stands `net:[NAMESPACE]/INDEX`. A command that runs in this network namespace puts
it back.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import itertools
import json
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from brimful.errors import MeasureError, one_line

NOTES = Path("/run/brimful/changes")
"""One directory of the machine, as the settings are."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SIOCETHTOOL = 0x8946
_ETHTOOL_GFLAGS, _ETHTOOL_SFLAGS = 0x25, 0x26
_FEATURES = {"rx-vlan-offload on": 1 << 8}
"""What a note may say of an interface, by `ETH_FLAG_*` of linux/ethtool.h."""
_numbers = itertools.count()


class Note:
    """Says what a process that was killed has to be put back, from before the change until `close`.

    Parameters
    ----------
    lines
        File of the kernel, and the line that brings back what was set in it; in the order in which to write them.
    notes
        Directory of notes; none: `NOTES`.

    Raises
    ------
    MeasureError
        When the note cannot be written: nothing must be changed then.

    Examples
    --------
    >>> import tempfile
    >>> directory = Path(tempfile.mkdtemp())
    >>> setting = directory / "setting"
    >>> _ = setting.write_text("0\\n")
    >>> with Note([(setting, "0")], notes=directory / "notes"):
    ...     _ = setting.write_text("2\\n")
    >>> put_back(notes=directory / "notes")
    []
    """

    def __init__(self, lines: Sequence[tuple[Path, str]], *, notes: Path | None = None) -> None:
        directory = notes or NOTES
        self._path = directory / f"{os.getpid()}-{next(_numbers)}.json"
        content = {"boot": _boot(), "put_back": [[str(path), line] for path, line in lines]}
        draft = self._path.with_suffix(".draft")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file = draft.open("wb")
            try:
                # Locked before anybody can find it: a note without a lock is one of the dead.
                fcntl.flock(self._file, fcntl.LOCK_EX)
                self._file.write(json.dumps(content).encode())
                self._file.flush()
                os.fsync(self._file.fileno())
                draft.rename(self._path)
                _sync(directory)
            except BaseException:
                self._file.close()
                draft.unlink(missing_ok=True)
                raise
        except OSError as error:
            message = (
                f"{directory}: cannot note what is to be put back ({error.strerror}), so nothing is changed; it takes"
                " root, and a /run that can be written to"
            )
            raise MeasureError(message) from error

    def close(self) -> None:
        """Remove the note: all is as it was, or as it was to be."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Note:
        """Give the note itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the note."""
        self.close()


def put_back(*, notes: Path | None = None) -> list[str]:
    """Put back what killed processes had changed, and say in a line each what that was.

    Parameters
    ----------
    notes
        Directory of notes; none: `NOTES`.

    Returns
    -------
    list of str
        What was put back, and what could not be: then the note stays for a user who may.
    """
    directory = notes or NOTES
    try:
        found = sorted(directory.rglob("*.json"))
    except OSError:
        return []
    return [text for path in found for text in _put_back_one(path)]


def write_line(path: Path, line: str) -> None:
    """Give the kernel a line, whole and in one write.

    Raises
    ------
    OSError
        When it does not take it.
    """
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, line.encode() + b"\n")
    finally:
        os.close(descriptor)


def _put_back_one(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            if not _is_of_the_dead(file):
                return
            note = _read(file.read())
            if note is None or note["boot"] != _boot():
                path.unlink(missing_ok=True)
                return
            # Held while it is put back: no other process does it at the same time.
            refused = []
            for place, line in note["put_back"]:
                try:
                    if place.startswith("net:["):
                        if not _is_here(place):
                            return
                        _switch_on(place, line)
                    else:
                        write_line(Path(place), line)
                except FileNotFoundError:
                    continue  # the device is gone, and its settings with it
                except OSError as error:
                    refused.append(
                        f"{place}: cannot put back {line!r}, as it was before a run that was killed:"
                        f" {one_line(error.strerror)}; run a command of brimful as root"
                    )
                else:
                    yield f"put back {place}, which a run that was killed had changed: {line}"
            if refused:
                yield from refused
            else:
                path.unlink(missing_ok=True)
    except OSError:
        return  # somebody else has put it back meanwhile, or may read it alone


def _is_here(place: str) -> bool:
    """Whether the interface of a note is one of this network namespace."""
    return place.partition("/")[0] == os.readlink("/proc/self/ns/net")  # noqa: PTH115 - it is no path


def _switch_on(place: str, feature: str) -> None:
    """Have the driver of an interface do again what it did."""
    try:
        name = socket.if_indextoname(int(place.partition("/")[2]))
    except (OSError, OverflowError, ValueError) as error:
        raise FileNotFoundError(place) from error
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as any_socket:
        flags = _exchange_flags(any_socket, name, _ETHTOOL_GFLAGS, 0)
        _exchange_flags(any_socket, name, _ETHTOOL_SFLAGS, flags | _FEATURES.get(feature, 0))


def _exchange_flags(any_socket: socket.socket, name: str, command: int, flags: int) -> int:
    value = array.array("I", [command, flags])
    request = struct.pack("16sP16x", name.encode(), value.buffer_info()[0])
    fcntl.ioctl(any_socket, _SIOCETHTOOL, request)
    return value[1]


def _is_of_the_dead(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(content: bytes) -> dict[str, Any] | None:
    """Read a note; none where it is none: what is no note was not written by brimful."""
    try:
        note = json.loads(content)
        lines = [(str(place), str(line)) for place, line in note["put_back"]]
        return {"boot": str(note["boot"]), "put_back": lines}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _boot() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
