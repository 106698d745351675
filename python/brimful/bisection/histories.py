"""Which builds there are between the good one and the bad one: commits of a repository, or lines of a file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

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
    if _git(repository, "merge-base", "--is-ancestor", first, last).returncode != 0:
        message = f"--good {good}: is no ancestor of --bad {bad}; nothing leads from the one to the other"
        raise UsageError(message)
    flags = ["--first-parent"] if first_parent else []
    spec = _FIELD.join(["%H", "%P", "%h %s"])
    listed = _git(
        repository, "log", "--topo-order", "--reverse", "--parents", f"--format={spec}", *flags, f"{first}..{last}",
        "--", *paths,
    )  # fmt: skip
    if listed.returncode != 0:
        message = f"--git {repository}: {one_line(listed.stderr.strip())}"
        raise UsageError(message)
    rows = [line.split(_FIELD) for line in listed.stdout.splitlines()]
    if not rows:
        message = f"--good {good}, --bad {bad}: no commit lies between them{' that changed --path' if paths else ''}"
        raise UsageError(message)
    number = {row[0]: place for place, row in enumerate(rows, start=1)}
    title = _git(repository, "log", "-1", "--format=%h %s", first).stdout.strip()
    versions = [Version(first, title)]
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
    lines = [line.strip() for line in read_file(file).decode(errors="replace").splitlines()]
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
        message = f"{option}: {why}"
        raise UsageError(message)
    return found.stdout.strip()


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        message = f"--git {repository}: git cannot be started: {error.strerror}"
        raise UsageError(message) from error
