"""What would have been reported after each version."""

from brimful.trend.judgement import Settings
from brimful.trend.replaying import replay
from histories import levels, series_of


def test_a_report_says_after_which_version_it_first_appeared():
    found = replay(series_of(levels((100, 30), (104, 30), (108, 30))), Settings(), all_series=1)
    assert found.judged == 90 - 12 + 1
    assert [(report.change.first_bad, report.gone_after) for report in found.reports] == [("30", None), ("60", None)]
    for report in found.reports:
        assert 1 < report.delay <= 3
        assert int(report.after) == report.change.index + report.delay - 1


def test_a_report_that_vanished_says_when():
    values = [*levels((100, 30), seed=3), 103, 103, *levels((100, 30), seed=2)]
    found = replay(series_of(values), Settings(), all_series=1)
    assert [(report.change.first_bad, report.gone_after is None) for report in found.reports] == [("30", False)]


def test_a_steady_series_has_no_reports():
    assert replay(series_of(levels((100, 60))), Settings(), all_series=1).reports == []
    assert replay(series_of([]), Settings(), all_series=1).judged == 0
