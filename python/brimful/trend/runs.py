"""Values of brimful's own runs, by their subject."""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import msgspec

from brimful.errors import UsageError
from brimful.records import (
    NONE_PASSES,
    NOTHING_PASSES,
    End,
    Goal,
    GoalResult,
    PairedDevice,
    Ratio,
    Run,
    RunFile,
    Warning,
)
from brimful.records.experiment import fingerprint
from brimful.records.experiment import key as experiment_of
from brimful.trend.measured import Measured, Point
from brimful.trend.series import HIGHER, LOWER
from brimful.units import format_duration, format_ratio

_PER_INTERVAL = 2 * 1.96
"""Width of a 95 % interval / standard error."""
_ENDED = ("done", "time-budget", "measurement-failed")
"""Ends after which there is nothing to go on with."""


def measured(file: RunFile, version: str | None = None) -> Measured:
    """Give the values of a run.

    Parameters
    ----------
    file
        The run; one that has ended.
    version
        Of what was measured. Null: the label ``version`` or ``firmware`` of the run, or what its device says; of a
        live comparison the build that is compared; else each run is a version of its own, named after when it began.

    Raises
    ------
    UsageError
        When it has not ended, or has no value that could be followed.
    """
    run = file.run
    if run.subject not in _SUBJECTS:
        known = ", ".join(_SUBJECTS)
        message = f"{file.path}: runs of the subject {run.subject} are not followed, only {known}"
        raise UsageError(message)
    if run.subject != "block-device" and (not file.is_ended() or file.ends[-1].reason not in _ENDED):
        message = f"{file.path}: has not come to its end; finish it with --resume and add it then"
        raise UsageError(message)
    points = list(_SUBJECTS[run.subject](file))
    if not points:
        message = f"{file.path}: has no results that could be followed"
        raise UsageError(message)
    report = file.path.with_name("report.html")
    return Measured(
        source=f"run {run.run_id} {run.digest or hashlib.sha256(repr(run).encode()).hexdigest()}",
        version=version or _version(file),
        at=_time(run.started),
        labels=_labels(run),
        report=str(report if report.exists() else file.path),
        points=points,
    )


def _search(file: RunFile) -> Iterator[Point]:
    yield from _throughputs(file.run, file.goal_results, file.ends[-1], file.warnings)


def _campaign(file: RunFile) -> Iterator[Point]:
    for member in file.members:
        if member.run is not None:
            yield from _throughputs(member.run, member.goal_results, member.end, member.warnings)


def _throughputs(run: Run, results: Sequence[GoalResult], end: End, warnings: Sequence[Warning]) -> Iterator[Point]:
    silent = any(warning.code == NOTHING_PASSES for warning in warnings)
    found = {result.goal: result for result in results}
    for goal in run.goals:
        key = _key(run, _goal(goal), goal)
        result = found.get(goal.name)
        value = result.conditional_throughput if result is not None and result.regular else None
        if result is None or not value:
            problem = f"irregular: {result.reason}" if result is not None else end.text or end.reason
            yield Point(key=key, worse=LOWER, unit=run.load_unit, problem=NONE_PASSES if silent else problem)
            continue
        width = math.log(result.upper_bound / value) if result.upper_bound else 0.0
        # Where between its bounds the throughput is, nothing says.
        yield Point(key=key, worse=LOWER, unit=run.load_unit, value=value, error=abs(width) / math.sqrt(12))


def _goal(goal: Goal) -> str:
    limit = f" delay {format_duration(goal.delay_limit_s)}" if goal.delay_limit_s is not None else ""
    return f"{goal.name} {format_ratio(goal.loss_ratio)}{limit}"


def _delay(file: RunFile) -> Iterator[Point]:
    if file.passes_nothing and file.run.delay is not None:
        total = "" if file.run.delay.wire else "total "
        for load in file.run.delay.loads:
            key = _key(file.run, f"{total}delay at {_load(file, load)}")
            yield Point(key=key, worse=HIGHER, unit="s", problem=NONE_PASSES)
    for delay in file.delays:
        value = delay.mean.value_s
        what = f"delay at {_load(file, delay.load)}{'' if delay.direction == 'all' else f' {delay.direction}'}"
        key = _key(file.run, what if delay.of == "device" else f"total {what}")
        if value <= 0:
            yield Point(key=key, worse=HIGHER, unit="s", problem="the delay is not above that of the wire")
            continue
        low, high = delay.mean.low_s, delay.mean.high_s
        error = (high - low) / _PER_INTERVAL / value if low is not None and high is not None else 0.0
        yield Point(key=key, worse=HIGHER, unit="s", value=value, error=error)


def _load(file: RunFile, load: float) -> str:
    """Name a load: a share of the throughput that was found, which is another each time, or a number."""
    plan = file.run.delay
    if plan is not None and plan.throughput:
        return format_ratio(round(load / plan.throughput, 3))
    return f"{load:g} {file.run.load_unit}"


