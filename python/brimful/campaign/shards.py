"""Parts of a campaign for several test beds: which searches each part has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec

from brimful.errors import UsageError, shown

MOST = 10_000
"""Parts."""
PlainName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")]
"""Of a directory, which cannot lead elsewhere."""


class Shard(msgspec.Struct, frozen=True):
    """One of several parts."""

    part: int
    """From 1."""
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read a part and how many there are.

        >>> Shard.parse("3/10")
        Shard(part=3, of=10)

        Raises
        ------
        UsageError
            When it is no such part.
        """
        found = re.fullmatch(r"([1-9][0-9]{0,4})/([1-9][0-9]{0,4})", text)
        if found is None or not int(found[1]) <= int(found[2]) <= MOST:
            message = f"--shard {shown(text)} is no part of a whole; write 1/10 to 10/10"
            raise UsageError(message)
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        """Give it as it is given."""
        return f"{self.part}/{self.of}"


class ShardFacts(msgspec.Struct, frozen=True):
    """What the record of a part says of it."""

    part: Annotated[int, msgspec.Meta(ge=1)]
    of: Annotated[int, msgspec.Meta(ge=1, le=MOST)]
    members: list[PlainName]
    """Names of its searches, which are their directories too."""
    campaign: str
    """Fingerprint of the whole campaign, which all parts share."""


def cut(times_s: Sequence[float], parts: int) -> list[int]:
    """Cut a row of tasks so that the longest part is as short as can be; gives the part of each task, from 0.

    Neighbours stay together, and every part has a task.

    >>> cut([1, 1, 1, 1, 1], 2), cut([9, 1, 1, 1], 3)
    ([0, 0, 0, 1, 1], [0, 1, 1, 2])

    Parameters
    ----------
    times_s
        How long each task takes; there are as many as parts, or more.
    parts
        How many parts there are.
    """
    too_short_s, enough_s = 0.0, sum(times_s)
    for _ in range(_HALVINGS):
        middle_s = (too_short_s + enough_s) / 2
        if max(_filled(times_s, parts, middle_s)) < parts:
            enough_s = middle_s
        else:
            too_short_s = middle_s
    return _filled(times_s, parts, enough_s)


_HALVINGS = 60
"""Of an interval of times: after them it is as narrow as numbers are."""


def _filled(times_s: Sequence[float], parts: int, limit_s: float) -> list[int]:
    """Fill one part after the other, each up to a limit; what one task alone exceeds the limit by cannot be helped."""
    chosen: list[int] = []
    part, filled_s = 0, 0.0
    for index, time_s in enumerate(times_s):
        as_many_left = index > 0 and len(times_s) - index <= parts - 1 - part
        if index > 0 and (filled_s + time_s > limit_s or as_many_left):
            part, filled_s = part + 1, 0.0
        filled_s += time_s
        chosen.append(part)
    return chosen
