"""Two sets of runs put side by side, ready to be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from brimful.errors import UsageError
from brimful.records import RunFile
from brimful.records.experiment import Difference, differences
from brimful.report import facts
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


def refuse_different(files: Sequence[RunFile]) -> None:
    """Refuse runs that did not ask the same of the same traffic.

    Raises
    ------
    UsageError
        Naming what differs.
    """
    first = files[0]
    for other in files[1:]:
        found = differences(first.run, other.run)
        if found:
            message = f"{other.path} cannot be compared with {first.path}: {'; '.join(map(said, found))}"
            raise UsageError(message)


def said(difference: Difference) -> str:
    """Write what two runs differ in."""
    if difference.one_only:
        return f"{difference.what} is in one only"
    what = difference.what
    if what.startswith("goal "):
        goal, _, part = what.rpartition(": ")
        what = f"{goal}: {part.removesuffix('_s').replace('_', ' ')}"
    return f"{what} is {facts.text(difference.one)} in one and {facts.text(difference.other)} in the other"
