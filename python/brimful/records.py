"""The record of a run: append-only JSON Lines, one object a line, told apart by ``kind``.

Values are in SI base units, counts are whole numbers, ratios lie between 0 and 1. A file starts with a `Run`.
Files are only ever appended to, so fields that a reader does not know stay in them; what a measurer says beyond the
known fields is kept under ``extra``. A field never changes its meaning: `SCHEMA` goes up instead.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from brimful.errors import RecordError
from brimful.files import lock

SCHEMA = 1
"""Version of the record format."""


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


class Run(msgspec.Struct, frozen=True, omit_defaults=True, tag="run", tag_field="kind"):
    """First line of a file: what was run, where, with what."""

    schema: int
    run_id: str
    started: str
    tool: dict[str, str]
    command: list[str]
    host: dict[str, Any]
    subject: str = "search"
    """``search``: a search for throughput. ``delay``: the processing delay of a device. ``block-device``: QoS
    parameters of a block device. ``switch-discards``: what uplinks of switches dropped, and whom it hurt.
    ``campaign``: many searches."""
    measurer: dict[str, Any] = {}
    goals: list[Goal] = []
    delay: DelayPlan | None = None
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


class Trial(msgspec.Struct, frozen=True, omit_defaults=True, tag="trial", tag_field="kind"):
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
    """In runs of the subject ``delay``: ``device``, or ``wire``, without it."""
    round: int | None = None
    """In runs of the subject ``delay``: trials of the two paths at one load and in one round were made together."""
    invalid: str | None = None
    duplicated: int | None = None
    reordered: int | None = None
    late: int | None = None
    directions: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    extra: dict[str, Any] = {}


class Sums(msgspec.Struct, frozen=True):
    """Effective durations at one load for one goal, in seconds."""

    full_low_s: float
    full_high_s: float
    short_low_s: float
    short_high_s: float


class Bound(msgspec.Struct, frozen=True, omit_defaults=True, tag="bound", tag_field="kind"):
    """A relevant bound moved (or went away: ``load`` is null) with the trial ``seq``."""

    goal: str
    side: str
    """``lower`` or ``upper``."""
    load: float | None
    seq: int


class GoalResult(msgspec.Struct, frozen=True, omit_defaults=True, tag="goal_result", tag_field="kind"):
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


class DelayInterval(msgspec.Struct, frozen=True):
    """A delay in seconds, and where it lies with 95 % confidence."""

    value_s: float
    low_s: float | None
    """Null with ``high_s``: there were too few trials to tell."""
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


class Delay(msgspec.Struct, frozen=True, omit_defaults=True, tag="delay", tag_field="kind"):
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


class Warning(msgspec.Struct, frozen=True, omit_defaults=True, tag="warning", tag_field="kind"):
    """Something the reader of a result should know; ``code`` is stable."""

    code: str
    text: str
    seq: int | None = None


class Machine(msgspec.Struct, frozen=True):
    """How quiet the machine that sent the frames was during a run."""

    others_share: float
    """Of the time of all processors, what others than the run took, stolen time included; without interrupts and
    kernel threads."""
    speed_spread: float
    """How far the time of a fixed piece of work between trials moved: (95th - 5th percentile) / median."""
    quiet: bool
    """Whether neither is large enough to move results by more than the width of the goals."""


class End(msgspec.Struct, frozen=True, omit_defaults=True, tag="end", tag_field="kind"):
    """The run ended: how, and what it took. A resumed run has one for each time it ended."""

    reason: str
    """``done``, ``time-budget``, ``interrupted`` or ``measurement-failed``."""
    trials: int
    search_s: float
    text: str = ""
    machine: Machine | None = None
    """Since the run began or was resumed; null where nothing was watched."""


class Series(msgspec.Struct, frozen=True, omit_defaults=True, tag="series", tag_field="kind"):
    """Values of one metric against what was set, as measured."""

    name: str
    points: list[tuple[float, float]]
    """(x, y), sorted."""
    x_name: str = "vrate"
    x_unit: str = "%"
    y_unit: str = ""
    """``s`` for times; empty for factors and ratios."""


class Fit(msgspec.Struct, frozen=True, omit_defaults=True, tag="fit", tag_field="kind"):
    """A line through a series."""

    series: str
    method: str
    shape: str
    vertices: list[tuple[float, float]]
    """(x, y) from left to right; between them the line is straight. Empty: there is no line."""
    error: float
    """Root of the sum of the squared distances of all points, divided by their number; in the unit of y."""
    rejected: list[tuple[float, float]] = []
    """The points of the series that the line does not rest on."""


class Solution(msgspec.Struct, frozen=True, omit_defaults=True, tag="solution", tag_field="kind"):
    """Parameters to set, or why there are none."""

    name: str
    target: str
    """The rule that it answers, as text."""
    scale_factor: float | None = None
    """Of the base model; 1 is as measured. Null: unsolved."""
    interval: tuple[float, float] | None = None
    """In which the scale factor lies with 95 % confidence."""
    model: dict[str, int] = {}
    """rbps, rseqiops, rrandiops, wbps, wseqiops, wrandiops: bytes/s and IO/s."""
    qos: dict[str, float] = {}
    """rpct, rlat, wpct, wlat, min, max: per cent and microseconds, as the kernel takes them."""
    info: dict[str, Any] = {}
    """What is expected under it: MOF, aMOF, isol, latencies in seconds."""
    unsolved: str | None = None
    """The reason why there is no solution."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, tag="finding", tag_field="kind"):
    """Something that the analysis says; ``code`` is stable."""

    code: str
    text: str
    subject: str | None = None
    """The solution or series that it is about."""
    data: dict[str, Any] = {}


