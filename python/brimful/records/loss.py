"""Records of runs on the frame loss rate: the plan, and the loss at each load."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record


class LossPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run of the subject ``loss`` measures."""

    loads: list[float]
    """In their order; RFC 2544 section 26.3: from the greatest downwards."""
    reference: float
    """The load that is 100 %: the greatest that was asked for, or that the measurer can offer."""
    duration_s: float
    """Of each trial."""
    sweeps: int = 1
    """How often the loads are gone through."""
    until_lossless: bool = True
    """Whether a sweep ends once trials at two loads, one after the other, lose nothing."""
    rest_s: float = 5.0
    """Silence between trials (RFC 2544 section 23)."""


class Loss(Record, frozen=True, omit_defaults=True, tag="loss"):
    """What was lost at one load, in all of its trials."""

    load: float
    """As in the plan."""
    trials: int
    """How many."""
    sent: int
    """Units offered in them."""
    lost: int
    """Of these, not forwarded."""
    ratio: float
    """Mean of the trials."""
    typical: float | None = None
    """Median of the trials; null with one trial, as all below."""
    typical_low: float | None = None
    """Lower end of the 95 % interval of the loss in a typical trial: of the median of many at the time of the run."""
    typical_high: float | None = None
    """Its upper end."""
    limit: float | None = None
    """Upper 95 % limit of the mean over a long time, with what trials lose too seldom for these to show it."""
