"""Records of delay runs: the plan, and the delay at each load."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record


class DelayPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run of the subject ``delay`` measures."""

    loads: list[float]
    rounds: int
    """How often each load is measured on each path."""
    trial_s: float
    wire: str | None = None
    """Measurer of the bare wire, or the run that it was measured in; null: only the total is stated."""
    wire_run: str | None = None
    """Id of that run; its trials are kept in this one too."""
    throughput: float | None = None
    """The found throughput that the loads are shares of."""
    throughput_run: str | None = None
    """Id of the run that found it."""
    throughput_goal: str | None = None
    warm_up_s: float = 0.0


class DelayInterval(msgspec.Struct, frozen=True):
    """A delay in seconds, and where it lies with 95 % confidence."""

    value_s: float
    low_s: float | None
    """Null with ``high_s``: there were too few trials."""
    high_s: float | None
    systematic_s: float
    """Of the distance of the value to each end: what does not go away with more trials."""
    method: str
    """``paired``: differences of trials of one round. ``welch``: of means measured apart. ``total``: no difference.
    ``sign``: the median of rounds, with the interval of the sign test."""
    batches: int
    freedom: float | None = None
    """Degrees of freedom of Student's distribution."""
    dependence: float = 0.0
    """How far von Neumann's ratio is below that of independent batches, in standard deviations."""


class DelayDistribution(msgspec.Struct, frozen=True):
    """How long frames took on one path, the tester's own delay included; in seconds."""

    sent: int
    lost: int
    frames: int
    """That arrived."""
    mean_s: float
    min_s: float
    max_s: float
    jitter_s: float | None
    """Mean difference, without its sign, of the delays of consecutive frames (RFC 3393)."""
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    p999_s: float | None


class Delay(Record, frozen=True, omit_defaults=True, tag="delay"):
    """The delay at one load in one direction."""

    load: float
    direction: str
    """``all``, ``to`` (from the first port to the second) or ``from`` (back)."""
    of: str
    """``device``: the delay through the device minus that of the bare wire. ``total``: with the tester's own delay."""
    mean: DelayInterval
    device: DelayDistribution
    median: DelayInterval | None = None
    """Of the typical frame: rare stalls do not move it."""
    wire: DelayDistribution | None = None
