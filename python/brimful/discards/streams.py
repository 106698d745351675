"""Tests of several streams beside tests of one: whether discards went with the same rates in both.

A loss in one of several streams matters less, for the others go on. The study found similar results for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ibis.expr.types import Table

from brimful.discards import comparisons
from brimful.discards.daily import Rows
from brimful.discards.findings import with_interval
from brimful.discards.schema import SEVERAL_STREAMS
from brimful.records import Finding

KINDS = {"one": "one stream", "several": "several streams"}


def sites_with_several(tests: Table) -> Table:
    """Give the sites that have tests of several streams."""
    return of_kind(tests, "several").select("site").distinct()


def of_kind(tests: Table, kind: str) -> Table:
    """Keep the tests of ``one`` stream, or of ``several``; a protocol without their number is of one."""
    several = tests.protocol.contains(SEVERAL_STREAMS)
    return tests.filter(several if kind == "several" else ~several)


def findings(answers: dict[str, list[Rows]], *, seed: int) -> Iterator[Finding]:
    """Say for each site what tests with discards have of the rate of those without, for each kind.

    Parameters
    ----------
    answers
        By kind: from `analysis.dose_response` and from `analysis.tests_of_few`.
    seed
        Of the bootstrap for few clients.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for kind, (clients, few) in answers.items():
        for line in [*comparisons.doses(clients), *comparisons.within_clients(few, seed=seed)]:
            # Of few clients the comparison within them comes last, and stands.
            if line.subject is not None and line.data.get("ratio") is not None:
                names = ("ratio", "interval", "tests_with", "tests_without", "clients")
                found.setdefault(line.subject, {})[kind] = {name: line.data[name] for name in names}
    for site, kinds in sorted(found.items()):
        if "several" in kinds:
            yield Finding(code="streams", subject=site, text=f"{site}: {_text(kinds)}", data=dict(kinds))


def _text(kinds: dict[str, dict[str, Any]]) -> str:
    told = [
        f"{KINDS[kind]}: {with_interval(data['ratio'], data['interval'])} "
        f"({data['tests_with']:,} tests with, {data['tests_without']:,} without)"
        for kind, data in sorted(kinds.items())
    ]
    text = f"rate of tests with discards over that of tests without, of the same client; {'; '.join(told)}. "
    if len(kinds) < len(KINDS):
        return text + "Tests of one stream are too few to set beside them."
    (low, high), (other_low, other_high) = (data["interval"] for data in kinds.values())
    if low <= other_high and other_low <= high:
        return text + "The intervals overlap: the results are similar, as far as these tests show."
    return text + "The intervals do not overlap: the results differ."
