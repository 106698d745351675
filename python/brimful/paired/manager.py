"""Sets a live comparison up: what the devices have in common, the plan, the record; begins it or goes on with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from brimful import units
from brimful.errors import RecordError, UsageError
from brimful.machine.watch import Watch
from brimful.managed import Begun, Ended, Place, Sink, manage, new_run, parse_load
from brimful.measurers.base import Calibrating, Description, Measurer, checked_description
from brimful.paired.beds import Beds
from brimful.paired.calibration import queue_of
from brimful.paired.loop import PairedLoop, PairedOutcome, PairedProgress
from brimful.policies import ON_ERROR, ON_INVALID, Policies
from brimful.records import LossPairs, PairedDevice, PairedPlan, Ratio, Run, RunFile, read_run
from brimful.records.experiment import fingerprint_of
from brimful.records.stated import paired_plan
from brimful.runs import HOME, run_directories
from brimful.statistics.pairs import floor_of_repeats

SUBJECT = "comparison"
TOLERANCE, PRECISION, BUDGET_S, TRIAL_S = 0.02, 0.01, 600.0, 0.5
RENEW_S = 120.0
"""Labs are made anew after so much time."""
CONTROL = "A again"
"""Name of the second instance of the first device."""
_EARLIER = 50
"""Records that are looked through for earlier controls."""


class PairedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asked for."""

    devices: list[tuple[str, str]]
    """Name, and what is measured with; the control is the last of them."""
    commands: list[str] = []
    """Of each device, what makes it the active build of the one test bed; empty: each has a bed of its own."""
    tolerance: float = TOLERANCE
    precision: float = PRECISION
    budget_s: float = BUDGET_S
    seed: int = 1
    trial_s: float = TRIAL_S
    control: bool = False
    renew_s: float | None = None
    loss_ratio: float | None = None
    max_load: str | float | None = None
    on_invalid: str = ON_INVALID
    on_error: str = ON_ERROR
    traffic: dict[str, Any] = {}
    labels: dict[str, str] = {}

    def fingerprint(self) -> str:
        """Digest what makes two runs the same; what may change when a run is resumed is left out."""
        return fingerprint_of(self, "on_invalid", "on_error", "labels", subject=SUBJECT)


def run_comparison(
    request: PairedRequest,
    beds: Beds,
    *,
    place: Place | None = None,
    progress: Callable[[Run, PairedProgress], None] = lambda run, progress: None,
    note: Callable[[str], None] = lambda text: None,
) -> Ended[PairedOutcome]:
    """Compare devices, or go on with a run that was interrupted, every trial on disk before the next begins.

    Parameters
    ----------
    request, beds
        What to compare, and where it is.
    place
        Where the record is, and whether to go on with it.
    progress, note
        Are called with where the run stands, and with what to say once.

    Raises
    ------
    UsageError
        When the request cannot be carried out; nothing has been measured then.
    """
    check_request(request)
    policies = Policies.without_loss(
        request.on_invalid, request.on_error, reason="a trial that was not made says nothing of either device"
    )
    where = "what the measurer says of itself"
    count = len(request.devices)
    descriptions = [checked_description(beds.measurer(device).describe(), where=where) for device in range(count)]

    def begin() -> Begun:
        check_alike([name for name, _ in request.devices], descriptions)
        if request.renew_s is not None and descriptions[0].virtual_time:
            message = "--renew: simulated devices are not made anew; leave it out"
            raise UsageError(message)
        return Begun(_run(request, descriptions, _plan(request, descriptions, beds.measurer(0))))

    def perform(file: RunFile, sink: Sink) -> Ended[PairedOutcome]:
        watch = Watch() if any(description.on_this_machine for description in descriptions) else None
        loop = PairedLoop(
            paired_plan(file),
            beds,
            policies,
            sink=sink,
            progress=lambda state: progress(file.run, state),
            watch=watch,
        )
        loop.resume(file)
        return Ended(file.path, loop.run())

    return manage(
        "comparison",
        request.fingerprint(),
        place or Place(),
        note,
        begin=begin,
        perform=perform,
        show=lambda file: Ended(
            file.path,
            PairedOutcome(file.latest(Ratio, "device"), file.latest(LossPairs, "device"), file.warnings, file.ends[-1]),
        ),
    )


def check_request(request: PairedRequest) -> None:
    """Refuse what cannot be compared, before anything is opened for it.

    Raises
    ------
    UsageError
        Saying what is wrong.
    """
    if len(request.devices) - request.control < 2:
        message = "there is one device; give another -m to compare it with, or two --variant of one"
        raise UsageError(message)
    for name, value, least, most in (
        ("--tolerance", request.tolerance, 1e-4, 0.9),
        ("--precision", request.precision, 1e-4, 0.9),
    ):
        if not least <= value <= most:
            message = f"{name} is {units.format_ratio(value)}; it must be from 0.01 % to 90 %"
            raise UsageError(message)
    if not 0.01 <= request.trial_s <= 3600:
        message = f"--trial is {units.format_delay(request.trial_s)}; it must be from 10 ms to an hour"
        raise UsageError(message)


