"""Sets a run on recovery up: the throughput first, then the plan and the record; begins it or goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from brimful import units
from brimful.errors import MeasureError, UsageError
from brimful.managed import Begun, Ended, Place, Sink, manage, new_run
from brimful.measurers.base import Description, Measurer, checked_description
from brimful.policies import Policies
from brimful.records import RecoveryPlan, Run, RunFile, is_rate_of_units
from brimful.records.experiment import fingerprint_of
from brimful.records.stated import recoveries, recovery_plan
from brimful.recovery.calculations import OVERLOAD, RESET
from brimful.recovery.loop import RecoveryLoop, RecoveryOutcome
from brimful.throughput.found import (
    FoundThroughput,
    check_lossless,
    find_throughput,
    given_throughput,
    greatest_load,
)
from brimful.throughput.manager import SearchRequest
from brimful.throughput.run_loop import Progress

SUBJECT = "recovery"
OVERLOAD_SHARE, AFTER_SHARE = 1.1, 0.5
"""RFC 2544 section 26.5: overload / throughput, and what it is reduced to."""
LEAST_OVERLOAD_S = 60.0


@runtime_checkable
class WithDevice(Protocol):
    """A measurer that can run a program where its device is."""

    def device_command(self, argv: Sequence[str]) -> list[str]:
        """Give the command line that does so."""
        ...


class RecoveryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    search: SearchRequest
    """For the throughput; its measurer, max load, traffic, policies and labels are those of the trials too."""
    throughput: str | None = None
    """A load, or the path of a run that found it; null: it is searched for first."""
    rounds: int = 10
    duration_s: float = LEAST_OVERLOAD_S
    probe_s: float = 0.05
    reset_command: str | None = None

    def fingerprint(self) -> str:
        """Digest what makes two runs the same."""
        return fingerprint_of(self, subject=SUBJECT, search=self.search.fingerprint())


def run_recovery(
    request: RecoveryRequest,
    measurer: Measurer,
    *,
    out: Path | None = None,
    resume: bool = False,
    search_progress: Callable[[Run, Progress], None] = lambda run, progress: None,
    progress: Callable[[str], None] = lambda text: None,
    note: Callable[[str], None] = lambda text: None,
) -> Ended[RecoveryOutcome]:
    """Measure how long a device loses frames after an overload, or while it is reset; or go on with such a run.

    Parameters
    ----------
    request, measurer
        What to measure, and with whom.
    out, resume
        Where the record is, and whether to go on with it.
    search_progress, progress, note
        Get where the search for the throughput and the run stand, and what to say once.

    Raises
    ------
    UsageError
        When the request cannot be carried out.
    ThroughputNotFoundError
        When the search for the throughput was interrupted, out of time or failed.
    """
    policies = _policies(request.search)
    description = checked_description(measurer.describe(), where="what the measurer says of itself")

    def begin() -> Begun:
        check_recovery(request, description)
        directory, found = find_throughput(
            request.search, request.throughput, measurer, description, out, progress=search_progress, note=note
        )
        return Begun(_run(request, description, _plan(request, description, found)), found.warnings, directory)

    def perform(file: RunFile, sink: Sink) -> Ended[RecoveryOutcome]:
        reset = _reset_command(request, measurer)
        loop = RecoveryLoop(recovery_plan(file), measurer, policies, reset=reset, sink=sink, progress=progress)
        loop.resume(file.trials)
        return Ended(file.path, loop.run())

    return manage(
        "run on recovery",
        request.fingerprint(),
        Place(out=out, resume=resume),
        note,
        begin=begin,
        perform=perform,
        show=lambda saved: Ended(saved.path, RecoveryOutcome(recoveries(saved), saved.ends[-1])),
    )


def check_reset(command: str, description: Description) -> None:
    """Refuse a reset that cannot be measured.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    if description.virtual_time:
        message = "--reset-command: nothing can be reset in virtual time; measure a real device"
        raise UsageError(message)
    if not is_rate_of_units(description.load_unit):
        message = f"--reset-command: frames lost are no time where loads are in {description.load_unit}"
        raise UsageError(message)
    if not command.strip():
        message = "--reset-command: is empty"
        raise UsageError(message)


def check_recovery(request: RecoveryRequest, description: Description) -> None:
    """Refuse what cannot be measured, as far as it is known without measuring anything.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    _policies(request.search)
    if request.reset_command is not None:
        check_reset(request.reset_command, description)
    if request.throughput is None:
        check_lossless(request.search.goals)
    else:
        given_throughput(request.throughput, description)


def _policies(search: SearchRequest) -> Policies:
    return Policies.without_loss(
        search.on_invalid, search.on_error, reason="a trial that was not made says nothing of recovery"
    )


def _run(request: RecoveryRequest, description: Description, plan: RecoveryPlan) -> Run:
    search = request.search
    return new_run(
        search.measurer,
        description,
        subject=SUBJECT,
        recovery=plan,
        min_load=min(plan.load, plan.load_after or plan.load),
        max_load=plan.load,
        on_invalid=search.on_invalid,
        on_error=search.on_error,
        deviations=_deviations(plan),
        labels=search.labels,
        fingerprint=request.fingerprint(),
    )


def _plan(request: RecoveryRequest, description: Description, found: FoundThroughput) -> RecoveryPlan:
    if found.load is None and not found.passes_nothing:
        message = "there is no throughput without loss, not even at the least load: nothing to recover to"
        raise MeasureError(message)
    of = OVERLOAD if request.reset_command is None else RESET
    if found.load is None:
        load = greatest_load(request.search, description, found.ceiling)
    elif of == OVERLOAD:
        load = min(OVERLOAD_SHARE * found.load, greatest_load(request.search, description, found.ceiling))
    else:
        load = found.load
    return RecoveryPlan(
        of=of,
        rounds=0 if found.passes_nothing else request.rounds,
        load=load,
        duration_s=request.duration_s,
        load_after=AFTER_SHARE * load if of == OVERLOAD else None,
        probe_s=request.probe_s,
        reset_command=request.reset_command,
        throughput=found.load,
        throughput_run=found.run_id,
        throughput_goal=found.goal,
    )


def _deviations(plan: RecoveryPlan) -> list[str]:
    if plan.of == RESET:
        return []
    found = ["the load after the overload is not continuous: trials probe it, with the tester's waits between them"]
    if plan.duration_s < LEAST_OVERLOAD_S:
        shown = units.format_duration(plan.duration_s)
        found.append(f"the overload lasts {shown}; RFC 2544 section 26.5 asks for 60 s at least")
    return found


def _reset_command(request: RecoveryRequest, measurer: Measurer) -> list[str]:
    """Give the command line that resets the device, in its namespace where it has one."""
    if request.reset_command is None:
        return []
    argv = ["sh", "-c", request.reset_command]
    return measurer.device_command(argv) if isinstance(measurer, WithDevice) else argv
