"""The whole of RFC 2889 in one record, on a switch of known truth, in virtual time."""

import msgspec
import pytest
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import read_run
from brimful.report import rendering
from brimful.report.suite import model
from brimful.report.suite.model import line
from brimful.report.suite.requirements import parse_requirements
from brimful.report.suite.results import results_of
from brimful.report.suite.values import main_value
from brimful.report.verdicts import of_suite
from brimful.suites.manager import run_suite
from brimful.suites.rfc2889 import TESTS, SwitchSuiteRequest, expected_s, suite_of
from brimful.throughput.manager import SearchRequest
from suites.model_switch import ModelSwitch

SYSTEM = "buffer,capacity=1Mpps,frames=1000,link=2Mpps"
REQUEST = SwitchSuiteRequest(
    search=SearchRequest(measurer="tester:p1,p2,p3,p4,p5,p6", goals=[], strategy="straddle", max_load="2Mpps"),
    sizes=["64", "512"],
    tests=list(TESTS),
    is_quick=True,
    most_addresses=64,
)


class Switch(ModelSwitch):
    """A switch with room for 20 addresses; all of them together are interrupted at a sequence."""

    left = 0

    def __init__(self):
        super().__init__(room=20, ports=4, shortest=64, life_s=3.0)

    def send(self, sequences, settle_s):
        Switch.left -= 1
        if Switch.left == 0:
            raise KeyboardInterrupt
        return super().send(sequences, settle_s)


def run(out, *, resume=False, at=0):
    Switch.left = at
    return run_suite(
        suite_of(REQUEST, lambda size: Switch(), lambda search: SimulatedMeasurer(SYSTEM)), out=out, resume=resume
    )


def values(out):
    return {(result.size, result.test): main_value(result) for result in results_of(read_run(out))}


def test_every_test_finds_what_is_true(tmp_path, snapshot):
    done = run(tmp_path / "s")
    assert (done.end.reason, done.end.text) == ("done", "")
    found = values(tmp_path / "s")
    assert len(found) == 2 * 10 + 4
    assert found["64", "caching"] == 19
    assert found["64", "ageing"] == pytest.approx(3.0, abs=0.2)
    assert (found["64", "errored"], found["512", "broadcast"]) == (0, 0)
    for test in ("mesh", "one-to-many", "many-to-one", "backbone", "halves"):
        assert 0.99e6 < found["512", test] <= 1e6, test
    file = read_run(tmp_path / "s")
    assert of_suite(file, None).holds
    assert line(file) == (
        "RFC 2889: mesh at 64: 998.2 kpps; mesh at 512: 998.2 kpps; caching: sequential: 19 addresses;"
        " learning: at least 20.00 kpps"
    )
    text = rendering.text(file)
    assert text[text.index("What was done of") : text.index("Set-up")] == snapshot
    required = parse_requirements({"caching": {"all": 20}, "errored": {"all": 0}, "mesh": {"64": "900kpps"}}, "file")
    missed = [(check.name, check.found) for check in required.checks(file) if not check.is_met]
    assert missed == [("caching at 64: at least 20 addresses", "found 19 addresses")]


@pytest.mark.parametrize("at", [1, 30, 60, 61, 100])
def test_a_suite_that_was_interrupted_goes_on_and_finds_the_same(tmp_path, at):
    run(tmp_path / "whole")
    cut = run(tmp_path / "cut", at=at)
    assert cut.end.reason == "interrupted"
    assert of_suite(read_run(tmp_path / "cut"), None).holds
    assert run(tmp_path / "cut", resume=True).end.reason == "done"
    whole, resumed = values(tmp_path / "whole"), values(tmp_path / "cut")
    assert {key: resumed[key] for key in whole if key[1] != "ageing"} == {
        key: value for key, value in whole.items() if key[1] != "ageing"
    }
    assert of_suite(read_run(tmp_path / "cut"), None).holds


def test_quick_is_quick_and_the_whole_suite_is_not():
    whole = SwitchSuiteRequest(search=REQUEST.search, sizes=["64"] * 7, tests=list(TESTS))
    assert expected_s(REQUEST, TESTS) < 600
    assert expected_s(whole, TESTS) > 5 * 3600


def test_a_switch_that_learns_nothing_has_no_rate_of_learning_which_is_no_failure(tmp_path):
    request = msgspec.structs.replace(REQUEST, tests=["caching", "learning"], sizes=["64"])
    done = run_suite(suite_of(request, lambda size: ModelSwitch(learns=False), None), out=tmp_path / "s")
    assert (done.end.reason, done.tests[1].reason) == ("done", "done")
    file = read_run(tmp_path / "s")
    assert of_suite(file, None).holds
    why = "no address is known to be learned, so there is no rate of learning"
    sections = {row[0]: row[2:] for row in model.build(file).blocks[0].rows}
    assert sections["5.8"] == ["not done", why]
    (check,) = parse_requirements({"learning": {"all": "1kpps"}}, "file").checks(file)
    assert (check.is_met, check.found) == (False, why)
