"""What suites find can all be required, by one rule: a figure has the name of its test, or TEST.FIGURE."""

from types import SimpleNamespace
from xml.etree import ElementTree

import msgspec
import pytest
from brimful.errors import UsageError
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import SuitePlan, SwitchingResult, read_run
from brimful.report import junit, rendering
from brimful.report.suite import cases, comparison, requirements
from brimful.report.suite.requirements import parse_requirements
from brimful.report.suite.results import Result
from brimful.report.suite.values import FIGURES, names_of
from brimful.suite_assertion import SuiteAssertion
from brimful.suites import rfc2544, rfc2889
from brimful.suites.manager import run_suite
from brimful.suites.modifiers import TESTS as MODIFIED
from brimful.throughput.manager import SearchRequest
from suites.test_switching import shares

RESULTS = {
    "errored": [
        ("40 bytes", "none", 10.0, "padded"),
        ("1519 bytes", "pass", 10.0, ""),
        ("2000 bytes", "fail", 0.0, ""),
    ],
    "caching": [("sequential", "at-least", 64.0, "")],
    "broadcast": [
        ("throughput", "found", 1000.0, ""),
        ("pa", "pass", 0.0, ""),
        ("pb", "fail", 9.0, ""),
        ("latency at pb", "found", 3e-5, ""),
    ],
    "ageing": [("", "none", None, "pc does not see a frame to an unknown address")],
}


def switched(test):
    records = [
        SwitchingResult(name=name, verdict=verdict, value=value, text=text)
        for name, verdict, value, text in RESULTS[test]
    ]
    return SimpleNamespace(
        latest=lambda *_: records, run=SimpleNamespace(switching=SimpleNamespace(width=0.01), load_unit="frames/s")
    )


def result(test, file, beside=None):
    return Result(size="64", test=test, reason="done", text="", file=file, beside=beside or {test: file})


def made(*, by_two):
    """The tests of a suite, of which those of congestion have a second B port or not."""
    files = {"control": shares(congested=0), "congestion": shares()}
    if by_two is not None:
        files["congestion-by-two"] = shares(free=by_two)
    return [result(test, file, files) for test, file in files.items()] + [
        result(test, switched(test)) for test in RESULTS
    ]


@pytest.fixture
def suite(monkeypatch):
    """Put a suite in the place of a record."""

    def of(results):
        plan = SuitePlan("RFC 2889", ["64"], [one.test for one in results], once=[])
        file = SimpleNamespace(run=SimpleNamespace(suite=plan, measurer=SimpleNamespace(spec="lab")), ends=[])
        for module in (requirements, cases, comparison):
            monkeypatch.setattr(module, "results_of", lambda asked: asked.results, raising=True)
        monkeypatch.setattr("brimful.suite_assertion.results_of", lambda asked: asked.results)
        file.results = results
        file.path = "suite"
        file.run.run_id = str(id(file))
        return file

    return of


@pytest.mark.parametrize("test", [*rfc2544.TESTS, rfc2544.RESET, *MODIFIED, *rfc2889.TESTS])
def test_every_test_has_a_figure_of_its_name_and_what_was_not_measured_is_not_met(test):
    assert names_of(test)[0] == test
    for name in names_of(test):
        nothing = FIGURES[name].of(result(test, None))
        assert (nothing.value, FIGURES[name].shown(nothing)) == (None, "not found")
        assert not FIGURES[name].holds(nothing, FIGURES[name].kind.need.holds, 0.0)


@pytest.mark.parametrize(
    ("required", "missed"),
    [
        ({"errored": {"all": 1}}, "no verdict: 40 bytes: padded"),
        ({"errored": {"too-long": {"all": 1}}}, None),
        ({"errored": {"too-long": {"all": 0}}}, "found 1 failed"),
        ({"errored": {"too-short": {"all": 5}}}, "no verdict: 40 bytes: padded"),
        ({"broadcast": {"all": 1, "throughput": {"64": "1kpps"}, "latency": {"all": "30us"}}}, None),
        ({"broadcast": {"throughput": {"all": "1001"}}}, "found 1.000 kpps"),
        ({"ageing": {"all": "1s"}}, "no verdict: pc does not see a frame to an unknown address"),
        ({"caching": {"all": 64}}, None),
        ({"caching": {"all": 65}}, "found at least 64 addresses"),
        ({"congestion": {"all": "0%", "lost-at-d": {"all": "17%"}}, "control": {"64": 0}}, None),
        ({"congestion": {"blocking": {"all": "no"}, "back-pressure": {"64": "no"}}}, None),
        ({"congestion": {"blocking": {"all": "yes"}}}, "found no"),
        ({"congestion.blocking": {"64": "no"}}, None),
    ],
)
def test_requirements_are_of_all_that_is_found(suite, required, missed):
    checks = parse_requirements(required, "file").checks(suite(made(by_two=0)))
    assert [check.found for check in checks if not check.is_met] == ([] if missed is None else [missed])


