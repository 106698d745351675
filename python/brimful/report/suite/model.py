"""What a report on a suite shows, from its record and those of its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from brimful.records import NONE_PASSES, Burst, RunFile, SuitePlan, SwitchingResult
from brimful.records.stated import burst_plan, losses, recoveries, recovery_plan
from brimful.report import blocks, facts, words
from brimful.report.blocks import Block, Card, Document, Figure, Sentence, Table
from brimful.report.burst import model as bursts
from brimful.report.delay import numbers
from brimful.report.loss.model import lossless_up_to
from brimful.report.recovery import model as recovery
from brimful.report.suite import figures
from brimful.report.suite.congestion import BY_TWO, CONGESTION, CONTROL, congestion_table
from brimful.report.suite.done import sections_table
from brimful.report.suite.forwarding import forwarding_row
from brimful.report.suite.remarks import warnings_of
from brimful.report.suite.results import Result, plan_of, results_of
from brimful.report.suite.sections import MODIFIED, OF_MANY_PORTS, RFC2889
from brimful.report.suite.values import FIGURES, main_value, names_of, throughput_of
from brimful.report.switching import model as switching
from brimful.units import format_load

_NONE = "–"
_TITLES = {
    "throughput": "Throughput (section 26.1)",
    "latency": "Latency at the throughput (section 26.2)",
    "loss": "Frame loss rate (section 26.3)",
    "bursts": "Back-to-back frames (section 26.4, RFC 9004)",
    "recovery": "System recovery (section 26.5)",
    "reset": "Reset (section 26.6)",
    "mesh": "Fully meshed throughput (section 5.1)",
    "one-to-many": "Throughput, one port to many (section 5.2)",
    "many-to-one": "Throughput, many ports to one (section 5.2)",
    "backbone": "Throughput between two halves, both ways (section 5.3)",
    "halves": "Throughput from one half to the other (section 5.4)",
    "forwarding": "Maximum forwarding rate (section 5.6)",
    "broadcast": "Throughput of broadcasts (section 5.10)",
    "congestion": "Congestion control (section 5.5): A sends to C and D, B to D",
}


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``suite``; those of its tests are read below it.

    Raises
    ------
    RecordError
        When one of them cannot be read.
    """
    plan, results = plan_of(file), results_of(file)
    shown: list[Block] = [sections_table(file, plan, results)]
    shown += [block for test in plan.tests for block in _blocks(test, results)]
    shown += [Sentence(f"{_TITLES.get(test, test)}: not done: {why}.") for test, why in plan.not_done.items()]
    if any(result.test in MODIFIED for result in results):
        shown.append(_modified(results))
    if not results:
        shown.append(Sentence("There is no result: no test came to its end."))
    return Document(
        run=file.run,
        kind=plan.name,
        title=f"{plan.standard} tests{', quick' if plan.is_quick else ''}: {blocks.device_name(file.run)}",
        outcome=_outcome(file, plan, results),
        cards=_cards(results),
        blocks=shown,
        notes=_notes(plan),
        set_up=_set_up(file, plan, results),
        warnings=warnings_of(results),
        machine=_machine(results),
        groups=_groups(file, results),
        data={"plan": plan, "tests": [_entry(file, result) for result in results]},
    )


def line(file: RunFile) -> str:
    """Give the result of a suite in one line."""
    plan = plan_of(file)
    if plan.standard == RFC2889:
        results = results_of(file)
        said = [
            f"{result.test} at {result.size}: {format_load(value, file.run.load_unit)}"
            for result in results
            if result.test == "mesh" and (value := main_value(result)) is not None
        ]
        said += [
            switching.line(result.file) for result in results if result.test in ("caching", "learning") and result.file
        ]
        return f"{plan.standard}: {'; '.join(said) or 'no result'}"
    found = {result.size: main_value(result) for result in results_of(file) if result.test == "throughput"}
    shown = [f"{size}: {format_load(value, file.run.load_unit)}" for size, value in found.items() if value is not None]
    return f"{plan.standard}: throughput {', '.join(shown)}" if shown else f"{plan.standard}: no result"


