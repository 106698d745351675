"""Carries a suite out: test by test, each with a record of its own, and goes on where it was interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful.errors import MeasureError, UsageError, did_you_mean
from brimful.managed import Begun, Place, Sink, manage, new_run
from brimful.measurers.base import Description, checked_description
from brimful.policies import Policies
from brimful.records import End, Record, RunFile, SuitePlan, SuiteTest
from brimful.runs import new_run_directory
from brimful.session import DONE, FAILED, INTERRUPTED

SUBJECT = "suite"
Make = Callable[[str, str, Path, Path], End]
"""Makes a test or goes on with it, given the frame size, the test, the directory of its record, and the directory of
the test that it builds on."""


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite to carry out, whatever standard it is of."""

    standard: str
    """Its name, such as ``RFC 2544``."""
    measurer: str
    sizes: list[str]
    tests: list[str]
    """In the order in which they are made."""
    known: tuple[str, ...]
    """All tests that there are."""
    needs: Mapping[str, str]
    """Test: the one at the same size that it builds on."""
    once: frozenset[str]
    """Tests that are made at the first size only, after all others."""
    is_quick: bool
    on_invalid: str
    on_error: str
    labels: Mapping[str, str]
    deviations: Callable[[Sequence[str]], list[str]]
    """Of the tests that are made."""
    fingerprint: str
    """Of what makes two suites the same."""
    describe: Callable[[], Description]
    """Says what tester and device are."""
    why_not: Callable[[Description], Mapping[str, str]]
    """Says which tests a measurer cannot make, and why."""
    make: Make

    @property
    def plan(self) -> SuitePlan:
        """What is asked for, of any measurer."""
        once = [test for test in self.tests if test in self.once]
        return SuitePlan(self.standard, self.sizes, self.tests, is_quick=self.is_quick, once=once)

    def plan_for(self, description: Description) -> SuitePlan:
        """Give what its record says of it, of this measurer.

        Raises
        ------
        UsageError
            When no test is left.
        """
        why_not, not_done = self.why_not(description), dict[str, str]()
        for test in sorted(self.tests, key=lambda test: test in self.needs):
            needed = self.needs.get(test, "")
            if test in why_not:
                not_done[test] = why_not[test]
            elif needed in not_done:
                not_done[test] = f"it builds on {needed}: {not_done[needed]}"
        made = [test for test in self.tests if test not in not_done]
        if not made:
            message = f"no test can be made: {'; '.join(f'{test}: {why}' for test, why in not_done.items())}"
            raise UsageError(message)
        once = [test for test in self.plan.once if test in made]
        not_done = {test: not_done[test] for test in self.tests if test in not_done}
        return msgspec.structs.replace(self.plan, tests=made, once=once, not_done=not_done)


class SuiteRun(msgspec.Struct, frozen=True):
    """A suite that ended, and where its record is."""

    path: Path
    end: End
    tests: list[SuiteTest]


