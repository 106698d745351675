"""The page of a campaign as people see it: no network, no errors, nothing beyond the edge of a telephone."""

import re
from html.parser import HTMLParser

import pytest
from report.browser import ShownTogether, needs_browser
from test_campaign_report import PAGES

VOID = {"meta", "link", "br", "path", "use", "rect"}


class Nesting(HTMLParser):
    """Fails where an element is closed that is not the one that is open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag, self.getpos()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed_and_refers_to_nothing_outside_of_it(name):
    page = PAGES[name]
    nesting = Nesting()
    nesting.feed(page)
    assert nesting.open == []
    assert "://" not in page
    assert not re.search(r"<(script|img|iframe|object|embed|base)\b", page)
    anchors = re.findall(r'\bid="([^"]+)"', page)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(anchors)
    assert len(anchors) == len(set(anchors))


SHOWN = ShownTogether(PAGES.__getitem__, [(name, width) for name in ("whole", "one-size") for width in (1280, 390)])


@needs_browser
@pytest.mark.parametrize(("name", "width"), SHOWN.wanted)
def test_a_page_fits_and_is_quiet(name, width):
    seen = SHOWN[name, width]
    assert seen.scroll_width <= width, seen.widest
    assert not seen.widest
    assert not seen.console
    assert not seen.requests
    kind = "wide" if width == 1280 else "narrow"
    assert len(seen.shown_figures) == 2
    assert all(figure.endswith(kind) for figure in seen.shown_figures)
