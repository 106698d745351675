"""Everything that the report on a campaign shows, computed once from its own record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from brimful.records import SPECIFICATION, End, Goal, GoalResult, Member, Run, RunFile, planned_members
from brimful.report import facts, words
from brimful.report.campaign.parts import PartView, parts_of
from brimful.report.throughput.model import RFC2544_TRIAL_S
from brimful.statistics.comparison import Sample, interval
from brimful.statistics.repeatability import Spread, summarise
from brimful.units import ETHERNET_OVERHEAD_BYTES, format_duration

FRAME_SIZE, IO_SIZE = "frame size", "IO size"
L2_AND_L1 = (
    "L2 counts the bits of frames, FCS included; L1 adds 20 bytes a frame for preamble, start delimiter and gap."
)
FEW_REPEATS = 3
"""With so few values Student's t is more than twice what it is with many."""


class Irregular(msgspec.Struct, frozen=True, kw_only=True):
    """An irregular result: shown, and in no statistics."""

    member: str
    headline: str
    reason: str


class CellGoal(msgspec.Struct, frozen=True, kw_only=True):
    """What the repeats of a cell found for one goal."""

    goal: Goal
    values: list[float]
    """Conditional throughputs of the regular results, in the scope of loads."""
    spread: Spread | None
    """Of the values; null without any. Its interval is that of the throughput, widened by the bounds."""
    irregular: list[Irregular]
    at_least: float | None
    """Where every run was limited by its max load: the greatest throughput seen, a least value."""
    total: float | None
    """Mean over all interfaces and directions."""
    bits_l2: float | None
    """Mean in bits of frames a second."""
    bits_l1: float | None
    """The same with 20 bytes a frame for preamble, start delimiter and gap."""
    link_share: float | None
    """Mean / what the link carries of this size."""
    range_in_widths: float | None
    """(greatest - least) / greatest, in widths of the goal; null with less than two values or a free width."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One measurer and one frame size: the searches that are repeats of each other."""

    measurer: str
    frame_size: str | None
    frame_bytes: float | None
    """Mean size of a frame, FCS included, where it is known."""
    link_rate: float | None
    """The most frames a second that the link carries of this size, in one direction."""
    load_unit: str
    conversion_factor: float
    runs: int
    failed: int
    goals: list[CellGoal]

    @property
    def wire_bits(self) -> float | None:
        """Bits that a frame takes on the wire, gaps included; null where its size is not known."""
        return None if self.frame_bytes is None else 8 * (self.frame_bytes + ETHERNET_OVERHEAD_BYTES)


class MemberView(msgspec.Struct, frozen=True, kw_only=True):
    """One search."""

    name: str
    measurer: str
    frame_size: str | None
    repeat: int
    path: str
    run_id: str | None
    trials: int
    search_s: float
    guess: float | None
    """Load near which it began."""
    load_unit: str
    state: str
    """``regular``, ``irregular`` or ``failed``."""
    headlines: list[str]
    """One a goal."""
    text: str
    """What went wrong."""
    part: int | None
    """Of a merged campaign: which part it was in."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown about a campaign."""

    run: Run
    title: str
    outcome: str
    planned: int
    members: list[MemberView]
    parts: list[PartView]
    """Of a merged campaign."""
    cells: list[Cell]
    size_name: str
    """`FRAME_SIZE` or `IO_SIZE`."""
    load_scope: str
    method: list[str]
    deviations: list[str]
    """From the trial procedure of RFC 2544, of any of the searches."""
    warnings: list[str]
    set_up: list[tuple[str, dict[str, object], dict[str, object]]]
    """Measurer, its device and its traffic."""
    simulated: bool
    """Whether some results are of a formula."""

    @property
    def measurers(self) -> list[str]:
        """In their order."""
        return list(dict.fromkeys(cell.measurer for cell in self.cells))


def build(file: RunFile) -> Report:
    """Compute what a report shows.

    Parameters
    ----------
    file
        The record of a campaign, complete or not.
    """
    run, members = file.run, file.members
    planned = planned_members(run) or len(members)
    parts = parts_of(run)
    places = {name: one.part for one in parts for name in one.members}
    first_runs = {member.measurer: member.run for member in reversed(members) if member.run is not None}
    size_name = _size_name(first_runs.values())
    simulated = any(facts.is_simulated(found) for found in first_runs.values())
    scopes = list(dict.fromkeys(member.run.load_scope for member in members if member.run is not None))
    return Report(
        run=run,
        title=_title(run, size_name),
        size_name=size_name,
        outcome=_outcome(file, planned, is_simulated=simulated),
        planned=planned,
        members=[_member(member, run.goals, places.get(member.name)) for member in members],
        parts=parts,
        cells=_cells(run, members),
        load_scope=" or ".join(scopes) or run.load_scope,
        method=list(_method(run, members, parts, size_name)),
        deviations=_deviations(run, members),
        warnings=_warnings(file),
        set_up=[
            (measurer, first_runs[measurer].device, first_runs[measurer].traffic)
            for measurer in dict.fromkeys(member.measurer for member in members)
            if measurer in first_runs
        ],
        simulated=simulated,
    )


