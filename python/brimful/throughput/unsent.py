"""Warns of upper bounds that are there because the tester did not send, not because the device lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brimful.measurers.base import UNSENT
from brimful.records import Goal, GoalResult, Trial, Warning
from brimful.throughput.verify import rest_on_unsent


def unsent_warnings(goals: Sequence[Goal], trials: Sequence[Trial], results: Sequence[GoalResult]) -> Iterator[Warning]:
    """Say how many upper bounds rest on units that were not sent, if any does: see `rest_on_unsent`."""
    names = rest_on_unsent(goals, trials, results)
    if names:
        bounds = sum(found.upper_bound is not None for found in results)
        text = (
            f"{len(names)} of {bounds} upper bounds ({', '.join(names)}) rest on units that the tester did not send,"
            " not on units that were lost: the result may be the tester's limit, not the device's"
        )
        yield Warning(code=UNSENT, text=text)
