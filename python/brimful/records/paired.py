"""Records of live comparisons: the plan, each pair of trials, activations of builds, and the ratios."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.records.record import Record


class PairedDevice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the devices that are compared."""

    name: str
    """Its name."""
    spec: str
    """What is measured with, as for ``--measurer``."""
    command: str | None = None
    """Makes this build the active one of the test bed; null: the device has a test bed of its own."""
    queue: float | None = 0.0
    """Units that stand in its queue at the end of a trial under overload, over all interfaces; null: to be measured."""
    device: dict[str, Any] = {}
    """Facts about it."""


class PairedPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run of the subject ``comparison`` measures."""

    devices: list[PairedDevice]
    """The first is the one that the others are held against."""
    tolerance: float
    """A loss of more is a regression."""
    precision: float
    """Half width of the interval that ends the run."""
    trial_s: float
    """Length of a trial."""
    seed: int
    """What the order of trials is drawn from."""
    budget_s: float
    """For each of the two questions."""
    control: bool = False
    """Whether the last of the devices is a second instance of the first."""
    max_load: float | None = None
    """The largest load."""
    first_load: float | None = None
    """Where the calibration begins; null: at ``max_load``, or far below any device."""
    renew_s: float | None = None
    """Devices are made anew after so much time; null: never."""
    loss_ratio: float | None = None
    """The second question: which device exceeds this loss ratio more often below its capacity."""
    straggler_wait_s: float | None = None
    """How long the tester waits after a trial."""
    earlier_controls: list[tuple[float, float]] = []
    """Logarithms of the ratio of the first device to itself in earlier runs, and their standard errors."""


class Pair(Record, frozen=True, omit_defaults=True, tag="pair"):
    """A device against the first one, in trials one after the other."""

    round: int
    """Number of the round that the trials are of, from 0; a round with an invalid trial has no pairs."""
    device: str
    """Its name."""
    log_ratio: float
    """Logarithm of the capacity of the device divided by that of the first."""
    instance: int = 0
    """How often the devices had been made anew."""
    epoch: int = 0
    """How often the loads had been raised, as a trial came in without loss: earlier pairs do not count then."""


class Activation(Record, frozen=True, omit_defaults=True, tag="activation"):
    """A build was made the active one of the test bed."""

    device: str
    """Name of the build."""
    instance: int
    """Its number."""
    start_s: float
    """Since the start of the run."""
    elapsed_s: float
    """How long it took."""
    output: str = ""
    """What its command printed, cut at the front where it is long."""
    failure: str | None = None
    """Why it failed."""


class Ratio(Record, frozen=True, omit_defaults=True, tag="ratio"):
    """The answer for one device."""

    device: str
    """Its name."""
    verdict: str
    """``regression``, ``no-regression``, ``at-threshold``, ``undecided`` or `cannot-tell`; of a control: ``same``,
    ``differs`` or ``undecided``."""
    by: str
    """What ended it: ``early``, ``precision``, ``end`` for the budget or a person, or ``nothing-passes``: it or the
    first passes no frame of this size."""
    pairs: int
    """How many."""
    ratio: float | None = None
    """Capacity of the device divided by that of the first; null: no pair, or the first passes nothing."""
    low: float | None = None
    """Lower end of its interval; null: nothing is known below, or above."""
    high: float | None = None
    """The upper end."""
    deviation: float = 0.0
    """Standard deviation of the logarithm of one pair."""
    tau: float = 1.0
    """Integrated autocorrelation time of pairs."""
    instances: int = 1
    """How many of the device."""
    standard_error: float = 0.0
    """Of the logarithm of the ratio, within this run."""
    pairs_needed: int | None = None
    """Pairs in all after which the rule would end; null where it has ended, or none would do."""
    invalid: int = 0
    """Trials of the device that were invalid."""


class LossPairs(Record, frozen=True, omit_defaults=True, tag="loss_pairs"):
    """The second answer for one device: pairs of trials at a load below its capacity, by which exceeded the ratio."""

    device: str
    """Its name."""
    verdict: str
    """As of a ratio."""
    loss_ratio: float
    """The ratio in question."""
    only_first: int
    """Pairs in which only the first device exceeded it."""
    only_device: int
    """Pairs in which only this device did."""
    alike: int
    """Pairs in which both did, or neither."""
    load: float
    """Offered to the device."""
    first_load: float
    """Offered to the first."""
    excess: float
    """A share of trials: what `no-regression` excludes is that the device exceeds the ratio in this share more."""