def _of(results: Sequence[Result], test: str) -> list[Result]:
    return [result for result in results if result.test == test]


def _blocks(test: str, all_results: Sequence[Result]) -> list[Block]:
    results = _of(all_results, test)
    if not results or test in (CONTROL, BY_TWO, *MODIFIED):
        return []
    if test == CONGESTION:
        return [congestion_table(_TITLES[test], results)]
    if test not in _TABLES:
        shown = [block for result in results for block in _of_switch(result)]
        figure = _throughputs(test, results)
        return shown if figure is None else [figure, *shown]
    names, row = _TABLES[test]
    rows = [[result.size, *_cells(result, row, len(names))] for result in results]
    table = Table(title=_TITLES[test], names=["frame size", *names], rows=rows, key=test)
    drawn = [figure for figure in (_throughputs(test, results), _curves(test, results)) if figure is not None]
    return [*drawn, table]


def _modified(all_results: Sequence[Result]) -> Table:
    """Show the throughput with each modifier beside the plain one."""
    plain = {result.size: main_value(result) for result in _of(all_results, "throughput")}
    rows = []
    for result in (result for test in MODIFIED for result in _of(all_results, test)):
        cells, before, value = _cells(result, _throughput_row, 5), plain.get(result.size), main_value(result)
        unit = "" if result.file is None else result.file.run.load_unit
        change = f"{100 * (value / before - 1):+.1f} %" if value is not None and before else _NONE
        without = format_load(before, unit) if before else _NONE
        rows.append([result.size, result.test.removeprefix("with-"), cells[0], without, change])
    names = ["frame size", "modifier", "throughput", "without it", "change"]
    return Table(title="Throughput with modifiers (section 11)", names=names, rows=rows, key="modifiers", words=2)


def _of_switch(result: Result) -> list[Block]:
    """Show what one test of a switch found."""
    found = [] if result.file is None else result.file.latest(SwitchingResult, "name")
    if result.file is None or result.file.run.switching is None or not found:
        said = result.text or result.reason.replace("-", " ")
        return [Sentence(f"{switching.TITLES.get(result.test, result.test)}: {said}.")]
    table = switching.results_table(result.file.run.switching, found)
    title = f"{table.title}, {result.size} bytes"
    return [msgspec.structs.replace(table, title=title, key=f"{table.key}-{result.size}")]


def _cells(result: Result, row: Callable[[RunFile], list[str]], number: int) -> list[str]:
    cells = [] if result.file is None else row(result.file)
    return cells or [_why_nothing(result), *[_NONE] * (number - 1)]


def _why_nothing(result: Result) -> str:
    """Say why a test found nothing: the reasons of those that failed are among the warnings."""
    if result.reason != "done":
        return result.reason.replace("-", " ")
    return result.text or "no result"


def _throughput_row(file: RunFile) -> list[str]:
    if not file.goal_results:
        return []
    (result, *_), unit, most = file.goal_results, file.run.load_unit, file.max_load
    load, theory = throughput_of(file), facts.theoretical_rate(file.run)
    if load is None and not file.is_done():
        return []
    remark = "yes" if result.regular else result.reason.replace("-", " ")
    return [
        "none" if load is None else format_load(load, unit),
        _NONE if theory is None else format_load(theory, unit),
        format_load(most, unit),
        words.share(load / most) if load is not None and most else _NONE,
        NONE_PASSES if file.passes_nothing else remark,
    ]


def _latency_row(file: RunFile) -> list[str]:
    both = [delay for delay in file.delays if delay.direction == "all"]
    if not both:
        return []
    (delay, *_) = both
    seen = delay.device
    percentiles = [numbers.delay(time) for time in (seen.min_s, seen.p50_s, seen.p99_s, seen.max_s)]
    return [format_load(delay.load, file.run.load_unit), numbers.mean(delay.mean), *percentiles]


def _loss_row(file: RunFile) -> list[str]:
    found = losses(file)
    if not found:
        return []
    unit = file.run.load_unit
    return [
        format_load(found[0].load, unit),
        words.share(found[0].ratio),
        lossless_up_to(found, unit),
        str(len(found)),
    ]


