"""Every page that brimful writes: on a telephone, a tablet and a desk, by day and by night, on paper, and in words.

To make them all takes sixteen seconds: what holds of all is tested by one process.
"""

import html
import re
import shutil
import subprocess

import pytest
from brimful.report import paper
from browser import SCHEMES, needs_browser, show_all
from report.gallery import makers, page, runs
from test_wording import NUMBERS, PRIVATE, found

WIDTHS = [390, pytest.param(768, marks=pytest.mark.slow), pytest.param(1280, marks=pytest.mark.slow)]
"""Of a telephone, which is the hardest; a tablet; a desk."""
PDFTOTEXT = shutil.which("pdftotext")
needs_pdftotext = pytest.mark.skipif(
    PDFTOTEXT is None, reason="pdftotext is not installed (Debian package poppler-utils)"
)
SAID = {
    "search-regular": ("Conditional throughput", "973.906 kpps", "time since the start (s)", "RFC 2544"),
    "campaign": ("Throughput over frame size", "lab:router", "Irregular results, in no mean", "the lab is on fire"),
    "delay": ("Delay over load", "from (port 2 to 1)", "What the values mean"),
    "block-device": ("Made 1", "/sys/fs/cgroup/io.cost.qos", "Memory offloading factor (MOF)", "aMOF has no data"),
    "discards": ("Daily loss ratio of the uplink", "Tests that discards overlap", "download rate (Mbit/s)"),
}
"""What is to be found in the PDF of a page."""


def test_every_subject_has_a_page():
    from brimful.records.subjects import SUBJECTS

    assert {file.run.subject for file in runs().values()} == {subject.name for subject in SUBJECTS}


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_page_overflows_or_complains(scheme, width):
    seen = show_all([(page(name), width) for name in makers()], scheme)
    for name, each in zip(makers(), seen, strict=True):
        assert each.scroll_width <= width, (name, width, each.widest)
        assert not each.widest, (name, width, each.widest)
        assert not each.requests, name
        red = int(each.background.removeprefix("rgb(").split(",")[0])
        assert (red < 64) == (scheme == "dark"), (name, each.background)
    assert not seen[0].console


def shown(source):
    """The text of a page of a report, without what is typed."""
    source = re.sub(r"<(style|svg|code|pre)\b.*?</\1>", " ", source, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "\n", source))


@pytest.mark.parametrize("name", makers())
def test_words_and_numbers_of_a_page_are_those_of_the_field(name):
    assert list(found(shown(page(name)), PRIVATE | NUMBERS)) == []


def words(content, directory):
    """The words of each sheet with their places: left, top, right, bottom, in points."""
    (directory / "r.pdf").write_bytes(content)
    shown = subprocess.run([PDFTOTEXT, "-bbox", directory / "r.pdf", "-"], capture_output=True, text=True, check=True)
    word = re.compile(r'<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">')
    sheets = re.findall(r"<page (.*?)</page>", shown.stdout, re.DOTALL)
    return [[tuple(map(float, found)) for found in word.findall(sheet)] for sheet in sheets]


@needs_pdftotext
@pytest.mark.parametrize("name", [name for name in makers() if name != "discards"])
def test_a_page_fits_its_sheets_and_fills_them(name, tmp_path):
    sheets = words(paper.render(page(name)), tmp_path)
    assert sheets
    for sheet in sheets:
        assert all(36 < left < right < 612 - 36 and 30 < top < bottom < 792 - 20 for left, top, right, bottom in sheet)
    # But for the last one, what a sheet says reaches below its middle; what stands lowest is its footer.
    assert all(max(bottom for *_, bottom in sheet if bottom < 740) > 396 for sheet in sheets[:-1])


@needs_pdftotext
@pytest.mark.parametrize("name", SAID)
def test_a_pdf_says_what_the_page_says(name, tmp_path):
    (tmp_path / "r.pdf").write_bytes(paper.render(page(name)))
    shown = subprocess.run([PDFTOTEXT, "-layout", tmp_path / "r.pdf", "-"], capture_output=True, text=True, check=True)
    text = re.sub(r"\s+", " ", shown.stdout)
    assert [said for said in SAID[name] if said not in text] == []
