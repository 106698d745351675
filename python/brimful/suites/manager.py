"""Carries a suite out: test by test, each with a record of its own, and goes on where it was interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from brimful.errors import MeasureError, UsageError, did_you_mean
from brimful.managed import Begun, Place, Sink, manage, new_run
from brimful.measurers.base import checked_description
from brimful.policies import Policies
from brimful.records import End, Record, RunFile, SuitePlan, SuiteTest
from brimful.records.experiment import fingerprint
from brimful.run_index import RECORD_NAME
from brimful.runs import new_run_directory
from brimful.session import DONE, FAILED, INTERRUPTED
from brimful.suites.durations import FULL, QUICK, Durations
from brimful.suites.rfc2544 import RESET, TESTS, Context, Open, run_test
from brimful.throughput.manager import SearchRequest

SUBJECT = "suite"
_NEEDED = "throughput"
"""The test that all others at its size build on."""


class SuiteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    search: SearchRequest
    """Its measurer, max load, traffic, policies and labels are those of every test; the sizes are added."""
    sizes: list[str]
    tests: list[str]
    is_quick: bool = False
    reset_command: str | None = None

    @property
    def durations(self) -> Durations:
        """How long the tests are."""
        return QUICK if self.is_quick else FULL

    @property
    def all_tests(self) -> list[str]:
        """The tests, that of a reset at the end."""
        return [*self.tests, *([RESET] if self.reset_command is not None else [])]

    def fingerprint(self) -> str:
        """Digest what makes two suites the same."""
        facts = msgspec.to_builtins(self)
        del facts["search"]
        return fingerprint(subject=SUBJECT, search=self.search.fingerprint(), **facts)

    def of_size(self, size: str) -> SearchRequest:
        """Give the request of the tests at one size."""
        search = self.search
        arguments = [*search.traffic.get("arguments", []), f"--frame-size={size}"]
        return msgspec.structs.replace(search, traffic={**search.traffic, "arguments": arguments})


class SuiteRun(msgspec.Struct, frozen=True):
    """A suite that ended, and where its record is."""

    path: Path
    end: End
    tests: list[SuiteTest]


def check_suite(request: SuiteRequest) -> None:
    """Refuse what cannot be carried out, before anything is measured.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    reason = "a trial that was not made says nothing of the device"
    Policies.without_loss(request.search.on_invalid, request.search.on_error, reason=reason)
    for what, given, known in (("--sizes", request.sizes, None), ("--tests", request.tests, TESTS)):
        for entry in given:
            if given.count(entry) > 1:
                message = f"{what}: {entry} is given twice"
                raise UsageError(message)
            if known is not None and entry not in known:
                meant = did_you_mean(entry, known)
                message = f"{what}: there is no test {entry!r}{meant}: {', '.join(known)}; a reset has --reset-command"
                raise UsageError(message)
    if _NEEDED not in request.tests:
        message = f"--tests: all others build on {_NEEDED}; add it"
        raise UsageError(message)


def run_suite(
    request: SuiteRequest,
    open_for: Callable[[SearchRequest], Open],
    *,
    out: Path | None = None,
    resume: bool = False,
    progress: Callable[[str], None] = lambda text: None,
    note: Callable[[str], None] = lambda text: None,
) -> SuiteRun:
    """Make all tests at all sizes, or go on with a suite that was interrupted.

    A test that fails is kept with the reason, and the others are made. To go on with the suite tries it again.

    Parameters
    ----------
    request
        What to measure.
    open_for
        Gives, for the request at a size, what opens a measurer.
    out, resume
        Where the record is, and whether to go on with it.
    progress, note
        Get which test is made, and what to say once.

    Raises
    ------
    UsageError
        When the request cannot be carried out.
    """
    check_suite(request)

    def begin() -> Begun:
        first = request.of_size(request.sizes[0])
        measurer = open_for(first)(first.measurer, False)
        try:
            description = checked_description(measurer.describe(), where="what the measurer says of itself")
        finally:
            measurer.close()
        plan = SuitePlan("RFC 2544", request.sizes, request.all_tests, is_quick=request.is_quick)
        run = new_run(
            request.search.measurer,
            description,
            subject=SUBJECT,
            suite=plan,
            on_invalid=request.search.on_invalid,
            on_error=request.search.on_error,
            deviations=_deviations(request),
            labels=request.search.labels,
            fingerprint=request.fingerprint(),
        )
        return Begun(msgspec.structs.replace(run, traffic=_common(run.traffic)), [], new_run_directory(out))

    def perform(file: RunFile, sink: Sink) -> SuiteRun:
        return _Suite(request, open_for, file, sink, progress, note).run()

    return manage(
        "suite",
        request.fingerprint(),
        Place(out=out, resume=resume),
        note,
        begin=begin,
        perform=perform,
        show=lambda saved: SuiteRun(saved.path, saved.ends[-1], tests_of(saved)),
        things="tests",
    )


