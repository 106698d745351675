"""Begins the run of a test of a switch, or goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from brimful.machine.watch import Watch
from brimful.managed import Begun, Ended, Place, Sink, manage, new_run
from brimful.measurers.base import checked_description
from brimful.measurers.stations import Stations
from brimful.policies import ON_ERROR, ON_INVALID, Policies
from brimful.records import RunFile, SwitchingPlan, SwitchingResult
from brimful.records.experiment import fingerprint
from brimful.switching.loop import SwitchingLoop, SwitchingOutcome
from brimful.switching.verification import plan_of

SUBJECT = "switching"


class SwitchingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    measurer: str
    plan: SwitchingPlan
    on_invalid: str = ON_INVALID
    on_error: str = ON_ERROR
    deviations: list[str] = []
    labels: dict[str, str] = {}

    def fingerprint(self) -> str:
        """Digest what makes two runs the same."""
        plan = msgspec.to_builtins(self.plan)
        return fingerprint(subject=SUBJECT, measurer=self.measurer, plan=plan)


def run_switching(
    request: SwitchingRequest,
    stations: Stations,
    *,
    out: Path | None = None,
    resume: bool = False,
    note: Callable[[str], None] = lambda text: None,
) -> Ended[SwitchingOutcome]:
    """Make one test, or go on with one that was interrupted.

    Parameters
    ----------
    request, stations
        What to measure, and with whom.
    out, resume
        Where the record is, and whether to go on with it.
    note
        Gets what to say once.

    Raises
    ------
    UsageError
        When the request cannot be carried out.
    """
    reason = "a trial that was not made says nothing of the device"
    policies = Policies.without_loss(request.on_invalid, request.on_error, reason=reason)

    description = checked_description(stations.describe(), where="what the stations say of themselves")

    def begin() -> Begun:
        size = {"frame_size": str(request.plan.frame_size)}
        run = new_run(
            request.measurer,
            msgspec.structs.replace(description, traffic={**description.traffic, **size}),
            subject=SUBJECT,
            switching=request.plan,
            on_invalid=request.on_invalid,
            on_error=request.on_error,
            deviations=request.deviations,
            labels=request.labels,
            fingerprint=request.fingerprint(),
        )
        return Begun(run)

    def perform(file: RunFile, sink: Sink) -> Ended[SwitchingOutcome]:
        watch = Watch() if description.on_this_machine else None
        loop = SwitchingLoop(plan_of(file), stations, policies, sink=sink, watch=watch)
        loop.resume(file.trials)
        return Ended(file.path, loop.run())

    return manage(
        "test of a switch",
        request.fingerprint(),
        Place(out=out, resume=resume),
        note,
        begin=begin,
        perform=perform,
        show=lambda saved: Ended(saved.path, SwitchingOutcome(saved.latest(SwitchingResult, "name"), saved.ends[-1])),
    )
