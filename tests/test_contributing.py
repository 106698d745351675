"""What CONTRIBUTING.md adds as an example works as it stands there."""

import re
import sys
import types

import pytest
from brimful import cli
from brimful.measurers import catalogue
from brimful.records import read_run
from click.testing import CliRunner
from support import ROOT
from test_documents import blocks

CONTRIBUTING = ROOT / "CONTRIBUTING.md"


@pytest.fixture
def added(monkeypatch):
    """The module and the row of the example."""
    module, row = blocks(CONTRIBUTING, "python")
    shaper = types.ModuleType("brimful.measurers.shaper")
    exec(module, shaper.__dict__)
    monkeypatch.setitem(sys.modules, shaper.__name__, shaper)
    kind = eval(row, {"Kind": catalogue.Kind})
    monkeypatch.setattr(catalogue, "KINDS", (*catalogue.KINDS, kind))
    return kind


def test_the_measurer_of_the_example_is_searched(added, tmp_path):
    options = ("--preset", "quick", "--quiet", "--max-load", "10Mpps", "--out", str(tmp_path / "run"))
    done = CliRunner().invoke(cli.group, ["search", "-m", "shaper:1000000", *options], standalone_mode=False)
    assert done.return_value == 0
    (goal, *_) = read_run(tmp_path / "run").goal_results
    assert 0.95e6 < goal.conditional_throughput <= 1e6


def test_shells_complete_the_measurer_of_the_example(added):
    from brimful.cli.values import MEASURER

    assert [item.value for item in MEASURER.shell_complete(None, None, "sha")] == ["shaper:"]
    assert {"disk:", "lab:disk"} <= {item.value for item in MEASURER.shell_complete(None, None, "")}


def test_the_action_of_the_example_is_nowhere_but_where_it_is_said_to_be():
    (row,) = blocks(CONTRIBUTING, "rust")
    variant = row.partition("(")[0]
    walk = CONTRIBUTING.read_text().partition("## An OpenFlow action")[2]
    said = {path for path in re.findall(r"`(crates/\S+\.rs)`", walk) if "ovs" not in path}
    found = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in (ROOT / "crates").rglob("*.rs")
        if "target" not in path.parts and re.search(rf"\b{variant}\b", path.read_text())
    }
    assert row.strip() in found["crates/openflow/src/wire/action.rs"]
    # It generates tables for tests, of any actions.
    assert set(found) - {"crates/switch/src/tables/testing.rs"} == said
