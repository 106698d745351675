"""Builds from git and from lists, and their directories."""

import re

import pytest
from brimful.bisection.histories import between, read_git, read_list
from brimful.bisection.log import history_of
from brimful.bisection.worktrees import Worktrees
from brimful.errors import RecordError, UsageError
from brimful.records import BisectionPlan
from repositories import git, make_forwarder


@pytest.fixture(scope="module")
def linear(tmp_path_factory):
    directory = tmp_path_factory.mktemp("linear") / "repo"
    return directory, make_forwarder(directory, commits=6, slower=4)


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    """main: base - one - merge - last, with a branch of two commits."""
    directory = tmp_path_factory.mktemp("merged") / "repo"
    directory.mkdir()
    git(directory, "init", "--quiet")

    def commit(name):
        (directory / name).write_text(name)
        git(directory, "add", ".")
        git(directory, "commit", "--quiet", "-m", name)

    commit("base")
    git(directory, "checkout", "--quiet", "-b", "side")
    commit("side1")
    commit("side2")
    git(directory, "checkout", "--quiet", "main")
    commit("one")
    git(directory, "merge", "--quiet", "--no-ff", "-m", "merge", "side")
    commit("last")
    return directory


def read(directory, good, bad, *, first_parent=False, paths=()):
    return read_git(directory, good, bad, first_parent=first_parent, paths=paths)


def titles(versions):
    return [version.title.partition(" ")[2] for version in versions]


def test_commits_come_from_good_to_bad(linear):
    directory, hashes = linear
    versions = read(directory, hashes[1], "HEAD")
    assert [version.version for version in versions] == hashes[1:]
    assert [version.parents for version in versions] == [[], [0], [1], [2], [3], [4]]
    assert titles(versions)[-1] == "Change 6"


def test_commits_that_changed_a_path_are_enough(linear):
    directory, hashes = linear
    versions = read(directory, hashes[0], "HEAD", paths=["fwd.c"])
    assert [version.version for version in versions] == [hashes[0], hashes[4]]


def test_a_merge_has_all_that_it_brought(merged):
    versions = read(merged, "HEAD~3", "HEAD")
    assert titles(versions)[0] == "base"
    assert titles(versions)[-2:] == ["merge", "last"]
    history = history_of(BisectionPlan(versions, 0.95, 0.01, 20, 0.5, 1))
    number = {title: place for place, title in enumerate(titles(versions))}
    assert history.has[number["merge"], 1:].sum() == 4
    assert not history.has[number["side2"], number["one"]]
    assert history.has[number["side2"], number["side1"]]
    assert len(versions[number["merge"]].parents) == 2


def test_a_merge_stands_for_all_that_it_brought_along_first_parents(merged):
    versions = read(merged, "HEAD~3", "HEAD", first_parent=True)
    assert titles(versions) == ["base", "one", "merge", "last"]
    assert [version.parents for version in versions] == [[], [0], [1], [2]]


@pytest.mark.parametrize(
    ("good", "bad", "options", "expected"),
    [
        ("nowhere", "HEAD", {}, "--good: there is no commit 'nowhere' in"),
        ("HEAD", "-q", {}, "--bad: there is no commit '-q'"),
        ("HEAD", "HEAD~1", {}, "--good HEAD: is no ancestor of --bad HEAD~1"),
        ("HEAD~1", "HEAD", {"paths": ["fwd.c"]}, "no commit lies between them that changed --path"),
        ("HEAD", "HEAD", {}, "no commit lies between them"),
    ],
)
def test_what_is_no_history_is_refused_in_one_line(linear, good, bad, options, expected):
    with pytest.raises(UsageError, match=re.escape(expected)) as refused:
        read(linear[0], good, bad, **options)
    assert "\n" not in str(refused.value)


def test_what_is_no_repository_is_refused(tmp_path):
    with pytest.raises(UsageError, match="--good: "):
        read(tmp_path, "a", "b")


def test_lines_of_a_file_are_versions(tmp_path):
    file = tmp_path / "versions"
    file.write_text("# releases\n1.0\n\n1.1\n1.2\n2.0\n")
    assert [version.version for version in read_list(file, "1.1", "2.0")] == ["1.1", "1.2", "2.0"]


