"""Requirements of a suite: a TOML file with a table for each test, and a value for each size or for ``all``."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from brimful import units
from brimful.errors import UsageError, did_you_mean
from brimful.records import RunFile, SuitePlan
from brimful.report.suite.results import Result, plan_of, results_of
from brimful.report.suite.sections import THROUGHPUTS
from brimful.report.words import share

ALL = "all"


class Kind(msgspec.Struct, frozen=True):
    """How the figure of a test is read, compared and shown."""

    read: Callable[[str], float]
    show: Callable[[float], str]
    is_least: bool
    """Whether a requirement is a least value; otherwise it is the most that may be."""


def _whole(text: str) -> float:
    if not text.isdecimal():
        message = f"{text!r} is no whole number"
        raise UsageError(message)
    return float(text)


KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(THROUGHPUTS, Kind(units.parse_load, units.format_load, is_least=True)),
    "latency": Kind(units.parse_duration, units.format_delay, is_least=False),
    "loss": Kind(units.parse_small_ratio, share, is_least=False),
    "bursts": Kind(_whole, lambda frames: f"{frames:.0f} frames", is_least=True),
    "recovery": Kind(units.parse_duration, units.format_delay, is_least=False),
    "reset": Kind(units.parse_duration, units.format_delay, is_least=False),
    "caching": Kind(_whole, lambda count: f"{count:.0f} addresses", is_least=True),
    "learning": Kind(units.parse_load, units.format_load, is_least=True),
    "ageing": Kind(units.parse_duration, units.format_delay, is_least=True),
    "errored": Kind(_whole, lambda count: f"{count:.0f} failed", is_least=False),
    "broadcast": Kind(_whole, lambda count: f"{count:.0f} failed", is_least=False),
}


class Check(msgspec.Struct, frozen=True):
    """A requirement held against what was found."""

    test: str
    size: str
    required: str
    found: str
    is_met: bool

    @property
    def name(self) -> str:
        """What is checked."""
        return f"{self.test} at {self.size}: {self.required}"


class Requirements(msgspec.Struct, frozen=True):
    """By test and size; loads, times, ratios and frames as they are written."""

    values: dict[str, dict[str, str]]

    def checks(self, file: RunFile) -> list[Check]:
        """Hold them against a suite; what was not found is not met."""
        results = {(result.test, result.size): result for result in results_of(file)}
        return [
            _check(test, size, text, results.get((test, size)))
            for test, values in self.values.items()
            for size, text in _of_sizes(values, plan_of(file).sizes_of(test))
        ]

    def unmeasured(self, plan: SuitePlan) -> list[str]:
        """Say which ones a suite will miss because it does not measure them."""
        found = []
        for test, values in self.values.items():
            sizes = [*plan.sizes_of(test), ALL] if test in plan.tests else []
            found += [
                f"{test} at {size} is not measured in this suite{did_you_mean(size, sizes)}"
                for size in values
                if size not in sizes
            ]
        return found


def read_requirements(path: Path) -> Requirements:
    """Read the file.

    Raises
    ------
    UsageError
        When it cannot be read, or names a test or a value that is none.
    """
    try:
        return parse_requirements(tomllib.loads(path.read_text()), str(path))
    except OSError as error:
        message = f"--require {path}: {error.strerror}"
        raise UsageError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"--require {path}: {str(error).lower()}"
        raise UsageError(message) from error


def parse_requirements(content: Mapping[str, Any], where: str) -> Requirements:
    """Check what the file holds.

    >>> parse_requirements({"latency": {"all": "50us"}}, "file").values
    {'latency': {'all': '50us'}}

    Raises
    ------
    UsageError
        Naming the entry.
    """
    for test, values in content.items():
        if test not in KINDS or not isinstance(values, dict) or not values:
            meant = "" if test in KINDS else did_you_mean(test, KINDS)
            message = f"--require {where}: [{test}] is no table of a test{meant}; there are {', '.join(KINDS)}"
            raise UsageError(message)
        for size, text in values.items():
            try:
                KINDS[test].read(str(text))
            except UsageError as error:
                message = f"--require {where}: [{test}] {size}: {error}"
                raise UsageError(message) from error
    return Requirements({test: {size: str(text) for size, text in values.items()} for test, values in content.items()})


def _of_sizes(values: Mapping[str, str], sizes: list[str]) -> list[tuple[str, str]]:
    """Give the requirement of each size, and those of sizes that the suite does not have."""
    wanted = {size: values[ALL] for size in sizes if ALL in values}
    wanted.update({size: text for size, text in values.items() if size != ALL})
    return list(wanted.items())


def _check(test: str, size: str, text: str, result: Result | None) -> Check:
    kind, value = KINDS[test], None if result is None else result.value
    limit = kind.read(text)
    required = f"{'at least' if kind.is_least else 'at most'} {kind.show(limit)}"
    if value is None:
        return Check(test, size, required, "not found", is_met=False)
    met = value >= limit if kind.is_least else value <= limit
    return Check(test, size, required, f"found {kind.show(value)}", is_met=met)
