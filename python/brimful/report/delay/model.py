"""What a report on delay shows, in words and cells, from the records of a run."""

from __future__ import annotations

from functools import partial

from brimful.records import NONE_PASSES, Delay, DelayPlan, RunFile
from brimful.report import blocks, facts, words
from brimful.report.blocks import Card, Document, Figure, Sentence, Table
from brimful.report.delay import figures, numbers
from brimful.report.delay.numbers import DIRECTIONS
from brimful.units import format_delay, format_duration, format_load

PERCENTILES = "A percentile of the device alone cannot be had by subtracting two of these: percentiles do not add up."


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``delay``.

    Raises
    ------
    RecordError
        When the record has no plan of a delay run.
    """
    plan = file.planned(file.run.delay)
    delays = sorted(file.delays, key=lambda result: (result.load, DIRECTIONS.index(result.direction)))
    nothing = Sentence(
        words.as_sentence(NONE_PASSES if file.passes_nothing else "there is no result: too few trials were made")
    )
    what = "Processing delay: through the device minus over the bare wire"
    if not plan.wire:
        what = "Delay through the device, the tester's own delay included"
    return Document(
        run=file.run,
        kind="Delay",
        title=f"Delay: {blocks.device_name(file.run)}",
        outcome=blocks.outcome(file, "trial"),
        cards=[_card(file, result) for result in delays if result.direction == "all"],
        lead=f"{what}; loads {file.run.load_scope}.",
        blocks=[*_figures(file, plan), _results(file, delays, what), _distributions(file, delays)]
        if delays
        else [nothing],
        notes=_notes(file, plan, delays),
        set_up=_set_up(file, plan),
        warnings=[warning.text for warning in file.warnings],
        machine=blocks.machine(file),
        values="intervals",
        data={"plan": plan, "delays": file.delays},
    )


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    if file.passes_nothing:
        return NONE_PASSES
    unit = file.run.load_unit
    both = [delay for delay in file.delays if delay.direction == "all"]
    return ", ".join(f"{format_delay(delay.mean.value_s)} at {format_load(delay.load, unit)}" for delay in both)


def _card(file: RunFile, result: Delay) -> Card:
    apart = [other for other in file.delays if other.load == result.load and other.direction != "all"]
    median = [("Median of rounds", numbers.median(result.median))] if result.median else []
    return Card(
        name=format_load(result.load, file.run.load_unit),
        value=numbers.mean(result.mean),
        caption=f"mean of all {facts.units(file.run)}, 95 % interval",
        badge="under loss" if result.device.lost else "",
        pairs=[*((numbers.name_of(file, other.direction), numbers.mean(other.mean)) for other in apart), *median],
    )


def _figures(file: RunFile, plan: DelayPlan) -> list[Figure]:
    units = facts.units(file.run)
    what = "Through the device minus over the bare wire" if plan.wire else "With the tester's own delay"
    return [
        Figure(
            title="Delay over load",
            draw=partial(figures.draw_means, file),
            caption=f"{what}: mean and 95 % interval of all {units}, and of each direction. Marks at one load stand "
            "beside each other so that none hides another.",
            key="means",
        ),
        Figure(
            title="Percentiles over load",
            draw=partial(figures.draw_percentiles, file),
            caption=f"How long all {units} took, on a logarithmic scale, the tester's own delay "
            f"included: through the device, and dashed over the bare wire. {PERCENTILES}",
            key="percentiles",
        ),
    ]


def _results(file: RunFile, delays: list[Delay], what: str) -> Table:
    rows = []
    for result in delays:
        share = result.device.lost / result.device.sent if result.device.sent else 0.0
        load = _load(file, result) if result.direction == "all" else ""
        cells = [numbers.mean(result.mean), numbers.median(result.median)]
        tester = f"± {numbers.delay(result.mean.systematic_s)}"
        rows.append([load, numbers.name_of(file, result.direction), *cells, tester, words.share(share)])
    names = ["load", "direction", "mean, 95 % interval", "median of rounds", "of that the tester's", "lost"]
    return Table(title=what, names=names, rows=rows, key="results", words=2)


def _load(file: RunFile, result: Delay) -> str:
    load = format_load(result.load, file.run.load_unit)
    throughput = file.run.delay.throughput if file.run.delay else None
    return f"{load} ({words.share(result.load / throughput)})" if throughput else load


def _distributions(file: RunFile, delays: list[Delay]) -> Table:
    units = facts.units(file.run)
    percentiles = ["min", "p50", "p90", "p99", "p99.9", "max", "mean", "jitter"]
    return Table(
        title=f"How long {units} took, the tester's own delay included",
        names=["load", "direction, path", units, *percentiles, "lost"],
        rows=[row for result in delays for row in _distribution(file, result)],
        key="distributions",
        words=2,
    )


def _distribution(file: RunFile, result: Delay) -> list[list[str]]:
    rows = []
    for path, seen in (("device", result.device), ("wire", result.wire)):
        if seen is None:
            continue
        times = (seen.min_s, seen.p50_s, seen.p90_s, seen.p99_s, seen.p999_s, seen.max_s, seen.mean_s, seen.jitter_s)
        cells = [words.group(seen.frames), *map(numbers.delay, times), words.group(seen.lost)]
        load = _load(file, result) if result.direction == "all" and path == "device" else ""
        rows.append([load, f"{numbers.name_of(file, result.direction)}, {path}", *cells])
    return rows


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


def _set_up(file: RunFile, plan: DelayPlan) -> list[tuple[str, str]]:
    run = file.run
    rows = [
        ("Device", run.measurer.spec or "not recorded"),
        ("Bare wire", f"run {plan.wire_run}" if plan.wire_run else plan.wire or "none"),
        ("Rounds", f"{plan.rounds}, trials of {format_duration(plan.trial_s)}"),
        ("Loads are", run.load_scope),
        *facts.traffic(run),
        *blocks.place_and_time(run),
    ]
    if plan.throughput is not None:
        found = f"{format_load(plan.throughput, run.load_unit)}, {plan.throughput_goal} of run {plan.throughput_run}"
        rows.insert(2, ("Throughput", found))
    return rows