def _burst_row(file: RunFile) -> list[str]:
    found = file.latest(Burst)
    if not found:
        return [bursts.why_no_burst(file) or bursts.NO_RESULT, *[_NONE] * 4] if file.is_done() else []
    average, least, most, deviation, _, corrected = bursts.result_cells(burst_plan(file), found[0])
    return [average, least, most, deviation, corrected]


def _recovery_row(file: RunFile) -> list[str]:
    found = recoveries(file)
    plan = recovery_plan(file)
    if not found or plan is None:
        return []
    return [format_load(plan.load, file.run.load_unit), recovery.average(found), str(len(found))]


_TABLES: Mapping[str, tuple[list[str], Callable[[RunFile], list[str]]]] = {
    **dict.fromkeys(
        ("throughput", *OF_MANY_PORTS),
        (["throughput", "theoretical", "100 % is", "of 100 %", "regular"], _throughput_row),
    ),
    "forwarding": (["forwarding rate", "at the load", "forward pressure"], forwarding_row),
    "latency": (["load", "mean, 95 % interval", "min", "p50", "p99", "max"], _latency_row),
    "loss": (["greatest load", "lost there", "nothing lost up to", "loads"], _loss_row),
    "bursts": (["average frames", "least", "most", "std. deviation", "corrected buffer"], _burst_row),
    "recovery": (["overload", "recovery time", "rounds"], _recovery_row),
    "reset": (["load", "reset time", "rounds"], _recovery_row),
}
"""Test: the names of the columns, and the cells of a size; no cells where nothing was found."""


def _throughputs(test: str, results: Sequence[Result]) -> Figure | None:
    if test not in ("throughput", *OF_MANY_PORTS, "broadcast"):
        return None
    figure = FIGURES["broadcast.throughput" if test == "broadcast" else test]
    known = [(result.size, result.file, figure.of(result).value) for result in results if result.file is not None]
    shown = [(size, file, found) for size, file, found in known if found is not None]
    if len(shown) < 2:
        return None
    limits = [facts.theoretical_rate(file.run) or file.max_load or None for _, file, _ in shown]
    sizes, found = [size for size, _, _ in shown], [found for _, _, found in shown]
    unit = shown[0][1].run.load_unit
    return Figure(
        title=f"{_TITLES[test].partition(' (')[0]} over frame size",
        draw=partial(figures.draw_throughputs, sizes, found, limits, unit),
        caption="The throughput of each frame size" + (_DASHED if any(limits) else "."),
        key="throughputs" if test == "throughput" else f"throughputs-{test}",
    )


_DASHED = (
    ", and dashed the theoretical limit of the link, or where that is not known the load that is 100 %: --max-load, or"
    " the most that the tester could offer."
)


def _curves(test: str, results: Sequence[Result]) -> Figure | None:
    curves = [
        (result.size, result.file.run.loss.reference, losses(result.file))
        for result in results
        if test == "loss" and result.file is not None and result.file.run.loss is not None and losses(result.file)
    ]
    if not curves:
        return None
    return Figure(
        title="Loss rate over load",
        draw=partial(figures.draw_curves, curves),
        caption="A line for each frame size; both axes are whole, as section 26.3 asks for.",
        key="curves",
    )


def _outcome(file: RunFile, plan: SuitePlan, results: Sequence[Result]) -> str:
    planned = len(plan.sizes) * (len(plan.tests) - len(plan.once)) + len(plan.once)
    failed = sum(result.reason == "measurement-failed" for result in results)
    said = f"{len(results)} of {words.count(planned, 'test')} ended" + (f", {failed} failed" if failed else "")
    said += f"; not done: {', '.join(plan.not_done)}" if plan.not_done else ""
    how = words.CLOCK_WORDS.get(file.ends[-1].reason, "ended") if file.ends else "has not ended"
    return f"{said}; the suite {how}."


