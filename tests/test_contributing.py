"""What CONTRIBUTING.md adds as an example works as it stands there."""

import re
import sys
import types

import pytest
from brimful import cli
from brimful.discards.store import Store
from brimful.discards.telemetry import catalogue as loaders
from brimful.measurers import catalogue
from brimful.records import read_run
from click.testing import CliRunner
from support import ROOT
from test_documents import blocks

CONTRIBUTING = ROOT / "CONTRIBUTING.md"


def module(name, text):
    made = types.ModuleType(name)
    exec(text, made.__dict__)
    return made


@pytest.fixture
def added(monkeypatch):
    """The module and the row of the measurer."""
    text, row, *_ = blocks(CONTRIBUTING, "python")
    shaper = module("brimful.measurers.shaper", text)
    monkeypatch.setitem(sys.modules, shaper.__name__, shaper)
    kind = eval(row, {"Kind": catalogue.Kind})
    monkeypatch.setattr(catalogue, "KINDS", (*catalogue.KINDS, kind))
    return kind


@pytest.fixture
def added_loader(monkeypatch):
    """The module and the row of the telemetry loader."""
    *_, text, row = blocks(CONTRIBUTING, "python")
    polls = module("brimful.discards.telemetry.polls", text)
    monkeypatch.setitem(sys.modules, polls.__name__, polls)
    loader = eval(row, {"Loader": loaders.Loader})
    monkeypatch.setattr(loaders, "LOADERS", (*loaders.LOADERS, loader))


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


def test_the_telemetry_loader_of_the_example_reads_a_directory(added_loader, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good.polls").write_text("1641081600 edge-1 uplink 5\n1641081660 edge-1 uplink 9\n")
    (tmp_path / "in" / "bad.polls").write_text("1641081600 edge-1\n")
    options = ("--store", str(tmp_path / "store"), "--max-bad", "50%", "--quiet")
    done = CliRunner().invoke(cli.group, ["discards", "ingest", str(tmp_path / "in"), *options], standalone_mode=False)
    assert done.return_value == 0
    assert "bad.polls: line 1 is not TIME DEVICE PORT DISCARDS" in done.output
    assert Store.open(tmp_path / "store").sites("samples") == ["edge-1"]


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
