"""Reports on back-to-back frames, from records that were made up, and the command as people use it."""

import json

import msgspec
import pytest
from brimful.errors import RecordError
from brimful.records import Burst
from brimful.report import rendering
from brimful.report.burst import model
from invented_bursts import invented_run
from support import brimful

SYSTEM = "sim:buffer,capacity=1Mpps,frames=1000,link=2Mpps"
SHORT = ("--find", "burst", "--throughput", "1Mpps", "--tests", "2", "--longest", "5000", "--quiet")


@pytest.fixture
def file(tmp_path):
    return invented_run(tmp_path)


def test_the_text_is_as_it_was(file, snapshot):
    assert rendering.text(file) == snapshot


def test_the_line_says_when_the_result_is_a_least_value(file):
    assert model.headline(file).startswith("longest burst 26,000 frames at 1.000 Mpps, corrected buffer time 5.2")
    (result,) = [record for record in file.others if isinstance(record, Burst)]
    limited = msgspec.structs.replace(result, at_limit=1)
    assert "at least 26" in model.headline(msgspec.structs.replace(file, others=[limited]))
    assert model.headline(msgspec.structs.replace(file, others=[])) == "no result"


def test_the_page_has_all_that_the_text_has(file):
    page = rendering.page(file).replace("\N{NO-BREAK SPACE}", " ")
    view = model.build(file)
    _, result, tests = view.blocks
    for shown in (*result.rows[0], *tests.rows[1], *view.warnings, 'data-figure="bursts-wide"', "loss"):
        assert shown in page, shown
    assert rendering.page(file) == rendering.page(file)


def test_a_run_without_tests_has_a_report(file):
    bare = msgspec.structs.replace(file, others=[], trials=[], ends=[])
    assert "There is no result" in rendering.text(bare)
    assert "There is no result" in rendering.page(bare)


def test_a_record_without_a_plan_is_refused(file):
    with pytest.raises(RecordError, match="does not say what was measured"):
        rendering.text(msgspec.structs.replace(file, run=msgspec.structs.replace(file.run, burst=None)))


def test_the_command_prints_the_report_of_its_record(tmp_path):
    printed = brimful(
        "search", "-m", SYSTEM, *SHORT, "--out", "one", "--html", "one.html", cwd=tmp_path, check=0
    ).stdout
    assert printed.startswith(brimful("report", "one", cwd=tmp_path, check=0).stdout)
    facts = json.loads(brimful("report", "one", "--json", cwd=tmp_path, check=0).stdout)
    assert (facts["result"]["mean"], facts["plan"]["longest"]) == (1999.0, 5000)
    assert brimful("verify", "one", cwd=tmp_path, check=0).stdout.startswith("2")
    assert "longest burst 1" in brimful("runs", ".", cwd=tmp_path, check=0).stdout
    assert (tmp_path / "one.html").read_text().count("<svg") >= 2


def test_a_least_value_is_exit_code_1(tmp_path):
    shown = brimful("search", "-m", SYSTEM, *SHORT, "--longest", "1000", "--json", cwd=tmp_path, check=1).stdout
    assert json.loads(shown)["result"]["at_limit"] == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--find", "burst", "--budget", "1s"), "--budget: is no option of --find burst"),
        (("--tests", "3"), "--tests: is no option of --find throughput"),
        (("--find", "burst", "-m", "sim:sharp"), "measures one measurer a run"),
    ],
)
def test_options_of_something_else_are_refused(tmp_path, options, said):
    assert said in brimful("search", "-m", SYSTEM, *options, cwd=tmp_path, check=2).stderr


def run_in(tmp_path, name, frames):
    system = f"sim:buffer,capacity=1Mpps,frames={frames},link=2Mpps"
    brimful("search", "-m", system, *SHORT, "--out", name, cwd=tmp_path, check=0)


def test_every_test_is_explained_burst_by_burst(tmp_path):
    run_in(tmp_path, "one", 1000)
    told = brimful("explain", "one", cwd=tmp_path, check=0).stdout.splitlines()
    assert told[0] == "test 1: longest burst without loss: 1,999 frames"
    assert told[1] == "  burst of 2,500 frames (trial 0): 251 of 2,500 lost"
    assert sum(line.startswith("test ") for line in told) == 2
    assert "leave LOAD and --json out" in brimful("explain", "one", "1Mpps", cwd=tmp_path, check=2).stderr


def test_runs_are_compared_test_by_test(tmp_path):
    for name, frames in (("same", 1000), ("other", 1000), ("less", 900)):
        run_in(tmp_path, name, frames)
    same = brimful("compare", "same", "--against", "other", cwd=tmp_path, check=0).stdout
    assert "verdict: same" in same
    less = brimful("compare", "less", "--against", "other", cwd=tmp_path, check=1).stdout
    assert "verdict: regression" in less
    assert (
        json.loads(brimful("compare", "less", "--against", "same", "--json", cwd=tmp_path, check=1).stdout)["runs"] == 2
    )
    slower = ("--max-load", "1.5Mpps", "--out", "slower")
    brimful("search", "-m", SYSTEM, *SHORT, *slower, cwd=tmp_path, check=0)
    assert "different loads" in brimful("compare", "slower", "--against", "same", cwd=tmp_path, check=2).stderr
