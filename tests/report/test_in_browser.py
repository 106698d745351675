"""The pages as people see them: no network, no errors, nothing beyond the edge of a telephone."""

import re
from functools import cache

import pytest
from brimful.report import rendering
from brimful.report.throughput import compared, comparison
from browser import ShownTogether, needs_browser, show
from cases import EXAMPLES, example

PAGES = [*EXAMPLES, "comparison"]


@cache
def page_of(name):
    if name == "comparison":
        return rendering.page_of(compared.document(comparison.build([example("regular")], [example("regular")])))
    return rendering.page(example(name))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_refers_to_nothing_outside_of_it(name):
    page = page_of(name)
    assert "://" not in page
    assert not re.search(r"<(script|link(?! rel=\"icon\" href=\"data:,\")|img|iframe|object|embed|base)\b", page)
    assert not re.search(r"@import|url\((?!#)", page)
    references = re.findall(r'\b(?:href|src)="([^"]*)"', page)
    assert references
    assert all(reference.startswith("#") or reference == "data:," for reference in references)


@pytest.mark.parametrize("name", PAGES)
def test_every_anchor_is_there(name):
    page = page_of(name)
    anchors = re.findall(r'\bid="([^"]+)"', page)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(anchors)
    assert len(anchors) == len(set(anchors))


SHOWN = ShownTogether(page_of, [(name, width) for name in PAGES for width in (1280, 390)])


@needs_browser
@pytest.mark.parametrize(("name", "width"), SHOWN.wanted)
def test_a_page_fits_and_is_quiet(name, width):
    seen = SHOWN[name, width]
    assert seen.scroll_width <= width, seen.widest
    assert not seen.widest
    assert not seen.console
    assert not seen.requests
    kind = "wide" if width == 1280 else "narrow"
    assert all(figure.endswith(kind) for figure in seen.shown_figures)
    assert len(seen.shown_figures) in {1, 2}


@needs_browser
def test_the_browser_would_have_noticed():
    bad = '<p style="width:700px">x</p><svg data-figure="a"></svg><script>fail()</script><img src="http://a.invalid/x.png">'
    seen = show(bad, 390)
    assert seen.scroll_width > 390
    assert seen.widest
    assert any("fail is not defined" in line for line in seen.console)
    assert seen.requests
