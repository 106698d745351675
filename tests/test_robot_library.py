"""The Robot Framework library: its example passes, what is missed fails a test in words, one page has all."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest
from brimful.errors import UsageError
from brimful.records import read_run
from brimful.robot import BrimfulLibrary
from support import ROOT, needs

EXAMPLE = ROOT / "examples" / "robot" / "forwarder.robot"
MISSED = """
*** Settings ***
Library    brimful.robot    html=page.html
Suite Setup    Search Throughput    sim:sharp,capacity=1Mpps    preset=quick

*** Test Cases ***
Missed
    ${result}=    Search Throughput    sim:sharp,capacity=1Mpps    preset=quick
    Throughput Should Meet    ${result}    ndr >= 1.2Mpps    pdr.upper < 3Mpps

Irregular
    ${result}=    Search Throughput    sim:sharp,capacity=1Mpps    preset=quick    max_load=500kpps
    Throughput Should Be Regular    ${result}

Slower
    ${slower}=    Compare Devices    sim:sharp,capacity=1Mpps    sim:sharp,capacity=0.9Mpps    trial=500ms    seed=2
    No Device Should Be Slower    ${slower}

Wrong
    Search Throughput    sim:sharp    budget=soon
"""


def run_robot(directory, suite, code):
    needs("robot")
    done = subprocess.run(
        [sys.executable, "-m", "robot", "--outputdir", "results", str(suite)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == code, done.stdout + done.stderr
    root = ElementTree.parse(directory / "results" / "output.xml")
    return {test.get("name"): test.find("status").text or "" for test in root.iter("test")}


def test_the_example_passes_and_leaves_records_and_a_page(tmp_path):
    outcomes = run_robot(tmp_path, EXAMPLE, 0)
    assert len(outcomes) == 3
    records = list((tmp_path / "results" / "runs").glob("*/run.jsonl"))
    assert [read_run(path).ends[-1].reason for path in records] == ["done"] * 3
    page = (tmp_path / "results" / "throughput.html").read_text()
    assert all(name in page for name in outcomes)
    assert page.count('<span class="badge good">passed</span>') >= 3


def test_what_is_missed_fails_a_test_in_words(tmp_path):
    (tmp_path / "missed.robot").write_text(MISSED)
    assert run_robot(tmp_path, tmp_path / "missed.robot", 4) == {
        "Missed": "ndr >= 1.2Mpps: it is 989.0 kpps",
        "Irregular": "ndr is irregular: max-load-is-lower-bound\npdr is irregular: max-load-is-lower-bound",
        "Slower": "B is slower: it has 0.9 times the throughput of the first (0.9 to 0.9)",
        "Wrong": "UsageError: duration 'soon' is not a number with a unit; write it like 500ms, 60s or 5m",
    }
    page = (tmp_path / "page.html").read_text()
    assert page.count("<iframe") == 4  # that of the suite, too


def test_keywords_are_those_that_are_meant():
    library = needs("robot.libdocpkg").LibraryDocumentation("brimful.robot")
    assert [keyword.name for keyword in library.keywords] == [
        "Compare Devices",
        "Get Throughput",
        "No Device Should Be Slower",
        "Search Throughput",
        "Throughput Should Be At Least",
        "Throughput Should Be Regular",
        "Throughput Should Meet",
    ]
    assert all(keyword.doc for keyword in library.keywords)


def test_options_are_read_as_those_of_the_command(tmp_path):
    library = BrimfulLibrary(runs=str(tmp_path / "runs"))
    for options in ({"budget": "soon"}, {"goals": "loss=much"}, {"max_load": "high"}, {"traffic": "--bits=1"}):
        with pytest.raises(UsageError):
            library.search_throughput("tester:eth1,eth2" if "traffic" in options else "sim:sharp", **options)
    found = library.search_throughput("sim:sharp,capacity=1Mpps", goals="loss=0,trial=100ms;loss=1%,name=p")
    assert [result.goal for result in found.goal_results] == ["ndr", "p"]
    assert library.get_throughput(found) == pytest.approx(1e6, rel=0.01)
    with pytest.raises(AssertionError, match=r"it is 99\d"):
        library.throughput_should_be_at_least(found, "2Mpps")
