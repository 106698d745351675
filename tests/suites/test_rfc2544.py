"""The whole of RFC 2544 by one command, on systems of known truth."""

import json
import operator
from xml.etree import ElementTree

import msgspec
import pytest
from brimful.errors import MeasureError
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import read_run
from brimful.report import rendering, styles
from brimful.report.suite import cases, model
from brimful.report.suite.comparison import compare_runs
from brimful.report.suite.requirements import parse_requirements
from brimful.report.suite.results import plan_of, results_of
from brimful.report.suite.values import FIGURES, main_value
from brimful.report.verdicts import of_suite
from brimful.suite_assertion import SuiteAssertion
from brimful.suites.durations import FULL, QUICK, expected_s
from brimful.suites.manager import run_suite
from brimful.suites.rfc2544 import SuiteRequest, suite_of
from brimful.throughput.manager import SearchRequest
from support import Dropping, brimful
from too_slow import TooSlow

SYSTEM = "buffer,capacity=1Mpps,frames=1000,link=2Mpps"
SLACK = "sharp,capacity=3Mpps,link=2Mpps"
TESTS = "throughput,loss,bursts,recovery"
OPTIONS = ("-m", f"sim:{SYSTEM}", "--quick", "--sizes", "64,512", "--quiet")
REQUEST = SuiteRequest(
    search=SearchRequest(measurer=f"sim:{SYSTEM}", goals=[], strategy="straddle", traffic={"arguments": [], "ip": 4}),
    sizes=["64", "512"],
    tests=TESTS.split(","),
    is_quick=True,
)


class Interrupted(SimulatedMeasurer):
    """A simulated system; all of them together are interrupted at a call."""

    left = 0

    def measure(self, load, duration_s, *, stop_above=None):
        Interrupted.left -= 1
        if Interrupted.left == 0:
            raise KeyboardInterrupt
        return super().measure(load, duration_s, stop_above=stop_above)


class Tagged(SimulatedMeasurer):
    """A simulated system of frames with tags."""

    def describe(self):
        return msgspec.structs.replace(super().describe(), traffic={"vlan": 5})


def run(out, *, resume=False, at=0):
    Interrupted.left = at
    return run_suite(suite_of(REQUEST, lambda search: lambda spec, detail: Interrupted(SYSTEM)), out=out, resume=resume)


def values(out):
    return {(result.size, result.test): main_value(result) for result in results_of(read_run(out))}


def test_every_test_finds_what_is_true(tmp_path):
    done = run(tmp_path / "s")
    assert done.end.reason == "done"
    found = values(tmp_path / "s")
    assert len(found) == 8
    for size in ("64", "512"):
        assert 0.99e6 < found[size, "throughput"] <= 1e6
        assert found[size, "loss"] == pytest.approx(0.5, abs=1e-3)
        assert found[size, "bursts"] == 1999.0
        assert found[size, "recovery"] == pytest.approx(0, abs=1e-3)
    assert of_suite(read_run(tmp_path / "s"), None).holds


@pytest.mark.parametrize(("first", "greatest"), [(0, 1.5e6), (2, 1.6e6)])
def test_a_suite_is_made_up_to_what_the_tester_can_offer(tmp_path, first, greatest):
    """Of the measurers that are opened, from the first that is too slow: that of the search is the second."""
    opened = []

    def open_one(spec, detail):
        opened.append(spec)
        return TooSlow(SYSTEM, most=1.6e6 if len(opened) > first else 1e9)

    done = run_suite(suite_of(REQUEST, lambda search: open_one), out=tmp_path / "s")
    assert done.end.reason == "done"
    found = values(tmp_path / "s")
    assert 0.99e6 < found["64", "throughput"] <= 1e6
    assert found["64", "loss"] == pytest.approx(1 - 1e6 / greatest, abs=1e-3)
    assert found["64", "bursts"] == 2998
    assert None not in found.values()
    assert of_suite(read_run(tmp_path / "s"), None).holds
    text = " ".join(rendering.text(read_run(tmp_path / "s")).split())
    assert "the tester could not offer 2.000 Mpps on schedule" in text


def dropping(out, size, **facts):
    def open_for(search):
        return lambda spec, detail: Dropping(
            SYSTEM, drops=f"--frame-size={size}" in search.traffic["arguments"], **facts
        )

    return run_suite(suite_of(REQUEST, open_for), out=out)


