"""The page of a block device: what it says, and that a browser shows it without network, errors or overflow."""

import re
from html.parser import HTMLParser

import msgspec
import pytest
from brimful.records import Trial, Warning
from brimful.report import rendering
from brimful.report.iocost import figures, views
from report.browser import ShownTogether, needs_browser
from test_html_runs import EDGES, made_run, made_solution

PAGES = {name: rendering.page(file) for name, file in EDGES.items()}


class Texts(HTMLParser):
    """What a page has in its `pre` elements, and the names of its elements."""

    def __init__(self):
        super().__init__()
        self.blocks, self.tags = [], set()
        self._inside = False

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self._inside = tag == "pre"
        if self._inside:
            self.blocks.append("")

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.blocks[-1] += data


def parsed(page):
    texts = Texts()
    texts.feed(page)
    return texts


def test_commands_can_be_copied_as_they_are():
    blocks = parsed(PAGES["made"]).blocks
    assert blocks == [
        "echo '259:0 enable=1 ctrl=user rpct=0.00 rlat=3000 wpct=99.00 wlat=4567 min=75.00 max=100.00'"
        " > /sys/fs/cgroup/io.cost.qos\n"
        f"echo '259:0 ctrl=user model=linear rbps={rbps} rseqiops={rseqiops} rrandiops={rrandiops}"
        f" wbps={wbps} wseqiops={wseqiops} wrandiops={wrandiops}' > /sys/fs/cgroup/io.cost.model"
        for rbps, rseqiops, rrandiops, wbps, wseqiops, wrandiops in (
            (1000000000, 90000, 80000, 500000000, 9000, 8000),
            (700000000, 63000, 56000, 350000000, 6300, 5600),
        )
    ]


def test_nothing_of_a_record_becomes_markup_or_a_command():
    texts = parsed(PAGES["hostile"])
    assert "script" not in texts.tags
    assert all(line.startswith("echo 'MAJ:MIN ") and "reboot" not in line for line in texts.blocks[0].split("\n"))
    assert len(texts.blocks) == 1


def test_page_says_what_came_out():
    page = PAGES["made"].replace("\N{NO-BREAK SPACE}", " ")
    assert "3 of 4 rules have a solution. With isolation, the device runs at 70.0 % of its measured speed" in page
    assert "65.0 % to 75.0 %" in page
    assert "bandwidth, isolation" in page
    assert "aMOF has no data" in page
    assert "iocost-qos:vrate-max=9" in page
    assert "Without data: Adjusted memory offloading factor (aMOF)." in page
    assert "Isolation, 5th percentile (isol) of at least 90.0 %" in page


@pytest.mark.parametrize(
    ("scales", "said"),
    [
        ([], "No rule was asked for"),
        ([None], "The rule does not have a solution."),
        ([None, None], "None of the 2 rules has a solution."),
        ([0.5], "The rule has a solution."),
        ([0.5, None], "1 of 2 rules has a solution."),
    ],
)
def test_summary_counts_rules(scales, said):
    file = made_run(solutions=[made_solution(f"r{number}", scale) for number, scale in enumerate(scales)])
    assert views.summarise(file).startswith(said)


def test_panels_are_in_canonical_order_and_in_groups():
    panels = figures.make_panels(EDGES["made"])
    assert [panel.series.name for panel in panels] == ["MOF", "isol", "aMOF", "rlat-99-mean"]
    assert [group.title for group in figures.sections(panels)] == ["Memory offloading", "Protection", "Read latency"]
    assert [[mark.label for mark in panel.marks] for panel in panels] == [["B,C", "A"]] * 3 + [[]]
    assert [panel.threshold for panel in panels] == [None, 90.0, None, None]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_refers_to_nothing_outside_of_it(name):
    page = PAGES[name]
    assert "://" not in page
    assert not re.search(r"<(script|link(?! rel=\"icon\" href=\"data:,\")|img|iframe|object|embed|base)\b", page)
    assert not re.search(r"@import|url\((?!#)", page)
    references = re.findall(r'\b(?:href|src)="([^"]*)"', page)
    assert all(reference.startswith("#") or reference == "data:," for reference in references)
    anchors = re.findall(r'\bid="([^"]+)"', page)
    assert {reference[1:] for reference in references if reference.startswith("#")} <= set(anchors)
    assert len(anchors) == len(set(anchors))


SHOWN = ShownTogether(
    PAGES.__getitem__,
    [(name, width) for name in ("made", "no-series", "one-point", "hostile") for width in (1280, 390)],
)


@needs_browser
@pytest.mark.parametrize(("name", "width"), SHOWN.wanted)
def test_a_page_fits_and_is_quiet(name, width):
    seen = SHOWN[name, width]
    assert seen.scroll_width <= width, seen.widest
    assert not seen.widest
    assert not seen.console
    assert not seen.requests
    assert len(seen.shown_figures) == sum(panel.has_data for panel in figures.make_panels(EDGES[name]))


def test_a_quick_measurement_says_what_it_left_out_and_draws_what_it_saw():
    seen = [
        Trial(seq=n, load=load, duration_s=1.0, intended=1000, sent=1000, lost=lost, start_s=n, elapsed_s=1, step=step)
        for n, (step, load, lost) in enumerate(
            [("late-reads", 500.0, 0), ("late-reads", 1000.0, 100), ("late-mix", 10.0, 0), ("probe", 1.0, 0)]
        )
    ]
    left_out = Warning(code="not-measured", text="the vrate: --quick leaves it out")
    solutions = [made_solution("naive", 1.0), made_solution("isolation", None)]
    run = made_run(solutions=solutions, series=[], warnings=[left_out])
    page = rendering.page(msgspec.structs.replace(run, trials=seen))
    next_steps = page.partition('id="next"')[2].partition("<h2")[0]
    assert "Not measured: the vrate: " in next_steps
    assert "Nothing" not in next_steps
    assert '<div class="value long">80,000\N{NO-BREAK SPACE}IO/s</div>' in page.replace(
        " IO/s", "\N{NO-BREAK SPACE}IO/s"
    )
    graphs = page.partition("Late IOs</h2>")[2].partition("<h2")[0]
    assert graphs.count("<figure") == 2
    assert "Random reads and writes, 70 to 30" in graphs


def test_rules_without_a_solution_lack_something_to_measure():
    page = rendering.page(made_run(solutions=[made_solution("isolation", None)], series=[]))
    next_steps = page.partition('id="next"')[2].partition("<h2")[0]
    assert "What the rules without a solution lack." in next_steps
