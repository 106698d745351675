"""The code and commands of the pages on pytest, Robot Framework and the CSIT library, as they stand there."""

import importlib.metadata
import os
import shlex
import subprocess
import sys

import pytest
from brimful import pytest_plugin, robot
from brimful.records import read_run
from support import ROOT, needs
from test_documents import blocks

PAGES = {name: ROOT / "docs" / "how-to" / f"{name}.md" for name in ("pytest", "robot", "csit")}


def repeat(page, directory, *added):
    """Run the command of a page, as a module of this Python."""
    (command,) = blocks(PAGES[page], "sh")
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command), *added],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pytest(tmp_path):
    (code,) = blocks(PAGES["pytest"], "python")
    (tmp_path / "test_it.py").write_text(code)
    installed = any(entry.name == "brimful" for entry in importlib.metadata.entry_points(group="pytest11"))
    repeat("pytest", tmp_path, *([] if installed else ["-p", "brimful.pytest_plugin"]))
    assert len(list((tmp_path / "runs").iterdir())) == 2
    assert {"throughput.html", "junit.xml"} <= {path.name for path in tmp_path.iterdir()}
    calls = {name for name in vars(pytest_plugin.BrimfulFixture) if not name.startswith("_")}
    assert all(f"| `{name}(" in PAGES["pytest"].read_text() for name in calls)


def test_robot(tmp_path):
    needs("robot")
    (suite,) = blocks(PAGES["robot"], "robotframework")
    (tmp_path / "throughput.robot").write_text(suite)
    repeat("robot", tmp_path)
    assert (tmp_path / "results" / "throughput.html").exists()
    keywords = [name.replace("_", " ").title() for name in vars(robot.BrimfulLibrary) if name[0].islower()]
    assert all(f"| {name} |" in PAGES["robot"].read_text() for name in keywords)


@pytest.mark.parametrize("library", ["brimful.mlrsearch", "MLRsearch"])
def test_csit(tmp_path, library):
    needs(library)
    search, with_record = blocks(PAGES["csit"], "python")
    assert "from brimful.mlrsearch import" in search
    program = f"{search}\n{with_record}".replace("from brimful.mlrsearch import", f"from {library} import")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = [float(line.split()[-1]) for line in done.stdout.splitlines()]
    assert found == pytest.approx([1e6, 1e6, 1e6], rel=0.006)
    assert read_run(tmp_path / "run").ends[-1].reason == "done"


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_short(page):
    assert len(PAGES[page].read_text().split()) <= 400
