"""The tests of RFC 2544 section 26, each as a run of its own subject."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from brimful.burst.manager import BurstRequest, run_burst
from brimful.delay.estimates import DEVICE, WIRE
from brimful.delay.manager import DelayRequest, run_delay
from brimful.delay.wire import wire_of
from brimful.loss.manager import LossRequest, run_loss
from brimful.measurers.base import Measurer
from brimful.records import End, read_run
from brimful.recovery.manager import RecoveryRequest, run_recovery
from brimful.suites.durations import Durations
from brimful.throughput.goals import PRESETS, SearchGoal
from brimful.throughput.manager import SearchRequest, run_search

TESTS = ("throughput", "latency", "loss", "bursts", "recovery")
RESET = "reset"
GOAL = "throughput"
Open = Callable[[str, bool], Measurer]
"""Opens a measurer, with all that it knows of delays or without."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What each test is given."""

    search: SearchRequest
    """For one frame size."""
    durations: Durations
    open_measurer: Open
    reset_command: str | None
    note: Callable[[str], None]


def run_test(test: str, context: Context, directory: Path, throughput: Path) -> End:
    """Make one test, or go on with it, in a directory of its own.

    Parameters
    ----------
    test
        One of `TESTS`, or `RESET`.
    context
        How.
    directory
        Of its record.
    throughput
        Of the record of the throughput at this size.

    Raises
    ------
    UsageError, MeasureError
        When it cannot be made.
    """
    return _TESTS[test](context, directory, throughput)


def _throughput(context: Context, directory: Path, throughput: Path) -> End:
    (preset,) = PRESETS["rfc2544"].goals
    trial_s = context.durations.trial_s
    goal: SearchGoal = msgspec.structs.replace(
        preset,
        name=GOAL,
        final_trial_duration_s=trial_s,
        duration_sum_s=trial_s,
        initial_trial_duration_s=min(1.0, trial_s),
    )
    request = msgspec.structs.replace(context.search, goals=[goal.record(GOAL)])
    with _opened(context, request.measurer) as measurers:
        outcome = run_search(request, measurers[DEVICE], out=directory, resume=directory.exists(), note=context.note)
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
    search = msgspec.structs.replace(context.search, max_load=read_run(throughput).run.max_load)
    request = LossRequest(search=search, duration_s=context.durations.trial_s, rest_s=context.durations.loss_rest_s)
    with _opened(context, search.measurer) as measurers:
        return run_loss(
            request, measurers[DEVICE], out=directory, resume=directory.exists(), note=context.note
        ).outcome.end


def _bursts(context: Context, directory: Path, throughput: Path) -> End:
    durations = context.durations
    request = BurstRequest(
        search=msgspec.structs.replace(context.search, max_load=read_run(throughput).run.max_load),
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
        search=msgspec.structs.replace(context.search, max_load=read_run(throughput).run.max_load),
        throughput=str(throughput),
        rounds=durations.recovery_rounds if command is None else durations.reset_rounds,
        duration_s=durations.overload_s if command is None else durations.reset_s,
        reset_command=command,
    )
    with _opened(context, context.search.measurer) as measurers:
        return run_recovery(request, measurers[DEVICE], out=directory, note=context.note).outcome.end


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