class Member(msgspec.Struct, frozen=True, omit_defaults=True, tag="member", tag_field="kind"):
    """A search of a campaign that ended, with what its own record says of it, trials and bounds apart."""

    name: str
    """Its place in the campaign: number, measurer and frame size."""
    measurer: str
    """As the campaign was told: the members of one measurer have it alike."""
    repeat: int
    """From 1."""
    path: str
    """Directory of its record, relative to that of the campaign."""
    end: End
    frame_size: str | None = None
    """As the campaign was told; null where sizes were not varied."""
    run: Run | None = None
    """First line of its record; null when it never began."""
    goal_results: list[GoalResult] = []
    warnings: list[Warning] = []

    @property
    def failed(self) -> bool:
        """Whether measuring failed."""
        return self.end.reason == "measurement-failed"

    @property
    def regular(self) -> bool:
        """Whether every goal was reached."""
        return bool(self.goal_results) and all(result.regular for result in self.goal_results)


Record = Run | Trial | Bound | GoalResult | Warning | End | Series | Fit | Solution | Finding | Member | Delay


class RunFile(msgspec.Struct, frozen=True):
    """All records of one file."""

    path: Path
    run: Run
    trials: list[Trial]
    bounds: list[Bound]
    goal_results: list[GoalResult]
    warnings: list[Warning]
    ends: list[End]
    trials_before_ends: list[int] = []
    """For each end, how many trials stand before it."""
    series: list[Series] = []
    fits: list[Fit] = []
    solutions: list[Solution] = []
    findings: list[Finding] = []
    members: list[Member] = []
    """Of a campaign; of one that was tried again, the last line."""
    delays: list[Delay] = []

    def lines(self) -> Iterator[Record]:
        """Give all records of the analysis of a device, in the order of the format."""
        yield self.run
        fits = {fit.series: fit for fit in self.fits}
        for series in self.series:
            yield series
            if series.name in fits:
                yield fits[series.name]
        yield from self.solutions
        yield from self.findings
        yield from self.warnings
        yield from self.ends

    def counted(self) -> list[Trial]:
        """Give the trials that count: all but the invalid ones."""
        return [trial for trial in self.trials if trial.invalid is None]

    def is_ended(self) -> bool:
        """Whether the run ended after its last trial; otherwise it was killed, or goes on."""
        return bool(self.ends) and self.trials_before_ends[-1] == len(self.trials)

    def disorder(self) -> str | None:
        """Say where the trials are not numbered from 0 upwards, if so: lines were doubled, added or removed."""
        wrong = [(due, trial.seq) for due, trial in enumerate(self.trials) if trial.seq != due]
        if not wrong:
            return None
        due, seq = wrong[0]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return f"trial {seq} stands where trial {due} belongs{more}: lines were doubled, added or removed"


_LONGEST_S = 1e9
"""What the engine, which counts nanoseconds, takes."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)


def encode(record: Record) -> bytes:
    """Encode one record as one line, newline included."""
    return _encoder.encode(record) + b"\n"


def json_schema() -> bytes:
    """Give the JSON Schema of one record, as in ``schemas/record-v1.json``."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"brimful record, schema {SCHEMA}: one line of a record file",
        **msgspec.json.schema(Record),
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def decode_line(line: bytes, *, where: str) -> Record:
    """Decode one line; ``where`` names it in an error."""
    try:
        record: Record = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"{where}: {error}"
        raise RecordError(message) from error
    except RecursionError as error:
        message = f"{where}: is nested too deeply for a record"
        raise RecordError(message) from error
    if isinstance(record, Trial):
        check_trial(record, where)
    return record


