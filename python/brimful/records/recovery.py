"""Records of runs on recovery: the plan, and the times of each round."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record


class RecoveryPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run of the subject ``recovery`` measures."""

    of: str
    """``overload`` (RFC 2544 section 26.5) or ``reset`` (26.6, RFC 6201)."""
    rounds: int
    """How often it is measured."""
    load: float
    """The overload, or at which the device is reset."""
    duration_s: float
    """Of the trial at that load."""
    load_after: float | None = None
    """Of the probes after an overload."""
    probe_s: float = 0.05
    """Length of a probe."""
    clean_probes: int = 3
    """This number in a row without loss ends a round."""
    limit_s: float = 60.0
    """After so long a device that still loses frames has not recovered."""
    reset_command: str | None = None
    """What resets the device."""
    throughput: float | None = None
    """The throughput that the loads are shares of."""
    throughput_run: str | None = None
    """Id of the run that found it; null: it was given."""
    throughput_goal: str | None = None
    """Its goal."""
    asked: float | None = None
    """The load that the tester could not offer; null: it could. Not in records: see `RunFile.ceiling`."""

    def below(self, ceiling: float) -> RecoveryPlan:
        """Give the plan that is left of this one where the tester cannot offer more than a load."""
        if self.load <= ceiling:
            return self
        after = None if self.load_after is None else ceiling * self.load_after / self.load
        return msgspec.structs.replace(self, load=ceiling, load_after=after, asked=self.asked or self.load)


class Recovery(Record, frozen=True, omit_defaults=True, tag="recovery"):
    """How long one round took: at least ``low_s``, at most ``high_s``."""

    round: int
    """From 0."""
    low_s: float
    """At least this long."""
    high_s: float | None = None
    """At most this long; null: not recovered within the limit."""