def test_that_no_frame_of_a_size_passes_is_a_result(tmp_path, snapshot):
    done = dropping(tmp_path / "s", "512")
    assert (done.end.reason, done.end.text) == ("done", "")
    found = values(tmp_path / "s")
    assert 0.99e6 < found["64", "throughput"] <= 1e6
    assert (found["512", "throughput"], found["512", "loss"]) == (0.0, 1.0)
    assert (found["512", "bursts"], found["512", "recovery"]) == (None, None)
    file = read_run(tmp_path / "s")
    assert of_suite(file, None).holds
    required = parse_requirements({"throughput": {"all": "900kpps"}, "bursts": {"all": 100}}, "file")
    assert [(check.name, check.found) for check in required.checks(file) if not check.is_met] == [
        ("throughput at 512: at least 900.0 kpps", "found 0 pps"),
        ("bursts at 512: at least 100 frames", "no frame of this size passes"),
    ]
    text = rendering.text(file)
    assert text[text.index("What was done of") : text.index("Set-up")] == snapshot
    assert "no frame of this size passes: nothing ever arrived, neither at 2.000 Mpps nor at" in " ".join(text.split())
    found = {case.name: case.skipped for case in cases.suite(file, []).cases}
    assert [found[f"{test} at 512 was made"] for test in TESTS.split(",")] == [
        None,
        None,
        *["no frame of this size passes"] * 2,
    ]


def test_a_device_that_no_burst_overflows_has_any_burst_that_is_required(tmp_path):
    """Its throughput is the load of bursts: there is no longest one (RFC 9004 section 6.1), and the gate is passed."""
    request = msgspec.structs.replace(REQUEST, sizes=["64"], tests=["throughput", "bursts"])
    run_suite(suite_of(request, lambda search: lambda spec, detail: SimulatedMeasurer(SLACK)), out=tmp_path / "s")
    file = read_run(tmp_path / "s")
    required = parse_requirements({"bursts": {"all": 10**9}, "bursts.buffer": {"all": "1h"}}, "file")
    at_most = SuiteAssertion.parse("bursts <= 1000000000", plan_of(file))
    checks = [*required.checks(file), *at_most.checks(file)]
    assert [(check.is_met, check.found) for check in checks] == [
        (met, "no burst overflows a buffer") for met in (True, True, False)
    ]
    assert "64  no burst overflows a buffer" in rendering.text(file)


def test_that_no_frame_passes_at_all_is_a_failure(tmp_path):
    done = dropping(tmp_path / "s", "512", is_cut=True)
    assert done.end.reason == "measurement-failed"
    assert "see to cables and addresses" in done.tests[0].text


def test_a_size_that_passes_no_more_is_a_regression(tmp_path):
    run(tmp_path / "old")
    dropping(tmp_path / "new", "512")
    compared = compare_runs([read_run(tmp_path / "new")], [read_run(tmp_path / "old")], tolerance=0.02)
    assert compared.regressed
    assert compared.incomplete is None
    text = compared.text(styles.plain, 120)
    assert "-100.0 %" in text
    assert "bursts at 512: no frame of this size passes" in text
    back = compare_runs([read_run(tmp_path / "old")], [read_run(tmp_path / "new")], tolerance=0.02)
    assert not back.regressed
    both = compare_runs([read_run(tmp_path / "new")], [read_run(tmp_path / "new")])
    assert not both.regressed
    assert not any("512" in outcome.name for outcome in both.outcomes)


class Unplugged(SimulatedMeasurer):
    """A simulated system that fails at loads of 1.9 Mpps and more while its cable is out."""

    is_out = True

    def measure(self, load, duration_s, *, stop_above=None):
        if Unplugged.is_out and load > 1.9e6 and duration_s == 1.0:
            raise MeasureError("the cable is out")
        return super().measure(load, duration_s, stop_above=stop_above)


