"""The command on git repositories: a simulated forwarder, and in a network namespace a real one."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from brimful.lab import permitted
from brimful.records import Build, read_run
from repositories import MEASURE, git, make_forwarder
from support import ROOT, brimful
from test_documents import blocks

PAGE = ROOT / "docs" / "how-to" / "bisect.md"
BY_COMMIT = "cmd:{dir}/measure"
QUICK = ("--pairs", "4", "--trial", "100ms", "--quiet")
SLOWER = 5


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    directory = tmp_path_factory.mktemp("forwarder") / "repo"
    return directory, make_forwarder(directory, commits=8, slower=SLOWER, work=(20000, 80000))


def bisect(tmp_path, *arguments, check=None):
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    return brimful("bisect", *arguments, cwd=tmp_path, check=check, environment=environment)


def test_the_commit_is_named_with_its_diff(repository, tmp_path):
    directory, hashes = repository
    ends = ("--good", "HEAD~8", "--bad", "HEAD")
    shown = bisect(tmp_path, "-m", BY_COMMIT, "--git", directory, *ends, *QUICK, "--out", "run", check=0)
    assert f"{hashes[SLOWER][:7]} Change {SLOWER} made it" in " ".join(shown.stdout.split())
    assert f"diff {hashes[SLOWER - 1][:12]} {hashes[SLOWER][:12]}" in " ".join(shown.stdout.split())
    assert list((tmp_path / "cache" / "brimful").iterdir()) == []
    assert git(directory, "status", "--porcelain") == ""
    assert git(directory, "worktree", "list").count("\n") == 0
    assert "the answer recomputed" in brimful("verify", "run", cwd=tmp_path, check=0).stdout
    again = bisect(
        tmp_path, "-m", BY_COMMIT, "--git", directory, *ends, *QUICK, "--out", "run", "--resume", "--json", check=0
    )
    assert json.loads(again.stdout)["answer"]["builds"] == [[SLOWER]]


def test_commits_that_cannot_be_made_are_skipped(repository, tmp_path):
    directory, _ = repository
    fails = "case $(git -C {dir} log -1 --format=%s) in 'Change 4'|'Change 5') echo no rule; exit 2; esac"
    shown = bisect(
        tmp_path, "-m", BY_COMMIT, "--git", directory, "--good", "HEAD~8", "--bad", "HEAD", "--prepare", fails, *QUICK,
        "--out", "run", check=1,
    )  # fmt: skip
    assert "(3 builds)" in shown.stdout
    builds = [record for record in read_run(tmp_path / "run").others if getattr(record, "failure", None)]
    assert {build.build for build in builds} == {4, 5}
    assert all(build.output == "no rule\n" for build in builds)


def test_no_difference_has_an_exit_code_of_its_own(repository, tmp_path):
    directory, _ = repository
    shown = bisect(
        tmp_path, "-m", BY_COMMIT, "--git", directory, "--good", "HEAD~8", "--bad", "HEAD~4", *QUICK, check=4
    )
    assert "No difference" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--good", "a", "--bad", "b"], "give one of --git DIR and --versions FILE"),
        (["--versions", "list", "--good", "a", "--bad", "b", "--path", "x"], "are for --git"),
        (["--versions", "list", "--good", "a", "--bad", "z"], "--bad 'z' is there 0 times"),
        (["--versions", "list", "--good", "a", "--bad", "b", "--prepare", "make -C {dir}"], "with --git alone"),
        (["--versions", "list", "--good", "a", "--bad", "b", "--confidence", "100%"], "--confidence is 100 %"),
    ],
)
def test_what_is_asked_wrongly_is_refused_in_one_line(tmp_path, arguments, expected):
    (tmp_path / "list").write_text("a\nb\n")
    refused = bisect(tmp_path, "-m", "sim:sharp,capacity={version}", *arguments, check=2)
    assert expected in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_measurer_that_knows_no_build_is_refused(tmp_path):
    (tmp_path / "list").write_text("a\nb\n")
    refused = bisect(tmp_path, "-m", "sim:sharp", "--versions", "list", "--good", "a", "--bad", "b", check=2)
    assert "nothing says how to get at a build" in refused.stderr


def test_a_user_without_a_home_directory_is_told_what_to_give(repository, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os, pwd; del os.environ['HOME']; pwd.getpwuid = {}.__getitem__")
    ends = ("--git", repository[0], "--good", "HEAD~8", "--bad", "HEAD")
    environment = {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": ""}
    refused = brimful("bisect", "-m", BY_COMMIT, *ends, cwd=tmp_path, environment=environment, check=2)
    assert refused.stderr.startswith("brimful: error: this user has no home directory for the builds: give --work, or ")
    assert refused.stderr.count("\n") == 1


def command(pattern):
    """Give the command of the page that matches, as words after `brimful`."""
    lines = [line for text in blocks(PAGE, "") for line in text.replace("\\\n", " ").splitlines()]
    [found] = [line for line in lines if re.match(f"brimful bisect .*{pattern}", line)]
    return shlex.split(found)[1:]


def test_every_command_of_the_page_is_run_here():
    lines = [line for text in blocks(PAGE, "") for line in text.splitlines() if line.startswith("brimful ")]
    assert len(lines) == 4


def test_the_command_for_test_beds_of_their_own(repository, tmp_path):
    (tmp_path / "repo").symlink_to(repository[0])
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    shown = brimful(*command("cmd:"), *QUICK, cwd=tmp_path, check=0, environment=environment)
    assert f"Change {SLOWER} made it" in shown.stdout


def test_the_command_for_one_test_bed(repository, tmp_path):
    (tmp_path / "repo").symlink_to(repository[0])
    (tmp_path / "ssh").write_text('#!/bin/sh\ngit -C repo show "$3:fwd.c" >active.c\n')
    (tmp_path / "ssh").chmod(0o755)
    (tmp_path / "active.c").write_text("#define WORK 1\n")
    words = [
        word.replace("tester:eth1,eth2", f"cmd:{sys.executable} {MEASURE} active.c") for word in command("tester:")
    ]
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    shown = brimful(*words, *QUICK, cwd=tmp_path, check=0, environment=environment)
    assert f"Change {SLOWER} made it" in shown.stdout


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.skipif(permitted() is not None, reason="labs need namespaces")
def test_the_command_for_a_forwarder_measures_commits(tmp_path):
    """Its quick twins are those of the other commands. How often the answer is right is what benchmarks are about."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    [make] = [line for text in blocks(PAGE, "") for line in text.splitlines() if line.startswith("sh examples/bisect")]
    subprocess.run([*make.split(), "4", "3", "200"], cwd=tmp_path, check=True)
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    quick = ("--pairs", "3", "--trial", "200ms", "--quiet", "--budget", "40s", "--out", "run")
    brimful(*command("lab:program"), *quick, cwd=tmp_path, environment=environment)
    file = read_run(tmp_path / "run")
    assert any(trial.lost for trial in file.trials)
    assert any(isinstance(record, Build) and record.failure is None for record in file.others)
    assert (tmp_path / "report.html").exists()
    assert list((tmp_path / "cache" / "brimful").iterdir()) == []


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.skipif(permitted() is not None, reason="labs need namespaces")
def test_the_command_for_labs_measures(tmp_path):
    """Its quick twin is the test above. The budget ends it: how right answers are is what benchmarks are about."""
    (tmp_path / "list").write_text("".join(f"{10000 + number + 900 * (number > 16)}\n" for number in range(32)))
    brimful(*command("lab:bridge"), "--pairs", "4", "--quiet", "--budget", "30s", "--out", "run", cwd=tmp_path)
    file = read_run(tmp_path / "run")
    assert any(trial.lost for trial in file.trials)
    assert file.ends[-1].reason == "time-budget"


def test_the_python_of_the_page_runs(tmp_path):
    (tmp_path / "found.py").write_text(blocks(PAGE, "python")[0])
    done = subprocess.run(
        [sys.executable, "found.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=200
    )
    assert done.stdout == "one [['6']] 0.92\n"