def _cards(results: Sequence[Result]) -> list[Card]:
    found = [(result, value) for result in _of(results, "throughput") if (value := main_value(result)) is not None]
    of_switch = [
        Card(name=f"{result.test} {one.name}".rstrip(), value=switching.shown_value(result.file.run.switching, one))
        for test in ("caching", "learning", "ageing")
        for result in _of(results, test)
        if result.file is not None and result.file.run.switching is not None
        for one in result.file.latest(SwitchingResult, "name")
    ]
    return of_switch or [
        Card(
            name=f"throughput at {result.size}",
            value=format_load(value, result.file.run.load_unit if result.file else ""),
        )
        for result, value in found
    ]


def _machine(results: Sequence[Result]) -> str | None:
    seen = facts.machine([end for result in results if result.file is not None for end in result.file.ends])
    return None if seen is None else words.machine(seen)


def _notes(plan: SuitePlan) -> list[str]:
    notes = [
        "Each test has a record of its own below that of the suite: brimful report shows it whole, and brimful verify"
        " computes all of them again.",
        f"{plan.standard} is for a laboratory: no test may cross a network in use (RFC 6815).",
    ]
    if plan.is_quick:
        notes.insert(0, f"This is no {plan.standard} test: --quick has shorter and fewer trials than it asks for.")
    return notes


def _set_up(file: RunFile, plan: SuitePlan, results: Sequence[Result]) -> list[tuple[str, str]]:
    return [
        ("Device", file.run.measurer.spec or "not recorded"),
        ("Frame sizes", ", ".join(plan.sizes)),
        ("Tests", ", ".join(plan.tests)),
        ("Loads are", file.run.load_scope),
        *_ports(file, plan),
        *_by_size(results),
        ("Protocol", facts.protocol(file.run) or "unknown"),
        *blocks.place_and_time(file.run),
    ]


def _groups(file: RunFile, results: Sequence[Result]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Give what the record says of the set-up, but for facts of the first size that others have not."""
    traffic, device = (
        {name: value for name, value in known.items() if name not in _varying(results, of)}
        for of, known in (("traffic", file.run.traffic), ("device", file.run.device))
    )
    run = msgspec.structs.replace(file.run, traffic=traffic, device=device)
    return facts.set_up(run, facts.device(run, []))


_SHORT = {"mtu": "MTU"}


def _by_size(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Give the facts in which the sizes differ."""
    varying = {**_varying(results, "device"), **_varying(results, "traffic")}
    return [
        (
            _SHORT.get(name, name.replace("_", " ").capitalize()),
            "; ".join(f"{size}: {facts.text(value)}" for size, value in values.items()),
        )
        for name, values in varying.items()
    ]


def _varying(results: Sequence[Result], of: str) -> dict[str, dict[str, Any]]:
    """Give the facts of device or traffic in which sizes differ, each by size: as the first test of a size has them."""
    runs = {result.size: result.file.run for result in reversed(results) if result.file is not None}
    known = {size: getattr(run, of) for size, run in reversed(runs.items())}
    names = dict.fromkeys(name for one in known.values() for name in one)
    values = {name: {size: one.get(name) for size, one in known.items()} for name in names}
    return {
        name: found
        for name, found in values.items()
        if len({str(value) for value in found.values()}) > 1
        and name not in facts.FRAME_SIZE_KEYS
        and all(isinstance(value, str | int | float) for value in found.values())
    }


def _ports(file: RunFile, plan: SuitePlan) -> list[tuple[str, str]]:
    if plan.standard == RFC2889:
        return [("Ports", str(len(file.run.traffic.get("ports", []))))]
    return [("Directions", facts.directions(file.run) or "unknown")]


def _entry(file: RunFile, result: Result) -> dict[str, Any]:
    return {
        "size": result.size,
        "test": result.test,
        "end": result.reason,
        "text": result.text,
        "value": main_value(result),
        "figures": {name: _figure(name, result) for name in names_of(result.test)},
        "path": None if result.file is None else str(result.file.path),
        "result": None if result.file is None else _found(result.file),
    }


def _figure(name: str, result: Result) -> dict[str, Any]:
    figure = FIGURES[name]
    found = figure.of(result)
    return {"value": found.value, "is_least": found.is_least, "shown": figure.shown(found)}


def _found(file: RunFile) -> list[Any]:
    found: list[Any] = [*file.goal_results, *file.delays]
    return [*found, *(msgspec.to_builtins(record) for record in file.others)]
