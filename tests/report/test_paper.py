"""Reports on paper: every page as a PDF that can be searched, with nothing beyond its margins and no empty sheet."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from brimful.report import paper
from report.gallery import ROOT, makers, page

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


def test_the_same_page_gives_the_same_bytes_in_any_process():
    code = (
        "import sys; from pathlib import Path; from brimful.records import read_run; "
        "from brimful.records.subjects import load, subject_of; from brimful.report import paper; "
        "file = read_run(Path(sys.argv[1])); "
        "page = load(subject_of(file.run, 'delay').page)(file); sys.stdout.buffer.write(paper.render(page))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, ROOT / "tests" / "schema_1" / "delay" / "run.jsonl"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"CreationDate" not in outputs.pop()


def test_nothing_of_a_record_becomes_markup():
    content = paper.render("<title>t</title><main><p>#panic() *a* $x$ &lt;b&gt; \\ @y</p></main>")
    assert content.startswith(b"%PDF-")
