"""Requirements of a suite: a TOML file with a table for each figure, and a value for each size or for ``all``.

A table has the name of a test, ``[latency]``, or that of another of its figures, ``[latency.p99]``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from brimful.errors import UsageError, did_you_mean
from brimful.records import RunFile, SuitePlan
from brimful.report.suite.results import Result, plan_of, results_of, why_absent
from brimful.report.suite.values import FIGURES, Found, test_of

ALL = "all"


class Check(msgspec.Struct, frozen=True):
    """A requirement held against what was found."""

    figure: str
    size: str
    required: str
    found: str
    is_met: bool

    @property
    def name(self) -> str:
        """What is checked."""
        return f"{self.figure} at {self.size}: {self.required}"


class Requirements(msgspec.Struct, frozen=True):
    """By figure and size, as they are written."""

    values: dict[str, dict[str, str]]

    def checks(self, file: RunFile) -> list[Check]:
        """Hold them against a suite; what was not found is not met."""
        plan = plan_of(file)
        results = {(result.test, result.size): result for result in results_of(file)}
        return [
            _check(name, size, text, results.get((test, size)), why_absent(plan, test, size))
            for name, values in self.values.items()
            for test in [test_of(name)]
            for size, text in _of_sizes(values, plan.sizes_of(test))
        ]

    def unmeasured(self, plan: SuitePlan) -> list[str]:
        """Say which ones a suite will miss because it does not measure them."""
        found = []
        for name, values in self.values.items():
            test = test_of(name)
            if test in plan.not_done:
                found.append(f"{name} is {why_absent(plan, test, ALL)}")
                continue
            sizes = [*plan.sizes_of(test), ALL] if test in plan.tests else []
            found += [
                f"{name} at {size} is not measured in this suite{did_you_mean(size, sizes)}"
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
    wanted: dict[str, dict[str, str]] = {}
    for name, values in _tables(content):
        if name not in FIGURES or not isinstance(values, dict) or not values:
            meant = "" if name in FIGURES else did_you_mean(name, FIGURES)
            message = f"--require {where}: [{name}] is no table of a figure{meant}; there are {', '.join(FIGURES)}"
            raise UsageError(message)
        wanted[name] = {size: str(text) for size, text in values.items()}
        for size, text in wanted[name].items():
            try:
                FIGURES[name].kind.read(text)
            except UsageError as error:
                message = f"--require {where}: [{name}] {size}: {error}"
                raise UsageError(message) from error
    return Requirements(wanted)


def _tables(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the tables of a file: TOML has those of `[latency.p99]` within that of `latency`."""
    for name, values in content.items():
        inner = (
            {key: value for key, value in values.items() if isinstance(value, dict)} if isinstance(values, dict) else {}
        )
        yield from ((f"{name}.{key}", value) for key, value in inner.items())
        if not inner or len(inner) < len(values):
            yield name, {key: value for key, value in values.items() if key not in inner} if inner else values


def _of_sizes(values: Mapping[str, str], sizes: list[str]) -> list[tuple[str, str]]:
    """Give the requirement of each size, and those of sizes that the suite does not have."""
    wanted = {size: values[ALL] for size in sizes if ALL in values}
    wanted.update({size: text for size, text in values.items() if size != ALL})
    return list(wanted.items())


def _check(name: str, size: str, text: str, result: Result | None, absent: str) -> Check:
    figure = FIGURES[name]
    need, limit = figure.kind.need, figure.kind.read(text)
    found = Found(why=absent) if result is None else figure.of(result)
    said = figure.shown(found) if found.value is None else f"found {figure.shown(found)}"
    is_met = figure.holds(found, need.holds, limit)
    return Check(name, size, f"{need.words} {figure.kind.show(limit)}", said, is_met=is_met)
