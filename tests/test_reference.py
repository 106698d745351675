"""The documents that are generated are up to date, and all of them make a site."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import figures


@pytest.mark.parametrize(("program", "page"), [("reference", "command"), ("record_fields", "record-fields")])
def test_the_reference_is_up_to_date(program, page):
    # In a process of its own: a command called alone by an earlier test keeps its option of help as it was there.
    rendered = subprocess.run(
        [sys.executable, ROOT / "tools" / f"{program}.py"], capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs" / "reference" / f"{page}.md").read_text() == rendered.stdout, "run make docs"


def test_the_figure_of_the_first_screen_is_what_its_record_gives():
    assert (ROOT / "docs" / "images" / "search-time.svg").read_text() == figures.search_time()


def test_the_documents_make_a_site_without_a_broken_link(tmp_path):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    site = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "-f", "mkdocs.yml", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert site.returncode == 0, site.stdout + site.stderr
    assert (tmp_path / "build" / "site" / "how-to" / "lab.html").exists()
