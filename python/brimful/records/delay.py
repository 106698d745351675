"""Records of delay runs: the plan, and the delay at each load."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record


class DelayPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run of the subject ``delay`` measures."""

    loads: list[float]
    """Ascending."""
    rounds: int
    """How often each load is measured on each path."""
    trial_s: float
    """Length of each trial."""
    wire: str | None = None
    """Measurer of the bare wire, or the run that it was measured in; null: only the total is stated."""
    wire_run: str | None = None
    """Id of that run; its trials are kept in this one too."""
    throughput: float | None = None
    """The found throughput that the loads are shares of."""
    throughput_run: str | None = None
    """Id of the run that found it."""
    throughput_goal: str | None = None
    """Its goal."""
    warm_up_s: float = 0.0
    """Length of a first trial on each path that does not count."""


class DelayInterval(msgspec.Struct, frozen=True):
    """A delay in seconds, and where it lies with 95 % confidence."""

    value_s: float
    """The delay itself."""
    low_s: float | None
    """Lower end; null with ``high_s``: there were too few trials."""
    high_s: float | None
    """Upper end."""
    systematic_s: float
    """Of the distance of the value to each end: what does not go away with more trials."""
    method: str
    """``paired``: differences of trials of one round. ``welch``: of means measured apart. ``total``: no difference.
    ``sign``: the median of rounds, with the interval of the sign test."""
    batches: int
    """The number of values behind it."""
    freedom: float | None = None
    """Degrees of freedom of Student's distribution."""
    dependence: float = 0.0
    """How far von Neumann's ratio is below that of independent batches, in standard deviations."""


class DelayDistribution(msgspec.Struct, frozen=True):
    """How long frames took on one path, the tester's own delay included; in seconds."""

    sent: int
    """Frames sent."""
    lost: int
    """Frames lost."""
    frames: int
    """That arrived and have a delay."""
    mean_s: float
    """Their mean."""
    min_s: float
    """The least."""
    max_s: float
    """The greatest."""
    jitter_s: float | None
    """Mean difference, without its sign, of the delays of consecutive frames (RFC 3393)."""
    p50_s: float | None
    """Percentiles of the merged histograms; null: unknown."""
    p90_s: float | None
    """As ``p50_s``."""
    p99_s: float | None
    """As ``p50_s``."""
    p999_s: float | None
    """The 99.9th percentile."""


class Delay(Record, frozen=True, omit_defaults=True, tag="delay"):
    """The delay at one load in one direction."""

    load: float
    """As in the plan."""
    direction: str
    """``all``, ``to`` (from the first port to the second) or ``from`` (back)."""
    of: str
    """``device``: the delay through the device minus that of the bare wire. ``total``: with the tester's own delay."""
    mean: DelayInterval
    """Of the delay."""
    device: DelayDistribution
    """Through the device."""
    median: DelayInterval | None = None
    """Middle of the differences of medians of rounds: rare stalls do not move it."""
    wire: DelayDistribution | None = None
    """Over the bare wire."""
