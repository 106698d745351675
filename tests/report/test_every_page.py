"""Every page that brimful writes, on a telephone, a tablet and a desk, by day and by night."""

import pytest
from browser import SCHEMES, needs_browser, show_all
from report.gallery import makers, page, runs

WIDTHS = [390, pytest.param(768, marks=pytest.mark.slow), pytest.param(1280, marks=pytest.mark.slow)]
"""Of a telephone, which is the hardest; a tablet; a desk."""


def test_every_subject_has_a_page():
    from brimful.records.subjects import SUBJECTS

    assert {file.run.subject for file in runs().values()} == {subject.name for subject in SUBJECTS}


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_page_overflows_or_complains(scheme, width):
    seen = show_all([(page(name), width) for name in makers()], scheme)
    for name, found in zip(makers(), seen, strict=True):
        assert found.scroll_width <= width, (name, width, found.widest)
        assert not found.widest, (name, width, found.widest)
        assert not found.requests, name
        red = int(found.background.removeprefix("rgb(").split(",")[0])
        assert (red < 64) == (scheme == "dark"), (name, found.background)
    assert not seen[0].console