def entries(run: Run, key: str) -> list[str]:
    """Give the measurers or the frame sizes that a campaign was asked for."""
    entries = run.source.get(key)
    return [str(entry) for entry in entries] if isinstance(entries, list) else []


def _repeats(run: Run) -> int:
    repeats = run.source.get("repeats")
    return repeats if isinstance(repeats, int) and repeats > 0 else 1


def _size_name(runs: Iterable[Run]) -> str:
    """Give what sizes are of: of IOs, where all that was searched were disks."""
    found = list(runs)
    return IO_SIZE if found and all(facts.counts_ios(run) for run in found) else FRAME_SIZE


def _title(run: Run, size_name: str) -> str:
    name = run.labels.get("name") or run.labels.get("title")
    if name:
        return name
    measurers, sizes = entries(run, "measurers"), entries(run, "frame_sizes")
    what = measurers[0] if len(measurers) == 1 else words.count(len(measurers), "measurer")
    parts = [what]
    if sizes:
        parts.append(words.count(len(sizes), size_name))
    if _repeats(run) > 1:
        parts.append(words.count(_repeats(run), "repeat"))
    shard = run.source.get("shard")
    if isinstance(shard, dict):
        parts.append(f"part {shard.get('part')} of {shard.get('of')}")
    return "Campaign: " + ", ".join(parts)


def _outcome(file: RunFile, planned: int, *, is_simulated: bool) -> str:
    members = file.members
    end: End | None = file.ends[-1] if file.ends else None
    states = [_state(member) for member in members]
    counted = [f"{states.count(state)} {state}" for state in ("regular", "irregular", "failed") if state in states]
    how = words.CLOCK_WORDS.get(end.reason, "ended") if end is not None else "has not ended"
    took = sum(member.end.search_s for member in members)
    trials = words.count(sum(member.end.trials for member in members), "trial")
    ended = f"{len(members)} of {words.count(planned, 'search', 'searches')}"
    split = f" ({', '.join(counted)})" if counted else ""
    said = f"The campaign {how}: {ended} ended{split}, {trials} in {format_duration(took)} of searching."
    return said + (" Simulated: some of these are results of a formula, not of a device." if is_simulated else "")


def _state(member: Member) -> str:
    return "failed" if member.failed else "regular" if member.regular else "irregular"


def _member(member: Member, goals: Sequence[Goal], part: int | None) -> MemberView:
    results = {result.goal: result for result in member.goal_results}
    unit = member.run.load_unit if member.run else "frames/s"
    return MemberView(
        name=member.name,
        measurer=member.measurer,
        frame_size=_frame_size(member),
        repeat=member.repeat,
        path=member.path,
        run_id=member.run.run_id if member.run else None,
        trials=member.end.trials,
        search_s=member.end.search_s,
        guess=member.run.hint if member.run else None,
        load_unit=unit,
        state=_state(member),
        headlines=[words.headline(results.get(goal.name), unit) for goal in goals],
        text=member.end.text,
        part=part,
    )


def _frame_size(member: Member) -> str | None:
    if member.frame_size is not None:
        return member.frame_size
    said = facts.lookup(member.run, facts.FRAME_SIZE_KEYS) if member.run else None
    return None if said is None else str(said)


def _cells(run: Run, members: Sequence[Member]) -> list[Cell]:
    groups: dict[tuple[str, str | None], list[Member]] = {}
    for member in members:
        groups.setdefault(member.cell, []).append(member)
    order = entries(run, "measurers")
    cells = [_cell(run, group) for group in groups.values()]
    return sorted(cells, key=lambda cell: order.index(cell.measurer) if cell.measurer in order else len(order))


def _cell(run: Run, group: Sequence[Member]) -> Cell:
    first = next((member.run for member in group if member.run is not None), None)
    size = next((found for member in group if (found := _frame_size(member))), None)
    counts_frames = first is None or facts.counts_frames(first)
    mean_bytes = _mean_bytes(size, first) if counts_frames else None
    link = facts.link_bps(first) if first and counts_frames else None
    link_rate = link / (8 * (mean_bytes + ETHERNET_OVERHEAD_BYTES)) if link and mean_bytes else None
    factor = first.conversion_factor if first else 1.0
    unit = first.load_unit if first else "frames/s"
    return Cell(
        measurer=group[0].measurer,
        frame_size=size,
        frame_bytes=mean_bytes,
        link_rate=link_rate,
        load_unit=unit,
        conversion_factor=factor,
        runs=len(group),
        failed=sum(member.failed for member in group),
        goals=[_cell_goal(goal, group, unit, factor, mean_bytes, link_rate) for goal in run.goals],
    )


def _mean_bytes(size: str | None, run: Run | None) -> float | None:
    exact = facts.number(size)
    return exact if exact is not None or run is None else facts.mean_frame_size(run)


