"""The graphs of 2018, drawn again: what they draw, and that the document shows them."""

import sys

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from published_figures import GRAPHS, intervals, phase_begins, search

DOCUMENT = (ROOT / "docs" / "explanation" / "published.md").read_text()


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_a_graph_ends_with_the_answer_and_is_in_the_document(graph):
    goals, trials = search(graph)
    assert len(phase_begins(trials)) == (4 if graph.strategy == "classic" else 1)
    assert trials[-1].start_s + trials[-1].elapsed_s <= graph.axis_s
    for goal in goals:
        *_, last = intervals(goal, trials)
        assert 0 < (last.upper - last.lower) / last.upper <= 0.005
    assert f"../images/{graph.name}.svg" in DOCUMENT
    assert "<svg" in (ROOT / "docs" / "images" / f"{graph.name}.svg").read_text()


def test_graphs_that_are_compared_have_the_same_axis():
    assert len({graph.axis_s for graph in GRAPHS if graph.name.startswith("published-mdr-10")}) == 1
    assert len({graph.axis_s for graph in GRAPHS if graph.strategy == "bisect"}) == 1
