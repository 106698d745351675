"""Records of searches for throughput: goals, bounds and results."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record

SPECIFICATION = "MLRsearch (draft-ietf-bmwg-mlrsearch-15, RFC 9971 to be)"
"""What defines goals, trials and results: the draft, and the number that the RFC Editor gave it."""


class Goal(msgspec.Struct, frozen=True, omit_defaults=True):
    """A search goal (MLRsearch-15 Search Goal)."""

    name: str
    """Its name."""
    loss_ratio: float
    """The largest loss ratio of a low-loss trial."""
    exceed_ratio: float
    """Share of the duration sum that may be high-loss at a load that meets the goal."""
    final_trial_duration_s: float
    """Length of a full-length trial."""
    duration_sum_s: float
    """Time of full-length trials that a verdict needs."""
    initial_trial_duration_s: float
    """Length of the shortest trial."""
    width: float | None = None
    """The search ends when (upper bound - lower bound) / upper bound is at most this; null: not by width."""
    delay_limit_s: float | None = None
    """A trial with a `Trial.delay_p99_s` above this is a high-loss trial too."""


class Sums(msgspec.Struct, frozen=True):
    """Effective durations at one load for one goal, in seconds."""

    full_low_s: float
    """Of full-length low-loss trials."""
    full_high_s: float
    """Of full-length high-loss trials."""
    short_low_s: float
    """Of short low-loss trials."""
    short_high_s: float
    """Of short high-loss trials."""


class Bound(Record, frozen=True, omit_defaults=True, gc=False, tag="bound"):
    """A relevant bound moved (or went away: ``load`` is null) with the trial ``seq``."""

    goal: str
    """Its name."""
    side: str
    """``lower`` or ``upper``."""
    load: float | None
    """The new bound; null: there is none any more."""
    seq: int
    """The trial that moved it."""


class GoalResult(Record, frozen=True, omit_defaults=True, tag="goal_result"):
    """The answer for one goal; one of them a goal, in the order of the goals."""

    goal: str
    """Its name."""
    regular: bool
    """Whether it was reached."""
    reason: str
    """``regular``: both bounds exist and are close enough. ``max-load-is-lower-bound``: even the max load met the goal:
    only a lower limit. ``min-load-is-upper-bound``: even the min load missed it: only an upper limit.
    ``width-not-reached``: the bounds stayed too far apart. ``no-progress``: a load has no verdict after many trials,
    which weigh too little. ``time-budget``, ``interrupted``, ``measurement-failed``: the search ended before."""
    lower_bound: float | None = None
    """Relevant lower bound as a load; for an irregular result the best that exists."""
    upper_bound: float | None = None
    """The same of the relevant upper bound."""
    conditional_throughput: float | None = None
    """At the lower bound, in the scope of loads."""
    lower_bound_sums: Sums | None = None
    """Of the trials at the lower bound."""
    upper_bound_sums: Sums | None = None
    """Of the trials at the upper bound."""
