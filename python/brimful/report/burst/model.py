"""What a report on back-to-back frames shows, in words and cells, from the records of a run."""

from __future__ import annotations

import msgspec

from brimful.errors import RecordError
from brimful.records import Burst, BurstPlan, BurstTest, RunFile
from brimful.report import facts, measured, words
from brimful.units import format_delay, format_duration, format_load

RECOMMENDED_TESTS = 50
"""RFC 2544 section 26.4."""


RESULT_NAMES = ["average", "least", "most", "std. deviation", "implied buffer", "corrected buffer"]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown about a run."""

    file: RunFile
    plan: BurstPlan
    result: Burst | None
    tests: list[BurstTest]
    title: str
    outcome: str
    headline: str
    result_names: list[str]
    results: list[list[str]]
    """The rows of RFC 9004 section 7: one, as a run has one frame size."""
    test_names: list[str]
    test_rows: list[list[str]]
    notes: list[str]
    """What the values mean, and what they do not."""
    set_up: list[tuple[str, str]]
    warnings: list[str]
    machine: str | None
    """How quiet the machine was; null where nothing was watched."""


def build(file: RunFile) -> View:
    """Compute what a report shows.

    Raises
    ------
    RecordError
        When the record has no plan of such a run.
    """
    plan = file.run.burst
    if plan is None:
        message = f"{file.path}:1: the run is of the subject 'burst', but does not say what was measured"
        raise RecordError(message)
    result, tests = result_of(file), tests_of(file)
    return View(
        file=file,
        plan=plan,
        result=result,
        tests=tests,
        title=f"Back-to-back frames: {measured.device_name(file.run)}",
        outcome=measured.outcome(file, "burst"),
        headline=headline(file),
        result_names=["frame size", *RESULT_NAMES],
        results=[] if result is None else [[_frame_size(file), *result_cells(plan, result)]],
        test_names=["test", "longest without loss", "shortest with loss", "bursts"],
        test_rows=[_test_row(file, test) for test in tests],
        notes=_notes(file, plan, result),
        set_up=_set_up(file, plan),
        warnings=[warning.text for warning in file.warnings],
        machine=measured.machine(file),
    )


def result_of(file: RunFile) -> Burst | None:
    """Give the result of a run, of a resumed one the last."""
    found = [record for record in file.others if isinstance(record, Burst)]
    return found[-1] if found else None


def tests_of(file: RunFile) -> list[BurstTest]:
    """Give the tests of a run in their order."""
    return [record for record in file.others if isinstance(record, BurstTest)]


def headline(file: RunFile) -> str:
    """Say the result in one line."""
    result, plan = result_of(file), file.run.burst
    if result is None or plan is None:
        return "no result"
    least = "at least " if result.at_limit else ""
    buffer_s = result.corrected_buffer_s
    said = "" if buffer_s is None else f", corrected buffer time {least}{format_delay(buffer_s)}"
    return f"longest burst {least}{frames(result.mean)} frames at {format_load(plan.load)}{said}"


def frames(value: float) -> str:
    """Write a number of frames; an average that is none keeps one digit.

    >>> frames(26000.0), frames(2.25)
    ('26,000', '2.2')
    """
    return words.group(int(value)) if value == int(value) else f"{value:.1f}"


def result_cells(plan: BurstPlan, result: Burst) -> list[str]:
    """Write a result as cells below `RESULT_NAMES`."""
    sign = "≥ " if result.at_limit else ""
    return [
        f"{sign}{frames(result.mean)}",
        words.group(result.least),
        words.group(result.most),
        "–" if result.deviation is None else f"{result.deviation:.1f}",
        _buffer(result.implied_buffer_s, plan.load),
        "–" if result.corrected_buffer_s is None else _buffer(result.corrected_buffer_s, plan.load),
    ]


def _frame_size(file: RunFile) -> str:
    return facts.text(facts.lookup(file.run, facts.FRAME_SIZE_KEYS) or "unknown")


def _buffer(seconds: float, load: float) -> str:
    return f"{format_delay(seconds)} ({frames(round(seconds * load))} frames)"


def _test_row(file: RunFile, test: BurstTest) -> list[str]:
    lossy = "none up to the limit" if test.lossy is None else words.group(test.lossy)
    bursts = sum(trial.round == test.test for trial in file.counted())
    return [str(test.test + 1), words.group(test.frames), lossy, str(bursts)]


def _notes(file: RunFile, plan: BurstPlan, result: Burst | None) -> list[str]:
    notes = [
        "The result is the average, over tests that know nothing of each other, of the longest burst of frames back to"
        " back that lost none (RFC 2544 section 26.4, RFC 9004 section 6).",
        "Implied buffer time: how long the average burst took to send. Corrected: implied x (load of bursts -"
        " throughput) / load of bursts, because as much was forwarded while the burst came in (RFC 9004 section 6.4).",
        f"Frames are {file.run.load_scope}.",
    ]
    if result is not None and result.corrected_buffer_s is None:
        notes.append("The throughput is not known, so that nothing is corrected.")
    if result is not None and result.tests < RECOMMENDED_TESTS:
        notes.append(
            f"N = {result.tests} tests; RFC 2544 recommends {RECOMMENDED_TESTS}, RFC 9004 that their number is stated."
        )
    return notes


def _set_up(file: RunFile, plan: BurstPlan) -> list[tuple[str, str]]:
    run = file.run
    throughput = "not known" if plan.throughput is None else format_load(plan.throughput, run.load_unit)
    if plan.throughput_run is not None:
        throughput += f", {plan.throughput_goal} of run {plan.throughput_run}"
    attempts = "binary search"
    if plan.attempts > 1:
        attempts += f" with loss verification: a lossy burst is offered {plan.attempts} times"
    return [
        ("Device", str(run.measurer.get("spec", "not recorded"))),
        ("Load of bursts", format_load(plan.load, run.load_unit, digits=6)),
        ("Throughput", throughput),
        ("Tests (N)", str(plan.tests)),
        ("Search", attempts),
        ("Least step", words.count(plan.step, "frame")),
        ("Longest burst tried", f"{words.group(plan.longest)} frames, {format_duration(plan.longest / plan.load)}"),
        ("Between bursts", f"{format_duration(plan.rest_s)} at least"),
        ("Frame size", _frame_size(file)),
        ("Directions", facts.directions(run) or "unknown"),
        ("Started", run.started),
        ("Host", f"{run.host.get('cpu_model', '')}, kernel {run.host.get('kernel', '')}"),
    ]
