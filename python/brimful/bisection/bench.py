"""Where builds are measured: each on a test bed of its own, or one after the other on one."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from brimful.bisection.git import environment
from brimful.bisection.worktrees import Worktrees
from brimful.errors import UsageError
from brimful.measurers.base import Comparing, Description, Measurer, TrialOutput
from brimful.paired.beds import run_command
from brimful.records import Version

VERSION, DIRECTORY = "{version}", "{dir}"
"""What stands for a build in the text of a measurer or a command."""


class Bench(Protocol):
    """Makes builds, and starts them."""

    side_by_side: bool
    """Whether both builds of a visit can be on at once."""

    def make(self, build: int) -> str:
        """Make a build; gives what was printed.

        Raises
        ------
        MeasureError
            When that failed.
        """
        ...

    def is_made(self, build: int) -> bool:
        """Say whether a build is there."""
        ...

    def keep(self, builds: Sequence[int]) -> None:
        """Remove all builds but these."""
        ...

    def start(self, build: int) -> Measurer:
        """Give a fresh instance of a build; who asked closes it."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


class BuildBench:
    """Builds of a plan, as the command line names them.

    Parameters
    ----------
    versions
        The builds.
    spec
        Text of ``--measurer``.
    open_spec
        Opens such a text.
    prepare
        Shell command that makes a build, and makes it active where there is one test bed.
    limit_s
        A command that takes longer has failed.
    worktrees
        Directories of builds; none: they have none.
    """

    def __init__(
        self,
        versions: Sequence[Version],
        spec: str,
        open_spec: Callable[[str], Measurer],
        *,
        prepare: str | None,
        limit_s: float,
        worktrees: Worktrees | None,
    ) -> None:
        self._versions = versions
        self._spec = spec
        self.side_by_side = is_side_by_side(spec)
        self._open = open_spec
        self._prepare = prepare
        self._limit_s = limit_s
        self._worktrees = worktrees
        self._made: set[int] = set()
        self._shared: Measurer | None = None

    def make(self, build: int) -> str:
        """Check a build out, and run the command for it."""
        if self._worktrees is not None:
            self._worktrees.make(self._versions[build].version)
        output = self._run(build)
        self._made.add(build)
        return output

    def is_made(self, build: int) -> bool:
        """Say whether a build is there."""
        return build in self._made

    def keep(self, builds: Sequence[int]) -> None:
        """Remove all builds but these."""
        for build in self._made - set(builds):
            if self._worktrees is not None:
                self._worktrees.remove(self._versions[build].version)
            self._made.discard(build)

    def start(self, build: int) -> Measurer:
        """Open the measurer of a build, or make the build active behind the one that all share."""
        if self.side_by_side:
            return self._open(self._filled(self._spec, build, shell=False))
        self._run(build)
        if self._shared is None:
            self._shared = self._open(self._spec)
        return _Lent(self._shared)

    def close(self) -> None:
        """Close the shared measurer, and remove directories."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None
        if self._worktrees is not None:
            self._worktrees.close()

    def _run(self, build: int) -> str:
        if self._prepare is None:
            return ""
        command = self._filled(self._prepare, build, shell=True)
        return run_command(command, self._limit_s, option="--prepare-limit", environment=environment())

    def _filled(self, text: str, build: int, *, shell: bool) -> str:
        words = {VERSION: self._versions[build].version}
        if self._worktrees is not None:
            words[DIRECTORY] = str(self._worktrees.path(self._versions[build].version))
        for word, value in words.items():
            text = text.replace(word, shlex.quote(value) if shell else value)
        return text


class _Lent:
    """A measurer that is lent: closing it leaves it open."""

    def __init__(self, measurer: Measurer) -> None:
        self._measurer = measurer
        self.describe = measurer.describe
        self.measure = measurer.measure
        self.now = measurer.now
        self.resume_at = measurer.resume_at
        self.passing_size = getattr(measurer, "passing_size", lambda: None)

    def close(self) -> None:
        """Leave it open."""


class FunctionBench:
    """Builds that a function starts: for Python.

    Parameters
    ----------
    open_build
        Gives a fresh instance of a build, by its number.
    """

    side_by_side = True

    def __init__(self, open_build: Callable[[int], Measurer]) -> None:
        self._open = open_build
        self._made: set[int] = set()

    def make(self, build: int) -> str:
        """Note that it was asked for."""
        self._made.add(build)
        return ""

    def is_made(self, build: int) -> bool:
        """Say whether it was asked for."""
        return build in self._made

    def keep(self, builds: Sequence[int]) -> None:
        """Forget all builds but these."""
        self._made.intersection_update(builds)

    def start(self, build: int) -> Measurer:
        """Call the function."""
        return self._open(build)

    def close(self) -> None:
        """Nothing is held."""


class Turns:
    """What performs the trials of a run: whichever instance is on; its clock goes on from instance to instance."""

    def __init__(self, description: Description) -> None:
        self._description = description
        self._on: Measurer | None = None
        self._passed_s = 0.0

    def put_on(self, measurer: Measurer) -> None:
        """Have this instance perform the trials from here on."""
        self._on = measurer
        if self._description.virtual_time:
            measurer.resume_at(self._passed_s)

    def describe(self) -> Description:
        """Say what the instances are."""
        return self._description

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Have the instance that is on perform a trial."""
        assert self._on is not None
        output = self._on.measure(load, duration_s, stop_above=stop_above)
        if self._description.virtual_time:
            self._passed_s = max(self._passed_s, self._on.now())
        return output

    def passing_size(self) -> int | None:
        """Give a size of frames that come through the instance that is on."""
        return self._on.passing_size() if isinstance(self._on, Comparing) else None

    def now(self) -> float:
        """Give the time: of simulated systems theirs, else that of the wall clock."""
        return self._passed_s if self._description.virtual_time else time.monotonic()

    def resume_at(self, elapsed_s: float) -> None:
        """Let virtual time pass."""
        self._passed_s = max(self._passed_s, elapsed_s)

    def close(self) -> None:
        """Nothing is held: the caller closes the instances."""


def is_side_by_side(spec: str) -> bool:
    """Say whether the text of a measurer names the build, so that each has a test bed of its own.

    >>> is_side_by_side("lab:xdp,work={version}"), is_side_by_side("tester:eth1,eth2")
    (True, False)
    """
    return VERSION in spec or DIRECTORY in spec


def check_words(spec: str, prepare: str | None, *, has_directories: bool) -> None:
    """Refuse texts in which nothing stands for the build, or something that there is not.

    Raises
    ------
    UsageError
        Saying what to write.
    """
    texts = [spec, prepare or ""]
    if not has_directories and any(DIRECTORY in text for text in texts):
        message = f"{DIRECTORY}: builds have directories with --git alone; write {VERSION}"
        raise UsageError(message)
    if not any(word in text for word in (VERSION, DIRECTORY) for text in texts):
        message = f"nothing says how to get at a build: write {VERSION} (or {DIRECTORY}) in --prepare or --measurer"
        raise UsageError(message)
    if has_directories and shutil.which("git") is None:
        message = "--git: there is no git here; install it"
        raise UsageError(message)
