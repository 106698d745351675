"""Which builds there are between the good one and the bad one: commits of a repository, or lines of a file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from brimful.bisection.git import git
from brimful.errors import UsageError, one_line
from brimful.files import read_file
from brimful.records import Version

_FIELD = "\x1f"
_MOST_BUILDS = 5000


def read_git(repository: Path, good: str, bad: str, *, first_parent: bool, paths: Sequence[str]) -> list[Version]:
    """Give the good commit, and those between it and the bad one, parents first; the bad one is the last.

    Parameters
    ----------
    repository
        Its directory.
    good, bad
        Names of commits.
    first_parent
        Whether a merge stands for all that it brought.
    paths
        Only commits that changed these; none: all.

    Raises
    ------
    UsageError
        When there is no such repository or commit, or the good one is no ancestor of the bad one.
    """
    first, last = (_commit(repository, name, option) for name, option in ((good, "--good"), (bad, "--bad")))
    if not _is_ancestor(repository, first, last):
        message = f"--good {good}: is no ancestor of --bad {bad}; {_instead(repository, first, last)}"
        raise UsageError(message)
    flags = ["--first-parent"] if first_parent else []
    spec = _FIELD.join(["%H", "%P", "%h %s"])
    listed = _git(
        repository, "log", "-z", "--topo-order", "--reverse", "--parents", f"--format={spec}", *flags,
        f"{first}..{last}", "--", *paths,
    )  # fmt: skip
    if listed.returncode != 0:
        message = f"--git {repository}: {one_line(listed.stderr.strip())}"
        raise UsageError(message)
    # The title is last: whatever its author wrote stays in it.
    rows = [line.split(_FIELD, 2) for line in listed.stdout.split("\0") if line]
    if not rows:
        message = f"--good {good}, --bad {bad}: no commit lies between them{' that changed --path' if paths else ''}"
        raise UsageError(message)
    number = {row[0]: place for place, row in enumerate(rows, start=1)}
    title = _git(repository, "log", "-1", "--format=%h %s", first).stdout.strip()
    versions = [Version(first, one_line(title))]
    for _, named, text in rows:
        parents = named.split()[:1] if first_parent else named.split()
        known = list(dict.fromkeys(number.get(parent, 0) for parent in parents))
        versions.append(Version(rows[len(versions) - 1][0], one_line(text), known or [0]))
    return _checked(versions, f"--git {repository}")


def read_list(file: Path, good: str, bad: str) -> list[Version]:
    """Give the lines of a file from the good version to the bad one; empty lines and those that begin with # are none.

    Raises
    ------
    UsageError
        When they are not there in that order, or one is there twice.
    """
    lines = [line.strip() for line in read_file(file).decode("utf-8-sig", errors="replace").splitlines()]
    names = [line for line in lines if line and not line.startswith("#")]
    return between(names, good, bad, f"--versions {file}")


def between(names: Sequence[str], good: str, bad: str, where: str) -> list[Version]:
    """Give the versions from the good one to the bad one; ``where`` says where they are from.

    Raises
    ------
    UsageError
        When they are not there in that order, or one is there twice.

    Examples
    --------
    >>> [version.version for version in between(["1.0", "1.1", "1.2"], "1.0", "1.2", "list")]
    ['1.0', '1.1', '1.2']
    """
    for name, option in ((good, "--good"), (bad, "--bad")):
        if names.count(name) != 1:
            message = f"{where}: {option} {name!r} is there {names.count(name)} times; it must be there once"
            raise UsageError(message)
    first, last = names.index(good), names.index(bad)
    if first >= last:
        message = f"{where}: the good version must stand before the bad one, and {bad!r} is not after {good!r}"
        raise UsageError(message)
    chosen = names[first : last + 1]
    if len(set(chosen)) < len(chosen) or not all(name.isprintable() for name in chosen):
        message = f"{where}: a version between --good and --bad is there twice, or cannot be shown"
        raise UsageError(message)
    versions = [Version(name, parents=[place - 1] if place else []) for place, name in enumerate(chosen)]
    return _checked(versions, where)


def _checked(versions: list[Version], where: str) -> list[Version]:
    if len(versions) > _MOST_BUILDS:
        message = f"{where}: {len(versions)} builds are between --good and --bad; at most {_MOST_BUILDS} can be"
        raise UsageError(message)
    return versions


def _commit(repository: Path, name: str, option: str) -> str:
    found = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found.returncode != 0:
        why = one_line(found.stderr.strip()) or f"there is no commit {name!r} in {repository}"
        message = f"{option}: {why}{_if_shallow(repository)}"
        raise UsageError(message)
    return found.stdout.strip()


def _is_ancestor(repository: Path, first: str, last: str) -> bool:
    return _git(repository, "merge-base", "--is-ancestor", first, last).returncode == 0


def _instead(repository: Path, good: str, bad: str) -> str:
    """Say what to give where nothing leads from the good commit to the bad one."""
    if _is_ancestor(repository, bad, good):
        return "it comes after it: swap the two (a change that made it faster is found as well)"
    common = _git(repository, "merge-base", good, bad).stdout.strip()
    if common:
        return f"give a good commit that the bad one descends from; both descend from {common[:12]}"
    return f"nothing leads from the one to the other{_if_shallow(repository)}"


def _if_shallow(repository: Path) -> str:
    is_shallow = _git(repository, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    return "; the clone is shallow: run git fetch --unshallow --tags in it" if is_shallow else ""


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return git("-C", str(repository), *arguments)
    except OSError as error:
        message = f"--git {repository}: git cannot be started: {error.strerror}"
        raise UsageError(message) from error
