"""What the command does where its output goes nowhere: an exit code must not be taken for that of a regression."""

import os
import shlex
import subprocess
import sys

import pytest
from support import ROOT

SHOW = [sys.executable, "-m", "brimful", "report", str(ROOT / "tests" / "schema_1" / "search")]


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_files_change_nothing(closed, tmp_path):
    done = subprocess.run(["sh", "-c", f"exec {shlex.join(SHOW)} --html page.html {closed}"], cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "page.html").read_text().startswith("<!")


def test_a_reader_that_has_ended_is_no_regression():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(SHOW, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