def check_alike(names: Sequence[str], descriptions: Sequence[Description]) -> None:
    """Refuse devices whose loads are not of the same kind.

    Raises
    ------
    UsageError
        Naming what differs.
    """
    first = descriptions[0]
    for name, other in zip(names[1:], descriptions[1:], strict=True):
        pairs = {
            "the unit of loads": (first.load_unit, other.load_unit),
            "what loads are of": (first.load_scope, other.load_scope),
            "units counted for each of a load": (first.conversion_factor, other.conversion_factor),
            "virtual time": (first.virtual_time, other.virtual_time),
            **{
                key: (first.traffic.get(key), other.traffic.get(key))
                for key in ("frame_size", "frame_sizes", "direction", "profile", "io_size")
            },
        }
        for what, (ours, theirs) in pairs.items():
            if ours != theirs:
                message = f"{what} is {ours} of {names[0]} and {theirs} of {name}: their ratio would mean nothing"
                raise UsageError(message)


def earlier_controls(spec: str) -> list[tuple[float, float]]:
    """Give the ratios of a device to itself in earlier runs here, as logarithms, with their standard errors."""
    found = []
    for directory in run_directories(HOME)[:_EARLIER]:
        try:
            file = read_run(directory)
        except RecordError:
            continue
        plan = file.run.paired
        if plan is None or not plan.control or plan.devices[0].spec != spec:
            continue
        found += [
            (math.log(ratio.ratio), ratio.standard_error)
            for ratio in file.latest(Ratio, "device")
            if ratio.device == plan.devices[-1].name and ratio.ratio is not None
        ]
    return found


def _plan(request: PairedRequest, descriptions: Sequence[Description], first: Measurer) -> PairedPlan:
    controls = earlier_controls(request.devices[0][1])
    floor = floor_of_repeats(*zip(*controls, strict=True)) if controls else 0.0
    if floor > request.tolerance:
        message = (
            f"--tolerance {units.format_ratio(request.tolerance)}: in {len(controls)} earlier runs here"
            f" {request.devices[0][1]} differed from itself by {units.format_ratio(floor)}; give a tolerance above that"
        )
        raise UsageError(message)
    overloads = [description.overload for description in descriptions if description.overload is not None]
    shortest_s = max(description.min_duration_s or 0.0 for description in descriptions)
    commands: list[str | None] = [*request.commands] or [None] * len(request.devices)
    return PairedPlan(
        devices=[
            PairedDevice(name=name, spec=spec, command=command, queue=queue_of(description), device=description.device)
            for (name, spec), command, description in zip(request.devices, commands, descriptions, strict=True)
        ],
        tolerance=request.tolerance,
        precision=request.precision,
        trial_s=max(request.trial_s, shortest_s),
        seed=request.seed,
        budget_s=request.budget_s,
        control=request.control,
        max_load=_max_load(request, descriptions, first),
        first_load=max(overloads) if len(overloads) == len(descriptions) else None,
        renew_s=request.renew_s,
        loss_ratio=request.loss_ratio,
        straggler_wait_s=_straggler_wait_s(descriptions[0]),
        earlier_controls=controls,
    )


def _max_load(request: PairedRequest, descriptions: Sequence[Description], first: Measurer) -> float | None:
    """Give the largest load that can be offered: as the user says, and what tester and link allow."""
    limits = [description.max_load for description in descriptions if description.max_load is not None]
    if request.max_load is not None:
        most = min(limits, default=None)
        limits.append(parse_load("--max-load", request.max_load, descriptions[0], most))
    elif descriptions[0].can_calibrate and isinstance(first, Calibrating):
        limits.append(first.calibrate())
    return min(limits, default=None)


def _straggler_wait_s(description: Description) -> float | None:
    wait_s = description.traffic.get("straggler_wait_s")
    return float(wait_s) if isinstance(wait_s, int | float) else None


def _run(request: PairedRequest, descriptions: Sequence[Description], plan: PairedPlan) -> Run:
    return new_run(
        request.devices[0][1],
        descriptions[0],
        subject=SUBJECT,
        paired=plan,
        max_load=plan.max_load or 0.0,
        seed=plan.seed,
        budget_s=plan.budget_s,
        on_invalid=request.on_invalid,
        on_error=request.on_error,
        labels=request.labels,
        fingerprint=request.fingerprint(),
    )
