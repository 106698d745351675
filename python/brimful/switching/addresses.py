"""Ethernet addresses of test stations, locally administered: other ones in each trial of a test.

A switch may remember what became of an address after it has forgotten the address itself, as Open vSwitch does.
"""

from __future__ import annotations

import random

from brimful.errors import UsageError

MOST = 1 << 17
"""Addresses of one trial."""
SEQUENTIAL, RANDOM = "sequential", "random"
_FIRST = 0x0262_6610_0000
"""Labs use lower ones."""
_TRIALS = 100
"""After this number of trials, sequential addresses are used again."""


def addresses(pattern: str, count: int, trial: int) -> list[str]:
    """Give the first addresses of a pattern in a trial, all different.

    >>> addresses("sequential", 2, 0)
    ['02:62:66:10:00:00', '02:62:66:10:00:01']
    >>> addresses("random 1", 1, 5) == addresses("random 1", 2, 5)[:1]
    True

    Raises
    ------
    UsageError
        When there is no such pattern.
    """
    kind, _, seed = pattern.partition(" ")
    if kind == SEQUENTIAL:
        first = _FIRST + trial % _TRIALS * MOST
        return [_written(first + number) for number in range(count)]
    if kind != RANDOM:
        message = f"patterns: {pattern!r} is neither {SEQUENTIAL} nor {RANDOM}"
        raise UsageError(message)
    generator = random.Random(f"{seed} {trial}")
    found: dict[int, None] = {}
    while len(found) < count:
        found[0x0200_0000_0000 | generator.getrandbits(40)] = None
    return [_written(number) for number in found]


def sender(trial: int) -> str:
    """Give the address that sends the frames that are counted.

    >>> sender(1)
    '02:62:66:ff:00:01'
    """
    return _written(0x0262_66FF_0000 + trial % 0x1_0000)


def unknown(trial: int) -> str:
    """Give an address that no station has.

    >>> unknown(1)
    '02:62:66:fe:00:01'
    """
    return _written(0x0262_66FE_0000 + trial % 0x1_0000)


def _written(number: int) -> str:
    return number.to_bytes(6).hex(":")
