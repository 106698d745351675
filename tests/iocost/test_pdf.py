"""The report of a block device as a PDF."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from brimful.errors import BrimfulError
from brimful.files import write_atomically
from brimful.report.iocost import figures, pdf
from brimful.report.pages import COLUMNS, LINES, Block, paginate
from test_html_runs import EDGES, made_run

PDFTOTEXT = shutil.which("pdftotext")


def page_count(content):
    counts = re.findall(rb"/Type /Pages\b.*?/Count (\d+)|/Count (\d+)", content, re.DOTALL)
    return int(max(counts)[0] or max(counts)[1])


@pytest.mark.parametrize(
    ("name", "pages"), [("made", 2), ("no-series", 1), ("no-points", 1), ("one-point", 2), ("hostile", 3)]
)
def test_text_comes_first_and_then_graphs(name, pages):
    content = pdf.render(EDGES[name])
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert page_count(content) == pages


@pytest.mark.parametrize("name", EDGES)
def test_no_line_runs_off_the_page(name):
    blocks = pdf.lay_out(EDGES[name])
    assert max(len(line) for block in blocks for line, _ in block.lines) <= COLUMNS
    assert all(len(page) <= LINES for page in paginate(blocks))


def test_kept_lines_are_not_parted_and_others_fill_pages():
    lengths = {"a": (3, 3), "b": (LINES - 4, 4), "c": (18, 18), "d": (LINES, 4), "e": (LINES, LINES)}
    blocks = [Block([(name, False)] * length, kept) for name, (length, kept) in lengths.items()]
    laid = paginate(blocks)
    assert ["".join(dict.fromkeys(line for line, _ in page)) for page in laid] == ["ab", "cd", "d", "e"]
    assert [len(page) for page in laid] == [LINES, LINES, 19, LINES]


def test_the_same_run_gives_the_same_bytes_in_any_process(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_html_runs import EDGES; "
        "from brimful.report.iocost import pdf; sys.stdout.buffer.write(pdf.render(EDGES['made']))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, Path(__file__).parent],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"CreationDate" not in outputs.pop()


@pytest.mark.skipif(PDFTOTEXT is None, reason="pdftotext is not installed (Debian package poppler-utils)")
def test_text_can_be_searched_for(tmp_path):
    (tmp_path / "r.pdf").write_bytes(pdf.render(EDGES["made"]))
    shown = subprocess.run([PDFTOTEXT, "-layout", tmp_path / "r.pdf", "-"], capture_output=True, text=True, check=True)
    for said in ("Made 1", "B bandwidth: aMOF=max", "/sys/fs/cgroup/io.cost.qos", "D mine: aMOF has no data"):
        assert said in re.sub(" +", " ", shown.stdout)
    assert figures.title("MOF") in shown.stdout


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "r.pdf"
    path.write_bytes(b"old")
    write_atomically(path, pdf.render(made_run()))
    assert path.read_bytes() == pdf.render(made_run())
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "r.pdf").mkdir()
    with pytest.raises(BrimfulError, match=r"r\.pdf: cannot write: "):
        write_atomically(tmp_path / "r.pdf", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["r.pdf"]
    with pytest.raises(BrimfulError, match=r"r\.pdf: cannot write: "):
        write_atomically(tmp_path / "missing" / "r.pdf", b"new")
