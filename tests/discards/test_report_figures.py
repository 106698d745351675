"""The figures of a report on discards: every point is there, in its panel, and nothing lies on anything else."""

import datetime
import itertools
import re
from collections import Counter

import pytest
from brimful.report.discards import figures, model, plotting, png, svg
from brimful.report.figures import to_svg
from hypothesis import given
from hypothesis import strategies as st
from invented_records import SITES, days_of, made, made_run, record, series, unix

SHORT = days_of(datetime.date(2018, 2, 1), datetime.date(2018, 3, 31))
WHOLE = made()


def pages_of(file):
    return {page.key: page for page in figures.make_pages(model.build(file))}


def drawn_points(page):
    """Count the marks that a drawn page has, by the kind of place: inside, on the border, in the strip of zeros."""
    counts = Counter()
    with plotting.drawn(page) as figure:
        for axes, panel in zip(figure.axes, page.panels, strict=True):
            for line in axes.get_lines():
                if line.get_linestyle() not in {"None", "none"}:
                    continue
                for y in line.get_ydata():
                    strip = panel.axis.is_log and y < panel.axis.low
                    border = y in (panel.axis.low, panel.axis.high)
                    counts["strip" if strip else "border" if border else "inside"] += 1
    return counts


def test_the_seven_figures_of_the_published_report_are_there_in_its_order():
    pages = pages_of(WHOLE)
    assert list(pages) == [
        "1-uplink-rate",
        "2-download-rate",
        "3-loss-ratio",
        "4-retransmission-ratio",
        "5-loss-and-retransmission",
        *(f"6-download-median-{place}" for place in (1, 2, 3, 4)),
        *(f"6-download-max-{place}" for place in (1, 2, 3, 4)),
        *(f"6-download-mean-{place}" for place in (1, 2, 3, 4)),
        *(f"7-test-counts-{place}" for place in (1, 2, 3, 4)),
    ]
    for key in list(pages)[:5]:
        assert [panel.title for panel in pages[key].panels] == ["DFW", "LGA", "NUQ"]
    assert [panel.title for panel in pages["7-test-counts-1"].panels] == [f"dfw0{number}" for number in range(1, 7)]


@pytest.mark.parametrize(
    ("key", "low", "high", "is_log", "label"),
    [
        ("1-uplink-rate", 1e6, 1e9, True, "bit/s"),
        ("2-download-rate", 0.0, 30.0, False, "Mbit/s"),
        ("3-loss-ratio", 1e-6, 1e-3, True, "ratio"),
        ("4-retransmission-ratio", 1e-4, 1e-2, True, "ratio"),
        ("5-loss-and-retransmission", 1e-5, 1e-2, True, "ratio"),
        ("7-test-counts-1", 0.0, 20000.0, False, "tests per day"),
    ],
)
def test_axes_fit_levels_as_published(key, low, high, is_log, label):
    axis = pages_of(WHOLE)[key].panels[0].axis
    assert (axis.low, axis.high, axis.is_log, axis.label) == (low, high, is_log, label)


def test_the_time_axis_has_the_published_limits_and_ticks():
    with plotting.drawn(pages_of(WHOLE)["3-loss-ratio"]) as figure:
        left, right = figure.axes[0].get_xlim()
        labels = [[label.get_text() for label in axes.get_xticklabels()] for axes in figure.axes]
    assert [model.format_day(day * model.DAY_S) for day in (left, right)] == ["2016-05-31", "2018-08-01"]
    assert labels[2][:4] == ["2016-06", "2016-09", "2016-12", "2017-03"]
    assert not any("".join(texts) for texts in labels[:2])


@pytest.mark.parametrize("key", ["1-uplink-rate", "2-download-rate", "3-loss-ratio", "5-loss-and-retransmission"])
def test_every_point_of_the_record_is_drawn_once(key):
    quantities = {
        "1-uplink-rate": ["uplink_rate"],
        "2-download-rate": ["download_rate"],
        "3-loss-ratio": ["loss_ratio"],
        "5-loss-and-retransmission": ["loss_ratio", "retransmission_ratio_total"],
    }[key]
    given = [y for one in WHOLE.series if one.name.split("/")[0] in quantities for _, y in one.points]
    drawn = drawn_points(pages_of(WHOLE)[key])
    assert sum(drawn.values()) == len(given)
    assert drawn["strip"] == (sum(y == 0 for y in given) if "ratio" in key or "loss" in key else 0)


def test_values_beyond_the_limits_stand_on_the_border():
    days = days_of(datetime.date(2017, 11, 1), datetime.date(2018, 3, 31))
    points = [(unix(day), 2e7) for day in days]
    points[7], points[9] = (points[7][0], 3e12), (points[9][0], 2.0)
    page = pages_of(record(made_run(sites=["dfw01"]), [series("uplink_rate/dfw01", points)]))["1-uplink-rate"]
    assert drawn_points(page) == {"inside": len(days) - 2, "border": 2}


def test_axes_follow_data_that_no_published_figure_has():
    points = [(unix(day), 4e10) for day in SHORT]
    page = pages_of(record(made_run(sites=["a"]), [series("uplink_rate/a", points)]))["1-uplink-rate"]
    assert (page.panels[0].axis.low, page.panels[0].axis.high) == (1e10, 1e11)
    counts = [series("tests/a/zero", [(unix(day), 40.0) for day in SHORT])]
    assert pages_of(record(made_run(sites=["a"]), counts))["7-test-counts"].panels[0].axis.high == 40.0


sites_lists = st.lists(
    st.one_of(st.from_regex(r"[a-z]{3}[0-9]{2}", fullmatch=True), st.text(min_size=1, max_size=8)), unique=True
)


