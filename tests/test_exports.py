"""Records for other programs: JUnit XML, tables of trials, the Prometheus text format, UTI JSON."""

import csv
import json
import sys
from xml.etree import ElementTree

import duckdb
import pytest
from brimful.records import read_run
from support import brimful

SIM = "sim:soft-knee,capacity=1Mpps,seed=7"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("exports")
    brimful("search", "-m", SIM, "-q", "--label", 'dut="x\\y"', "--out", "out", cwd=directory, check=0)
    return directory / "out"


def test_junit_has_a_case_for_each_goal_and_condition(tmp_path):
    conditions = ("--assert", "ndr >= 1.2Mpps", "--assert", "pdr > 1kpps")
    brimful("search", "-m", SIM, "-q", "--junit", "out.xml", *conditions, cwd=tmp_path, check=1)
    (suite,) = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    failed = {case.get("name"): case.find("failure") is not None for case in suite}
    assert failed == {
        "goal ndr is regular": False,
        "goal pdr is regular": False,
        "ndr >= 1.2Mpps": True,
        "pdr > 1kpps": False,
    }


def test_junit_of_a_campaign_has_a_suite_for_each_search(tmp_path):
    measurers = ("-m", "sim:sharp,capacity=1Mpps", "-m", "sim:sharp,capacity=2Mpps")
    asked = ("--preset", "quick", "--assert", "ndr >= 1.5Mpps", "--junit", "out.xml", "-q")
    brimful("search", *measurers, *asked, cwd=tmp_path, check=1)
    suites = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert [suite.get("failures") for suite in suites] == ["1", "0"]


BREAKS = f"cmd:{sys.executable} -c 'import sys; sys.exit(\"no link\")'"
FAILS = 'import sys; print("{}", flush=True); sys.stdin.readline(); sys.stdin.readline(); sys.exit("no link")'


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("search", "-m", BREAKS, "--max-load", "1kpps"), 3, "no link"),
        (("search", "-m", "cmd:./no-such-tester"), 2, "no-such-tester"),
        (("search", "-m", "sim:nothing"), 2, "nothing"),
        (("search", "-m", f"cmd:{sys.executable} fails.py", "--max-load", "1kpps"), 3, "no link"),
        (("search", "-m", f"cmd:{sys.executable} fails.py", "-m", SIM, "--max-load", "1kpps"), 3, "no link"),
        (("compare", "-m", SIM, "-m", BREAKS), 3, "no link"),
        (
            (
                "compare",
                "-m",
                f"cmd:{sys.executable} fails.py",
                "-m",
                f"cmd:{sys.executable} fails.py",
                "--max-load",
                "1kpps",
            ),
            3,
            "no link",
        ),
        (("compare", "discards", "--against", "discards"), 2, "discards"),
    ],
)
def test_junit_has_an_error_where_nothing_was_measured(tmp_path, arguments, code, reason):
    (tmp_path / "fails.py").write_text(FAILS)
    (tmp_path / "discards").mkdir()
    (tmp_path / "discards" / "run.jsonl").write_text("{}")
    (tmp_path / "out.xml").write_text("<testsuites/>")  # of the night before
    done = brimful(*arguments, "--junit", "out.xml", cwd=tmp_path, check=code)
    suites = list(ElementTree.parse(tmp_path / "out.xml").getroot())
    errors = [case.find("error") for suite in suites for case in suite if case.find("error") is not None]
    assert sum(int(suite.get("errors")) for suite in suites) == len(errors) == 1, done.stderr
    assert reason in errors[0].get("message")


def test_trials_as_csv_and_as_parquet_are_those_of_the_record(run):
    trials = read_run(run).trials
    brimful("report", run, "--trials", run / "trials.csv", cwd=run, check=0)
    brimful("report", run, "--trials", run / "trials.parquet", cwd=run, check=0)
    with (run / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["load"]) for row in rows] == [trial.load for trial in trials]
    assert {row["delay_p99_s"] for row in rows} == {""}
    found = duckdb.sql(f"SELECT seq, load, lost, stopped_early FROM '{run / 'trials.parquet'}' ORDER BY seq").fetchall()
    assert found == [(trial.seq, trial.load, trial.lost, trial.stopped_early) for trial in trials]


