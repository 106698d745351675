"""What a report on bursts of several frame sizes shows, from the record of the campaign alone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from brimful.records import Member, Run, RunFile, read_run
from brimful.report import facts, words
from brimful.report.burst import model as one_size
from brimful.units import format_load

NAMES = ["frame size", "throughput", "load", *one_size.RESULT_NAMES]
_NOTHING = "–"
_SHOWN_ELSEWHERE = ("Device", "Frame size", "Throughput", "Load of bursts", "Started")
"""Rows of the set-up of a run that are in the table of a campaign, or are the campaign's own."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown about a campaign."""

    title: str
    outcome: str
    rows: list[list[str]]
    """A row for each frame size that ended (RFC 9004 section 7)."""
    notes: list[str]
    """What the values mean, and what they do not."""
    set_up: list[tuple[str, str]]
    """What all sizes have alike."""
    warnings: list[str]
    """Of each size, with its name."""
    machine: str | None
    """How quiet the machine was; null where nothing was watched."""


def build(file: RunFile) -> View:
    """Compute what a report shows."""
    views = [
        one_size.build(_as_file(file, member, member.run))
        for member in file.members
        if member.run is not None and member.run.burst is not None
    ]
    measurer = ", ".join(_told(file.run, "measurers")) or file.run.run_id
    quiet = facts.machine([member.end for member in file.members])
    return View(
        title=f"Back-to-back frames by frame size: {measurer}",
        outcome=_outcome(file),
        rows=[_row(member) for member in file.members],
        notes=_notes(views),
        set_up=[("Device", measurer), *_common(views), ("Started", file.run.started)],
        warnings=[f"{size_of(member)}: {text}" for member in file.members for text in _remarks(member)],
        machine=None if quiet is None else words.machine(quiet),
    )


def size_of(member: Member) -> str:
    """Give the frame size of a member as the campaign was told it."""
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
    """Give the frame sizes that the campaign was told, in their order."""
    return _told(file.run, "frame_sizes")


def _told(run: Run, key: str) -> list[str]:
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
    ended, planned = len(file.members), len(planned_sizes(file))
    failed = sum(member.failed for member in file.members)
    said = f"{ended} of {words.count(planned, 'run')} ended" + (f" ({failed} failed)" if failed else "")
    how = words.CLOCK_WORDS.get(file.ends[-1].reason, "ended") if file.ends else "has not ended"
    return f"{said}; the campaign {how}."


def _row(member: Member) -> list[str]:
    plan = None if member.run is None else member.run.burst
    if member.run is None or plan is None:
        return [size_of(member), *[_NOTHING] * (len(NAMES) - 1)]
    unit = member.run.load_unit
    throughput = _NOTHING if plan.throughput is None else format_load(plan.throughput, unit)
    cells = [_NOTHING] * len(one_size.RESULT_NAMES)
    if member.burst is not None:
        cells = one_size.result_cells(plan, member.burst)
    return [size_of(member), throughput, format_load(plan.load, unit), *cells]


def _remarks(member: Member) -> list[str]:
    failure = [f"measuring failed: {member.end.text}"] if member.failed else []
    return [*failure, *(warning.text for warning in member.warnings)]


def _notes(views: Sequence[one_size.View]) -> list[str]:
    deviations = (f"Deviation: {text}." for view in views for text in view.file.run.deviations)
    return list(dict.fromkeys([*(note for view in views for note in view.notes), *deviations]))


def _common(views: Sequence[one_size.View]) -> list[tuple[str, str]]:
    if not views:
        return []
    alike = [row for row in views[0].set_up if all(row in view.set_up for view in views)]
    return [row for row in alike if row[0] not in _SHOWN_ELSEWHERE]
