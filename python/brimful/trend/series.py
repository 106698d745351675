"""A history as it is read from a store: one entry for each version, in order. Pure.

Values of a version are one value, their median, with the spread beside it: measurements of one build share its level.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence
from statistics import median, stdev

import msgspec

HIGHER, LOWER = "higher", "lower"
"""Which values are worse."""
_NUMBER = re.compile(r"v?\d+(?:[.-]\d+)*")
_PER_MEDIAN = 1.2533
"""Standard error of a median / that of a mean, of normal values."""

Row = tuple[str, float | None, float | None, float, str | None, int, str]
"""Version, time, value, standard error of its logarithm, problem, set of labels, report; in the order of adding."""


class Value(msgspec.Struct, frozen=True):
    """What is known of one version."""

    version: str
    value: float | None
    """Median of its values; null: it has none."""
    least: float | None
    most: float | None
    count: int
    """Of its values."""
    error: float
    """Standard error of the logarithm of the value; 0 where it is not known."""
    at: float | None
    """When it was first measured, in seconds since 1970; null where that is not known."""
    labels: dict[str, str]
    """Of its last run: versions of the tester, the kernel and others."""
    report: str
    """Where the report or the record of its last run is; empty: nowhere."""
    problem: str | None
    """Why it has no value."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A history: columns with an entry for each version, in order."""

    id: int
    name: str
    """Unique in its store; for people."""
    key: dict[str, str]
    """What makes it a series: ``device``, ``size``, ``goal``, ``anchor``, ``machine``, ``settings`` (a digest of the
    traffic profile and of all else that was set), ``name``; those it has."""
    unit: str
    """Empty for ratios and where it is not known."""
    worse: str
    """``higher`` or ``lower``."""
    versions: list[str]
    values: list[float | None]
    least: list[float | None]
    most: list[float | None]
    counts: list[int]
    errors: list[float]
    times: list[float | None]
    labels: list[dict[str, str]]
    reports: list[str]
    problems: list[str | None]
    """See `Value` for the columns."""

    @property
    def is_ratio(self) -> bool:
        """Whether its values are ratios to an anchor."""
        return "anchor" in self.key

    def __len__(self) -> int:
        """Give the number of versions."""
        return len(self.versions)

    def __getitem__(self, index: int) -> Value:
        """Give what is known of a version."""
        return Value(
            self.versions[index],
            self.values[index],
            self.least[index],
            self.most[index],
            self.counts[index],
            self.errors[index],
            self.times[index],
            self.labels[index],
            self.reports[index],
            self.problems[index],
        )

    def __iter__(self) -> Iterator[Value]:
        """Give all versions in order."""
        return (self[index] for index in range(len(self)))


def name_of(key: dict[str, str]) -> str:
    """Name a series by its key.

    >>> name_of({"device": "lab:bridge", "size": "64", "goal": "ndr", "machine": "2 x EPYC", "settings": "3f09ab"})
    'lab:bridge 64 ndr on 2 x EPYC #3f09ab'
    >>> name_of({"name": "login"})
    'login'
    """
    words = [key[part] for part in ("name", "device", "size", "goal") if part in key]
    words += [f"{word}{key[part]}" for part, word in _WORDS.items() if part in key]
    return " ".join(words)


_WORDS = {"anchor": "against ", "machine": "on ", "settings": "#"}


def assemble(
    *, id: int, key: dict[str, str], unit: str, worse: str, rows: Sequence[Row], label_sets: dict[int, dict[str, str]]
) -> Series:
    """Put the rows of a series together, version by version."""
    entries = _entries(rows)
    versions, values, least, most, counts, errors, times, labels, reports, problems = (
        [list(column) for column in zip(*entries, strict=True)] if entries else [[] for _ in range(10)]
    )
    return Series(
        id=id,
        name=name_of(key),
        key=key,
        unit=unit,
        worse=worse,
        versions=versions,
        values=values,
        least=least,
        most=most,
        counts=counts,
        errors=errors,
        times=times,
        labels=[label_sets[number] for number in labels],
        reports=reports,
        problems=problems,
    )


_Entry = tuple[str, float | None, float | None, float | None, int, float, float | None, int, str, str | None]
"""Columns of `Value`, with the number of its set of labels."""


def _entries(rows: Sequence[Row]) -> list[_Entry]:
    """Give an entry for each version, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    if len(groups) == len(rows):
        entries = [
            (version, value, value, value, int(value is not None), error, at, labels, report, problem)
            for version, at, value, error, problem, labels, report in rows
        ]
    else:
        entries = [_entry(group) for group in groups.values()]
    return [entries[index] for index in _order(groups)]


def _entry(rows: list[Row]) -> _Entry:
    version, _, _, error, problem, labels, report = rows[-1]
    first = min((row[1] for row in rows if row[1] is not None), default=None)
    found = [(row[2], row[3]) for row in rows if row[2] is not None]
    if not found:
        return version, None, None, None, 0, 0.0, first, labels, report, problem
    values = [value for value, _ in found]
    error = _error_of_median(values) if len(values) > 1 else found[0][1]
    return version, median(values), min(values), max(values), len(values), error, first, labels, report, None


def _error_of_median(values: list[float]) -> float:
    return _PER_MEDIAN * stdev(math.log(value) for value in values) / math.sqrt(len(values))


def _order(groups: dict[str, list[Row]]) -> list[int]:
    """Order versions: by their numbers if all are numbers, else by when they were first measured.

    What has no time stands after what was added before it.
    """
    numbers = [number(version) for version in groups]
    if all(numbers):
        return sorted(range(len(numbers)), key=numbers.__getitem__)
    begun = []
    latest = -math.inf
    for rows in groups.values():
        latest = min((row[1] for row in rows if row[1] is not None), default=latest)
        begun.append(latest)
    return sorted(range(len(begun)), key=begun.__getitem__)


@functools.lru_cache(maxsize=1 << 16)
def number(version: str) -> tuple[int, ...]:
    """Read a version that consists of numbers; empty if it does not.

    >>> number("24.11.2") > number("24.6"), number("3f09ab")
    (True, ())
    """
    return tuple(map(int, re.findall(r"\d+", version))) if _NUMBER.fullmatch(version) else ()
