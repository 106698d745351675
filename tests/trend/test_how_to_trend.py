"""The page on following results over time, from nothing: its nightly job, night by night, and all other commands."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from support import BRIMFUL, ROOT, brimful
from test_documents import blocks, check_shown

PAGE = ROOT / "docs" / "how-to" / "trend.md"
SCRIPTS = blocks(PAGE, "sh")
(JOB,) = [script for script in SCRIPTS if script.startswith("#!/bin/sh")]
(SHOWN,) = [script for script in SCRIPTS if script.startswith("brimful trend check examples")]
"""Ends with 1, as it finds a regression."""
(HANDED_OVER,) = [script for script in SCRIPTS if "--bisect" in script]
"""Needs a repository with these versions: test_trend_command.py has the like of it."""
PROGRAMS = {
    "brimful": f'exec {" ".join(BRIMFUL)} "$@"',
    # Stands in for the repository of the forwarder.
    "git": 'echo "0.9.$NIGHT"',
}
NIGHTS, SLOWER = 15, 12


@pytest.fixture
def place(tmp_path):
    """A directory with the programs that the page calls."""
    (tmp_path / "bin").mkdir()
    for name, command in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{command}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def run(script, directory, **environment):
    path = f"{directory / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=directory,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
    )


def test_the_nightly_job_finds_a_build_that_is_slower(place):
    codes = []
    for night in range(NIGHTS):
        capacity = 1e6 * (0.93 if night >= SLOWER else 1.0) + 1000 * (night * 7 % 5)
        job = JOB.replace("lab:bridge", f"sim:sharp,capacity={capacity:.0f}pps").replace(
            "--label version", "--label device=forwarder --label version"
        )
        assert job.count("sim:sharp") == 1
        done = run(job, place, NIGHT=str(night))
        codes.append(done.returncode)
        assert "Traceback" not in done.stderr
    assert codes[:SLOWER] == [0] * SLOWER
    assert codes[-1] == 1, done.stdout + done.stderr
    assert "since 0.9.12, last good 0.9.11" in done.stdout
    assert (place / "trend.xml").exists()
    assert "brimful_trend_state" in (place / "trend.prom").read_text()


def test_the_check_of_the_example_is_as_shown(place):
    shutil.copytree(ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("profiles", "switch"))
    shown = next(text for text in blocks(PAGE, "") if text.startswith("regression"))
    done = run(SHOWN, place)
    assert done.returncode == 1
    check_shown(shown, done.stdout)


def test_every_other_command_does_what_the_page_says(place):
    shutil.copy(ROOT / "examples" / "histories.sqlite", place)
    rows = [f"{build},{1.5 + build % 3 / 100},2026-03-{1 + build:02}" for build in range(20)]
    (place / "results.csv").write_text("\n".join(["build,seconds,date", *rows]))
    (place / "activate").write_text("#!/bin/sh\n")
    (place / "activate").chmod(0o755)
    (place / "times.json").write_text(json.dumps({"results": [{"command": "true", "median": 0.001}]}))
    for script in SCRIPTS:
        if script not in (JOB, SHOWN, HANDED_OVER):
            # Stands in for two ports and a device between them.
            done = run(script.replace("tester:eth1,eth2", "sim:noisy,capacity=1Mpps"), place)
            # The example has an open regression, which is accepted last.
            assert done.returncode == ("trend check" in script), done.stdout + done.stderr
    brimful("trend", "check", "histories.sqlite", cwd=place, check=0)


def test_the_example_is_what_its_tool_writes(tmp_path):
    sys.path.insert(0, str(ROOT / "tools"))
    import simulated_nights
    from brimful.trend.store import Store

    simulated_nights.write(tmp_path / "store")
    with Store.open(tmp_path / "store") as written, Store.open(simulated_nights.STORE) as kept:
        assert list(written.read()) == list(kept.read())
        for series in written.names():
            assert written.judgements(series) == kept.judgements(series)
