"""Which trials a run of delay makes, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from brimful.delay.estimates import DEVICE, WIRE
from brimful.records import DelayPlan

WARM_UP = "warm-up"


class Step(msgspec.Struct, frozen=True):
    """One trial to make."""

    load: float
    path: str
    round: int


def steps(plan: DelayPlan) -> Iterator[Step]:
    """Give all trials that count, in their order.

    Every round has every load, up and down by turns, and both paths of a load one after the other, the first of them by
    turns too: what changes slowly on the machine is then in both paths alike, and a steady drift cancels out.

    >>> plan = DelayPlan(loads=[1.0, 2.0], rounds=2, trial_s=1.0, wire="lab:wire")
    >>> ["%s%d" % (step.path[0], step.load) for step in steps(plan)]
    ['d1', 'w1', 'w2', 'd2', 'd2', 'w2', 'w1', 'd1']
    """
    paths = [DEVICE, WIRE] if plan.wire is not None and plan.wire_run is None else [DEVICE]
    turn = 0
    for number in range(plan.rounds):
        for load in plan.loads if number % 2 == 0 else reversed(plan.loads):
            for path in paths if turn % 2 == 0 else reversed(paths):
                yield Step(load, path, number)
            turn += 1
