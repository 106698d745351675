"""The page on comparing builds, from two worktrees to an exit code, in a repository that has what it speaks of."""

import os
import subprocess
import sys

import pytest
from support import ROOT
from test_comparison_runs import BED, TESTER
from test_documents import blocks

PAGE = ROOT / "docs" / "how-to" / "compare.md"
TOOLS = {
    "brimful": f'#!/bin/sh\nexec {sys.executable} -m brimful "$@"\n',
    "ssh": '#!/bin/sh\n[ "$2" = use-build ] && echo "$3" > "$BED/active"\n',
}


def block_with(text):
    return next(block for block in blocks(PAGE, "sh") if text in block)


@pytest.fixture
def environment(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, content in TOOLS.items():
        (tools / name).write_text(content)
        (tools / name).chmod(0o755)
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "BED": str(tmp_path)}


def commit(repository, capacity):
    (repository / "capacity").write_text(f"{capacity}\n")
    git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", f"Forward {capacity}"], check=True)


@pytest.fixture
def repository(tmp_path):
    """A clone whose branch is one commit ahead of its origin."""
    origin = tmp_path / "origin"
    (origin / "bench").mkdir(parents=True)
    (origin / "tester.py").write_text(TESTER)
    recipe = f"printf '#!/bin/sh\\nexec {sys.executable} %s/tester.py %s\\n' $(CURDIR) `cat capacity` > bench/tester"
    (origin / "Makefile").write_text(f"all:\n\t@{recipe}\n\t@chmod +x bench/tester\n")
    (origin / "bench" / "keep").touch()
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", origin], check=True)
    commit(origin, "1e5")
    subprocess.run(["git", "clone", "--quiet", origin, tmp_path / "work"], check=True)
    return tmp_path / "work"


@pytest.mark.timeout(200)
def test_two_worktrees_give_an_exit_code(repository, environment):
    commit(repository, "0.7e5")
    script = block_with("git worktree").strip() + " --trial 50ms"
    done = subprocess.run(["bash", "-ec", script], cwd=repository, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Regression: B is slower than A by more than 3 %" in done.stdout
    assert 'failures="1"' in (repository / "compare.xml").read_text()
    assert "<svg" in (repository / "compare.html").read_text()


def test_builds_on_a_test_bed_are_compared(tmp_path, environment):
    (tmp_path / "bed.py").write_text(BED.replace("read_text())", "read_text()) * 1e3"))
    command = block_with("--variant").strip().replace("tester:eth1,eth2", f"'cmd:{sys.executable} bed.py'")
    done = subprocess.run(["bash", "-ec", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    # Build 42 forwards 42,000 a second and build 41 41,000.
    assert done.returncode == 0, done.stdout + done.stderr
    assert "new is faster" in done.stdout
