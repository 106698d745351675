"""Records of runs on back-to-back frames: the plan, the longest burst of each test, and what the tests say together."""

from __future__ import annotations

import msgspec

from brimful.records.record import Record


class BurstPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run of the subject ``burst`` measures."""

    load: float
    """Of each burst: the load at which its frames follow each other."""
    tests: int
    """Complete searches, each on its own (RFC 9004 section 6.3)."""
    longest: int
    """Frames of the longest burst that is tried."""
    step: int = 1
    """Lengths that are tried are multiples of this number of frames."""
    attempts: int = 1
    """How often a burst is offered, at most, before its length counts as lossy: max(r) of ETSI GS NFV-TST 009."""
    rest_s: float = 2.0
    """Silence after each burst, or as long as it took to send, whichever is longer."""
    throughput: float | None = None
    """RFC 2544 throughput, which corrects the buffer time; null: not known."""
    throughput_run: str | None = None
    """Id of the run that found it; null: it was given."""
    throughput_goal: str | None = None
    """Its goal."""
    asked: float | None = None
    """The load of the bursts that the tester could not offer; null: it could. Not in records: see `RunFile.ceiling`."""

    def below(self, ceiling: float) -> BurstPlan:
        """Give the plan that is left of this one where the tester cannot offer more than a load."""
        if self.load <= ceiling:
            return self
        return msgspec.structs.replace(self, load=ceiling, asked=self.asked or self.load)


class BurstTest(Record, frozen=True, omit_defaults=True, tag="burst_test"):
    """The end of one test."""

    test: int
    """From 0."""
    frames: int
    """Of the longest burst without loss, each way; 0 where even the shortest lost frames."""
    lossy: int | None = None
    """Frames of the shortest burst with loss; null: even the longest that was tried lost none."""
    load: float | None = None
    """Of its bursts, where the tester could not offer that of the plan."""


NO_OVERFLOW = "throughput-is-max-load"
"""Code of the warning that the device forwards at the rate of the bursts, so that none was sent."""


class Burst(Record, frozen=True, omit_defaults=True, tag="burst"):
    """What all tests say together (RFC 9004 section 6.4). Frames are those of each way."""

    tests: int
    """N of RFC 9004."""
    mean: float
    """Average of the longest bursts without loss: the benchmark."""
    least: int
    """The shortest of them."""
    most: int
    """The longest of them."""
    implied_buffer_s: float
    """Time that the average burst took to send."""
    deviation: float | None = None
    """Standard deviation of one test; null with one test."""
    corrected_buffer_s: float | None = None
    """``implied_buffer_s`` x (load - throughput) / load; null where the throughput is not known."""
    at_limit: int = 0
    """Tests in which even the longest burst lost nothing: the average is then a least value."""
