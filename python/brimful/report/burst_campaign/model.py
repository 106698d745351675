"""What a report on bursts of several frame sizes shows, from the record of the campaign alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brimful.records import Burst, Member, Run, RunFile, planned_members, read_run
from brimful.records.stated import burst_plan
from brimful.report import blocks, facts, words
from brimful.report.blocks import Block, Document, Section, Sentence, Table
from brimful.report.burst import model as one_size
from brimful.report.burst.explain import explain as explain_one_size
from brimful.units import format_load

NAMES = ["frame size", "throughput", "load", *one_size.RESULT_NAMES]
_NOTHING = "–"
_SHOWN_ELSEWHERE = ("Device", "Frame size", "Throughput", "Load of bursts", "Started")
"""Rows of the set-up of a run that are in the table of a campaign, or are the campaign's own."""
_OF_ALL = ("Host", "Labels")
"""Groups of facts that every size has alike."""


def build(file: RunFile) -> Document:
    """Compute what a report shows: the table, and on a page a section for each frame size.

    Parameters
    ----------
    file
        A record with the subject ``burst-campaign``; those of its runs are read for a page.
    """
    measured = [
        _as_file(file, member, member.run)
        for member in file.members
        if member.run is not None and member.run.burst is not None
    ]
    measurer = ", ".join(_asked(file.run, "measurers")) or file.run.run_id
    quiet = facts.machine([member.end for member in file.members])
    return Document(
        run=file.run,
        kind="Back-to-back frames",
        title=f"Back-to-back frames by frame size: {measurer}",
        outcome=_outcome(file),
        blocks=[_table(file)],
        sections=lambda: [_section(member, run) for member, run in runs_of(file)],
        notes=_notes(measured),
        set_up=[("Device", measurer), *_common(measured), ("Started", file.run.started)],
        warnings=[f"{size_of(member)}: {text}" for member in file.members for text in _remarks(member)],
        machine=None if quiet is None else words.machine(quiet),
        data={
            "kind": "burst-campaign",
            "frame_sizes": planned_sizes(file),
            "sizes": [_entry(file, member) for member in file.members],
        },
    )


def line(file: RunFile) -> str:
    """Give the result of a campaign in one line."""
    found = [
        f"{'≥ ' if member.burst.at_limit else ''}{one_size.frames(member.burst.mean)} at {size_of(member)}"
        for member in file.members
        if member.burst is not None
    ]
    said = f"longest bursts in frames: {', '.join(found)}" if found else "no result"
    return said + ("" if file.is_done() else "; not finished")


def explain(file: RunFile) -> str:
    """Say of each frame size, burst by burst, how each test came to its end."""
    lines = []
    for member, run in runs_of(file):
        lines.append(f"frame size {size_of(member)}")
        lines.extend(f"  {text}" for text in explain_one_size(run).splitlines())
    return "\n".join(lines) or "No burst was sent."


def _table(file: RunFile) -> Block:
    if not file.members:
        return Sentence("There is no result: no frame size came to its end.")
    rows = [_row(file, member) for member in file.members]
    return Table(title="Longest burst without loss", names=NAMES, rows=rows, key="results")


def _section(member: Member, file: RunFile) -> Section:
    plan, result = burst_plan(file), file.last(Burst)
    shown = [one_size.NO_RESULT] if result is None else [one_size.bursts_tried(file), one_size.tests_table(file)]
    size = size_of(member)
    own = [group for group in facts.set_up(file.run, facts.device(file.run, file.trials)) if group[0] not in _OF_ALL]
    return Section(
        title=f"Frame size {size}",
        blocks=[Sentence(blocks.outcome(file, "burst")), *shown],
        key=f"size-{size}",
        set_up=[("Run", one_size.set_up(file, plan)), *own],
    )


def _entry(file: RunFile, member: Member) -> dict[str, Any]:
    run = member.run
    return {
        "frame_size": member.frame_size,
        "path": str(file.path.parent / member.path),
        "run_id": None if run is None else run.run_id,
        "load_unit": None if run is None else run.load_unit,
        "plan": None if run is None else run.burst,
        "traffic": None if run is None else run.traffic,
        "end": member.end.reason,
        "text": member.end.text,
        "trials": member.end.trials,
        "result": member.burst,
        "warnings": member.warnings,
    }


def size_of(member: Member) -> str:
    """Give the frame size of a member as the campaign was given it."""
    return member.frame_size or "unknown"


def runs_of(file: RunFile) -> list[tuple[Member, RunFile]]:
    """Read the records of the runs that ended, bursts and all.

    Raises
    ------
    RecordError
        When one cannot be read.
    """
    return [(member, read_run(file.path.parent / member.path)) for member in file.members if member.run is not None]


def planned_sizes(file: RunFile) -> list[str]:
    """Give the frame sizes that the campaign was given, in their order."""
    return _asked(file.run, "frame_sizes")


def _asked(run: Run, key: str) -> list[str]:
    entries = run.source.get(key)
    return [str(entry) for entry in entries] if isinstance(entries, list) else []


def _as_file(file: RunFile, member: Member, run: Run) -> RunFile:
    """Give a member as if its own record had been read, but for bursts and tests."""
    return RunFile(
        path=file.path.parent / member.path,
        run=run,
        trials=[],
        bounds=[],
        goal_results=[],
        warnings=member.warnings,
        ends=[member.end],
        others=[] if member.burst is None else [member.burst],
    )


def _outcome(file: RunFile) -> str:
    ended, planned = len(file.members), planned_members(file.run) or len(planned_sizes(file))
    failed = sum(member.failed for member in file.members)
    said = f"{ended} of {words.count(planned, 'run')} ended" + (f" ({failed} failed)" if failed else "")
    how = words.CLOCK_WORDS.get(file.ends[-1].reason, "ended") if file.ends else "has not ended"
    return f"{said}; the campaign {how}."


def _row(file: RunFile, member: Member) -> list[str]:
    if member.run is None or member.run.burst is None:
        return [size_of(member), *[_NOTHING] * (len(NAMES) - 1)]
    unit, plan = member.run.load_unit, burst_plan(_as_file(file, member, member.run))
    throughput = _NOTHING if plan.throughput is None else format_load(plan.throughput, unit)
    cells = [_NOTHING] * len(one_size.RESULT_NAMES)
    if member.burst is not None:
        cells = one_size.result_cells(plan, member.burst)
    return [size_of(member), throughput, format_load(plan.load, unit), *cells]


def _remarks(member: Member) -> list[str]:
    failure = [f"measuring failed: {member.end.text}"] if member.failed else []
    return [*failure, *(warning.text for warning in member.warnings)]


def _notes(files: Sequence[RunFile]) -> list[str]:
    said = (one_size.notes(file, burst_plan(file), file.last(Burst)) for file in files)
    deviations = (f"Deviation: {text}." for file in files for text in file.run.deviations)
    return list(dict.fromkeys([*(note for notes in said for note in notes), *deviations]))


def _common(files: Sequence[RunFile]) -> list[tuple[str, str]]:
    set_ups = [one_size.set_up(file, burst_plan(file)) for file in files]
    alike = [row for row in set_ups[0] if all(row in other for other in set_ups)] if set_ups else []
    return [row for row in alike if row[0] not in _SHOWN_ELSEWHERE]
