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
    """Version of this format: 1."""
    run_id: str
    """Name of the run."""
    started: str
    """Date and time with offset (RFC 3339)."""
    tool: dict[str, str]
    """``name`` and ``version`` of the program."""
    command: list[str]
    """The words of the command line."""
    host: dict[str, Any]
    """Facts about the machine."""
    subject: str = "search"
    """What was measured. ``search``: the throughput. ``delay``: the processing delay of a device. ``burst``: the
    longest burst without loss. ``recovery``: how long frames are lost after an overload or a reset. ``loss``: how much
    is lost at each load. ``block-device``: QoS parameters of a block device. ``switch-discards``: what uplinks of
    switches dropped, and whom it hurt. ``campaign``, ``burst-campaign``, ``loss-campaign``, ``recovery-campaign``:
    several such runs. ``comparison``: devices against each other, live. ``bisection``: which build of a history made a
    device slower. ``suite``: all tests of an RFC. ``switching``: one test of RFC 2889."""
    measurer: MeasurerFacts = MeasurerFacts()
    """What made the trials."""
    goals: list[Goal] = []
    """Of a search or a campaign."""
    delay: DelayPlan | None = None
    """The plan of a run of this subject."""
    burst: BurstPlan | None = None
    """The plan of a run of this subject."""
    recovery: RecoveryPlan | None = None
    """The plan of a run of this subject."""
    loss: LossPlan | None = None
    """The plan of a run of this subject."""
    suite: SuitePlan | None = None
    """The plan of a run of this subject."""
    switching: SwitchingPlan | None = None
    """The plan of a run of this subject."""
    paired: PairedPlan | None = None
    """The plan of a ``comparison``."""
    bisection: BisectionPlan | None = None
    """The plan of a run of this subject."""
    min_load: float = 0.0
    """The least load of any trial; 0: no limit."""
    max_load: float = 0.0
    """The greatest load of any trial; 0: no limit."""
    strategy: str = ""
    """``straddle``, ``classic`` or ``bisect``."""
    load_unit: str = "frames/s"
    """What a load counts."""
    load_scope: str = "per interface and direction"
    """The traffic that a load refers to."""
    conversion_factor: float = 1.0
    """Aggregate load / load, from 1e-9 to 1e9."""
    traffic: dict[str, Any] = {}
    """Facts about what was offered."""
    device: dict[str, Any] = {}
    """Facts about the device."""
    source: dict[str, Any] = {}
    """What was analysed, where nothing was measured: files, versions, settings. Of a campaign: its searches."""
    preset: str | None = None
    """Of the goals."""
    seed: int | None = None
    """Of a simulated system."""
    hint: float | None = None
    """The load near which the search began."""
    budget_s: float | None = None
    """Time, set-up and ceiling included, after which the search ends with the bounds it has."""
    early_termination: bool = False
    """Whether trials may stop when their outcome is certain."""
    warm_up_s: float = 0.0
    """Length of a first trial that does not count."""
    on_invalid: str = "retry:10"
    """What is done about a spoiled trial: ``fail``, ``retry:N`` or ``loss``."""
    on_error: str = "fail"
    """What is done about a trial without a usable reply: the same words."""
    deviations: list[str] = []
    """From the trial procedure of RFC 2544, a text each."""
    labels: dict[str, str] = {}
    """Given by the user."""
    fingerprint: str = ""
    """Equal for runs of the same search: what ``--resume`` looks for."""
    digest: str = ""
    """Of this line."""

    @property
    def measured(self) -> str:
        """What a user knows the measurer by, or those of a campaign; empty where nothing is recorded of it."""
        several = self.source.get("measurers")
        return self.measurer.title or (", ".join(map(str, several)) if isinstance(several, list) else "")


