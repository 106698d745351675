"""Sets a run on back-to-back frames up: the throughput first, then the plan and the record; begins it or goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import msgspec

from brimful import units
from brimful.burst.loop import BurstLoop, BurstOutcome, BurstProgress
from brimful.errors import UsageError
from brimful.machine.watch import Watch
from brimful.managed import Begun, Ended, Place, Sink, manage, new_run
from brimful.measurers.base import Description, Measurer, checked_description
from brimful.policies import Policies
from brimful.records import NO_OVERFLOW, Burst, BurstPlan, Run, RunFile, Warning
from brimful.records.experiment import fingerprint_of
from brimful.records.stated import burst_plan, burst_tests
from brimful.throughput.found import (
    FoundThroughput,
    check_lossless,
    find_throughput,
    given_throughput,
    greatest_load,
)
from brimful.throughput.manager import SearchRequest
from brimful.throughput.run_loop import Progress

SUBJECT = "burst"
LEAST_REST_S = 2.0
"""RFC 9004 section 6.2, component 3."""
_MOST_FRAMES = 2**53
"""What a load and a duration still say exactly."""


class BurstRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    search: SearchRequest
    """For the throughput; its measurer, max load, traffic, policies and labels are those of the bursts too."""
    throughput: str | None = None
    """A load, or the path of a run that found it; null: it is searched for first."""
    tests: int = 10
    longest: str = "30s"
    """Frames, or a time at the load of the bursts."""
    step: int = 1
    attempts: int = 1
    rest_s: float = LEAST_REST_S

    def fingerprint(self) -> str:
        """Digest what makes two runs the same."""
        return fingerprint_of(self, subject=SUBJECT, search=self.search.fingerprint())


def run_burst(
    request: BurstRequest,
    measurer: Measurer,
    *,
    out: Path | None = None,
    resume: bool = False,
    search_progress: Callable[[Run, Progress], None] = lambda run, progress: None,
    progress: Callable[[Run, BurstProgress], None] = lambda run, progress: None,
    note: Callable[[str], None] = lambda text: None,
) -> Ended[BurstOutcome]:
    """Find the longest burst without loss, or go on with a run that was interrupted.

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
    begun: list[Warning] = []

    def begin() -> Begun:
        check_bursts(request, description)
        directory, found = find_throughput(
            request.search, request.throughput, measurer, description, out, progress=search_progress, note=note
        )
        plan, warnings = _plan(request, description, found)
        begun.extend(warnings)
        return Begun(_run(request, description, plan, found), begun, directory)

    def perform(file: RunFile, sink: Sink) -> Ended[BurstOutcome]:
        loop = BurstLoop(
            burst_plan(file),
            measurer,
            policies,
            sink=sink,
            progress=lambda state: progress(file.run, state),
            watch=Watch() if description.on_this_machine else None,
        )
        loop.resume(file.trials, burst_tests(file))
        outcome = loop.run()
        return Ended(file.path, msgspec.structs.replace(outcome, warnings=[*begun, *outcome.warnings]))

    return manage(
        "run on bursts",
        request.fingerprint(),
        Place(out=out, resume=resume),
        note,
        begin=begin,
        perform=perform,
        show=_shown,
        things="bursts",
    )


def _shown(saved: RunFile) -> Ended[BurstOutcome]:
    outcome = BurstOutcome(burst_tests(saved), saved.last(Burst), saved.warnings, saved.ends[-1])
    return Ended(saved.path, outcome)


def check_bursts(request: BurstRequest, description: Description) -> None:
    """Refuse what cannot be measured, as far as it is known without measuring anything.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    _policies(request.search)
    if description.load_unit != "frames/s":
        message = f"--find burst: bursts are of frames, and loads of measurer {description.name!r} are in"
        raise UsageError(f"{message} {description.load_unit}")
    if request.throughput is None:
        check_lossless(request.search.goals)
    else:
        given_throughput(request.throughput, description)
    if request.longest.isdecimal():
        longest_burst(request.longest, load=1.0, step=request.step)
    else:
        units.parse_duration(request.longest)


def _policies(search: SearchRequest) -> Policies:
    return Policies.without_loss(
        search.on_invalid, search.on_error, reason="a burst that was not sent says nothing of the device"
    )


def _plan(request: BurstRequest, description: Description, found: FoundThroughput) -> tuple[BurstPlan, list[Warning]]:
    load, tests = greatest_load(request.search, description, found.ceiling), request.tests
    warnings = list(found.warnings)
    if found.load is not None and found.load >= load:
        tests = 0
        text = (
            f"the throughput is {units.format_load(found.load, description.load_unit)}, the load of bursts"
            f" {units.format_load(load, description.load_unit)}: no burst overflows a buffer (RFC 9004 section 6.1)"
        )
        warnings.append(Warning(code=NO_OVERFLOW, text=text))
    if found.passes_nothing:
        tests = 0
    plan = BurstPlan(
        load=load,
        tests=tests,
        longest=longest_burst(request.longest, load=load, step=request.step),
        step=request.step,
        attempts=request.attempts,
        rest_s=request.rest_s,
        throughput=found.load,
        throughput_run=found.run_id,
        throughput_goal=found.goal,
    )
    return plan, warnings


def _run(request: BurstRequest, description: Description, plan: BurstPlan, found: FoundThroughput) -> Run:
    search = request.search
    return new_run(
        search.measurer,
        description,
        measurer={"ceiling": found.ceiling, "virtual_time": description.virtual_time},
        subject=SUBJECT,
        burst=plan,
        min_load=plan.load,
        max_load=plan.load,
        on_invalid=search.on_invalid,
        on_error=search.on_error,
        deviations=_deviations(request, description),
        labels=search.labels,
        fingerprint=request.fingerprint(),
    )


def _deviations(request: BurstRequest, description: Description) -> list[str]:
    found = []
    if request.rest_s < LEAST_REST_S:
        shown = units.format_duration(request.rest_s)
        found.append(f"the silence after a burst is {shown} at least; RFC 9004 section 6.2 asks for 2 s")
    if description.can_stop_early:
        found.append("a burst ends once a frame of it is lost: the outcome is certain then")
    return found


def longest_burst(text: str, *, load: float, step: int) -> int:
    """Read the length of the longest burst to try: frames, or a time at the load of the bursts.

    >>> longest_burst("5000", load=1e6, step=1), longest_burst("30s", load=1e6, step=1)
    (5000, 30000000)

    Raises
    ------
    UsageError
        When it is neither, or too short or long.
    """
    frames = int(text) if text.isdecimal() else math.floor(units.parse_duration(text) * load)
    if not step <= frames <= _MOST_FRAMES:
        message = f"--longest {text}: is {frames} frames; it must be from --step ({step}) to {_MOST_FRAMES}"
        raise UsageError(message)
    return frames
