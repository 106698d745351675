"""The tests of RFC 2544 section 26, each as a run of its own subject."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from brimful.burst.manager import BurstRequest, run_burst
from brimful.delay.estimates import DEVICE, WIRE
from brimful.delay.manager import DelayRequest, run_delay, why_no_delay
from brimful.delay.wire import wire_of
from brimful.loss.manager import LossRequest, run_loss
from brimful.measurers.base import Description, Measurer
from brimful.measurers.catalogue import SIZE
from brimful.records import NONE_PASSES, End, RunFile, read_run
from brimful.records.experiment import fingerprint_of
from brimful.recovery.manager import RecoveryRequest, WithDevice, check_reset, run_recovery
from brimful.session import DONE
from brimful.suites.durations import FULL, QUICK, Durations
from brimful.suites.manager import SUBJECT, Suite
from brimful.suites.modifiers import BROADCAST_EVERY, running, test_of
from brimful.throughput.goals import PRESETS, SearchGoal
from brimful.throughput.manager import SearchRequest, check_search, run_search

TESTS = ("throughput", "latency", "loss", "bursts", "recovery")
RESET = "reset"
GOAL = "throughput"
_AT_THE_THROUGHPUT = ("latency", "bursts", "recovery", RESET)
"""Tests that offer a load which only the throughput says."""
Open = Callable[[str, bool], Measurer]
"""Opens a measurer, with all that it knows of delays or without."""


class SuiteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    search: SearchRequest
    """Its measurer, max load, traffic, policies and labels are those of every test; the sizes are added."""
    sizes: list[str]
    tests: list[str]
    is_quick: bool = False
    reset_command: str | None = None
    modifiers: dict[str, str] = {}
    """Of section 11, by name: the command that makes it; none for broadcasts."""

    @property
    def durations(self) -> Durations:
        """How long the tests are."""
        return QUICK if self.is_quick else FULL

    def fingerprint(self) -> str:
        """Digest what makes two suites the same."""
        return fingerprint_of(self, subject=SUBJECT, search=self.search.fingerprint())

    def of_size(self, size: str, *, broadcasts: bool = False) -> SearchRequest:
        """Give the request of the tests at one size, or of that with broadcasts."""
        search = self.search
        arguments = [*search.traffic.get("arguments", []), f"--frame-size={size}"]
        if broadcasts:
            arguments.append(f"--broadcast-every={BROADCAST_EVERY}")
        measurer = search.measurer.replace(SIZE, size)
        return msgspec.structs.replace(search, measurer=measurer, traffic={**search.traffic, "arguments": arguments})


def suite_of(
    request: SuiteRequest,
    open_for: Callable[[SearchRequest], Open],
    *,
    note: Callable[[str], None] = lambda text: None,
) -> Suite:
    """Give the suite that a user asked for.

    Parameters
    ----------
    request
        What to measure.
    open_for
        Gives, for the request at a size, what opens a measurer.
    note
        Gets what to say once.
    """
    modified = {test_of(name): command for name, command in request.modifiers.items()}

    def describe() -> Description:
        first = request.of_size(request.sizes[0])
        measurer = open_for(first)(first.measurer, False)
        try:
            check_search(_search(first, request.durations), measurer)
            description = measurer.describe()
        finally:
            measurer.close()
        if request.reset_command is not None:
            check_reset(request.reset_command, description)
        return description

    def why_not(description: Description) -> dict[str, str]:
        why = why_no_delay(description)
        return {"latency": f"the measurer {why}"} if why else {}

    def make(size: str, test: str, directory: Path, throughput: Path) -> End:
        if test in _AT_THE_THROUGHPUT and (why := _why_none(read_run(throughput))):
            return End(reason=DONE, trials=0, search_s=0.0, text=why)
        search = request.of_size(size, broadcasts=modified.get(test) == "")
        if test in modified:
            # What 100 % is was found with the plain throughput.
            search = msgspec.structs.replace(search, max_load=read_run(throughput).max_load)
        context = Context(
            search=search,
            durations=request.durations,
            open_measurer=open_for(search),
            reset_command=request.reset_command,
            modifier=modified.get(test, ""),
            note=note,
        )
        return _TESTS.get(test, _throughput)(context, directory, throughput)

    return Suite(
        standard="RFC 2544",
        measurer=request.search.measurer,
        sizes=request.sizes,
        tests=[*request.tests, *modified, *([RESET] if request.reset_command is not None else [])],
        known=(*TESTS, *modified) if request.reset_command is None else (*TESTS, *modified, RESET),
        needs={test: GOAL for test in (*TESTS, *modified, RESET) if test != GOAL},
        once=frozenset({RESET}),
        is_quick=request.is_quick,
        on_invalid=request.search.on_invalid,
        on_error=request.search.on_error,
        labels=request.search.labels,
        deviations=partial(_deviations, request),
        fingerprint=request.fingerprint(),
        describe=describe,
        why_not=why_not,
        make=make,
    )


def _why_none(throughput: RunFile) -> str:
    """Say why there is no throughput to measure at, from the search for it; empty: there is one."""
    if any(result.conditional_throughput for result in throughput.goal_results):
        return ""
    if throughput.passes_nothing:
        return NONE_PASSES
    return "frames are lost at every load: there is no throughput to measure at"


def _deviations(request: SuiteRequest, tests: Sequence[str]) -> list[str]:
    found = []
    if request.is_quick:
        found.append("--quick: trials are shorter and fewer than RFC 2544 asks for in every test")
    if "latency" in tests:
        found.append("latency: every frame is stamped, not one after 60 s (section 26.2); the mean is of all of them")
    if "recovery" in tests:
        found.append("recovery: the load is reduced between two trials, not within one (section 26.5)")
    return found


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What each test is given."""

    search: SearchRequest
    """For one frame size."""
    durations: Durations
    open_measurer: Open
    reset_command: str | None
    modifier: str
    """The command that makes it, where there is one."""
    note: Callable[[str], None]