class Trial(Record, frozen=True, omit_defaults=True, gc=False, tag="trial"):
    """One trial. ``invalid`` trials are kept and never counted."""

    seq: int
    """Number, from 0."""
    load: float
    """The intended load."""
    duration_s: float
    """Intended duration of sending."""
    intended: int
    """Units that the whole trial should have offered."""
    sent: int
    """Units offered."""
    lost: int
    """Units offered and not forwarded."""
    effective_duration_s: float | None = None
    """Weight in the sums of the search, as a time; null: as ``duration_s``."""
    start_s: float = 0.0
    """Since the start of the run."""
    elapsed_s: float = 0.0
    """Wall time of the whole trial, waits included."""
    stopped_early: bool = False
    """Whether it ended when its outcome was certain."""
    delay_p99_s: float | None = None
    """99th percentile of the delay, largest of all directions; null where nothing arrived or it was not measured."""
    phase: int | None = None
    """Phase or target of the strategy, where it has such."""
    path: str | None = None
    """Of ``delay``: ``device`` or ``wire``. Of ``recovery``: ``overload``, ``probe`` or ``reset``. Of ``comparison``:
    name of the device. Of ``bisection``: ``build`` or ``beside``."""
    round: int | None = None
    """Of ``delay``: trials of one load and round were made together. Of ``burst``, ``recovery``, ``loss``,
    ``comparison`` and ``bisection``: number of the test, round, sweep or pair, from 0."""
    burst: int | None = None
    """Of ``burst``: frames of the burst, of each interface and direction."""
    step: str | None = None
    """Of ``block-device``: step of the measurement. Of ``comparison``: ``calibration``, ``pairs`` or ``loss``. Of
    ``bisection``: ``calibration`` or ``pairs``. Of ``switching``: pattern of addresses, or size of frames."""
    instance: int | None = None
    """Of ``comparison``: how often the devices, or the active build, had been made anew. Of ``bisection``: number of
    the visit."""
    invalid: str | None = None
    """Why it does not count: ``warm-up``, ``dead-direction check``, or what spoiled it."""
    duplicated: int | None = None
    """Copies beyond the first; null: not counted."""
    reordered: int | None = None
    """Units that a later one overtook; null: not counted."""
    late: int | None = None
    """Of the lost, those that came through after all; null: not counted."""
    directions: list[dict[str, Any]] = []
    """The counts of each direction."""
    warnings: list[dict[str, Any]] = []
    """Each with ``code`` and ``text``."""
    extra: dict[str, Any] = {}
    """The measurer's other fields. In a lab ``device_counters``, what moved, and of its programs ``device_programs``:
    ``cpu_s`` in the trial, ``peak_memory_bytes`` (the largest of each process, added up) and ``output``, the end of
    what they wrote since the trial before."""

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
    """A stable word."""
    text: str
    """The same for people."""
    seq: int | None = None
    """The trial that it is about."""
    load: float | None = None
    """With the code ``tester-ceiling``: the greatest load from here on."""
    device: str | None = None
    """With the code ``nothing-passes``: which device of a comparison."""


NOTHING_PASSES = "nothing-passes"
"""Code of the warning that no frame came through at any load, while those of another size did."""
NONE_PASSES = "no frame of this size passes"
"""What that is in words, wherever it is the result."""
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
    """Whether ``others_share`` is at most 0.01, and ``speed_spread`` at most the smallest width of the goals."""


class End(Record, frozen=True, omit_defaults=True, tag="end"):
    """The run ended: how, and what it took. A resumed run has one for each time it ended."""

    reason: str
    """``done``, ``time-budget``, ``interrupted`` or ``measurement-failed``."""
    trials: int
    """Trials so far, invalid ones included."""
    search_s: float
    """Time of the search so far."""
    text: str = ""
    """What went wrong."""
    machine: Machine | None = None
    """Since the run began or was resumed; null where nothing was watched."""
    digest: str = ""
    """Of the file up to here."""


_SHORT_RATES = frozenset({"pps", "fps", "iops", "IOPS", "cps", "rps", "tps"})
_NOT_COUNTED = ("bit/s", "bits/s", "b/s", "byte/s", "bytes/s", "B/s")
"""Ends of units of loads that are rates, but not of what is counted."""


def is_rate_of_units(load_unit: str) -> bool:
    """Say whether a load times a duration is a number of units that could be counted.

    >>> [is_rate_of_units(unit) for unit in ("frames/s", "pps", "%", "Mbit/s")]
    [True, True, False, False]
    """
    return load_unit in _SHORT_RATES or (load_unit.endswith("/s") and not load_unit.endswith(_NOT_COUNTED))
