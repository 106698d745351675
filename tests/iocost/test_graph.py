"""Graphs in characters."""

import math

import pytest
from brimful.records import Fit, Series
from brimful.report.iocost import graph
from brimful.report.iocost.text import render
from hypothesis import example, given
from hypothesis import strategies as st
from samples import expected_text, invented, published, sample_names

# JSON has no NaN and no infinity, so records have none.
numbers = st.floats(allow_nan=False, allow_infinity=False)
point_lists = st.lists(st.tuples(numbers, numbers), max_size=6)
names = st.sampled_from(["MOF", "isol", "aMOF-delta", "rlat-99-mean", "missing", "other"])
LARGEST = 1.7e308


def graph_lines(text):
    lines = [line.rstrip() for line in text.split("\n")]
    begin = next(number for number, line in enumerate(lines) if line.startswith("Graphs (square: "))
    return lines[begin : lines.index("Solutions")]


@pytest.mark.parametrize("name", sample_names())
def test_graphs_equal_those_of_the_reference(name):
    assert graph_lines(render(published(name))) == graph_lines(expected_text(name))


@given(name=names, points=point_lists, vertices=point_lists, columns=st.integers(1, 130), x_max=numbers, error=numbers)
@example(name="MOF", points=[(LARGEST, LARGEST), (0.0, -LARGEST)], vertices=[], columns=80, x_max=LARGEST, error=0.0)
@example(name="MOF", points=[(1.0, 1e300)], vertices=[(1.0, 1e300)], columns=80, x_max=5e-324, error=LARGEST)
@example(
    name="aMOF", points=[(5e-324, 5e-324)], vertices=[(0.0, 0.0), (5e-324, 1.0)], columns=9, x_max=1e-310, error=0.0
)
@example(
    name="isol", points=[(2.0, 0.5)], vertices=[(2.0, 1.0), (2.0, 0.0), (1.0, 2.0)], columns=80, x_max=-1.0, error=0.0
)
def test_any_numbers_give_a_graph(name, points, vertices, columns, x_max, error):
    fit = Fit(name, "exact", "any", vertices, error, rejected=points[:1])
    lines = graph.draw(Series(name, points), fit, columns=columns, x_max=x_max)
    assert len(lines) >= graph.ROWS + 4
    assert all(line == line.rstrip() for line in lines)


@given(points=point_lists)
def test_any_series_has_a_graph_without_a_fit(points):
    assert graph.draw(Series("MOF", points), None, x_max=100.0)


@given(lower=numbers, upper=numbers, cells=st.integers(1, 200))
def test_ticks_are_few_and_on_the_axis(lower, upper, cells):
    axis = graph.Axis(lower, upper, cells)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 6
    assert all(-1 <= cell <= cells for cell in ticks)


@given(points=st.lists(st.tuples(st.floats(0, 150), st.floats(0, 100)), max_size=6), columns=st.integers(80, 200))
def test_graphs_are_as_wide_as_asked(points, columns):
    fit = Fit("lat-imp", "exact", "any", sorted(points), 0.5)
    lines = graph.draw(Series("lat-imp", points), fit, columns=columns, x_max=165.0)
    gutter = lines[graph.ROWS].index("+")
    assert len(lines[graph.ROWS]) == gutter + 1 + columns
    assert max(map(len, lines[: graph.ROWS])) <= gutter + 1 + columns
    assert all(line[gutter + 1] == "|" for line in lines[: graph.ROWS])


def test_rejected_points_are_crosses():
    series = Series("rlat-99-mean", [(10.0, 0.002), (50.0, 0.009)])
    fit = Fit("rlat-99-mean", "exact", "any", [(10.0, 0.002)], 0.0, rejected=[(50.0, 0.009)])
    text = "\n".join(graph.draw(series, fit, x_max=60.0))
    assert text.count("×") == 1
    assert text.count("●") == 1


def test_marks_cover_lines():
    points = [(10.0, 1.5), (20.0, 1.5)]
    series = Series("MOF", points)
    drawn = graph.draw(series, Fit("MOF", "exact", "any", points, 0.0), columns=20, x_max=20.0)
    assert sum(line.count("●") for line in drawn) == 2


def test_the_line_is_drawn_in_every_column_that_it_spans():
    fit = Fit("MOF", "exact", "any", [(20.0, 1.2), (100.0, 1.2)], 0.0)
    for columns in (80, 130, 200):
        lines = graph.draw(Series("MOF", [(60.0, 1.9)]), fit, columns=columns, x_max=110.0)
        drawn = next(line for line in lines if "■" in line)
        assert " " not in drawn[drawn.index("■") :]


def test_vertical_size_is_given_by_rows():
    series = invented().series[0]
    assert len(graph.draw(series, None, rows=10, x_max=130.0)) == 10 + 4


def test_values_above_one_are_shown_from_one():
    axis = graph.y_axis_of([(1.0, 1.2)], graph.scale_of("MOF"), 24)
    assert (axis.lower, axis.upper) == (1.0, pytest.approx(1.32))
    axis = graph.y_axis_of([(1.0, 0.8), (2.0, 1.3)], graph.scale_of("aMOF"), 24)
    assert math.isclose(axis.lower, 0.75)
    axis = graph.y_axis_of([(1.0, 0.8)], graph.scale_of("isol"), 24)
    assert axis.lower == 0.0
