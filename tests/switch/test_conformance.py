"""Conformance to OpenFlow 1.3 and 1.4, against a switch on real interfaces with a real controller."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from brimful.lab.switch import find_switch
from support import ROOT

HERE = Path(__file__).parent
CASES = Path(os.environ.get("BRIMFUL_SHARED", ROOT.parent / "shared")) / "openflow" / "cases"
OS_KEN = ROOT / "build" / "controllers" / "bin" / "python"
PUBLISHED = {"action": 229, "group": 15, "match": 723, "meter": 36}
"""Published cases of version 1.4."""
LOADS = {"group", "meter"}
"""Categories whose cases are loads that take seconds."""
LONGEST_S = 400
EVERY = 7
"""One made case in this many is played on interfaces; the tables alone play all of them."""
NOT_PROVOKED = {
    # There is nothing that a controller could do to be told so.
    (1, 4), (1, 5), (1, 7), (2, 3), (2, 6), (2, 7), (2, 11), (2, 12), (3, 3), (3, 4), (3, 6), (3, 8), (4, 2),
    (4, 3), (4, 4), (4, 11), (5, 0), (5, 4), (5, 5), (6, 2), (6, 3), (6, 4), (6, 5), (6, 6), (6, 14), (7, 3), (7, 4),
    (8, 2), (9, 2), (10, 1), (10, 2), (11, 1), (12, 0), (12, 7), (12, 10), (12, 11),
    # They have tests of their own: hellos, slaves, stale generations, full tables, table features.
    (0, 0), (0, 1), (1, 10), (11, 0), (5, 1), (13, 0), (13, 1), (13, 2), (13, 3), (13, 4), (13, 5),
}  # fmt: skip
CODES = {0: 2, 1: 14, 2: 16, 3: 9, 4: 12, 5: 8, 6: 15, 7: 5, 8: 3, 9: 3, 10: 3, 11: 3, 12: 12, 13: 6}
"""How many codes each type of error has."""


def play(script, *arguments, longest_s=LONGEST_S):
    """Run a script in a network namespace of its own; give what it prints."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("no right to make a network namespace")
    played = subprocess.run(
        ["unshare", "-n", sys.executable, HERE / script, *arguments], capture_output=True, text=True, timeout=longest_s
    )
    assert played.returncode == 0, played.stderr
    return played.stdout


def assert_all_pass(cases, version="1.3", longest_s=LONGEST_S):
    result = json.loads(play("conformance.py", find_switch(), cases, version, longest_s=longest_s))
    assert result["failures"] == []
    assert result["counts"] == {name: [count, count] for name, (_, count) in result["counts"].items()}


def written(directory, categories, first=None):
    """Write cases where they are played from; of loads, which take seconds each, a third from the first on.

    All of them are played where BRIMFUL_ALL_CASES is set, or by the tables alone in the tests of the crates.
    """
    for category, cases in categories.items():
        (directory / category).mkdir()
        is_parted = category in LOADS and first is not None and "BRIMFUL_ALL_CASES" not in os.environ
        chosen = cases[first::3] if is_parted else cases
        (directory / category / "cases.json").write_text(json.dumps(chosen))
    return directory


@pytest.mark.slow
@pytest.mark.timeout(LONGEST_S)
def test_published_cases_pass(tmp_path):
    if not CASES.is_dir():
        pytest.skip("the published cases are not in ../shared nor in BRIMFUL_SHARED")
    categories = {
        directory.name: [case for path in sorted(directory.glob("*.json")) for case in json.loads(path.read_text())]
        for directory in CASES.iterdir()
        if directory.is_dir()
    }
    assert_all_pass(written(tmp_path, categories, first=1))


@pytest.mark.slow
@pytest.mark.timeout(2 * LONGEST_S)
def test_published_cases_of_version_1_4_pass(tmp_path):
    """The quick twin is the next test, which plays cases that are made from the specification."""
    if not OS_KEN.exists():
        pytest.skip("os-ken is not there: tools/setup test installs it in build/controllers")
    made = subprocess.run([OS_KEN, HERE / "clients" / "suite.py", "1.4"], capture_output=True, check=True)
    categories = json.loads(made.stdout)
    assert {name: len(cases) for name, cases in categories.items()} == PUBLISHED
    assert_all_pass(written(tmp_path, categories, first=0), "1.4", 2 * LONGEST_S)


@pytest.mark.parametrize("version", ["1.3", "1.4"])
@pytest.mark.timeout(LONGEST_S)
def test_cases_made_from_the_specification_pass(tmp_path, version):
    made = subprocess.run([sys.executable, HERE / "made_cases.py"], capture_output=True, check=True)
    # Loads are played by the tables alone, whose clock is the test's; so are meters of one packet a second.
    timeless = {
        category: [
            case for case in cases if not {"OFPMeterMod"} & {key for one in case["messages"] for key in one["json"]}
        ]
        for category, cases in json.loads(made.stdout).items()
    }
    # Other ones than those of the other version.
    first = 0 if version == "1.3" else EVERY // 2
    chosen = {category: cases[first::EVERY] for category, cases in timeless.items()}
    assert_all_pass(written(tmp_path, chosen), version)


@pytest.mark.slow
@pytest.mark.timeout(LONGEST_S)
def test_loads_leave_at_the_rates_of_meters_and_groups(tmp_path):
    made = subprocess.run([sys.executable, HERE / "made_cases.py", "loads"], capture_output=True, check=True)
    assert_all_pass(written(tmp_path, {"loads": json.loads(made.stdout)["loads"]}))


def test_each_error_comes_as_the_specification_has_it():
    result = json.loads(play("refusals.py", find_switch()))
    assert result["failures"] == []
    every = {(kind, code) for kind, count in CODES.items() for code in range(count)}
    provoked = {tuple(code) for code in result["codes"]}
    assert every - provoked == NOT_PROVOKED


@pytest.mark.parametrize("script", ["controller.py", "behaviour.py"])
def test_a_controller_sees_what_it_should(script):
    play(script, find_switch())


def test_clauses_that_suites_ask_for_hold():
    assert json.loads(play("clauses.py", find_switch())) == []


def test_a_switch_stands_alone():
    play("standalone.py", find_switch())