def test_tests_that_failed_are_made_again_where_the_suite_goes_on(tmp_path):
    def go(*, resume=False):
        suite = suite_of(REQUEST, lambda search: lambda spec, detail: Unplugged(SYSTEM))
        return run_suite(suite, out=tmp_path / "s", resume=resume, progress=said.append, note=said.append)

    said = []
    failed = go()
    assert failed.end.reason == "measurement-failed"
    assert "the cable is out" in " ".join(test.text for test in failed.tests)
    errors = [case for case in cases.suite(read_run(tmp_path / "s"), []).cases if case.is_error]
    assert any("the cable is out" in case.problem for case in errors)
    assert of_suite(read_run(tmp_path / "s"), None).holds
    Unplugged.is_out = False
    said.clear()
    assert go(resume=True).end.reason == "done"
    count = sum(test.reason == "done" for test in failed.tests)
    assert said[0].endswith(f"going on after {count} saved tests")
    assert sum(text.startswith("test ") for text in said) == 8 - count
    assert len(values(tmp_path / "s")) == 8
    assert None not in values(tmp_path / "s").values()


@pytest.mark.parametrize("at", [1, 4, 9, 30, 70, 90])
def test_a_suite_that_was_interrupted_goes_on_and_finds_the_same(tmp_path, at):
    run(tmp_path / "whole")
    cut = run(tmp_path / "cut", at=at)
    assert cut.end.reason == "interrupted"
    assert of_suite(read_run(tmp_path / "cut"), None).holds
    done = run(tmp_path / "cut", resume=True)
    assert done.end.reason == "done"
    assert values(tmp_path / "cut") == values(tmp_path / "whole")
    assert of_suite(read_run(tmp_path / "cut"), None).holds


def test_what_was_changed_in_the_record_of_a_test_is_found(tmp_path):
    run(tmp_path / "s")
    record = tmp_path / "s" / "64" / "loss" / "run.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"lost":999001', b'"lost":999002', 1))
    verified = of_suite(read_run(tmp_path / "s"), None)
    assert not verified.holds
    assert "64, loss: " in verified.text


def test_the_command_says_how_long_it_takes_and_makes_one_report(tmp_path):
    options = ("--tests", TESTS, "--out", "s", "--html", "s.html", "--json")
    done = brimful("rfc2544", *OPTIONS, *options, cwd=tmp_path, check=0)
    assert done.stderr.startswith("2 sizes, 4 tests: about 4 min of the simulator's time")
    found = json.loads(done.stdout)
    assert len(found["tests"]) == 8
    assert found["plan"]["is_quick"] is True
    page = (tmp_path / "s.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    for shown in (
        "RFC 2544 tests, quick",
        "This is no RFC 2544 test",
        "26.4",
        "998.2 kpps",
        'data-figure="curves-wide"',
    ):
        assert shown in page, shown
    assert "RFC 2544: throughput 64: 998.2 kpps" in brimful("runs", ".", cwd=tmp_path, check=0).stdout
    assert "512, bursts: " in brimful("verify", "s", cwd=tmp_path, check=0).stdout
    again = brimful("rfc2544", *OPTIONS, "--tests", TESTS, "--out", "s", "--resume", cwd=tmp_path, check=0)
    assert "8 of 8 tests ended" in again.stdout


