"""The reference of the command is what the command prints."""

import importlib.util

from support import ROOT


def test_the_reference_is_up_to_date():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tools" / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    assert reference.TARGET.read_text() == reference.render(), "run make docs"
