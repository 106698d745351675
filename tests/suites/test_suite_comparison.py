"""Suites against suites of a baseline: each test at each size, and the command."""

import json
from xml.etree import ElementTree

import msgspec
import pytest
from brimful.errors import UsageError
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import read_run
from brimful.records.delay import DelayInterval
from brimful.report.suite import comparison
from brimful.report.suite.comparison import Pair, compare_runs
from brimful.statistics.comparison import compare
from brimful.suites.manager import run_suite
from brimful.suites.rfc2544 import SuiteRequest, suite_of
from brimful.throughput.manager import SearchRequest
from support import brimful

REQUEST = SuiteRequest(
    search=SearchRequest(measurer="sim:buffer", goals=[], strategy="straddle", traffic={"arguments": [], "ip": 4}),
    sizes=["64", "512"],
    tests=["throughput", "loss", "bursts"],
    is_quick=True,
)


@pytest.fixture(scope="module")
def suites(tmp_path_factory):
    """Suites of devices of two capacities, and two of fewer tests."""
    directory = tmp_path_factory.mktemp("suites")
    fewer = msgspec.structs.replace(REQUEST, sizes=["64"], tests=["throughput", "loss"])
    for name, capacity, request in (
        ("old", "1Mpps", REQUEST),
        ("same", "1Mpps", REQUEST),
        ("slow", "0.9Mpps", REQUEST),
        ("fewer", "1Mpps", fewer),
    ):
        system = f"buffer,capacity={capacity},frames=1000,link=2Mpps"
        opener = lambda search, system=system: lambda spec, detail: SimulatedMeasurer(system)  # noqa: E731
        run_suite(suite_of(request, opener), out=directory / name)
    return directory


def compared(suites, new, old, **options):
    return compare_runs([read_run(suites / new)], [read_run(suites / old)], **options)


def test_a_slower_device_is_worse_in_what_is_judged(suites):
    found = compared(suites, "slow", "old", tolerance=0.01)
    assert found.regressed
    verdicts = {outcome.name: outcome.comparison.verdict for outcome in found.outcomes}
    # The longest burst b holds 1000 frames beside what is forwarded: b (1 - capacity / 2 Mpps).
    assert verdicts == dict.fromkeys(
        [f"{test} at {size}" for size in ("64", "512") for test in ("throughput", "bursts")], "regression"
    )
    tests = {(one["test"], one["size"]): one for one in json.loads(found.json())["tests"]}
    assert tests["throughput", "64"]["change"] == pytest.approx(-0.1, abs=0.003)
    low, high = tests["throughput", "64"]["interval"]
    assert low <= -0.1 <= high
    assert tests["loss", "64"]["change"] == pytest.approx(0.1, abs=0.002)
    assert tests["loss", "64"]["comparison"] is None


def test_equal_suites_have_not_got_worse(suites):
    found = compared(suites, "same", "old", tolerance=0.02)
    assert not found.regressed
    assert {outcome.comparison.verdict for outcome in found.outcomes} == {"same"}
    # One run a side has one throughput, which shows no spread: without a tolerance it has no verdict.
    verdicts = {outcome.name: outcome.comparison.verdict for outcome in compared(suites, "slow", "old").outcomes}
    assert (verdicts["throughput at 64"], verdicts["bursts at 64"]) == ("unclear", "regression")


def test_what_one_side_lacks_is_said(suites):
    assert compared(suites, "old", "fewer").incomplete is None
    lacking = compared(suites, "fewer", "old").incomplete
    assert "throughput at 512" in lacking
    assert "bursts at 64" in lacking


def test_suites_of_other_lengths_are_refused(suites):
    new, old = read_run(suites / "same"), read_run(suites / "old")
    plan = msgspec.structs.replace(new.run.suite, is_quick=False)
    full = msgspec.structs.replace(new, run=msgspec.structs.replace(new.run, suite=plan))
    with pytest.raises(UsageError, match="suites of RFC 2544 and RFC 2544, quick cannot be compared"):
        compare_runs([full], [old])
    with pytest.raises(UsageError, match="is the same run"):
        compare_runs([new, read_run(suites / "same")], [old])


def test_a_longer_latency_is_worse():
    def results(value_s):
        mean = DelayInterval(value_s, value_s - 1e-6, value_s + 1e-6, 0.0, "paired", 9)
        delay = type("Delay", (), {"direction": "all", "mean": mean})
        return [type("Result", (), {"file": type("File", (), {"delays": [delay]})})]

    samples = [comparison._latency("latency", results(value_s)) for value_s in (60e-6, 50e-6)]
    found = compare(*samples, tolerance=0.01)
    assert found.verdict == "regression"
    pair = Pair(test="latency", size="64", new=60e-6, baseline=50e-6, comparison=found)
    assert pair.change == pytest.approx(0.2)
    assert pair.interval == pytest.approx((59 / 51 - 1, 61 / 49 - 1))


@pytest.mark.parametrize(
    ("new", "words", "code"),
    [
        ("slow", ("--tolerance", "1%"), 1),
        ("same", ("--tolerance", "2%"), 0),
        ("same", ("--detect", "5%"), 4),
        ("fewer", (), 2),
    ],
)
def test_the_command_has_the_exit_codes_of_all_comparisons(suites, new, words, code):
    done = brimful("compare", new, "--against", "old", "--junit", "c.xml", *words, cwd=suites, check=code)
    assert "Tests of both suites" in done.stdout
    assert "throughput at 64 has not got worse" in (suites / "c.xml").read_text()


def test_the_text_is_as_it_was(suites, snapshot):
    assert brimful("compare", "slow", "--against", "old", "--tolerance", "1%", cwd=suites, check=1).stdout == snapshot


def test_a_suite_is_explained_test_by_test(suites):
    said = brimful("explain", "old", cwd=suites, check=0).stdout
    for title in ("throughput at 64:", "bursts at 512:", "longest burst without loss: 1 999 frames"):
        assert title in said.replace("\N{NO-BREAK SPACE}", " ").replace("1,999", "1 999"), said[:2000]
    assert "loss at 64:" not in said
    refused = brimful("explain", "old", "1Mpps", cwd=suites, check=2)
    assert "name the record of a test" in refused.stderr


def test_the_junit_file_has_each_test_and_each_requirement(tmp_path):
    (tmp_path / "required.toml").write_text('[throughput]\nall = "2Mpps"\n[loss]\n64 = "60%"\n')
    system = "sim:buffer,capacity=1Mpps,frames=1000,link=2Mpps"
    words = ("--quick", "--sizes", "64", "--tests", "throughput,loss,latency", "--quiet", "--out", "s")
    more = ("--require", "required.toml", "--junit", "s.xml")
    brimful("rfc2544", "-m", system, *words, *more, cwd=tmp_path, check=1)
    (suite,) = ElementTree.parse(tmp_path / "s.xml").getroot().iter("testsuite")
    found = {case.get("name"): [part.tag for part in case if part.tag != "system-out"] for case in suite}
    assert found == {
        "throughput at 64 was made": [],
        "loss at 64 was made": [],
        "latency was made": ["skipped"],
        "throughput at 64: at least 2.000 Mpps": ["failure"],
        "loss at 64: at most 60.0 %": [],
    }
