"""What a suite did of each section of its standard."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import RunFile, SuitePlan
from brimful.report import facts, words
from brimful.report.blocks import Table
from brimful.report.suite.results import Result
from brimful.report.suite.sections import (
    HARDWARE,
    NOT_APPLICABLE,
    NOT_DONE,
    OTHERWISE,
    RFC5180,
    SECTIONS,
    SIZES,
    TESTS_OF,
    Rows,
)
from brimful.units import format_duration

_OF_OUR_TESTER = ("8", "10", "12", "23", "25")
"""What the table of a standard says of these is of frames that our own tester sends."""
_PAIR = 2
_OF_FRAMES = (*_OF_OUR_TESTER, "14")
_OF_SIZES = ("4", "9")


def sections_table(file: RunFile, plan: SuitePlan, results: Sequence[Result]) -> Table:
    """Show every section of a standard, and what a suite did of it."""
    rows = [
        [section, title, _state(section, state, file, plan, results), _remark(section, remark, file, plan, results)]
        for section, title, state, remark in _standard(file, plan)
    ]
    names = ["section", f"of {plan.standard}", "state", "remark"]
    return Table(title=f"What was done of {plan.standard}", names=names, rows=rows, key="sections", words=4)


def _remark(section: str, remark: str, file: RunFile, plan: SuitePlan, results: Sequence[Result]) -> str:
    """Say why a test was not made, else what is to be known of a section."""
    if section in _OF_FRAMES and facts.is_simulated(file.run):
        return "simulated: nothing is sent"
    if section in _OF_OUR_TESTER and not facts.is_own_tester(file.run):
        return f"as {file.run.measurer.name} has it"
    ports = file.run.traffic.get("ports")
    if section == "15, 16" and isinstance(ports, list) and len(ports) > _PAIR:
        return f"{len(ports)} ports, pattern {file.run.traffic.get('pattern', 'pairs')}"
    why = _why_none(section, plan, results)
    return why or f"{remark}{_sizes(section, plan)}{_duration(section, plan, results)}"


def _why_none(section: str, plan: SuitePlan, results: Sequence[Result]) -> str:
    """Say why nothing was measured of a section whose tests were asked for; empty: it was, or a test failed."""
    tests = TESTS_OF.get(section, ())
    made = [result for result in results if result.test in tests and result.reason == "done"]
    found = [plan.not_done[test] for test in tests if test in plan.not_done]
    if all(result.file is None for result in made):
        found += [result.text for result in made]
    return "; ".join(dict.fromkeys(found))


def _duration(section: str, plan: SuitePlan, results: Sequence[Result]) -> str:
    """Say how long trials were, where that is not as long as the standard asks for."""
    goals = (goal for result in results if result.file is not None for goal in result.file.run.goals)
    goal = next(goals, None)
    if section != "24" or not plan.is_quick or goal is None:
        return ""
    return f"; here {format_duration(goal.final_trial_duration_s)}"


def _sizes(section: str, plan: SuitePlan) -> str:
    """Name the frame sizes beside what is said of those of the standard, where they are others."""
    return f"; here {', '.join(plan.sizes)}" if section in _OF_SIZES and plan.sizes != SIZES else ""


def _standard(file: RunFile, plan: SuitePlan) -> Rows:
    more = RFC5180 if "IPv6" in (facts.protocol(file.run) or "") else ()
    return (*SECTIONS.get(plan.standard, ()), *more)


def _state(section: str, state: str, file: RunFile, plan: SuitePlan, results: Sequence[Result]) -> str:
    """Say what became of a section in this suite."""
    if state in (NOT_DONE, NOT_APPLICABLE, HARDWARE):
        return state
    if section in _OF_FRAMES and facts.is_simulated(file.run):
        return NOT_APPLICABLE
    if (section == "24" and plan.is_quick) or (section in _OF_SIZES and plan.sizes != SIZES):
        return OTHERWISE
    if section == "14" and facts.directions(file.run) == "one direction":
        return NOT_DONE
    if section in _OF_OUR_TESTER and not facts.is_own_tester(file.run):
        return OTHERWISE
    tests = TESTS_OF.get(section, ())
    if not set(tests) <= set(plan.tests):
        return NOT_DONE
    for test in tests:
        due = 1 if test in plan.once else len(plan.sizes)
        made = sum(result.reason == "done" and result.test == test for result in results)
        if made < due:
            return f"{made} of {words.count(due, 'size')}"
    if not tests:
        return state
    if _why_none(section, plan, results):
        return NOT_DONE
    return OTHERWISE if plan.is_quick else state
