"""Findings with when they were first reported: what was said is in the store. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from brimful.trend.findings import Finding, Found
from brimful.trend.judgement import OPEN, ChangeLine, Judgement
from brimful.trend.replaying import NEAR


class First(msgspec.Struct, frozen=True, order=True):
    """The first report of a change."""

    at: float
    """In seconds since 1970."""
    version: str
    """The first bad one, as it was taken for then."""


class Reported(msgspec.Struct, frozen=True):
    """A finding, and its first report: whatever joins it or moves its version later, it stays this one."""

    finding: Finding
    first: First


def first_report(change: ChangeLine, made: Sequence[tuple[float, Judgement]]) -> First:
    """Find the first judgement that reported a change.

    Parameters
    ----------
    change
        A change of the last judgement.
    made
        All judgements of the series with their times, in the order in which they were made.
    """
    for at, judgement in made:
        for other in judgement.changes:
            if other.standing == OPEN and other.kind == change.kind and _overlap(change, other):
                return First(at, other.first_bad)
    return First(made[-1][0] if made else 0.0, change.first_bad)


def reported(findings: Sequence[Finding], firsts: dict[tuple[int, str], First]) -> list[Reported]:
    """Put the first report beside each finding; ``firsts`` has those of its changes by `place`."""
    return [Reported(finding, min(firsts[place(each)] for each in finding.changes)) for finding in findings]


def place(found: Found) -> tuple[int, str]:
    """Give what a change is found by: its series and its first bad version."""
    return found.series, found.change.first_bad


def _overlap(first: ChangeLine, second: ChangeLine) -> bool:
    return first.earliest - NEAR <= second.latest and second.earliest - NEAR <= first.latest
