"""Two sets of runs put side by side, ready to be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from brimful.errors import UsageError
from brimful.records import RunFile
from brimful.report.styles import Style
from brimful.statistics.comparison import Comparison


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one value of the new runs is beside that of the baseline."""

    name: str
    comparison: Comparison
    sentence: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown of a comparison; only what is asked for is computed."""

    regressed: bool
    """Whether the new runs are worse beyond the tolerance."""
    text: Callable[[Style, int], str]
    """For a terminal, by how roles look and where sentences wrap."""
    json: Callable[[], str]
    page: Callable[[], str] | None = None
    """As one HTML file; null where there is none."""
    outcomes: Sequence[Outcome] = ()
    """Each value that has an interval; none where a comparison has no verdict."""
    incomplete: str | None = None
    """Why the verdict does not count, when all is shown; null where it does."""


def refuse_repeated(side: Sequence[RunFile]) -> None:
    """Refuse a side that has one run twice.

    Raises
    ------
    UsageError
        Naming both places.
    """
    paths: dict[str, Path] = {}
    for file in side:
        before = paths.setdefault(file.run.run_id, file.path)
        if before is not file.path:
            message = (
                f"{file.path} is the same run as {before}: twice on one side it would count as a repeat; give it once"
            )
            raise UsageError(message)