@given(sites_lists)
def test_no_site_is_left_out_and_none_shares_a_look_with_a_neighbour(sites):
    facets = model.make_facets(sorted(sites))
    assert sorted(itertools.chain(*(facet.sites for facet in facets))) == sorted(sites)
    assert all(0 < len(facet.sites) <= len(plotting.LOOKS) for facet in facets)


def test_many_sites_go_on_on_further_pages():
    sites = [f"abc{number:02}" for number in range(1, 31)]
    loss = [series(f"loss_ratio/{site}", [(unix(SHORT[0]), 1e-4)]) for site in sites]
    pages = pages_of(record(made_run(sites=sites), loss))
    titles = [panel.title for page in pages.values() for panel in page.panels]
    assert titles == [f"ABC ({number} of 5)" for number in range(1, 6)]
    assert list(pages) == ["3-loss-ratio-1", "3-loss-ratio-2"]
    labels = [layer.label for page in pages.values() for panel in page.panels for layer in panel.layers]
    assert labels == sites


def test_looks_differ_in_colour_and_shape():
    colours, shapes, _ = zip(*plotting.LOOKS, strict=True)
    assert len(set(colours)) == len(set(shapes)) == model.PER_FACET


ODD = {
    "dfw01": "core-1.example/xe-0/0/1",
    "dfw02": "a very long name of a switch in a rack of a hall",
    "dfw03": "$x_1$",
}


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(WHOLE, id="whole"),
        pytest.param(made(sites=SITES[:3], names=ODD, days=SHORT), id="odd"),
        pytest.param(made(sites=["dfw02"]), id="one"),
    ],
)
def test_no_text_lies_on_another_or_beyond_the_edge(file):
    pages = pages_of(file)
    for page in (page for key, page in pages.items() if key[:2] in {"1-", "3-", "6-", "7-"} and not key.endswith("-3")):
        with plotting.drawn(page) as figure:
            renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else agg(figure)
            boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts_of(figure)]
            width, height = figure.bbox.width, figure.bbox.height
        for words, box in boxes:
            assert box.x0 >= -1, (page.key, words)
            assert box.x1 <= width + 1, (page.key, words)
            assert box.y0 >= -1, (page.key, words)
            assert box.y1 <= height + 1, (page.key, words)
        for (one, first), (other, second) in itertools.combinations(boxes, 2):
            assert not first.shrunk(0.96, 0.8).overlaps(second.shrunk(0.96, 0.8)), (page.key, one, other)


def agg(figure):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def texts_of(figure):
    found = [*figure.texts]
    for axes in figure.axes:
        found += [*axes.texts, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
            # Ticks beyond the limits are not drawn.
            found += [label for place, label in labels if low <= place <= high]
        found += axes.get_legend().get_texts() if axes.get_legend() else []
    found += [text for legend in figure.legends for text in legend.get_texts()]
    return [text for text in found if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("key", ["3-loss-ratio", "7-test-counts-2"])
def test_compact_figures_have_every_mark_where_it_was(key):
    with plotting.drawn(pages_of(WHOLE)[key]) as figure:
        plain, compact = to_svg(figure, key), svg.draw_compact(figure, key)
    wanted = [
        (f"{float(x):.1f}", f"{float(y):.1f}") for x, y in re.findall(r'<use href="#\w+" x="(\S+)" y="(\S+)"', plain)
    ]
    found = re.findall(r'<use href="#\w+" x="(\S+)" y="(\S+)"', compact)
    found = [(f"{float(x):.1f}", f"{float(y):.1f}") for x, y in found]
    for corners in re.findall(r' d="M([^"]*)" fill="none" marker-start', compact):
        numbers = corners.split()
        found += list(zip(numbers[::2], numbers[1::2], strict=True))
    assert Counter(found) == Counter(wanted)
    assert len(compact) < len(plain) / 5
    markers = set(re.findall(r'<marker id="([^"]+)"', compact))
    assert markers == set(re.findall(r'marker-mid="url\(#([^"]+)\)"', compact))


def test_files_of_figures_are_the_same_each_time(tmp_path):
    file = made(sites=["dfw02"], days=SHORT)
    first, second = png.write(file, tmp_path / "a"), png.write(file, tmp_path / "b")
    assert [path.name for path in first] == [f"{key}.png" for key in pages_of(file)]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in first)


def test_what_began_and_stopped_is_said_at_its_place():
    with plotting.drawn(pages_of(WHOLE)["3-loss-ratio"]) as figure:
        said = [text.get_text() for text in figure.axes[2].texts]
        lines = {round(line.get_xdata()[0]) for line in figure.axes[2].get_lines() if len(line.get_xdata()) == 2}
    assert said == [
        "NUQ",
        "begin 2017-06-10 to 2017-07-07 (5 sites)",
        "begin 2018-02-01",
        "stop 2018-03-08 (5 sites)",
        "stop 2018-04-15",
    ]
    assert {unix(datetime.date(2018, 3, 8)) / 86400, unix(datetime.date(2018, 4, 15)) / 86400} <= lines


def test_windows_side_by_side_are_two_bands_of_two_shades():
    page = pages_of(made(before=["2018-02-11", "2018-02-25"], after=["2018-02-26", "2018-03-12"]))["3-loss-ratio"]
    with plotting.drawn(page) as figure:
        bands = [one for one in figure.axes[0].patches if one.get_zorder() == 0.5]
        edges = [(one.get_x(), one.get_x() + one.get_width()) for one in bands]
        assert edges[0][1] == edges[1][0]
        assert bands[1].get_alpha() > 2 * bands[0].get_alpha()
        lines = {line.get_xdata()[0] for line in figure.axes[0].get_lines() if len(set(line.get_xdata())) == 1}
        # A line at the border would say that discards stopped there.
        assert edges[0][1] not in lines