def _search(search: SearchRequest, durations: Durations) -> SearchRequest:
    """Give the search for the throughput at one frame size."""
    (preset,) = PRESETS["rfc2544"].goals
    trial_s = durations.trial_s
    goal: SearchGoal = msgspec.structs.replace(
        preset,
        name=GOAL,
        final_trial_duration_s=trial_s,
        duration_sum_s=trial_s,
        initial_trial_duration_s=min(1.0, trial_s),
    )
    return msgspec.structs.replace(search, goals=[goal.record(GOAL)])


def _throughput(context: Context, directory: Path, throughput: Path) -> End:
    request = _search(context.search, context.durations)
    with contextlib.ExitStack() as stack:
        measurer = stack.enter_context(_opened(context, request.measurer))[DEVICE]
        if context.modifier:
            argv = ["sh", "-c", context.modifier]
            at_device = measurer.device_command(argv) if isinstance(measurer, WithDevice) else argv
            stack.enter_context(running(at_device, context.durations.modifier_wait_s))
        outcome = run_search(request, measurer, out=directory, resume=directory.exists(), note=context.note)
    return outcome.result.end


def _latency(context: Context, directory: Path, throughput: Path) -> End:
    search = context.search
    request = DelayRequest(
        measurer=search.measurer,
        of_run=str(throughput),
        shares=["100%"],
        goal=GOAL,
        wire=wire_of(search.measurer, None, search.traffic["arguments"]),
        rounds=context.durations.latency_rounds,
        trial_s=context.durations.latency_trial_s,
        on_invalid=search.on_invalid,
        on_error=search.on_error,
        traffic=search.traffic,
        labels=search.labels,
    )
    with _opened(context, search.measurer, wire=request.wire, detail=True) as measurers:
        return run_delay(request, measurers, out=directory, resume=directory.exists(), note=context.note).outcome.end


def _loss(context: Context, directory: Path, throughput: Path) -> End:
    # What 100 % is was found with the throughput: it is not measured twice.
    search = msgspec.structs.replace(context.search, max_load=read_run(throughput).max_load)
    request = LossRequest(search=search, duration_s=context.durations.trial_s, rest_s=context.durations.loss_rest_s)
    with _opened(context, search.measurer) as measurers:
        return run_loss(
            request, measurers[DEVICE], out=directory, resume=directory.exists(), note=context.note
        ).outcome.end


def _bursts(context: Context, directory: Path, throughput: Path) -> End:
    durations = context.durations
    request = BurstRequest(
        search=msgspec.structs.replace(context.search, max_load=read_run(throughput).max_load),
        throughput=str(throughput),
        tests=durations.burst_tests,
        longest=durations.longest_burst,
        rest_s=durations.burst_rest_s,
    )
    with _opened(context, context.search.measurer) as measurers:
        return run_burst(
            request, measurers[DEVICE], out=directory, resume=directory.exists(), note=context.note
        ).outcome.end


def _recovery(context: Context, directory: Path, throughput: Path) -> End:
    return _recover(context, directory, throughput, None)


def _reset(context: Context, directory: Path, throughput: Path) -> End:
    return _recover(context, directory, throughput, context.reset_command)


def _recover(context: Context, directory: Path, throughput: Path, command: str | None) -> End:
    durations = context.durations
    request = RecoveryRequest(
        search=msgspec.structs.replace(context.search, max_load=read_run(throughput).max_load),
        throughput=str(throughput),
        rounds=durations.recovery_rounds if command is None else durations.reset_rounds,
        duration_s=durations.overload_s if command is None else durations.reset_s,
        reset_command=command,
    )
    with _opened(context, context.search.measurer) as measurers:
        return run_recovery(
            request, measurers[DEVICE], out=directory, resume=directory.exists(), note=context.note
        ).outcome.end


_TESTS: Mapping[str, Callable[[Context, Path, Path], End]] = {
    "throughput": _throughput,
    "latency": _latency,
    "loss": _loss,
    "bursts": _bursts,
    "recovery": _recovery,
    RESET: _reset,
}


@contextlib.contextmanager
def _opened(
    context: Context, spec: str, *, wire: str | None = None, detail: bool = False
) -> Iterator[Mapping[str, Measurer]]:
    """Open the measurers of a test, and close them."""
    specs = {DEVICE: spec, **({} if wire is None else {WIRE: wire})}
    with contextlib.ExitStack() as stack:
        measurers = {}
        for path, text in specs.items():
            measurers[path] = context.open_measurer(text, detail)
            stack.callback(measurers[path].close)
        yield measurers
