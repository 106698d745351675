"""Files of SideStream: the variables of web100 of every connection that a server of M-Lab closed.

Most of them were no tests, and those of a speed test are in the logs of that test as well: they are
counted, and left out.
"""

from __future__ import annotations

from typing import BinaryIO

from brimful.discards.speed_tests.rows import Tally

ENDING = ".web100"
_HEADER = b"K: cid "
_CONNECTION = b"C: "
_LINE_BYTES = 1 << 16


def count_connections(file: BinaryIO, member: str, tally: Tally) -> None:
    """Count the connections in a file."""
    lines = iter(lambda: file.readline(_LINE_BYTES), b"")
    if not next(lines, b"").startswith(_HEADER):
        tally.results += 1
        tally.reject("is no file of SideStream", member=member)
        return
    connections = sum(line.startswith(_CONNECTION) for line in lines)
    tally.observed += connections
    tally.results += connections
