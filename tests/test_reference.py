"""The reference of the command is what the command prints."""

import subprocess
import sys

from support import ROOT


def test_the_reference_is_up_to_date():
    # In a process of its own: a command called alone by an earlier test keeps its option of help as it was there.
    rendered = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py"], capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs" / "reference" / "command.md").read_text() == rendered.stdout, "run make docs"
