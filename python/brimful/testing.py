"""Searches and comparisons that tests make: each has a record, and one page has all of them."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.errors import UsageError
from brimful.records import NOTHING_PASSES, Ratio, read_run
from brimful.run_index import RECORD_NAME

if TYPE_CHECKING:
    from brimful.paired.compare import ComparisonResult, Device
    from brimful.throughput.result import SearchResult

_LONGEST_NAME = 60


class Made(msgspec.Struct, frozen=True):
    """A search or a comparison that a test made."""

    path: Path
    """Directory of the record."""
    values: dict[str, float | str] = {}
    """What was found, by name: of a goal its conditional throughput, of a comparison ratios and verdicts."""

    @property
    def has_record(self) -> bool:
        """Whether it came as far as a record."""
        return (self.path / RECORD_NAME).exists()


class RunsOfTest:
    """What one test measures, kept in a directory.

    Parameters
    ----------
    directory
        Where each search and comparison has a directory of its own.
    name
        Of the test.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name = directory, name
        self.made: list[Made] = []

    def search(self, measure: Any, **options: Any) -> SearchResult:  # noqa: ANN401 - as `brimful.search` takes them
        """Find how much load something takes; options are those of `brimful.search`."""
        from brimful.throughput.search import search

        made = self._begin()
        result = search(measure, record=made.path, **options)
        made.values.update(_throughputs(result))
        return result

    def compare(self, first: Device, *others: Device, **options: Any) -> ComparisonResult:  # noqa: ANN401 - as above
        """Compare devices; options are those of `brimful.compare`."""
        from brimful.paired.compare import compare

        made = self._begin()
        result = compare(first, *others, record=made.path, **options)
        made.values.update(_ratios(result))
        return result

    def _begin(self) -> Made:
        word = re.sub(r"[^A-Za-z0-9.]+", "-", self._name)[-_LONGEST_NAME:].strip("-.") or "test"
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            # A name may be taken by an earlier session, or by a worker beside this one.
            for number in itertools.count(1):
                path = self._directory / (word if number == 1 else f"{word}-{number}")
                with contextlib.suppress(FileExistsError):
                    path.mkdir()
                    break
        except OSError as error:
            message = f"{self._directory}: cannot make a directory for records: {error.strerror}"
            raise UsageError(message) from error
        self.made.append(Made(path))
        return self.made[-1]


def missed(result: SearchResult, conditions: Sequence[str]) -> list[str]:
    """Say which conditions, like ``"ndr >= 1.2Mpps"``, a result does not meet, and what was found instead.

    Raises
    ------
    UsageError
        When one is no condition, or there is none.
    """
    from brimful.assertion import Assertion

    if not conditions:
        message = "there is no condition; give one like 'ndr >= 1.2Mpps'"
        raise UsageError(message)
    if result.path is None:
        message = "the result has no record; search with the fixture or keyword that checks it"
        raise UsageError(message)
    goals = [found.goal for found in result.goal_results]
    run = read_run(result.path).run
    checks = [Assertion.parse(text, goals) for text in conditions]
    return [text for check in checks for text in check.failures(result.goal_results, run)]


_OPEN = {
    "undecided": "the run ended before it was known",
    "at-threshold": "it is at the tolerance",
    "cannot-tell": "the first device differs from itself",
}
"""Verdicts that leave it open whether a device is slower."""


def regressions(result: ComparisonResult) -> list[str]:
    """Say which devices are slower than the first by more than the tolerance, lose units more often, or may do so."""
    if not result.ratios:
        return [f"nothing is known, as no device was compared: {result.end.text or result.end.reason}"]
    slower = [
        f"{ratio.device} passes no frame of this size, and the first does"
        if ratio.by == NOTHING_PASSES
        else f"{ratio.device} is slower: it has {ratio.ratio:.4g} times the throughput of the first{_interval(ratio)}"
        for ratio in result.ratios
        if ratio.verdict == "regression"
    ]
    lossy = [f"{losses.device} loses units more often" for losses in result.losses if losses.verdict == "regression"]
    may_be_slower = [
        f"{ratio.device} and the first pass no frame of this size"
        if ratio.by == NOTHING_PASSES
        else f"{ratio.device} may be slower: {_OPEN[ratio.verdict]}{_interval(ratio)}"
        for ratio in result.ratios
        if ratio.verdict in _OPEN
    ]
    may_lose = [
        f"{losses.device} may lose units more often: {_OPEN[losses.verdict]}"
        for losses in result.losses
        if losses.verdict in _OPEN
    ]
    return slower + lossy + may_be_slower + may_lose


def _interval(ratio: Ratio) -> str:
    return "" if ratio.low is None or ratio.high is None else f" ({ratio.low:.4g} to {ratio.high:.4g})"


def _throughputs(result: SearchResult) -> dict[str, float | str]:
    return {
        found.goal: "nothing was found" if found.conditional_throughput is None else found.conditional_throughput
        for found in result.goal_results
    }


def _ratios(result: ComparisonResult) -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    for ratio in result.ratios:
        values |= {
            f"ratio.{ratio.device}": "nothing was found" if ratio.ratio is None else ratio.ratio,
            f"verdict.{ratio.device}": ratio.verdict,
        }
    return values


def check_page() -> None:
    """Look whether the page can be made here, before its runs are.

    Raises
    ------
    UsageError
        Naming the extra that is not installed.
    """
    from brimful.report.web_page import check_packages

    check_packages()


def page_of(made: Sequence[tuple[str, str, Path]], title: str) -> str:
    """Give one HTML page about runs: of each the test, its outcome and the directory."""
    from brimful.report import collection

    entries = [collection.Entry(test, outcome, read_run(path)) for test, outcome, path in made]
    return collection.page(sorted(entries, key=lambda entry: entry.file.run.started), title)