@pytest.mark.parametrize(
    ("names", "good", "bad", "expected"),
    [
        (["a", "b"], "a", "c", "--bad 'c' is there 0 times"),
        (["a", "b"], "b", "a", "the good version must stand before the bad one"),
        (["a", "a", "b"], "a", "b", "--good 'a' is there 2 times"),
        (["a", "x", "x", "b"], "a", "b", "is there twice"),
        (["a", "x\x1b[2J", "b"], "a", "b", "cannot be shown"),
    ],
)
def test_lists_that_are_none_are_refused(names, good, bad, expected):
    with pytest.raises(UsageError, match=re.escape(expected)):
        between(names, good, bad, "list")


def snapshot(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


def test_directories_of_builds_leave_the_repository_as_it_is(linear, tmp_path):
    directory, hashes = linear
    before = snapshot(directory)
    trees = Worktrees(directory, tmp_path / "work")
    first, second = (trees.make(commit) for commit in (hashes[1], hashes[5]))
    assert "WORK 20000" in (first / "fwd.c").read_text()
    assert "WORK 21600" in (second / "fwd.c").read_text()
    (first / "fwd.c").write_text("spoilt")
    assert "WORK 20000" in (trees.make(hashes[1]) / "fwd.c").read_text()
    trees.remove(hashes[5])
    assert not second.exists()
    trees.close()
    assert not (tmp_path / "work").exists()
    assert snapshot(directory) == before


def test_what_a_killed_run_left_is_removed(linear, tmp_path):
    directory, hashes = linear
    killed = Worktrees(directory, tmp_path / "work")
    left = killed.make(hashes[2])
    killed._lock.close()
    trees = Worktrees(directory, tmp_path / "work")
    assert not left.exists()
    assert trees.make(hashes[2]).exists()
    trees.close()


def test_two_runs_do_not_share_directories(linear, tmp_path):
    first = Worktrees(linear[0], tmp_path / "work")
    with pytest.raises(RecordError, match="is being written by another process"):
        Worktrees(linear[0], tmp_path / "work")
    first.close()


def test_titles_hold_whatever_their_authors_wrote(tmp_path):
    make_forwarder(tmp_path / "repo", commits=1, slower=1)
    odd = "form\x0cfeed \x1f \u2028 \x85 end"
    (tmp_path / "repo" / "odd").write_text("odd")
    git(tmp_path / "repo", "add", ".")
    git(tmp_path / "repo", "commit", "--quiet", "-m", odd)
    git(tmp_path / "repo", "config", "log.showSignature", "true")
    versions = read(tmp_path / "repo", "HEAD~1", "HEAD")
    assert len(versions) == 2
    assert titles(versions)[1].isprintable()
    assert titles(versions)[1].startswith("form")
    assert read(tmp_path / "repo", "HEAD~2", "HEAD")[1:] != versions


def test_the_repository_that_is_named_is_asked_inside_a_hook_too(linear, tmp_path, monkeypatch):
    directory, hashes = linear
    git(tmp_path, "init", "--quiet", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other" / ".git" / "index"))
    assert read(directory, hashes[0], "HEAD")[-1].version == hashes[-1]
    worktrees = Worktrees(directory, tmp_path / "work")
    assert (worktrees.make(hashes[1]) / ".git").exists()
    worktrees.close()


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("main", "main~3", "swap the two"),
        ("side", "main~1", "both descend from"),
    ],
)
def test_what_to_give_instead_is_said(merged, good, bad, said):
    git(merged, "branch", "--force", "aside", "side")
    bad = "main~2" if bad == "main~1" else bad
    with pytest.raises(UsageError, match=said):
        read(merged, good, bad)


def test_a_shallow_clone_is_named_as_such(linear, tmp_path):
    directory, hashes = linear
    git(tmp_path, "clone", "--quiet", "--depth", "2", f"file://{directory}", "shallow")
    with pytest.raises(UsageError, match="git fetch --unshallow"):
        read(tmp_path / "shallow", hashes[0], "HEAD")
    assert [version.version for version in read(tmp_path / "shallow", "HEAD~1", "HEAD")] == hashes[-2:]
