"""Changes of one run in several series are one finding."""

from brimful.trend.findings import found_in, grouped
from histories import levels, said, series_of

REGRESSED = ((100, 30), (105, 10))


def found(*histories, device="d"):
    changes = []
    for number, parts in enumerate(histories):
        values, key = levels(*parts, seed=number), {"device": device, "goal": str(number)}
        changes += found_in(series_of(values, key=key), said(values, key=key).changes)
    return changes


def test_changes_of_one_version_are_one_finding_the_largest_first():
    (finding,) = grouped(found(REGRESSED, ((100, 30), (110, 10)), ((100, 40),)))
    assert (finding.kind, finding.version) == ("regression", "30")
    assert [each.name for each in finding.changes] == ["d 1", "d 0"]


def test_changes_of_other_versions_kinds_or_devices_are_others():
    changes = found(REGRESSED, ((100, 20), (105, 20)), ((100, 30), (95, 10))) + found(REGRESSED, device="e")
    assert sorted((finding.kind, finding.version) for finding in grouped(changes)) == [
        ("progression", "30"),
        ("regression", "20"),
        ("regression", "30"),
        ("regression", "30"),
    ]


def test_an_unclear_date_is_with_the_version_that_most_share():
    unclear = found(((100, 30), (102, 10)), *[REGRESSED] * 2)
    assert len(unclear[0].versions) >= 1
    (finding,) = grouped(unclear)
    assert len(finding.changes) == 3


def test_each_change_is_in_one_finding():
    changes = found(*[((100, 20 + number % 3), (104, 15)) for number in range(12)])
    findings = grouped(changes)
    assert sum(len(finding.changes) for finding in findings) == len(changes) == 12
    assert len(findings) == 3
    assert grouped([]) == []