def check_suite(suite: Suite) -> None:
    """Refuse what cannot be carried out, before anything is measured.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    reason = "a trial that was not made says nothing of the device"
    Policies.without_loss(suite.on_invalid, suite.on_error, reason=reason)
    for what, given, known in (("--sizes", suite.sizes, None), ("--tests", suite.tests, suite.known)):
        for entry in given:
            if given.count(entry) > 1:
                message = f"{what}: {entry} is given twice"
                raise UsageError(message)
            if known is not None and entry not in known:
                meant = did_you_mean(entry, known)
                message = f"{what}: there is no test {entry!r}{meant}: {', '.join(known)}"
                raise UsageError(message)
    for test in suite.tests:
        needed = suite.needs.get(test)
        if needed is not None and needed not in suite.tests:
            message = f"--tests: {test} builds on {needed}; add it"
            raise UsageError(message)


def run_suite(
    suite: Suite,
    *,
    out: Path | None = None,
    resume: bool = False,
    begin: Callable[[SuitePlan], None] = lambda plan: None,
    progress: Callable[[str], None] = lambda text: None,
    note: Callable[[str], None] = lambda text: None,
) -> SuiteRun:
    """Make all tests at all sizes, or go on with a suite that was interrupted.

    A test that fails is kept with the reason, and the others are made. To go on with the suite tries it again.

    Parameters
    ----------
    suite
        What to measure.
    out, resume
        Where the record is, and whether to go on with it.
    begin
        Is given the plan before the first test, once it is known that there is something to measure.
    progress, note
        Get which test is made, and what to say once.

    Raises
    ------
    UsageError
        When the suite cannot be carried out.
    """
    check_suite(suite)

    def describe() -> Begun:
        description = checked_description(suite.describe(), where="what the measurer says of itself")
        plan = suite.plan_for(description)
        run = new_run(
            suite.measurer,
            description,
            subject=SUBJECT,
            suite=plan,
            on_invalid=suite.on_invalid,
            on_error=suite.on_error,
            deviations=suite.deviations(plan.tests),
            labels=suite.labels,
            fingerprint=suite.fingerprint,
        )
        return Begun(msgspec.structs.replace(run, traffic=_common(run.traffic)), [], new_run_directory(out))

    def perform(file: RunFile, sink: Sink) -> SuiteRun:
        begin(file.run.suite or suite.plan)
        return _Tests(suite, file, sink, progress).run()

    return manage(
        "suite",
        suite.fingerprint,
        Place(out=out, resume=resume),
        note,
        begin=describe,
        perform=perform,
        show=lambda saved: SuiteRun(saved.path, saved.ends[-1], tests_of(saved)),
        things="tests",
        saved_of=lambda saved: [test for test in tests_of(saved) if test.reason == DONE],
    )


def tests_of(file: RunFile) -> list[SuiteTest]:
    """Give the tests that came to an end, of one that was tried again the last."""
    return file.latest(SuiteTest, "size", "test")


class _Tests:
    """The tests that are still to be made."""

    def __init__(
        self, suite: Suite, file: RunFile, sink: Callable[[Record], None], progress: Callable[[str], None]
    ) -> None:
        self._suite, self._file, self._sink, self._progress = suite, file, sink, progress
        self._tests = {(one.size, one.test): one for one in tests_of(file)}
        self._start_s = time.monotonic()
        self._before_s = file.ends[-1].search_s if file.ends else 0.0

    def run(self) -> SuiteRun:
        """Make them, the smallest part that is whole on disk before the next."""
        reason, text = DONE, ""
        try:
            due = self._due()
            for number, (size, test) in enumerate(due, start=1):
                if self._is_done(size, test):
                    continue
                self._progress(f"test {number} of {len(due)}: {test}, frame size {size}")
                if self._make(size, test).reason == INTERRUPTED:
                    reason = INTERRUPTED
                    break
        except KeyboardInterrupt:
            reason = INTERRUPTED
        failed = sum(one.reason == FAILED for one in self._tests.values())
        if reason == DONE and failed:
            # Not done: those that failed are made again where the suite goes on.
            reason, text = FAILED, f"{failed} of {len(self._tests)} tests failed"
        trials = sum(one.trials for one in self._tests.values())
        end = End(reason=reason, trials=trials, search_s=round(self._elapsed_s(), 9), text=text)
        self._sink(end)
        return SuiteRun(self._file.path, end, list(self._tests.values()))

    def _due(self) -> list[tuple[str, str]]:
        plan = self._file.run.suite or self._suite.plan
        due = [(size, test) for size in plan.sizes for test in plan.tests if test not in plan.once]
        return due + [(plan.sizes[0], test) for test in plan.once]

    def _is_done(self, size: str, test: str) -> bool:
        known = self._tests.get((size, test))
        return known is not None and known.reason == DONE

    def _make(self, size: str, test: str) -> SuiteTest:
        directory = self._file.path.parent / size / test
        end = self._end_of(size, test, directory)
        made = SuiteTest(
            size=size,
            test=test,
            path=str(directory.relative_to(self._file.path.parent)),
            reason=end.reason,
            trials=end.trials,
            text=end.text,
        )
        if end.reason != INTERRUPTED:
            self._sink(made)
            self._tests[size, test] = made
        return made

    def _end_of(self, size: str, test: str, directory: Path) -> End:
        name = self._suite.needs.get(test)
        needed = None if name is None else self._tests.get((size, name))
        if name is not None and not self._is_done(size, name):
            return End(reason=FAILED, trials=0, search_s=0.0, text=f"there is no {name} at this size")
        place = Path() if needed is None else self._file.path.parent / needed.path
        try:
            return self._suite.make(size, test, directory, place)
        except (MeasureError, UsageError) as error:
            return End(reason=FAILED, trials=0, search_s=0.0, text=str(error))

    def _elapsed_s(self) -> float:
        return self._before_s + time.monotonic() - self._start_s


def _common(traffic: dict[str, Any]) -> dict[str, Any]:
    """Give what is sent at every size."""
    return {key: value for key, value in traffic.items() if key not in ("frame_size", "frame_sizes")}
