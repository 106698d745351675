"""Outcomes as JUnit XML, which CI servers show: a test case for each goal, condition, value compared, series."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

import msgspec

from brimful.records import End, GoalResult
from brimful.report import words

MEASUREMENT_FAILED = "measurement-failed"
"""`End.reason` of such a run."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One test case."""

    name: str
    problem: str | None = None
    """Why it failed; null: it passed."""
    said: str = ""
    """What was found."""
    is_error: bool = False
    """Whether nothing could be found out, rather than that what was found is not wanted."""
    skipped: str | None = None
    """Why it does not apply; null: it does."""


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one search, comparison or check."""

    name: str
    cases: list[Case]
    duration_s: float
    command: str = "search"
    """Of brimful, that made it."""


def failed_case(text: str) -> Case:
    """Give the case of a run whose measuring failed."""
    return Case(name="measuring went on to the end", problem=text, is_error=True)


def cases(
    results: Sequence[GoalResult], unit: str, conditions: Sequence[tuple[str, list[str]]], end: End
) -> list[Case]:
    """Give a case for each goal, which passes where it is regular, and for each condition with what it missed.

    Where measuring failed, one more says why.
    """
    goals = [
        Case(
            name=f"goal {result.goal} is regular",
            problem=None if result.regular else f"{result.reason}: {words.explain(result.reason)}",
            said=words.headline(result, unit),
        )
        for result in results
    ]
    asserted = [Case(name=text, problem="; ".join(missed) or None) for text, missed in conditions]
    return goals + asserted + ([failed_case(end.text)] if end.reason == MEASUREMENT_FAILED else [])


def render(suites: Sequence[Suite]) -> bytes:
    """Write the file."""
    root = ElementTree.Element("testsuites", name="brimful")
    for suite in suites:
        problems = [case.is_error for case in suite.cases if case.problem is not None]
        skipped = sum(case.skipped is not None for case in suite.cases)
        counts = {
            "tests": len(suite.cases),
            "failures": problems.count(False),
            "errors": problems.count(True),
            "skipped": skipped,
        }
        element = ElementTree.SubElement(
            root,
            "testsuite",
            {
                "name": _printable(suite.name),
                "time": f"{suite.duration_s:.3f}",
                **{key: str(value) for key, value in counts.items()},
            },
        )
        for case in suite.cases:
            shown = ElementTree.SubElement(
                element, "testcase", name=_printable(case.name), classname=f"brimful.{suite.command}"
            )
            if case.problem is not None:
                kind = "error" if case.is_error else "failure"
                failure = ElementTree.SubElement(shown, kind, message=_printable(case.problem))
                failure.text = _printable(case.said or case.problem)
            elif case.skipped is not None:
                ElementTree.SubElement(shown, "skipped", message=_printable(case.skipped))
            elif case.said:
                ElementTree.SubElement(shown, "system-out").text = _printable(case.said)
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _printable(text: str) -> str:
    """Leave out what XML cannot hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