def _cell_goal(
    goal: Goal, group: Sequence[Member], unit: str, factor: float, mean_bytes: float | None, link_rate: float | None
) -> CellGoal:
    found = [
        (member, result)
        for member in group
        if not member.failed
        for result in member.goal_results
        if result.goal == goal.name
    ]
    regular = [result for _, result in found if _value(result) is not None]
    values = [value for result in regular if (value := _value(result)) is not None]
    spread = _spread(values, regular, facts.load_of_a_unit(goal, factor, unit))
    mean = spread.mean if spread else None
    limited = [result for _, result in found if result.reason == "max-load-is-lower-bound"]
    least = [result.conditional_throughput for result in limited if result.conditional_throughput is not None]
    return CellGoal(
        goal=goal,
        values=values,
        spread=spread,
        irregular=[
            Irregular(member=member.name, headline=words.headline(result, unit), reason=result.reason)
            for member, result in found
            if not result.regular
        ],
        at_least=max(least, default=None) if len(limited) == len(found) else None,
        total=None if mean is None else mean * factor,
        bits_l2=None if mean is None or mean_bytes is None else mean * 8 * mean_bytes,
        bits_l1=None if mean is None or mean_bytes is None else mean * 8 * (mean_bytes + ETHERNET_OVERHEAD_BYTES),
        link_share=None if mean is None or not link_rate else mean / link_rate,
        range_in_widths=_range_in_widths(goal, spread),
    )


def _value(result: GoalResult) -> float | None:
    return result.conditional_throughput if result.regular else None


def _spread(values: Sequence[float], regular: Sequence[GoalResult], unit: float) -> Spread | None:
    """Summarise conditional throughputs, with the interval in which comparisons have the throughput too."""
    spread = summarise(values)
    if spread is None:
        return None
    most = [
        max(value, math.inf if result.upper_bound is None else result.upper_bound)
        for value, result in zip(values, regular, strict=True)
    ]
    return msgspec.structs.replace(spread, interval=interval(Sample(tuple(values), tuple(most), unit)))


def _range_in_widths(goal: Goal, spread: Spread | None) -> float | None:
    if spread is None or spread.runs < 2 or not goal.width or spread.most <= 0:
        return None
    return (spread.most - spread.least) / spread.most / goal.width


def _method(run: Run, members: Sequence[Member], parts: Sequence[PartView], size_name: str) -> list[str]:
    repeats = _repeats(run)
    said = [
        f"Every search is an ordinary run in a directory of its own, whose report states all that {SPECIFICATION} and "
        "RFC 2544 ask for.",
        "Every value is a conditional throughput. Its mean, standard deviation (n - 1) and range are "
        "over the regular results of the repeats. The 95 % interval is Student's t on logarithms, widened by the "
        "bounds: from the mean conditional throughput down, and from the mean upper bound up.",
        "Irregular results are listed apart and are in no mean: where a search was limited by its max load (the "
        "tester's ceiling) its result is a bound, not a value.",
    ]
    if size_name == FRAME_SIZE:
        said.append(L2_AND_L1)
    if parts:
        said.append(
            f"It was measured in {words.count(len(parts), 'part')}, which were then put together. The repeats of one "
            "measurer and size are in one part as far as that makes parts of equal length."
        )
    elif repeats > 1:
        said.append(
            "Repeats were the outermost loop: every measurer and size once, then all again, so that drift of the "
            "machine spreads over all of them."
        )
    if 1 < repeats <= FEW_REPEATS:
        said.append(f"With {repeats} repeats an interval is wide: it is as good as so few values allow, and no better.")
    if run.source.get("shared_guesses"):
        near = "the frames/s or the bit/s of the nearest" if size_name == FRAME_SIZE else "that of the one before"
        said.append(
            f"Searches began near what earlier ones had found (repeats at their mean, a new size at {near}): that "
            "selects loads, and no trial counts twice."
        )
    if any(member.run and member.run.measurer.known_ceiling for member in members) and repeats > 1:
        said.append("The tester's own ceiling was measured once for each measurer and size, and holds for its repeats.")
    return said


def _deviations(run: Run, members: Sequence[Member]) -> list[str]:
    found = [text for member in members if member.run for text in member.run.deviations]
    short = sorted({goal.final_trial_duration_s for goal in run.goals if goal.final_trial_duration_s < RFC2544_TRIAL_S})
    if short:
        lengths = " and ".join(words.exact_seconds(length) for length in short)
        found.append(f"trials behind a result last {lengths}; RFC 2544 asks for at least 60 s")
    return list(dict.fromkeys(found))


def _warnings(file: RunFile) -> list[str]:
    texts: dict[str, list[str]] = {}
    for member in file.members:
        for warning in member.warnings:
            texts.setdefault(f"{warning.code}: {warning.text}", []).append(member.name)
        if member.failed:
            texts.setdefault(f"failed: {member.end.text}", []).append(member.name)
    of_all = dict.fromkeys(f"{warning.code}: {warning.text}" for warning in file.warnings)
    return [*of_all, *(f"{text} ({', '.join(names)})" for text, names in texts.items())]