def test_a_verdict_that_there_is_not_is_not_met_and_says_why(suite):
    (check,) = parse_requirements({"congestion": {"blocking": {"all": "no"}}}, "f").checks(suite(made(by_two=None)))
    assert check.name == "congestion.blocking at 64: is no"
    assert not check.is_met
    assert check.found.startswith("no verdict: not seen, not excluded")


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("congestion.blocking = no", True),
        ("congestion.blocking[64] = yes", False),
        ("congestion.lost-at-d <= 17%", True),
        ("caching >= 64", True),
        ("caching <= 100", False),  # there may be more
        ("caching < 100", False),
        ("broadcast.throughput >= 1kpps", True),
        ("ageing >= 1s", False),
    ],
)
def test_conditions_are_of_all_that_is_found(suite, condition, is_met):
    file = suite(made(by_two=0))
    (check,) = SuiteAssertion.parse(condition, file.run.suite).checks(file)
    assert check.is_met == is_met


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("congestion.blocking >= no", "congestion.blocking is yes or no; write it like"),
        ("congestion.blocking = maybe", "'maybe' is neither yes nor no"),
        ("caching = 64", "caching is a figure; write >= or <="),
        ("congestion.bloking = no", "did you mean 'congestion.blocking'?"),
        ("forwarding >= 1kpps", "there is no figure 'forwarding'"),
    ],
)
def test_conditions_that_are_none_are_refused(suite, condition, said):
    with pytest.raises(UsageError) as refused:
        SuiteAssertion.parse(condition, suite(made(by_two=0)).run.suite)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"congestion": {"bloking": {"all": "no"}}}, r"\[congestion.bloking\] is no table .*did you mean"),
        ({"congestion": {"blocking": {"all": "maybe"}}}, r"\[congestion.blocking\] all: 'maybe' is neither"),
        ({"congestion": {"blocking": {}}}, r"\[congestion.blocking\] is no table"),
        ({"latency": {}}, r"\[latency\] is no table"),
    ],
)
def test_tables_that_are_none_are_refused(content, said):
    with pytest.raises(UsageError, match=said):
        parse_requirements(content, "file")


def test_the_junit_file_has_every_figure(suite):
    file = suite(made(by_two=None))
    text = junit.render([cases.suite(file, [])])
    said = " ".join(element.text or "" for element in ElementTree.fromstring(text).iter("system-out"))
    for test in file.run.suite.tests:
        assert all(f"{name}: " in said for name in names_of(test)), test
    assert "congestion.blocking: no verdict: not seen, not excluded" in said


def test_frames_that_arrive_twice_or_out_of_order_are_named(tmp_path):
    class Restless(SimulatedMeasurer):
        def measure(self, *trial, **options):
            return msgspec.structs.replace(super().measure(*trial, **options), duplicated=2, reordered=3)

    search = SearchRequest(measurer="sim:sharp", goals=[], strategy="straddle", traffic={"arguments": [], "ip": 4})
    request = rfc2544.SuiteRequest(search=search, sizes=["64"], tests=["throughput", "loss"], is_quick=True)
    opener = lambda search: lambda spec, detail: Restless("sharp,capacity=1Mpps,link=2Mpps")  # noqa: E731
    run_suite(rfc2544.suite_of(request, opener), out=tmp_path / "s")
    text = " ".join(rendering.text(read_run(tmp_path / "s")).split())
    for said in ("arrived twice", "arrived out of order"):
        assert f"frames {said}, which is no loss: throughput at 64 (" in text


def test_blocking_that_was_not_there_before_is_worse(suite, monkeypatch):
    monkeypatch.setattr(comparison, "refuse_different", lambda files: None)
    old, new = suite(made(by_two=0)), suite(made(by_two=333))
    found = comparison.compare_runs([new], [old])
    assert found.regressed
    assert [one.name for one in found.outcomes if one.comparison.verdict == "regression"] == [
        "congestion.blocking at 64"
    ]
    assert "yes instead of no" in next(
        one.sentence for one in found.outcomes if one.name == "congestion.blocking at 64"
    )
    assert not comparison.compare_runs([old], [suite(made(by_two=0))]).regressed


def test_of_a_test_that_is_missing_one_figure_is_named(suite, monkeypatch):
    monkeypatch.setattr(comparison, "refuse_different", lambda files: None)
    every = made(by_two=0)
    fewer = [one for one in every if one.test != "broadcast"]
    assert comparison.compare_runs([suite(fewer)], [suite(every)]).incomplete == (
        "the new suites have no figure of broadcast at 64; measure it"
    )
    unknown = comparison.compare_runs([suite(made(by_two=None))], [suite(every)]).incomplete
    assert "congestion.blocking at 64, congestion-by-two at 64" in unknown
