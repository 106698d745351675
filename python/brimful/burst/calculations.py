"""From trials to tests, and from tests to the benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.burst.search import BurstSearch
from brimful.errors import RecordError
from brimful.records import Burst, BurstPlan, BurstTest, Trial, Warning
from brimful.statistics.repeatability import summarise

NEAR_LIMIT = 0.9
"""A burst from this share of the longest that was tried: RFC 9004 section 6.2 asks for a higher limit then."""


def new_search(plan: BurstPlan) -> BurstSearch:
    """Begin a test."""
    return BurstSearch(longest=plan.longest, step=plan.step, attempts=plan.attempts)


def is_lossless(trial: Trial) -> bool:
    """Say whether all frames of a burst were sent and arrived."""
    return trial.lost == 0 and trial.sent >= trial.intended


def completed_tests(trials: Sequence[Trial], plan: BurstPlan) -> tuple[list[BurstTest], BurstSearch]:
    """Give the tests that trials complete, and the search of the test that they leave off in.

    Bursts of a greater load than the plan has were tried before the tester was found unable to offer them.

    Raises
    ------
    RecordError
        When a trial is not the one that was due.
    """
    tests: list[BurstTest] = []
    search = new_search(plan)
    for trial in trials:
        if trial.invalid is not None or trial.load > plan.load:
            continue
        if trial.burst is None or trial.round != len(tests) or trial.burst != search.next():
            due = f"test {len(tests)}, a burst of {search.next()} frames"
            message = f"trial {trial.seq} is test {trial.round}, a burst of {trial.burst} frames; due is {due}"
            raise RecordError(message)
        search.record(trial.burst, lossless=is_lossless(trial))
        if search.next() is None:
            tests.append(test_of(len(tests), search, plan))
            search = new_search(plan)
    return tests, search


def test_of(number: int, search: BurstSearch, plan: BurstPlan) -> BurstTest:
    """Give the end of a test."""
    load = None if plan.asked is None else plan.load
    return BurstTest(test=number, frames=search.held, lossy=search.lossy, load=load)


def result_of(tests: Sequence[BurstTest], plan: BurstPlan) -> Burst | None:
    """Give what tests say together; nothing where there is none."""
    spread = summarise([test.frames for test in tests])
    if spread is None:
        return None
    implied_s = spread.mean / plan.load
    return Burst(
        tests=spread.runs,
        mean=spread.mean,
        least=int(spread.least),
        most=int(spread.most),
        deviation=spread.deviation,
        implied_buffer_s=implied_s,
        corrected_buffer_s=corrected_buffer_s(implied_s, load=plan.load, throughput=plan.throughput),
        at_limit=sum(test.lossy is None for test in tests),
    )


def corrected_buffer_s(implied_buffer_s: float, *, load: float, throughput: float | None) -> float | None:
    """Give the buffer time without the frames that left while the burst came in (RFC 9004 section 6.4).

    >>> corrected_buffer_s(0.010, load=1e6, throughput=0.75e6)
    0.0025
    """
    if throughput is None:
        return None
    return implied_buffer_s * max(0.0, load - throughput) / load


def warnings_of(tests: Sequence[BurstTest], plan: BurstPlan) -> list[Warning]:
    """Say what a reader of the result should know beyond the numbers."""
    said = []
    tried = plan.longest // plan.step * plan.step
    unlimited = sum(test.lossy is None for test in tests)
    if unlimited:
        text = (
            f"in {unlimited} of {len(tests)} tests no loss was found up to a burst of {tried:,} frames, the longest"
            " tried: the longest burst without loss is at least that; raise --longest"
        )
        said.append(Warning(code="burst-at-limit", text=text))
    elif any(test.frames >= NEAR_LIMIT * tried for test in tests):
        text = f"bursts without loss came near the longest tried, {tried:,} frames; repeat with a higher --longest"
        said.append(Warning(code="burst-near-limit", text=text))
    if any(test.frames == 0 for test in tests):
        text = f"even a burst of {plan.step:,} frames, the shortest tried, lost some"
        said.append(Warning(code="shortest-burst-lost", text=text))
    return said
