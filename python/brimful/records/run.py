"""Records that runs of every kind have: the first line, trials, warnings, ends."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.records.bisection import BisectionPlan
from brimful.records.burst import BurstPlan
from brimful.records.delay import DelayPlan
from brimful.records.loss import LossPlan
from brimful.records.measurer import MeasurerFacts
from brimful.records.paired import PairedPlan
from brimful.records.record import Record
from brimful.records.recovery import RecoveryPlan
from brimful.records.suite import SuitePlan
from brimful.records.switching import SwitchingPlan
from brimful.records.throughput import Goal

SCHEMA = 1
"""Version of the record format."""


class Run(Record, frozen=True, omit_defaults=True, tag="run"):
    """First line of a file: what was run, where, with what."""

    schema: int
    run_id: str
    started: str
    tool: dict[str, str]
    command: list[str]
    host: dict[str, Any]
    subject: str = "search"
    """``search``: a search for throughput. ``delay``: the processing delay of a device. ``burst``: the longest burst
    without loss. ``recovery``: how long frames are lost after an overload or a reset. ``loss``: how much is lost at
    each load. ``block-device``: QoS parameters
    of a block device. ``switch-discards``: what uplinks of switches dropped, and whom it hurt. ``campaign``: many
    searches. ``burst-campaign``, ``loss-campaign``, ``recovery-campaign``: such runs, one for each
    frame size. ``comparison``: devices against each other,
    live. ``bisection``: which build of a history made a device slower. ``suite``: all tests of an RFC.
    ``switching``: one test of RFC 2889."""
    measurer: MeasurerFacts = MeasurerFacts()
    goals: list[Goal] = []
    delay: DelayPlan | None = None
    burst: BurstPlan | None = None
    recovery: RecoveryPlan | None = None
    loss: LossPlan | None = None
    suite: SuitePlan | None = None
    switching: SwitchingPlan | None = None
    paired: PairedPlan | None = None
    bisection: BisectionPlan | None = None
    min_load: float = 0.0
    max_load: float = 0.0
    strategy: str = ""
    load_unit: str = "frames/s"
    load_scope: str = "per interface and direction"
    conversion_factor: float = 1.0
    traffic: dict[str, Any] = {}
    device: dict[str, Any] = {}
    source: dict[str, Any] = {}
    """What was analysed, where nothing was measured: files, versions, settings."""
    preset: str | None = None
    seed: int | None = None
    hint: float | None = None
    budget_s: float | None = None
    early_termination: bool = False
    warm_up_s: float = 0.0
    on_invalid: str = "retry:10"
    on_error: str = "fail"
    deviations: list[str] = []
    labels: dict[str, str] = {}
    fingerprint: str = ""
    """Equal for runs of the same search: what ``--resume`` looks for."""
    digest: str = ""
    """Of this line, see `brimful.records.digest`."""

    @property
    def measured(self) -> str:
        """What a user knows the measurer by, or those of a campaign; empty where nothing is recorded of it."""
        several = self.source.get("measurers")
        return self.measurer.title or (", ".join(map(str, several)) if isinstance(several, list) else "")


class Trial(Record, frozen=True, omit_defaults=True, gc=False, tag="trial"):
    """One trial. ``invalid`` trials are kept and never counted."""

    seq: int
    load: float
    duration_s: float
    intended: int
    sent: int
    lost: int
    effective_duration_s: float | None = None
    start_s: float = 0.0
    """Since the start of the run."""
    elapsed_s: float = 0.0
    """Wall time of the whole trial, waits included."""
    stopped_early: bool = False
    delay_p99_s: float | None = None
    """99th percentile of the delay, largest of all directions; null where nothing arrived or it was not measured."""
    phase: int | None = None
    """Phase or target of the strategy, where it has such."""
    path: str | None = None
    """In runs of the subject ``delay``: ``device``, or ``wire``, without it. Of the subject ``recovery``: ``overload``,
    ``probe`` or ``reset``. Of the subject ``comparison``: name of the device."""
    round: int | None = None
    """In runs of the subject ``delay``: trials of the two paths at one load and in one round were made together. Of the
    subjects ``burst``, ``recovery`` and ``comparison``: number of the test or round, from 0."""
    burst: int | None = None
    """In runs of the subject ``burst``: frames of the burst, of each interface and direction."""
    step: str | None = None
    """In runs of the subject ``block-device``: the step of the measurement that it belongs to. Of the subject
    ``comparison``: ``calibration``, ``pairs`` or ``loss``. Of the subject ``switching``: pattern of addresses, or size
    of frames."""
    instance: int | None = None
    """In runs of the subject ``comparison``: how often the devices, or the active build, had been made anew."""
    invalid: str | None = None
    duplicated: int | None = None
    reordered: int | None = None
    late: int | None = None
    directions: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    extra: dict[str, Any] = {}

    @property
    def forwarded(self) -> int:
        """Units that came through, also those that are lost because they came late: a disk under overload is late."""
        return self.sent - self.lost + min(self.late or 0, self.lost)

    @property
    def seen(self) -> list[dict[str, Any]]:
        """Its directions, also those of a trial that does not count, as far as they are known."""
        found = self.directions or self.extra.get("directions")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def sum_to(self, port: str | None, count: str) -> int:
        """Give the sum of a count over the directions to a port, or to all of them."""
        return sum(int(one.get(count, 0)) for one in self.seen if port in (None, one.get("to")))


class Warning(Record, frozen=True, omit_defaults=True, tag="warning"):
    """Something the reader of a result should know; ``code`` is stable."""

    code: str
    text: str
    seq: int | None = None
    load: float | None = None
    """With the code `TESTER_CEILING`: the greatest load from here on."""


NOTHING_PASSES = "nothing-passes"
"""Code of the warning of a search of which no frame came through at any load, while those of another size did."""
TESTER_CEILING = "tester-ceiling"
"""Code of the warning of a search whose tester cannot offer its max load."""


class Machine(msgspec.Struct, frozen=True):
    """How quiet the machine that sent the frames was during a run."""

    others_share: float
    """Of the time of all processors, what others than the run took, stolen time included; without interrupts and
    kernel threads."""
    speed_spread: float
    """How far the time of a fixed piece of work between trials moved: (95th - 5th percentile) / median."""
    quiet: bool
    """Whether neither is large enough to move results by more than the width of the goals."""


class End(Record, frozen=True, omit_defaults=True, tag="end"):
    """The run ended: how, and what it took. A resumed run has one for each time it ended."""

    reason: str
    """``done``, ``time-budget``, ``interrupted`` or ``measurement-failed``."""
    trials: int
    search_s: float
    text: str = ""
    machine: Machine | None = None
    """Since the run began or was resumed; null where nothing was watched."""
    digest: str = ""
    """Of the file up to here, see `brimful.records.digest`."""


_SHORT_RATES = frozenset({"pps", "fps", "iops", "IOPS", "cps", "rps", "tps"})
_NOT_COUNTED = ("bit/s", "bits/s", "b/s", "byte/s", "bytes/s", "B/s")
"""Ends of units of loads that are rates, but not of what is counted."""


def is_rate_of_units(load_unit: str) -> bool:
    """Say whether a load times a duration is a number of units that could be counted.

    >>> [is_rate_of_units(unit) for unit in ("frames/s", "pps", "%", "Mbit/s")]
    [True, True, False, False]
    """
    return load_unit in _SHORT_RATES or (load_unit.endswith("/s") and not load_unit.endswith(_NOT_COUNTED))
