"""Frames pass and memory stays while controllers change tables and ask for statistics: the bench's soaks, in short."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from brimful.lab.switch import find_switch
from support import ROOT

LONGEST_S = 120


# The soak of crates/switch is the quick one.
@pytest.mark.slow
@pytest.mark.timeout(LONGEST_S)
@pytest.mark.parametrize(
    ("bench", "settings"),
    # The switch keeps freed memory for ten seconds, and both compare two halves.
    [("soak_channel", {"MINUTES": "0.5"}), ("soak_changes", {"CHANGES": "60000"})],
)
def test_nothing_is_lost_while_controllers_are_busy(bench, settings):
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("no right to make a network namespace")
    command = [sys.executable, ROOT / "bench" / f"{bench}.py", find_switch()]
    short = os.environ | settings | {"KPPS": "1"}
    done = subprocess.run(command, env=short, capture_output=True, text=True, timeout=LONGEST_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r", 0 of \d{5} lost", done.stdout), done.stdout
