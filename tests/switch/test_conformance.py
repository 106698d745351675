"""The published conformance cases of OpenFlow 1.3, against a switch on real interfaces with a real controller."""

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
LONGEST_S = 400


def play(script, *arguments):
    """Run a script in a network namespace of its own; give what it prints."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("no right to make a network namespace")
    played = subprocess.run(
        ["unshare", "-n", sys.executable, HERE / script, *arguments], capture_output=True, text=True, timeout=LONGEST_S
    )
    assert played.returncode == 0, played.stderr
    return played.stdout


@pytest.mark.timeout(LONGEST_S)
def test_published_cases_pass():
    if not CASES.is_dir():
        pytest.skip("the published cases are not in ../shared nor in BRIMFUL_SHARED")
    result = json.loads(play("conformance.py", find_switch(), CASES))
    assert result["failures"] == []
    assert result["counts"] == {name: [count, count] for name, (_, count) in result["counts"].items()}


def test_a_controller_sees_what_it_should():
    play("controller.py", find_switch())
