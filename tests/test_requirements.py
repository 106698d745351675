"""The list of requirements names things that exist. That each test exists is checked beside the engine's tests."""

from brimful.report.throughput.items import ITEMS
from brimful.throughput.requirements import requirements


def test_every_report_item_that_satisfies_a_requirement_exists():
    known = {item.id for item in ITEMS}
    named = {
        where.removeprefix("report:")
        for row in requirements()
        for where in row["satisfied_by"]
        if where.startswith("report:")
    }
    assert named
    assert named <= known


def test_every_requirement_is_satisfied_by_something():
    rows = requirements()
    assert [row["number"] for row in rows] == list(range(1, 36))
    assert all(row["satisfied_by"] for row in rows)
