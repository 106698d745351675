"""Ethernet addresses of test stations: of the locally administered range, the same for the same pattern."""

from __future__ import annotations

import random

from brimful.errors import UsageError

TESTER = "02:62:66:ff:00:01"
"""Sends the frames that are counted."""
_FIRST = 0x0262_6610_0000
"""Labs use lower ones."""
SEQUENTIAL, RANDOM = "sequential", "random"


def addresses(pattern: str, count: int) -> list[str]:
    """Give the first addresses of a pattern, all different.

    >>> addresses("sequential", 2)
    ['02:62:66:10:00:01', '02:62:66:10:00:02']
    >>> addresses("random 1", 1) == addresses("random 1", 2)[:1]
    True

    Raises
    ------
    UsageError
        When there is no such pattern.
    """
    kind, _, seed = pattern.partition(" ")
    if kind == SEQUENTIAL:
        return [_written(_FIRST + number) for number in range(1, count + 1)]
    if kind != RANDOM:
        message = f"--patterns: {pattern!r} is neither {SEQUENTIAL} nor {RANDOM}"
        raise UsageError(message)
    generator = random.Random(int(seed or 0))
    found: dict[int, None] = {}
    while len(found) < count:
        found[0x0200_0000_0000 | generator.getrandbits(40)] = None
    return [_written(number) for number in found]


def unknown(number: int) -> str:
    """Give an address that no station has: another one for each number.

    >>> unknown(1)
    '02:62:66:fe:00:01'
    """
    return _written(0x0262_66FE_0000 + number % 0x1_0000)


def _written(number: int) -> str:
    return number.to_bytes(6).hex(":")
