"""What a report on delay shows, in words and cells, from the records of a run."""

from __future__ import annotations

import msgspec

from brimful.errors import RecordError
from brimful.records import Delay, DelayPlan, Run, RunFile
from brimful.report import facts, measured, words
from brimful.report.delay import numbers
from brimful.units import format_duration, format_load

DIRECTIONS = ("all", "to", "from")
PERCENTILES = "A percentile of the device alone cannot be had by subtracting two of these: percentiles do not add up."


class Row(msgspec.Struct, frozen=True):
    """A line of a table."""

    load: str
    """Empty where it is that of the line before."""
    name: str
    cells: list[str]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown about a run."""

    file: RunFile
    plan: DelayPlan
    title: str
    outcome: str
    headline: str
    """What the values of the first table are."""
    results: list[Row]
    result_names: list[str]
    distributions: list[Row]
    distribution_names: list[str]
    notes: list[str]
    """What the values mean, and what they do not."""
    set_up: list[tuple[str, str]]
    warnings: list[str]
    machine: str | None
    """How quiet the machine was; null where nothing was watched."""

    @property
    def delays(self) -> list[Delay]:
        """The results."""
        return self.file.delays


def build(file: RunFile) -> View:
    """Compute what a report shows.

    Raises
    ------
    RecordError
        When the record has no plan of a delay run.
    """
    plan = file.run.delay
    if plan is None:
        message = f"{file.path}:1: the run is of the subject 'delay', but does not say what was measured"
        raise RecordError(message)
    delays = sorted(file.delays, key=lambda result: (result.load, DIRECTIONS.index(result.direction)))
    return View(
        file=file,
        plan=plan,
        title=f"Delay: {measured.device_name(file.run)}",
        outcome=measured.outcome(file, "trial"),
        headline="Processing delay: through the device minus over the bare wire"
        if plan.wire
        else "Delay through the device, the tester's own delay included",
        results=_results(file, delays),
        result_names=["mean, 95 % interval", "median of rounds", "of that the tester's", "lost"],
        distributions=[row for result in delays for row in _distribution(file, result)],
        distribution_names=[
            facts.units(file.run),
            "min",
            "p50",
            "p90",
            "p99",
            "p99.9",
            "max",
            "mean",
            "jitter",
            "lost",
        ],
        notes=_notes(file, plan, delays),
        set_up=_set_up(file, plan),
        warnings=[warning.text for warning in file.warnings],
        machine=measured.machine(file),
    )


def _results(file: RunFile, delays: list[Delay]) -> list[Row]:
    rows = []
    for result in delays:
        share = result.device.lost / result.device.sent if result.device.sent else 0.0
        cells = [
            numbers.mean(result.mean),
            numbers.median(result.median),
            f"± {numbers.delay(result.mean.systematic_s)}",
            words.share(share),
        ]
        load = _load(file, result) if result.direction == "all" else ""
        rows.append(Row(load, name_of(file, result.direction), cells))
    return rows


def _load(file: RunFile, result: Delay) -> str:
    load = format_load(result.load, file.run.load_unit)
    throughput = file.run.delay.throughput if file.run.delay else None
    return f"{load} ({words.share(result.load / throughput)})" if throughput else load


def _distribution(file: RunFile, result: Delay) -> list[Row]:
    rows = []
    for path, seen in (("device", result.device), ("wire", result.wire)):
        if seen is None:
            continue
        times = (seen.min_s, seen.p50_s, seen.p90_s, seen.p99_s, seen.p999_s, seen.max_s, seen.mean_s, seen.jitter_s)
        cells = [words.group(seen.frames), *map(numbers.delay, times), words.group(seen.lost)]
        load = _load(file, result) if result.direction == "all" and path == "device" else ""
        rows.append(Row(load, f"{name_of(file, result.direction)}, {path}", cells))
    return rows


def name_of(file: RunFile, direction: str) -> str:
    """Give what a direction is called, so that a reader knows which it is."""
    names = _OF_DISKS if facts.counts_ios(file.run) else _OF_PORTS
    return names.get(direction, direction)


_OF_DISKS = {"to": "reads", "from": "writes"}
_OF_PORTS = {"to": "to (port 1 to 2)", "from": "from (port 2 to 1)"}


def _notes(file: RunFile, plan: DelayPlan, delays: list[Delay]) -> list[str]:
    units = facts.units(file.run)
    unit = units.removesuffix("s")
    place = "its queue" if facts.counts_ios(file.run) else "its ports"
    if facts.counts_ios(file.run):
        notes = ["The delay of an IO is the time from its intended start until the tester saw that it was done."]
    else:
        notes = ["'to' is from the first port to the second, 'from' is back, 'all' is every frame of both."]
    methods = {result.mean.method for result in delays}
    if "paired" in methods:
        notes.append(
            "Mean: of the differences between a trial through the device and one over the wire made right beside it;"
            f" Student's interval over rounds, or over batches of {units} where there are fewer than five rounds."
        )
    if "welch" in methods:
        notes.append(
            "Mean: the difference of the means of two runs, Welch's interval. The wire was measured at another time:"
            " what changed on the machine since then is in the difference and not in the interval."
        )
    if plan.wire is None:
        notes.append("No bare wire was measured: the delay of the tester itself is in every value.")
    notes.append(
        f"The interval includes, in full, what the tester itself may add: it looks at {place} only so often, is away"
        " at times, and sends in bursts after that. That part does not shrink with more trials."
    )
    if any(result.median for result in delays):
        notes.append(
            "The mean is what adds up along a path, and has every stall of the machine in it. The median of rounds is"
            f" the delay of a typical {unit}, which rare stalls do not move; its interval is that of the sign test."
        )
    if any(result.wire for result in delays):
        notes.append(PERCENTILES)
    return notes


def _size(run: Run) -> tuple[str, str]:
    if facts.counts_ios(run):
        return "IO size", f"{facts.text(run.traffic.get('io_size', 'not recorded'))} bytes"
    return "Frame size", f"{facts.text(facts.lookup(run, facts.FRAME_SIZE_KEYS))} bytes"


def _set_up(file: RunFile, plan: DelayPlan) -> list[tuple[str, str]]:
    run = file.run
    rows = [
        ("Device", str(run.measurer.get("spec", "not recorded"))),
        ("Bare wire", f"run {plan.wire_run}" if plan.wire_run else plan.wire or "none"),
        ("Rounds", f"{plan.rounds}, trials of {format_duration(plan.trial_s)}"),
        ("Loads are", run.load_scope),
        _size(run),
        ("Started", run.started),
        ("Host", f"{run.host.get('cpu_model', '')}, kernel {run.host.get('kernel', '')}"),
    ]
    if plan.throughput is not None:
        found = f"{format_load(plan.throughput, run.load_unit)}, {plan.throughput_goal} of run {plan.throughput_run}"
        rows.insert(2, ("Throughput", found))
    return rows
