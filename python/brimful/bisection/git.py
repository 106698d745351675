"""Git, as it answers a program: only for the repository that it is asked about."""

from __future__ import annotations

import os
import subprocess

_OF_A_REPOSITORY = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_NAMESPACE",
)
"""What hooks and ``git rebase --exec`` set: git would ask that repository, whatever directory it is given."""


def environment() -> dict[str, str]:
    """Give the environment without what ties git to a repository."""
    return {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git, without what the settings of a person add to its output.

    Raises
    ------
    OSError
        When it cannot be started.
    """
    return subprocess.run(
        ["git", "-c", "log.showSignature=false", "-c", "log.follow=false", *arguments],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