def test_results_for_prometheus_have_a_line_for_each_goal(run):
    brimful("report", run, "--prometheus", run / "out.prom", cwd=run, check=0)
    lines = (run / "out.prom").read_text().splitlines()
    results = read_run(run).goal_results
    values = [line for line in lines if line.startswith("brimful_conditional_throughput{")]
    assert [float(line.rsplit(" ", 1)[1]) for line in values] == [result.conditional_throughput for result in results]
    assert r'label_dut="\"x\\y\""' in values[0]


def test_labels_that_prometheus_cannot_tell_apart_are_told_apart(tmp_path):
    labels = [word for key in ("a-b", "a_b", "a.b", "c-d") for word in ("--label", f"{key}=is {key}")]
    brimful("search", "-m", SIM, "--preset", "quick", "-q", "--out", "out", *labels, cwd=tmp_path, check=0)
    brimful("report", "out", "--prometheus", "out.prom", cwd=tmp_path, check=0)
    line = next(line for line in (tmp_path / "out.prom").read_text().splitlines() if line.startswith("brimful_reg"))
    for label in ('a_b="is a_b"', 'a_b_2d="is a-b"', 'a_b_2e="is a.b"', 'c_d="is c-d"'):
        assert f"label_{label}" in line


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [("--trials", "out.txt", ".csv or .parquet"), ("--trials", "run.jsonl", ".csv or .parquet")],
)
def test_other_tables_are_refused(run, option, name, said):
    assert said in brimful("report", run, option, run / name, cwd=run, check=2).stderr


UTI_TYPES = {
    **dict.fromkeys(("duration",), (int, float)),
    **dict.fromkeys(("hosts", "telemetry", "tags"), list),
    "passed": bool,
    "result": dict,
    **dict.fromkeys(("dut_type", "dut_version", "end_time", "message", "start_time", "test_documentation"), str),
    **dict.fromkeys(("test_id", "test_name_long", "test_name_short", "test_type", "tg_type", "tg_version"), str),
    "version": str,
}
"""What the model requires of a test case, and nothing else may be there."""


def test_a_search_is_a_test_case_of_csit(run):
    brimful("report", run, "--csit-uti", run / "uti.json", cwd=run, check=0)
    case = json.loads((run / "uti.json").read_text())
    assert {name: isinstance(value, UTI_TYPES[name]) for name, value in case.items()} == dict.fromkeys(UTI_TYPES, True)
    assert (case["version"], case["test_type"], case["passed"], case["message"]) == ("1.4.0", "ndrpdr", True, "")
    file = read_run(run)
    assert case["result"] == {
        "type": "ndrpdr",
        **{
            result.goal: {
                side: {"rate": {"value": bound * file.run.conversion_factor, "unit": "pps"}}
                for side, bound in (("lower", result.lower_bound), ("upper", result.upper_bound))
            }
            for result in file.goal_results
        },
    }
    assert case["hosts"]
    assert case["start_time"].endswith("Z")


def test_a_search_without_a_result_did_not_pass_and_other_goals_are_refused(tmp_path):
    quick = ("search", "-m", SIM, "--preset", "quick", "-q", "--out", "out")
    brimful(*quick, "--max-load", "100kpps", cwd=tmp_path, check=1)
    brimful("report", "out", "--csit-uti", "uti.json", cwd=tmp_path, check=0)
    case = json.loads((tmp_path / "uti.json").read_text())
    assert (case["passed"], case["result"]) == (False, {"type": "unknown"})
    assert "max-load-is-lower-bound" in case["message"]
    goal = ("--goal", "loss=1%,sum=2s", "-q", "--out", "other")
    brimful("search", "-m", SIM, *goal, cwd=tmp_path, check=0)
    assert "CSIT knows" in brimful("report", "other", "--csit-uti", "uti.json", cwd=tmp_path, check=2).stderr
