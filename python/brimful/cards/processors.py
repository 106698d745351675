"""Lists of processors, as the kernel writes them."""

from __future__ import annotations

from collections.abc import Iterable


def read_processors(text: str) -> list[int]:
    """Read a list.

    >>> read_processors("0-2,8")
    [0, 1, 2, 8]

    Raises
    ------
    ValueError
        When it is none.
    """
    ends = [part.split("-") for part in text.strip().split(",") if part]
    return [number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)]


def written_processors(numbers: Iterable[int]) -> str:
    """Write a list.

    >>> written_processors([8, 0, 1, 2])
    '0-2,8'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