@pytest.mark.parametrize(("delay", "why"), [("", ""), (",delay=20us", " of single frames")])
def test_what_the_measurer_cannot_do_is_named_at_once_and_all_else_is_done(tmp_path, delay, why):
    """Such tests are no failures, and what is required of them is missed."""
    why = f"the measurer reports no delay{why}"
    (tmp_path / "r.toml").write_text('[latency]\nall = "1ms"\n[throughput]\n64 = "900kpps"\n')
    options = ("--tests", "throughput,latency,loss", "--out", "s", "--junit", "j.xml", "--json")
    device = f"sim:{SYSTEM}{delay}"
    required = ("--require", "r.toml", "--assert", "latency.p99[512] <= 2ms")
    done = brimful("rfc2544", *OPTIONS, "-m", device, *options, *required, cwd=tmp_path, check=1)
    assert done.stderr.splitlines() == [
        f"brimful: note: --require r.toml: latency is not done: {why}",
        f"brimful: note: --assert latency.p99 is not done: {why}",
        "2 sizes, 2 tests: about 1 min of the simulator's time",
        f"not done: latency: {why}",
        "wrote j.xml",
        f"Missed: latency at 64: at most 1 ms required, not done: {why}",
        f"Missed: latency at 512: at most 1 ms required, not done: {why}",
        f"Missed: latency.p99 at 512: <= 2 ms required, not done: {why}",
    ]
    found = json.loads(done.stdout)
    assert found["plan"]["not_done"] == {"latency": why}
    assert [(one["size"], one["test"], one["end"]) for one in found["tests"]] == [
        (size, test, "done") for size in ("64", "512") for test in ("throughput", "loss")
    ]
    (suite,) = ElementTree.parse(tmp_path / "j.xml").iter("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["9", "3", "0", "1"]
    assert suite.find(".//skipped").get("message") == why
    again = brimful("rfc2544", *OPTIONS, "-m", device, *options[:4], "--resume", cwd=tmp_path, check=0).stdout
    assert "4 of 4 tests ended; not done: latency; the suite finished." in again
    assert f"Latency at the throughput (section 26.2): not done: {why}." in again
    assert "latency: every frame is stamped" not in again


def test_a_suite_of_which_no_test_can_be_made_is_refused(tmp_path):
    for options, said in (
        (("-m", "iperf3:127.0.0.1,port=9"), "measurer 'iperf3:127.0.0.1,port=9' does not say how much it can offer"),
        (("--max-load", "3Mpps"), "max load 3 Mpps is above the 2 Mpps that measurer"),
    ):
        refused = brimful("rfc2544", *OPTIONS, *options, cwd=tmp_path, check=2)
        assert said in refused.stderr
        assert not list(tmp_path.iterdir())


def test_a_reset_in_virtual_time_is_refused_before_anything_is_measured(tmp_path):
    refused = brimful("rfc2544", *OPTIONS, "--reset-command", "true", "--out", "s", cwd=tmp_path, check=2)
    assert refused.stderr == (
        "brimful: error: --reset-command: nothing can be reset in virtual time; measure a real device\n"
    )
    assert not (tmp_path / "s").exists()


def test_what_was_done_of_the_standard_is_what_was_done(tmp_path):
    def states(*options, check):
        done = brimful("rfc2544", *OPTIONS, "--out", options[0], *options[1:], cwd=tmp_path, check=check).stdout
        table = done[done.index("What was done of RFC 2544") :].splitlines()
        return {row.split()[0]: row for row in table if row.startswith("  2")}

    found = states("a", "--tests", "throughput,latency,loss", check=0)
    assert "  deviation  " in found["26.1"]
    assert "  not done  " in found["26.2"]
    assert found["26.2"].rstrip().endswith("the measurer reports no delay")
    assert "  deviation  " in found["24"]
    assert "; here 1 s" in found["24"]
    for section in ("23", "25"):
        assert "  not applicable  simulated: nothing is sent" in found[section], section
    for section in ("26.4", "26.5", "26.6"):
        assert "  not done  " in found[section], section


def test_requirements_are_held_against_what_was_found(tmp_path):
    (tmp_path / "met.toml").write_text('[throughput]\nall = "900kpps"\n[loss]\n64 = "60%"\n')
    (tmp_path / "missed.toml").write_text('[throughput]\n512 = "1.5Mpps"\n[bursts]\n1518 = 100\n')
    options = ("--tests", "throughput,loss", "--out")
    brimful("rfc2544", *OPTIONS, *options, "a", "--require", "met.toml", cwd=tmp_path, check=0)
    missed = brimful("rfc2544", *OPTIONS, *options, "b", "--require", "missed.toml", cwd=tmp_path, check=1).stdout
    assert "Missed: throughput at 512: at least 1.500 Mpps required, found 998.2 kpps" in missed
    assert "Missed: bursts at 1518: at least 100 frames required, not measured in this suite" in missed


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A quick suite of a device that forwards 1 Mpps, and one of a goal beside it."""
    directory = tmp_path_factory.mktemp("base")
    brimful("rfc2544", *OPTIONS, "--tests", "throughput,loss", "--out", "base", cwd=directory, check=0)
    return directory


@pytest.mark.parametrize(
    ("condition", "missed"),
    [
        ("throughput >= 990kpps", []),
        (
            "throughput[64] > 100% of {base}",
            ["throughput at 64: > 100% of {base} (998.2 kpps) required, found 998.2 kpps"],
        ),
        ("throughput >= 95% of {base}", []),
        ("loss[512] < 20%", ["loss at 512: < 20.0 % required, found 50.0 %"]),
        ("loss <= 100% of {base}", []),
        (
            "throughput < 990kpps",
            [f"throughput at {size}: < 990.0 kpps required, found 998.2 kpps" for size in (64, 512)],
        ),
    ],
)
def test_conditions_are_held_against_what_was_found(base, tmp_path, condition, missed):
    place = str(base / "base")
    options = ("--tests", "throughput,loss", "--out", str(base / "base"), "--resume", "--junit", "j.xml", "--json")
    done = brimful(
        "rfc2544", *OPTIONS, *options, "--assert", condition.format(base=place), cwd=tmp_path, check=1 if missed else 0
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("Missed: ")]
    assert said == [f"Missed: {line.format(base=place)}" for line in missed]
    assert json.loads(done.stdout)["plan"]["standard"] == "RFC 2544"
    assert len(list(ElementTree.parse(tmp_path / "j.xml").iter("failure"))) == len(missed)


def test_facts_in_which_frame_sizes_differ_are_given_by_size(tmp_path):
    class Mixed(SimulatedMeasurer):
        def __init__(self, search):
            super().__init__(SYSTEM)
            self._is_long = "--frame-size=512" in search.traffic["arguments"]

        def describe(self):
            known = super().describe()
            traffic = {"back_end": "packet" if self._is_long else "xdp", "flows": 1}
            return msgspec.structs.replace(known, name="iperf3", traffic=traffic, device={"mtu": 9 + self._is_long})

    request = msgspec.structs.replace(REQUEST, tests=["throughput"])
    run_suite(suite_of(request, lambda search: lambda spec, detail: Mixed(search)), out=tmp_path / "s")
    view = model.build(read_run(tmp_path / "s"))
    rows = dict(view.set_up)
    assert (rows["MTU"], rows["Back end"]) == ("64: 9; 512: 10", "64: xdp; 512: packet")
    groups = {name: dict(rows) for name, rows in view.groups}
    assert (groups["Traffic"], "Device" in groups) == ({"flows": "1"}, False)
    sections = {row[0]: row[2:] for row in view.blocks[0].rows}
    assert sections["8"] == ["deviation", "as iperf3 has it"]


def test_a_share_of_a_suite_of_other_traffic_is_missed(base, tmp_path):
    one = SuiteAssertion.parse(f"throughput[64] >= 1% of {base / 'base'}", plan_of(read_run(base / "base")))
    (check,) = one.checks(read_run(run(tmp_path / "same").path))
    assert (check.is_met, check.found) == (True, "found 998.2 kpps")
    run_suite(suite_of(REQUEST, lambda search: lambda spec, detail: Tagged(SYSTEM)), out=tmp_path / "tagged")
    (check,) = one.checks(read_run(tmp_path / "tagged"))
    assert (check.is_met, check.found) == (False, "cannot be compared: traffic.vlan is none in one and 5 in the other")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("throughput is great", "is no condition; write it like 'throughput[64] >= 1Mpps'"),
        ("troughput >= 1Mpps", "no figure 'troughput' (did you mean 'throughput'?)"),
        ("latency < 1us", "no figure 'latency'; there is throughput, throughput.share, loss"),
        ("throughput[46] >= 1Mpps", "no frame size '46'"),
        ("throughput[64] >= quick", "load 'quick'"),
        ("throughput >= 95% of nowhere", "nowhere"),
        ("loss >= 95% of {base}/64/loss", "is no suite of RFC 2544, quick"),
        ("bursts >= 95% of {base}", "there is no figure 'bursts'"),
    ],
)
def test_conditions_that_are_none_are_refused_before_anything_is_measured(base, tmp_path, condition, said):
    text = condition.format(base=base / "base")
    options = ("--tests", "throughput,loss", "--assert", text)
    (refused,) = brimful("rfc2544", *OPTIONS, *options, cwd=tmp_path, check=2).stderr.splitlines()
    assert said in refused
    assert not list(tmp_path.iterdir())


def test_requirements_of_what_is_not_measured_are_named_at_once(tmp_path):
    (tmp_path / "r.toml").write_text('[throughput]\nal = "1kpps"\n[bursts]\n64 = 1\n')
    options = ("--tests", "throughput", "--require", "r.toml")
    said = brimful("rfc2544", *OPTIONS, *options, cwd=tmp_path, check=1).stderr.splitlines()
    assert said[:2] == [
        "brimful: note: --require r.toml: throughput at al is not measured in this suite (did you mean 'all'?)",
        "brimful: note: --require r.toml: bursts at 64 is not measured in this suite",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"speed": {"all": "1"}}, r"\[speed\] is no table of a figure"),
        ({"thruoghput": {"all": "1"}}, r"\[thruoghput\] is no table of a figure \(did you mean 'throughput'\?\)"),
        ({"latency": "50us"}, r"\[latency\] is no table"),
        ({"throughput": {"64": "fast"}}, r"\[throughput\] 64: load 'fast'"),
        ({"bursts": {"all": "-3"}}, "no whole number"),
    ],
)
def test_requirements_that_are_none_are_refused(content, said):
    with pytest.raises(Exception, match=said) as caught:
        parse_requirements(content, "file")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sizes", "64,64"), "--sizes: 64 is given twice"),
        (("--tests", "loss"), "--tests: loss builds on throughput; add it"),
        (("--tests", "throughput,speed"), "--tests: there is no test 'speed'"),
        (("-m", "cmd:true"), "--sizes: measurer 'cmd:true' does not send frames of these sizes"),
        (("-m", "lab:disk"), "--sizes: measurer 'lab:disk' does not send frames of these sizes"),
        (("--frame-size", "64"), "--frame-size"),
        (("--require", "none.toml"), "--require none.toml: No such file"),
        (("--on-invalid", "loss"), "loss"),
        (("--max-load", "0"), "--max-load: load '0' is not above 0"),
        (("--max-load", "fast"), "--max-load: load 'fast'"),
        (("--sizes", ""), "--sizes ''"),
        (("-m", "lab:bridge", "--sizes", "64,9217"), "--sizes: 9217 is no size from 64 bytes"),
        (("-m", "tester:eth1,eth2", "--sizes", "63"), "--sizes: 63 is no size from 64 bytes"),
        (("-m", "lab:bridge", "--vlan", "5", "--sizes", "64"), "--sizes: 64 is no size from 68 bytes"),
        (("-m", "lab:bridge", "--ip", "6", "--sizes", "80,128"), "--sizes: 80 is no size from 84 bytes"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path, options, said):
    refused = brimful("rfc2544", *OPTIONS[:-1], *options, cwd=tmp_path, check=2)
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_quick_is_quick_and_the_whole_suite_is_not():
    tests = TESTS.split(",")
    assert expected_s(QUICK, 7, [*tests, "latency"]) < 1800
    assert expected_s(FULL, 7, [*tests, "latency"]) > 43200


def test_the_text_is_as_it_was(tmp_path, snapshot):
    run(tmp_path / "s")
    text = rendering.text(read_run(tmp_path / "s"))
    assert text[text.index("What was done of") : text.index("Set-up")] == snapshot


def test_what_is_missed_is_said_where_a_test_failed_too(tmp_path):
    (tmp_path / "r.toml").write_text('[throughput]\nall = "2Mpps"\n["with-filters"]\nall = "1kpps"\n')
    options = ("--tests", "throughput", "--modifier", "filters=echo no rules; false", "--require", "r.toml")
    done = brimful("rfc2544", *OPTIONS, "--sizes", "64", *options, "--out", "s", "--json", cwd=tmp_path, check=3)
    assert done.stderr.splitlines()[-3:] == [
        "Missed: throughput at 64: at least 2.000 Mpps required, found 998.2 kpps",
        "Missed: with-filters at 64: at least 1.000 kpps required, the command of the modifier ended with 1: no rules",
        "brimful: error: 1 of 2 tests failed; the record is s/run.jsonl",
    ]


def test_loads_that_end_with_loss_are_said(tmp_path):
    """Section 26.3 asks for two in a row that lose nothing; steps of a tenth have none below a tenth."""
    request = msgspec.structs.replace(REQUEST, sizes=["64"], tests=["throughput", "loss"])
    slow = SYSTEM.replace("=1Mpps", "=100kpps")
    run_suite(suite_of(request, lambda search: lambda spec, detail: SimulatedMeasurer(slow)), out=tmp_path / "s")
    (warning,) = model.build(read_run(tmp_path / "s")).warnings
    assert warning.startswith("loss at 64: the loads ended before two in a row lost nothing (section 26.3)")
    assert "< 200.0 kpps" in rendering.text(read_run(tmp_path / "s"))
    figure, (_, of_loss) = FIGURES["loss.lossless"], results_of(read_run(tmp_path / "s"))
    conditions = (operator.ge, 1e3), (operator.le, 100e3), (operator.le, 200e3)
    assert [figure.holds(figure.of(of_loss), *each) for each in conditions] == [False, False, True]
