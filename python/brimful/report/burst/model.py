"""What a report on back-to-back frames shows, in words and cells, from the records of a run."""

from __future__ import annotations

from functools import partial

from brimful.records import NO_OVERFLOW, NONE_PASSES, Burst, BurstPlan, BurstTest, RunFile, Trial
from brimful.records.stated import burst_plan, burst_tests
from brimful.report import blocks, facts, ports, words
from brimful.report.blocks import Card, Document, Figure, Sentence, Table
from brimful.report.burst import figures
from brimful.units import format_delay, format_duration, format_load

RECOMMENDED_TESTS = 50
"""RFC 2544 section 26.4."""

RESULT_NAMES = ["average", "least", "most", "std. deviation", "implied buffer", "corrected buffer"]
NO_RESULT = "no result"


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``burst``.

    Raises
    ------
    RecordError
        When the record has no plan of such a run.
    """
    plan = burst_plan(file)
    result, tests = file.last(Burst), burst_tests(file)
    shown = [no_burst(file)] if result is None else [bursts_tried(file), _result(file, plan, result), tests_table(file)]
    return Document(
        run=file.run,
        kind="Back-to-back frames",
        title=f"Back-to-back frames: {blocks.device_name(file.run)}",
        outcome=blocks.outcome(file, "burst"),
        cards=[] if result is None else [_card(file, plan, result)],
        blocks=[*shown, *ports.blocks(file.trials, file.run.load_unit)],
        notes=notes(file, plan, result),
        set_up=set_up(file, plan),
        warnings=[*(warning.text for warning in file.warnings), *ports.remarks(file.trials)],
        machine=blocks.machine(file),
        data={"plan": plan, "result": result, "tests": tests},
    )


def bursts_of(file: RunFile) -> list[Trial]:
    """Give the bursts that count, at the load that the tester could offer."""
    load = burst_plan(file).load
    return [trial for trial in file.counted() if trial.burst and trial.load <= load]


def headline(file: RunFile) -> str:
    """Say the result in one line."""
    result = file.last(Burst)
    if result is None:
        return why_no_burst(file) or NO_RESULT
    plan = burst_plan(file)
    least = "at least " if result.at_limit else ""
    buffer_s = result.corrected_buffer_s
    said = "" if buffer_s is None else f", corrected buffer time {least}{format_delay(buffer_s)}"
    return f"longest burst {least}{frames(result.mean)} frames at {format_load(plan.load)}{said}"


def why_no_burst(file: RunFile) -> str:
    """Say what stands for the longest burst where none was searched for; empty: no test came to its end."""
    if file.passes_nothing:
        return NONE_PASSES
    return "no burst overflows a buffer" if overflows_nothing(file) else ""


def overflows_nothing(file: RunFile) -> bool:
    """Whether the device forwards at the rate of the bursts, so that any passes (RFC 9004 section 6.1)."""
    return any(warning.code == NO_OVERFLOW for warning in file.warnings)


def no_burst(file: RunFile) -> Sentence:
    """Give it as a sentence."""
    return Sentence(words.as_sentence(why_no_burst(file) or "there is no result: no test came to its end"))


def bursts_tried(file: RunFile) -> Figure:
    """Give the figure of every burst."""
    return Figure(
        title="Bursts tried",
        draw=partial(figures.draw_bursts, bursts_of(file)),
        caption="Each burst in its order: full marks lost nothing, hollow ones lost frames. Dashed lines separate the"
        " tests.",
        key="tests-figure",
    )


def tests_table(file: RunFile) -> Table:
    """Give a row for each test."""
    return Table(
        title="Tests",
        names=["test", "longest without loss", "shortest with loss", "bursts"],
        rows=[_test_row(file, test) for test in burst_tests(file)],
        key="tests",
    )


def _result(file: RunFile, plan: BurstPlan, result: Burst) -> Table:
    """Give the table of RFC 9004 section 7: one row, as a run has one frame size."""
    return Table(
        title="Longest burst without loss",
        names=["frame size", *RESULT_NAMES],
        rows=[[_frame_size(file), *result_cells(plan, result)]],
        key="results",
    )


def _card(file: RunFile, plan: BurstPlan, result: Burst) -> Card:
    average, *_, implied, corrected = result_cells(plan, result)
    return Card(
        name="longest burst without loss",
        value=f"{average} frames",
        caption=f"average of {words.count(result.tests, 'test')} at {format_load(plan.load, file.run.load_unit)}",
        badge="lower limit" if result.at_limit else "",
        pairs=[("Implied buffer time", implied), ("Corrected buffer time", corrected)],
    )


def frames(value: float) -> str:
    """Write a number of frames; an average that is none keeps one digit.

    >>> frames(26000.0), frames(4585.67)
    ('26,000', '4,585.7')
    """
    return words.group(int(value)) if value == int(value) else f"{value:,.1f}"


def result_cells(plan: BurstPlan, result: Burst) -> list[str]:
    """Write a result as cells below `RESULT_NAMES`."""
    sign = "≥ " if result.at_limit else ""
    return [
        f"{sign}{frames(result.mean)}",
        words.group(result.least),
        words.group(result.most),
        "–" if result.deviation is None else f"{result.deviation:,.1f}",
        _buffer(result.implied_buffer_s, plan.load),
        "–" if result.corrected_buffer_s is None else _buffer(result.corrected_buffer_s, plan.load),
    ]


def _frame_size(file: RunFile) -> str:
    return facts.text(facts.lookup(file.run, facts.FRAME_SIZE_KEYS) or "unknown")


def _buffer(seconds: float, load: float) -> str:
    return f"{format_delay(seconds)} ({frames(round(seconds * load))} frames)"


def _test_row(file: RunFile, test: BurstTest) -> list[str]:
    lossy = "none up to the limit" if test.lossy is None else words.group(test.lossy)
    bursts = sum(trial.round == test.test for trial in bursts_of(file))
    return [str(test.test + 1), words.group(test.frames), lossy, str(bursts)]


def notes(file: RunFile, plan: BurstPlan, result: Burst | None) -> list[str]:
    """Say what the values mean, and what they do not."""
    said = [
        "The result is the average, over tests that know nothing of each other, of the longest burst of frames back to"
        " back that lost none (RFC 2544 section 26.4, RFC 9004 section 6).",
        "Implied buffer time: how long the average burst took to send. Corrected: implied x (load of bursts -"
        " throughput) / load of bursts, because as much was forwarded while the burst came in (RFC 9004 section 6.4).",
        f"Frames are {file.run.load_scope}.",
    ]
    if result is not None and result.corrected_buffer_s is None:
        said.append("The throughput is not known, so that nothing is corrected.")
    if result is not None and result.tests < RECOMMENDED_TESTS:
        said.append(
            f"N = {result.tests} tests; RFC 2544 recommends {RECOMMENDED_TESTS}, RFC 9004 that their number is stated."
        )
    return said


def set_up(file: RunFile, plan: BurstPlan) -> list[tuple[str, str]]:
    """Say how it was measured."""
    run = file.run
    throughput = "not known" if plan.throughput is None else format_load(plan.throughput, run.load_unit)
    if plan.throughput_run is not None:
        throughput += f", {plan.throughput_goal} of run {plan.throughput_run}"
    attempts = "binary search"
    if plan.attempts > 1:
        attempts += f" with loss verification: a lossy burst is offered {plan.attempts} times"
    return [
        ("Device", run.measurer.spec or "not recorded"),
        ("Load of bursts", blocks.load_offered(plan.load, plan.asked, run.load_unit)),
        ("Throughput", throughput),
        ("Tests (N)", str(plan.tests)),
        ("Search", attempts),
        ("Least step", words.count(plan.step, "frame")),
        ("Longest burst tried", f"{words.group(plan.longest)} frames, {format_duration(plan.longest / plan.load)}"),
        ("Between bursts", f"{format_duration(plan.rest_s)} at least"),
        *facts.traffic(run),
        *blocks.place_and_time(run),
    ]