def check_trial(trial: Trial, where: str) -> None:
    """Refuse numbers that no trial can have, naming the place, the field and the value."""
    for field in ("intended", "sent", "lost"):
        count = getattr(trial, field)
        if not 0 <= count < 2**64:
            message = f"{where}: {field} is {count:.17g}; a count is a whole number from 0 to below 2^64"
            raise RecordError(message)
    if trial.lost > trial.sent:
        message = f"{where}: lost {trial.lost} is above sent {trial.sent}"
        raise RecordError(message)
    for field, value in (("load", trial.load), ("duration_s", trial.duration_s)):
        if not 0 < value < math.inf:
            message = f"{where}: {field} is {value:g}; it must be above 0"
            raise RecordError(message)
    for field in ("duration_s", "effective_duration_s", "delay_p99_s"):
        seconds = getattr(trial, field)
        if seconds is not None and not 0 <= seconds <= _LONGEST_S:
            message = f"{where}: {field} is {seconds:g}; it must be from 0 to {_LONGEST_S:g} s"
            raise RecordError(message)


class RecordWriter:
    """Appends records to a file that nobody else writes meanwhile; each line is on disk before `write` returns.

    It refuses a file that another process writes. The lock goes with the process, and hinders no reader.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Unbuffered: a line that failed must not be tried again when the file is closed.
        self._file = path.open("ab", buffering=0)
        lock(self._file, path)
        _cut_torn_line(path)

    def write(self, record: Record) -> None:
        """Append one record and sync it.

        Raises
        ------
        RecordError
            When the line cannot be written whole; what was written of it is taken back.
        """
        before = self._file.tell()
        try:
            line = encode(record)
            while line:
                line = line[self._file.write(line) :]
            self._sync()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            message = f"{self.path}: cannot write: {error.strerror}; make room and continue with --resume"
            raise RecordError(message) from error

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            # Pipes and some devices cannot be synced, and need not be.
            if error.errno not in (errno.EINVAL, errno.EROFS):
                raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> RecordWriter:
        """Give the writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()


def _cut_torn_line(path: Path) -> None:
    """Cut off a last line that a killed run left without its end."""
    if not path.is_file():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)


def iterate_records(path: Path) -> Iterator[Record]:
    """Give the records of a file in order; a torn last line is left out.

    Raises
    ------
    RecordError
        When the file cannot be read, or a line is no record.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        message = f"{path}: cannot read: {error.strerror}"
        raise RecordError(message) from error
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        if line.strip():
            yield decode_line(line, where=f"{path}:{number}")


def read_run(path: Path) -> RunFile:
    """Read a whole file (or the ``run.jsonl`` of a run directory).

    Raises
    ------
    RecordError
        When it is not a file of records that starts with a run of a known schema.
    """
    if path.is_dir():
        path = path / "run.jsonl"
    return collect(path, list(iterate_records(path)))


def collect(path: Path, records: list[Record]) -> RunFile:
    """Sort the records of a run; ``path`` is named in errors.

    Raises
    ------
    RecordError
        When they do not start with a run of a known schema.
    """
    if not records or not isinstance(records[0], Run):
        message = f'{path}:1: a record file starts with a line of kind "run"; is this a trial log of another tool?'
        raise RecordError(message)
    run = records[0]
    if run.schema > SCHEMA:
        message = f"{path}:1: schema {run.schema} is newer than this brimful knows ({SCHEMA}); update brimful"
        raise RecordError(message)
    return RunFile(
        path=path,
        run=run,
        trials=[record for record in records if isinstance(record, Trial)],
        bounds=[record for record in records if isinstance(record, Bound)],
        goal_results=_latest_results(run, records),
        warnings=[record for record in records if isinstance(record, Warning)],
        ends=[record for record in records if isinstance(record, End)],
        trials_before_ends=list(_trials_before_ends(records)),
        series=[record for record in records if isinstance(record, Series)],
        fits=[record for record in records if isinstance(record, Fit)],
        solutions=[record for record in records if isinstance(record, Solution)],
        findings=[record for record in records if isinstance(record, Finding)],
        members=list({record.name: record for record in records if isinstance(record, Member)}.values()),
        delays=_latest_delays([record for record in records if isinstance(record, Delay)]),
    )


def _trials_before_ends(records: list[Record]) -> Iterator[int]:
    trials = 0
    for record in records:
        trials += isinstance(record, Trial)
        if isinstance(record, End):
            yield trials


def _latest_results(run: Run, records: list[Record]) -> list[GoalResult]:
    """Keep the last result of each goal (a resumed run has more than one) that an end follows, in the goals' order."""
    whole = max((index for index, record in enumerate(records) if isinstance(record, End)), default=0)
    latest = {result.goal: result for result in records[:whole] if isinstance(result, GoalResult)}
    return [latest[goal.name] for goal in run.goals if goal.name in latest]


def _latest_delays(results: list[Delay]) -> list[Delay]:
    """Keep the last result of each load and direction: a resumed run has more than one."""
    return list({(result.load, result.direction): result for result in results}.values())