def _block_device(file: RunFile) -> Iterator[Point]:
    for solution in file.solutions:
        rates = {f"{solution.name} {name}": float(rate) for name, rate in solution.model.items()}
        for name, rate in rates.items():
            key = _key(file.run, name)
            if rate > 0:
                yield Point(key=key, worse=LOWER, unit="/s", value=rate, error=_scale_error(solution.interval))
        if not rates:
            yield Point(
                key=_key(file.run, solution.name), worse=LOWER, unit="/s", problem=solution.unsolved or "unsolved"
            )


def _scale_error(interval: tuple[float, float] | None) -> float:
    if interval is None or min(interval) <= 0:
        return 0.0
    return math.log(interval[1] / interval[0]) / _PER_INTERVAL


def _comparison(file: RunFile) -> Iterator[Point]:
    """Give the ratio to the first device, the anchor, and what the other forwarded under overload."""
    first, second, *others = _compared(file)
    if others:
        message = f"{file.path}: compares more than two devices; compare each with the anchor by itself"
        raise UsageError(message)
    ratio = {ratio.device: ratio for ratio in file.of(Ratio)}.get(second.name)
    told = ratio is not None and bool(ratio.ratio) and ratio.verdict != "cannot-tell"
    why = "there is no ratio" if ratio is None else NONE_PASSES if ratio.by == NOTHING_PASSES else ratio.verdict
    yield Point(
        key=_key(file.run, "capacity"),
        worse=LOWER,
        value=ratio.ratio if ratio is not None and told else None,
        error=ratio.standard_error if ratio is not None and told else 0.0,
        problem=None if told else why,
        anchor=file.run.labels.get("anchor") or _build(first),
    )
    forwarded = [
        (trial.sent - trial.lost) / trial.duration_s / file.run.conversion_factor
        for trial in file.counted()
        if (trial.path, trial.step) == (second.name, "pairs")
    ]
    if forwarded:
        key = _key(file.run, "forwarded under overload")
        yield Point(key=key, worse=LOWER, unit=file.run.load_unit, value=median(forwarded))


def _compared(file: RunFile) -> list[PairedDevice]:
    """Give the devices of a comparison, without the second instance of the first."""
    devices = file.run.paired.devices if file.run.paired is not None else []
    if file.run.paired is not None and file.run.paired.control:
        devices = devices[:-1]
    if len(devices) < 2:
        message = f"{file.path}: does not say what was compared"
        raise UsageError(message)
    return devices


def _build(device: PairedDevice) -> str:
    """Name what was compared: a build by the name it was given, another device by what was measured with."""
    return device.name if device.command is not None else device.spec


_SUBJECTS: dict[str, Callable[[RunFile], Iterator[Point]]] = {
    "search": _search,
    "campaign": _campaign,
    "delay": _delay,
    "block-device": _block_device,
    "comparison": _comparison,
}
"""Subject of a run: its values."""


def _key(run: Run, goal: str, settings: Goal | None = None) -> dict[str, str]:
    """Give what makes a series of values of runs, beside the versions of what took part.

    ``settings`` is the goal of a search: the others have no influence on its result.
    """
    size = run.traffic.get("frame_size")
    host = run.host
    found = {
        "device": run.labels.get("device") or str(run.device.get("name") or _measured_with(run) or "unknown"),
        "size": "" if size is None else str(size),
        "goal": goal,
        "machine": run.labels.get("machine") or f"{host.get('cpus', '')} x {host.get('cpu_model', '')}".strip(" x"),
        "settings": _settings(run, settings),
    }
    return {name: text for name, text in found.items() if text}


def _measured_with(run: Run) -> str:
    """Name what was measured with; of a comparison its kind, as the rest says which build the anchor is."""
    return run.measurer.title if run.paired is None else run.measurer.kind


def _settings(run: Run, goal: Goal | None) -> str:
    """Digest the experiment without what the rest of the key says; a device that has a label is known by it alone."""
    experiment = experiment_of(run)
    question = msgspec.to_builtins(experiment.question)
    facts = {
        **question,
        "goals": {} if goal is None else {goal.name: question["goals"][goal.name]},
        "traffic": {name: value for name, value in question["traffic"].items() if name != "frame_size"},
        "strategy": experiment.strategy,
        "plan": experiment.plan,
    }
    if "device" not in run.labels and run.paired is None:
        facts |= {"spec": experiment.spec, "device": experiment.device}
    return fingerprint(**facts)[:6]


def _version(file: RunFile) -> str:
    runs = [file.run, *(member.run for member in file.members if member.run is not None)]
    if file.run.paired is not None:
        return file.run.labels.get("version") or _build(_compared(file)[1])
    for run in runs:
        said = run.labels.get("version") or run.labels.get("firmware") or run.device.get("version")
        if said:
            return str(said)
    return file.run.started


def _labels(run: Run) -> dict[str, str]:
    """Give the versions of what took part, and the labels of the run."""
    found = {
        "brimful": run.tool.get("version"),
        "kernel": run.host.get("kernel"),
        "tester": run.measurer.extra.get("version"),
        "firmware": run.device.get("firmware"),
        **{name: text for name, text in run.labels.items() if name not in ("version", "device", "machine")},
    }
    return {name: str(text) for name, text in found.items() if text}


def _time(started: str) -> float | None:
    try:
        time = datetime.datetime.fromisoformat(started)
    except ValueError:
        return None
    return time.timestamp() if time.tzinfo is not None else None
