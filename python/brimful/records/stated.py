"""What the record of a run states: its plan, at the load that the tester could offer, and its last results."""

from __future__ import annotations

from brimful.errors import RecordError
from brimful.records.bisection import BisectionPlan
from brimful.records.burst import BurstPlan, BurstTest
from brimful.records.loss import Loss, LossPlan
from brimful.records.paired import PairedPlan
from brimful.records.reading import RunFile
from brimful.records.recovery import Recovery, RecoveryPlan


def burst_plan(file: RunFile) -> BurstPlan:
    """Give what a run on bursts measures.

    Raises
    ------
    RecordError
        When the record does not say.
    """
    return file.planned(file.run.burst).below(file.ceiling)


def burst_tests(file: RunFile) -> list[BurstTest]:
    """Give the tests of a run on bursts in their order.

    Raises
    ------
    RecordError
        As `burst_plan`.
    """
    plan = burst_plan(file)
    load = None if plan.asked is None else plan.load
    return [record for record in file.of(BurstTest) if record.load == load]


def recovery_plan(file: RunFile) -> RecoveryPlan:
    """Give what a run on recovery measures.

    Raises
    ------
    RecordError
        When the record does not say.
    """
    return file.planned(file.run.recovery).below(file.ceiling)


def recoveries(file: RunFile) -> list[Recovery]:
    """Give the time of each round, in their order."""
    return sorted(file.latest(Recovery, "round"), key=lambda one: one.round)


def bisection_plan(file: RunFile) -> BisectionPlan:
    """Give what a run set out to find.

    Raises
    ------
    RecordError
        When the record does not say.
    """
    plan = file.run.bisection
    return file.planned(plan if plan and len(plan.versions) > 1 else None)


def paired_plan(file: RunFile) -> PairedPlan:
    """Give what a live comparison measures.

    Raises
    ------
    RecordError
        When the record does not say, or says what cannot be.
    """
    plan = file.run.paired
    plan = file.planned(plan if plan and len(plan.devices) > 1 else None)
    for name, share in (("tolerance", plan.tolerance), ("precision", plan.precision)):
        if not 0 < share < 1:
            message = f"{file.path}:1: paired.{name} is {share:g}; it must be above 0 and below 1"
            raise RecordError(message)
    return plan


def loss_plan(file: RunFile) -> LossPlan:
    """Give at which loads a run measures the loss.

    Raises
    ------
    RecordError
        When the record does not say.
    """
    plan = file.run.loss
    return file.planned(plan if plan and plan.loads else None)


def losses(file: RunFile) -> list[Loss]:
    """Give the loss at each load, the greatest load first."""
    return sorted(file.latest(Loss, "load"), key=lambda one: one.load, reverse=True)
