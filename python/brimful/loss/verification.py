"""Recompute what a run on the frame loss rate claims, from its trials."""

from __future__ import annotations

import msgspec

from brimful.errors import RecordError
from brimful.loss.calculations import losses, outcomes, steps
from brimful.records import Loss, LossPlan, RunFile, stated
from brimful.units import format_load


class LossVerification(msgspec.Struct, frozen=True):
    """Everything recomputed from the trials of a run."""

    losses: list[Loss]
    trials: int
    findings: list[str]
    """Claims that do not hold."""
    notes: list[str] = []
    """What is to be known beside: that there is no end, or what could not be looked at."""


def verify_loss(file: RunFile) -> LossVerification:
    """Recompute every loss ratio of a run.

    Raises
    ------
    RecordError
        When the record does not say what was measured.
    """
    plan = stated.loss_plan(file)
    findings, notes = file.checked()
    try:
        found = losses(file.trials, plan, file.ceiling)
    except RecordError as error:
        return LossVerification([], len(file.counted()), [*findings, str(error)], notes)
    claimed = {one.load: one for one in stated.losses(file)}
    for one in found if file.ends else []:
        claim = claimed.pop(one.load, None)
        if claim != (one if claim is None or claim.typical is not None else _without_repeats(one)):
            shown = format_load(one.load, file.run.load_unit)
            findings.append(f"load {shown}: is recorded as {claim}, but the trials give {one}")
    for load in claimed:
        findings.append(f"load {format_load(load, file.run.load_unit)}: the record has a loss, but no trials for it")
    findings += _unmade(file, plan)
    return LossVerification(found, len(file.counted()), findings, notes)


def _without_repeats(found: Loss) -> Loss:
    """Leave out what records from before it was stated of repeated trials do not have."""
    return msgspec.structs.replace(found, typical=None, typical_low=None, typical_high=None, limit=None)


def _unmade(file: RunFile, plan: LossPlan) -> list[str]:
    """Say which trials a run that says it is done lacks."""
    if not file.is_done():
        return []
    lacks = []
    for sweep in range(plan.sweeps):
        lossless = outcomes(file.trials, plan, sweep, file.ceiling)
        load = next(steps(plan, lossless, file.ceiling), None)
        if load is not None:
            shown = format_load(load, file.run.load_unit)
            lacks.append(f"sweep {sweep + 1}: the run is done, but has no trial at {shown}")
    return lacks
