"""What a user asked for: the disk, how much of it, how long."""

from __future__ import annotations

import re

import msgspec

from brimful.errors import UsageError
from brimful.iocost.measure.disk import Disk
from brimful.records.experiment import fingerprint

_MOST_BYTES = 1 << 63
_BINARY = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_bytes(text: str) -> int:
    """Read a number of bytes as the tester does.

    >>> parse_bytes("16G"), parse_bytes("4096")
    (17179869184, 4096)
    """
    match = re.fullmatch(r"([0-9]+)(?:([kMGT])(?:iB)?)?", text)
    number = 0 if match is None else int(match[1]) * _BINARY[match[2] or ""]
    if not 0 < number < _MOST_BYTES:
        message = f"--working-set {text!r}: write bytes like 16G"
        raise UsageError(message)
    return number


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    device: str
    destroy_data: str | None
    ignore_signature: bool
    deadline_s: float
    working_set: str
    quick: bool
    budget_s: float | None
    pause: str | None = None

    def fingerprint(self) -> str:
        """Digest what makes two measurements the same."""
        return fingerprint(**msgspec.to_builtins(self))

    def bytes_to_write(self, disk: Disk) -> int:
        """Give the bytes of the working set."""
        most = parse_bytes(self.working_set)
        return min(most, disk.bytes) if disk.bytes else most

    def open_disk(self) -> Disk:
        """Open the disk."""
        options = [f"--deadline={self.deadline_s * 1e6:.0f}us", f"--working-set={self.working_set}"]
        return Disk(
            self.device,
            destroy_data=self.destroy_data,
            options=options,
            ignore_signature=self.ignore_signature,
            pause=self.pause,
        )
