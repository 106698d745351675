"""Changes that one run brought to several series are one finding. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from brimful.trend.judgement import OPEN, REGRESSION, ChangeLine
from brimful.trend.series import Series


class Found(msgspec.Struct, frozen=True):
    """A change of a series."""

    series: int
    name: str
    device: str
    """Changes of different devices are never one finding; empty where there is no device."""
    change: ChangeLine
    versions: list[str]
    """Those that may be the first bad one."""


class Finding(msgspec.Struct, frozen=True):
    """Open changes of one kind that one version may have brought."""

    kind: str
    """``regression`` or ``progression``."""
    version: str
    """The version that is the first bad one of most of them."""
    changes: list[Found]
    """The largest first."""


def found_in(series: Series, changes: Sequence[ChangeLine]) -> list[Found]:
    """Give the open changes of a series."""
    return [
        Found(
            series.id,
            series.name,
            series.key.get("device", ""),
            change,
            series.versions[change.earliest : change.latest + 1],
        )
        for change in changes
        if change.standing == OPEN
    ]


def grouped(found: Sequence[Found]) -> list[Finding]:
    """Put changes together that one version may have brought; regressions first, and the largest of each.

    Each time the version that may have brought most of the changes that are left takes them; of equal versions the one
    that is the likeliest of more.
    """
    findings = []
    for kind, device in sorted({(each.change.kind, each.device) for each in found}):
        left = [each for each in found if (each.change.kind, each.device) == (kind, device)]
        while left:
            possible = Counter(version for each in left for version in each.versions)
            likely = Counter(each.change.first_bad for each in left)
            version = max(possible, key=lambda version: (possible[version], likely[version]))
            taken = [each for each in left if version in each.versions]
            left = [each for each in left if version not in each.versions]
            findings.append(Finding(kind, version, sorted(taken, key=_size, reverse=True)))
    return sorted(findings, key=lambda finding: (finding.kind == REGRESSION, _size(finding.changes[0])), reverse=True)


def _size(found: Found) -> float:
    return abs(math.log(found.change.ratio))
