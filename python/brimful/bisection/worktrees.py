"""Directories of builds: worktrees of a clone of its own, so that the repository of the user stays as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

from brimful.bisection.git import git
from brimful.errors import MeasureError, UsageError, one_line
from brimful.files import lock


class Worktrees:
    """Directories of commits, made when they are needed.

    Parameters
    ----------
    repository
        Where the commits are.
    directory
        Where the clone and its worktrees are made; what a killed run left there is removed.

    Raises
    ------
    RecordError
        When another run uses the directory.
    UsageError
        When it cannot be made.
    """

    def __init__(self, repository: Path, directory: Path) -> None:
        self._repository = repository.resolve()
        self._directory = directory.resolve()
        self._clone = self._directory / "clone.git"
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._lock = (self._directory / "lock").open("ab")
        except OSError as error:
            message = f"{self._directory}: cannot make the directory for builds: {error.strerror}; give another --work"
            raise UsageError(message) from error
        lock(self._lock, self._directory)
        for left in self._directory.iterdir():
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)

    def path(self, commit: str) -> Path:
        """Give the directory of a commit, which need not be there."""
        return self._directory / commit

    def make(self, commit: str) -> Path:
        """Check a commit out, anew if it was there.

        Raises
        ------
        MeasureError
            When git refuses.
        """
        if not (self._clone / "HEAD").exists():
            # Objects are shared, not copied.
            _git("clone", "--quiet", "--bare", "--shared", "--no-tags", str(self._repository), str(self._clone))
        self.remove(commit)
        _git("-C", str(self._clone), "worktree", "add", "--quiet", "--detach", str(self.path(commit)), commit)
        return self.path(commit)

    def remove(self, commit: str) -> None:
        """Remove the directory of a commit."""
        shutil.rmtree(self.path(commit), ignore_errors=True)
        if self._clone.exists():
            _git("-C", str(self._clone), "worktree", "prune")

    def close(self) -> None:
        """Remove all that was made."""
        shutil.rmtree(self._directory, ignore_errors=True)
        self._lock.close()


def _git(*arguments: str) -> None:
    try:
        done = git(*arguments)
    except OSError as error:
        message = f"git cannot be started: {error.strerror}"
        raise MeasureError(message) from error
    if done.returncode != 0:
        message = f"git {' '.join(arguments[:4])}: {one_line(done.stderr.strip())}"
        raise MeasureError(message)