def tests_of(file: RunFile) -> list[SuiteTest]:
    """Give the tests that came to an end, of one that was tried again the last."""
    found = {(record.size, record.test): record for record in file.others if isinstance(record, SuiteTest)}
    return list(found.values())


class _Suite:
    """The tests that are still to be made."""

    def __init__(
        self,
        request: SuiteRequest,
        open_for: Callable[[SearchRequest], Open],
        file: RunFile,
        sink: Callable[[Record], None],
        progress: Callable[[str], None],
        note: Callable[[str], None],
    ) -> None:
        self._request, self._open_for, self._file, self._sink = request, open_for, file, sink
        self._progress, self._note = progress, note
        self._tests = {(one.size, one.test): one for one in tests_of(file)}
        self._start_s = time.monotonic()
        self._before_s = file.ends[-1].search_s if file.ends else 0.0

    def run(self) -> SuiteRun:
        """Make them, the smallest part that is whole on disk before the next."""
        reason, text = DONE, ""
        try:
            for number, (size, test) in enumerate(self._due(), start=1):
                self._progress(f"test {number} of {len(self._due())}: {test}, frame size {size}")
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
        sizes, tests = self._request.sizes, self._request.all_tests
        due = [(size, test) for size in sizes for test in tests if test != RESET]
        return due + ([(sizes[0], RESET)] if RESET in tests else [])

    def _make(self, size: str, test: str) -> SuiteTest:
        known = self._tests.get((size, test))
        if known is not None and known.reason == DONE:
            return known
        directory = self._directory(size, test)
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
        throughput = self._tests.get((size, _NEEDED))
        if test != _NEEDED and (throughput is None or throughput.reason != DONE):
            return End(reason=FAILED, trials=0, search_s=0.0, text="there is no throughput at this size")
        search = self._request.of_size(size)
        context = Context(
            search=search,
            durations=self._request.durations,
            open_measurer=self._open_for(search),
            reset_command=self._request.reset_command,
            note=self._note,
        )
        place = Path() if throughput is None else self._file.path.parent / throughput.path
        try:
            return run_test(test, context, directory, place)
        except (MeasureError, UsageError) as error:
            return End(reason=FAILED, trials=0, search_s=0.0, text=str(error))

    def _directory(self, size: str, test: str) -> Path:
        """Give where a test is kept; one that cannot be gone on with is kept, and the next stands beside it."""
        directory = self._file.path.parent / size / test
        number = 2
        while test in ("recovery", RESET) and (directory / RECORD_NAME).exists():
            directory = self._file.path.parent / size / f"{test}-{number}"
            number += 1
        return directory

    def _elapsed_s(self) -> float:
        return self._before_s + time.monotonic() - self._start_s


def _common(traffic: dict[str, Any]) -> dict[str, Any]:
    """Give what is sent at every size."""
    return {key: value for key, value in traffic.items() if key not in ("frame_size", "frame_sizes")}


def _deviations(request: SuiteRequest) -> list[str]:
    found = []
    if request.is_quick:
        found.append("--quick: trials are shorter and fewer than RFC 2544 asks for in every test")
    if "latency" in request.tests:
        found.append("latency: every frame is stamped, not one after 60 s (section 26.2); the mean is of all of them")
    if "recovery" in request.tests:
        found.append("recovery: the load is reduced between two trials, not within one (section 26.5)")
    return found
