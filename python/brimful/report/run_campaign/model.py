"""What a report on runs at several frame sizes shows, from the record of the campaign alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brimful.records import Member, Run, RunFile, planned_members, read_run
from brimful.report import blocks, facts, words
from brimful.report.blocks import Block, Document, Section, Sentence, Table
from brimful.report.burst.explain import explain as explain_one_size
from brimful.report.run_campaign.kinds import KINDS, Kind

_SHOWN_ELSEWHERE = ("Device", "Frame size", "IO size", "Started")
"""Rows of the set-up of a run that are the campaign's own, or in its table."""
_OF_ALL = ("Host", "Labels")
"""Groups of facts that every size has alike."""


def build(file: RunFile) -> Document:
    """Compute what a report shows: the table, and on a page a section for each frame size.

    Parameters
    ----------
    file
        The record of a campaign of bursts, loss rates or recoveries; those of its runs are read for a page.
    """
    kind = KINDS[file.run.subject]
    measured = [_as_file(file, member, member.run) for member in file.members if member.run is not None]
    measurer = ", ".join(_asked(file.run, "measurers")) or file.run.run_id
    quiet = facts.machine([member.end for member in file.members])
    return Document(
        run=file.run,
        kind=kind.what,
        title=f"{kind.what} by {_of_size(measured)}: {measurer}",
        outcome=_outcome(file),
        blocks=[_table(kind, file, measured)],
        sections=lambda: [_section(kind, member, run) for member, run in runs_of(file)],
        notes=_notes(kind, measured),
        set_up=[("Device", measurer), *_common(kind, measured), ("Started", file.run.started)],
        warnings=[f"{size_of(member)}: {text}" for member in file.members for text in _remarks(member)],
        machine=None if quiet is None else words.machine(quiet),
        data={
            "kind": file.run.subject,
            "frame_sizes": planned_sizes(file),
            "sizes": [_entry(file, member) for member in file.members],
        },
    )


def line(file: RunFile) -> str:
    """Give the result of a campaign in one line."""
    kind = KINDS[file.run.subject]
    found = [
        f"{value} at {size_of(member)}"
        for member in file.members
        if member.run is not None and (value := kind.value(_as_file(file, member, member.run)))
    ]
    said = f"{kind.values}: {', '.join(found)}" if found else "no result"
    return said + ("" if file.is_done() else "; not finished")


def explain(file: RunFile) -> str:
    """Say of each frame size, burst by burst, how each test came to its end."""
    lines = []
    for member, run in runs_of(file):
        lines.append(f"frame size {size_of(member)}")
        lines.extend(f"  {text}" for text in explain_one_size(run).splitlines())
    return "\n".join(lines) or "No burst was sent."


def _table(kind: Kind, file: RunFile, measured: Sequence[RunFile]) -> Block:
    if not file.members:
        return Sentence("There is no result: no frame size came to its end.")
    rows = [_row(kind, file, member) for member in file.members]
    return Table(title=kind.table, names=[_of_size(measured), *kind.names], rows=rows, key="results")


def _of_size(measured: Sequence[RunFile]) -> str:
    return "frame size" if all(facts.counts_frames(file.run) for file in measured) else "IO size"


def _row(kind: Kind, file: RunFile, member: Member) -> list[str]:
    if member.run is None:
        return [size_of(member), *["–"] * len(kind.names)]
    return [size_of(member), *kind.cells(_as_file(file, member, member.run))]


def _section(kind: Kind, member: Member, file: RunFile) -> Section:
    size = size_of(member)
    own = [group for group in facts.set_up(file.run, facts.device(file.run, file.trials)) if group[0] not in _OF_ALL]
    return Section(
        title=f"{'Frame' if facts.counts_frames(file.run) else 'IO'} size {size}",
        blocks=[Sentence(blocks.outcome(file, kind.things)), *kind.section(file)],
        key=f"size-{size}",
        set_up=[("Run", kind.set_up(file)), *own],
    )


def _entry(file: RunFile, member: Member) -> dict[str, Any]:
    run = member.run
    return {
        "frame_size": member.frame_size,
        "path": str(file.path.parent / member.path),
        "run_id": None if run is None else run.run_id,
        "load_unit": None if run is None else run.load_unit,
        "plan": None if run is None else run.burst or run.loss or run.recovery,
        "traffic": None if run is None else run.traffic,
        "end": member.end.reason,
        "text": member.end.text,
        "trials": member.end.trials,
        "passes_nothing": run is not None and _as_file(file, member, run).passes_nothing,
        "result": member.burst,
        "losses": member.losses,
        "recoveries": member.recoveries,
        "warnings": member.warnings,
    }


def size_of(member: Member) -> str:
    """Give the frame size of a member as the campaign was given it."""
    return member.frame_size or "unknown"


def runs_of(file: RunFile) -> list[tuple[Member, RunFile]]:
    """Read the records of the runs that ended, trials and all.

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
    """Give a member as if its own record had been read, but for trials."""
    return RunFile(
        path=file.path.parent / member.path,
        run=run,
        trials=[],
        bounds=[],
        goal_results=[],
        warnings=member.warnings,
        ends=[member.end],
        others=member.results,
    )


def _outcome(file: RunFile) -> str:
    ended, planned = len(file.members), planned_members(file.run) or len(planned_sizes(file))
    failed = sum(member.failed for member in file.members)
    said = f"{ended} of {words.count(planned, 'run')} ended" + (f" ({failed} failed)" if failed else "")
    how = words.CLOCK_WORDS.get(file.ends[-1].reason, "ended") if file.ends else "has not ended"
    return f"{said}; the campaign {how}."


def _remarks(member: Member) -> list[str]:
    failure = [f"measuring failed: {member.end.text}"] if member.failed else []
    return [*failure, *(warning.text for warning in member.warnings)]


def _notes(kind: Kind, files: Sequence[RunFile]) -> list[str]:
    deviations = (f"Deviation: {text}." for file in files for text in file.run.deviations)
    return list(dict.fromkeys([*(note for file in files for note in kind.notes(file)), *deviations]))


def _common(kind: Kind, files: Sequence[RunFile]) -> list[tuple[str, str]]:
    set_ups = [kind.set_up(file) for file in files]
    alike = [row for row in set_ups[0] if all(row in other for other in set_ups)] if set_ups else []
    return [row for row in alike if row[0] not in (*_SHOWN_ELSEWHERE, *kind.in_table)]
