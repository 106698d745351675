"""Records of searches for throughput: goals, bounds and results."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record

SPECIFICATION = "MLRsearch (draft-ietf-bmwg-mlrsearch-15, RFC 9971 to be)"
"""What defines goals, trials and results: the draft, and the number that the RFC Editor gave it."""


class Goal(msgspec.Struct, frozen=True, omit_defaults=True):
    """A search goal (MLRsearch-15 Search Goal)."""

    name: str
    loss_ratio: float
    exceed_ratio: float
    final_trial_duration_s: float
    duration_sum_s: float
    initial_trial_duration_s: float
    width: float | None = None
    delay_limit_s: float | None = None
    """A trial with a `Trial.delay_p99_s` above this is a high-loss trial too."""


class Sums(msgspec.Struct, frozen=True):
    """Effective durations at one load for one goal, in seconds."""

    full_low_s: float
    full_high_s: float
    short_low_s: float
    short_high_s: float


class Bound(Record, frozen=True, omit_defaults=True, gc=False, tag="bound"):
    """A relevant bound moved (or went away: ``load`` is null) with the trial ``seq``."""

    goal: str
    side: str
    """``lower`` or ``upper``."""
    load: float | None
    seq: int


class GoalResult(Record, frozen=True, omit_defaults=True, tag="goal_result"):
    """The answer for one goal; one of them a goal, in the order of the goals."""

    goal: str
    regular: bool
    reason: str
    lower_bound: float | None = None
    """Relevant lower bound as a load; for an irregular result the best that exists."""
    upper_bound: float | None = None
    """Relevant upper bound as a load."""
    conditional_throughput: float | None = None
    """At the lower bound, as a load."""
    lower_bound_sums: Sums | None = None
    upper_bound_sums: Sums | None = None
