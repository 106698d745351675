"""The pytest plugin in sessions of its own: the fixture, what it leaves in reports, and the page."""

import importlib.metadata
import os
import subprocess
import sys
from xml.etree import ElementTree

import brimful
import pytest
from brimful.cli import compare_live
from brimful.cli.compare_live import exit_code
from brimful.records import read_run
from brimful.testing import _OPEN, regressions
from support import ROOT

EXAMPLE = ROOT / "examples" / "pytest" / "test_forwarder.py"
SYSTEM = '"sim:sharp,capacity=1Mpps", preset="quick"'
MISSED = f"""
def test_missed(brimful):
    result = brimful.search({SYSTEM})
    brimful.require(result, "ndr >= 1.2Mpps", "pdr.upper < 3Mpps", "pdr > 2Mpps")

def test_slower(brimful):
    brimful.require_no_regression(brimful.compare("sim:sharp,capacity=1Mpps", "sim:sharp,capacity=0.9Mpps"))

def test_failed(brimful):
    def broken(load, duration):
        raise OSError("the cable is out")
    brimful.search(broken, max_load=1e6)

def test_wrong(brimful):
    brimful.require(brimful.search({SYSTEM}), "xdr > 1kpps")
"""
SHARED = f"""
import pytest

@pytest.fixture(scope="module")
def found(brimful):
    return brimful.search({SYSTEM})

def test_ndr(brimful, found):
    brimful.require(found, "ndr > 0.9Mpps")

def test_pdr(found):
    assert found["pdr"].regular
"""


def session(directory, *arguments, code):
    """Run pytest; the plugin is loaded by name where the installed metadata do not do it."""
    installed = {entry.name for entry in importlib.metadata.entry_points(group="pytest11")}
    plugin = [] if "brimful" in installed else ["-p", "brimful.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *map(str, arguments)],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def test_the_example_passes_and_leaves_properties_records_and_a_page(tmp_path):
    asked = ("--brimful-html", "page.html", "--brimful-runs", "runs", "--junitxml", "junit.xml")
    assert "brimful: wrote page.html" in session(tmp_path, EXAMPLE, *asked, code=0)
    cases = ElementTree.parse(tmp_path / "junit.xml").iter("testcase")
    properties = {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")} for case in cases
    }
    assert 0.8e6 < float(properties["test_throughput"]["brimful.ndr"]) < 1e6
    assert properties["test_new_build_is_not_slower"]["brimful.verdict.B"] == "no-regression"
    for found in properties.values():
        assert read_run(tmp_path / found["brimful.record"]).ends[-1].reason == "done"
    page = (tmp_path / "page.html").read_text()
    assert page.count("<iframe") == 4
    assert all(name in page for name in ("test_sizes[64]", "test_sizes[1518]", "test_throughput"))
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_what_is_missed_fails_the_test_in_words(tmp_path):
    (tmp_path / "test_it.py").write_text(MISSED)
    (tmp_path / "runs" / "test-missed").mkdir(parents=True)  # of an earlier session
    shown = session(tmp_path, "test_it.py", "--brimful-html", "page.html", "--brimful-runs", "runs", code=1)
    assert "Failed: ndr >= 1.2Mpps: it is 989.0 kpps" in shown
    assert "pdr > 2Mpps: it is 989.0 kpps" in shown
    assert "pdr.upper" not in shown.partition("short test summary")[2]
    assert "Failed: B is slower: it has 0.9 times the throughput of the first" in shown
    assert "condition 'xdr > 1kpps': there is no goal 'xdr' (did you mean 'pdr'?); there is ndr, pdr" in shown
    page = (tmp_path / "page.html").read_text()
    assert page.count('<span class="badge bad">failed</span>') == 4
    assert (tmp_path / "runs" / "test-missed-2" / "run.jsonl").exists()


def test_a_fixture_of_any_scope_may_search_once_for_many_tests(tmp_path):
    (tmp_path / "test_it.py").write_text(SHARED)
    session(tmp_path, "test_it.py", "--junitxml", "junit.xml", "--brimful-runs", "runs", code=0)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["test-ndr"]
    cases = ElementTree.parse(tmp_path / "junit.xml").iter("testcase")
    assert [len(list(case.iter("property"))) for case in cases] == [3, 0]


def test_a_page_that_cannot_be_written_fails_the_session(tmp_path):
    (tmp_path / "test_it.py").write_text(SHARED + "    import shutil; shutil.rmtree('pages')\n")
    (tmp_path / "pages").mkdir()
    shown = session(tmp_path, "test_it.py", "--brimful-html", "pages/page.html", code=1)
    assert "2 passed" in shown
    assert "brimful: error: pages/page.html: cannot write" in shown


def test_workers_write_one_page(tmp_path):
    pytest.importorskip("xdist")
    session(tmp_path, EXAMPLE, "-k", "sizes", "-n", "1", "--brimful-html", "page.html", code=0)
    assert (tmp_path / "page.html").read_text().count("<iframe") == 2


def test_a_page_that_cannot_be_written_is_refused_before_the_first_test(tmp_path):
    shown = session(tmp_path, EXAMPLE, "--brimful-html", "no/page.html", code=4)
    assert shown.startswith("ERROR: --brimful-html no/page.html: there is no directory")


def test_who_does_not_use_it_pays_nothing():
    program = (
        "import sys, pytest; before = set(sys.modules); import brimful.pytest_plugin; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"brimful", "brimful.version", "brimful.pytest_plugin"}


@pytest.mark.parametrize(
    ("capacity", "options", "said"),
    [
        ("1Mpps", {}, []),
        ("0.9Mpps", {}, ["B is slower"]),
        ("0.98Mpps", {}, ["B may be slower: it is at the tolerance"]),
        ("0.98Mpps", {"budget_s": 12}, ["B may be slower: the run ended before it was known"]),
        ("0.5Mpps", {"budget_s": 1}, ["nothing is known, as no device was compared: time-budget"]),
    ],
)
def test_a_comparison_that_leaves_it_open_is_no_pass(capacity, options, said):
    found = brimful.compare("sim:noisy,capacity=1Mpps", f"sim:noisy,capacity={capacity},seed=2", **options)
    assert [sentence[: len(start)] for sentence, start in zip(regressions(found), said, strict=True)] == said
    assert bool(exit_code([ratio.verdict for ratio in found.ratios])) == bool(said)


def test_verdicts_that_leave_it_open_are_those_of_the_command():
    assert {verdict for verdict, code in compare_live._CODES.items() if code == compare_live.UNDECIDED} == set(_OPEN)
