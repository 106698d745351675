"""Campaigns side by side: the searches of the same measurer and frame size are compared with each other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from brimful.errors import UsageError
from brimful.records import Member, Run, RunFile
from brimful.report import rendering
from brimful.report.blocks import Bullets, Document, Table
from brimful.report.campaign.model import entries
from brimful.report.compared import Compared, Outcome, refuse_repeated
from brimful.report.throughput import comparison
from brimful.report.throughput.compared import ROLES
from brimful.report.throughput.comparison import CHANGE, IN_WORDS, ComparisonReport, GoalComparison, range_title
from brimful.statistics.comparison import DEFAULT_TOLERANCE
from brimful.units import format_load, format_ratio

Key = tuple[str, str | None]


class CellComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One measurer and frame size of both sides."""

    measurer: str
    """Of the new side."""
    against: str
    """The measurer of the baseline: the same, or the one that it is paired with."""
    frame_size: str | None
    comparison: ComparisonReport

    @property
    def title(self) -> str:
        """What it is."""
        measurer = self.measurer if self.measurer == self.against else f"{self.measurer} against {self.against}"
        return _name((measurer, self.frame_size))


class CampaignComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All that both sides have."""

    tolerance: float
    cells: list[CellComparison]
    only_new: list[str]
    """What only one side has."""
    only_baseline: list[str]
    not_compared: list[str]
    """What both sides asked for and at least one has no value of, with the side."""
    lost: list[str]
    """Of these, what the baseline has a value of and the new side has not."""
    left_out: list[str]
    """Every search of either side that has no value, and why."""

    @property
    def regressed(self) -> bool:
        """Whether a goal of a cell has a regression beyond the tolerance."""
        return any(cell.comparison.regressed for cell in self.cells)


def build(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> CampaignComparison:
    """Compare campaigns with those of a baseline.

    Measurers that one side alone has are paired in their order where the other side has as many: a new build that is
    measured under another name, or another device.

    Raises
    ------
    UsageError
        When no measurer and frame size has a value on both sides, or they asked different things of one.
    """
    theirs = _cells(baseline)
    names = _paired(_cells(new), theirs)
    ours = {(names.get(measurer, measurer), size): files for (measurer, size), files in _cells(new).items()}
    new_names = {against: measurer for measurer, against in names.items()}
    left_out = [*_left_out(new), *_left_out(baseline)]
    common = [key for key in theirs if key in ours]
    both = [key for key in common if ours[key] and theirs[key]]
    if not both:
        message = "the campaigns cannot be compared: no measurer and size has a value on both sides"
        if left_out:
            message += f"; {left_out[0]}" + (f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else "")
        raise UsageError(message)
    return CampaignComparison(
        tolerance=DEFAULT_TOLERANCE if tolerance is None else tolerance,
        cells=[
            CellComparison(
                measurer=new_names.get(measurer, measurer),
                against=measurer,
                frame_size=size,
                comparison=comparison.build(ours[measurer, size], theirs[measurer, size], tolerance=tolerance),
            )
            for measurer, size in both
        ],
        only_new=[_name(key) for key in ours if key not in theirs],
        only_baseline=[_name(key) for key in theirs if key not in ours],
        not_compared=[
            f"{_name(key)}: no value {_where(new=not ours[key], baseline=not theirs[key])}"
            for key in common
            if key not in both
        ],
        lost=[_name(key) for key in common if theirs[key] and not ours[key]],
        left_out=left_out,
    )


def _paired(ours: Mapping[Key, object], theirs: Mapping[Key, object]) -> dict[str, str]:
    """Give for each measurer that only the new side has the one of the baseline that it is compared with.

    >>> _paired({("lab:a", "64"): 0, ("lab:c", None): 0}, {("lab:a", "64"): 0, ("lab:b", None): 0})
    {'lab:c': 'lab:b'}
    """
    new, old = (list(dict.fromkeys(measurer for measurer, _ in side)) for side in (ours, theirs))
    only_new, only_old = ([name for name in one if name not in other] for one, other in ((new, old), (old, new)))
    return dict(zip(only_new, only_old, strict=True)) if len(only_new) == len(only_old) else {}


def compare_runs(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> Compared:
    """Compare campaigns with those of a baseline.

    Raises
    ------
    UsageError
        When they cannot be compared, or a side has one run twice.
    """
    for side in (new, baseline):
        refuse_repeated(side)
    found = build(new, baseline, tolerance=tolerance)
    shown = document(found)
    return Compared(
        regressed=found.regressed,
        text=lambda style, columns: rendering.text_of(shown, style=style, columns=columns),
        json=lambda: rendering.facts_as_json(shown),
        page=lambda: rendering.page_of(shown),
        outcomes=[
            Outcome(name=f"{cell.title}, {goal.goal.name}", comparison=goal.comparison, sentence=goal.sentence)
            for cell in found.cells
            for goal in cell.comparison.goals
        ],
        incomplete=_incomplete(found.lost),
    )


def _incomplete(lost: Sequence[str]) -> str | None:
    if not lost:
        return None
    more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
    return f"the new campaigns have no value of {lost[0]}{more}, which the baseline has; resume them or make them anew"


def document(found: CampaignComparison) -> Document:
    """Give what is shown of a comparison: a table of all searches, and a sentence for each goal of each."""
    goals = [(cell, goal) for cell in found.cells for goal in cell.comparison.goals]
    lists = [
        ("Only in the new ones", found.only_new),
        ("Only in the baseline", found.only_baseline),
        ("Not compared", found.not_compared),
        ("Searches without a value, left out", found.left_out),
    ]
    spans = range_title([goal for _, goal in goals])
    return Document(
        run=None,
        kind="Comparison",
        title="Campaign against campaign",
        outcome="At least one goal has got worse."
        if found.regressed
        else "No goal has got worse beyond the tolerance.",
        how=f"mean conditional throughput; {CHANGE}; tolerance {format_ratio(found.tolerance)}",
        blocks=[
            Table(
                title="All searches",
                names=["measurer and size", "goal", "verdict", "new", "runs", "baseline", "runs", "change", spans],
                rows=[_row(cell, goal) for cell, goal in goals],
                key="numbers",
                words=3,
                badges={IN_WORDS[verdict]: role for verdict, role in ROLES.items()},
            ),
            Bullets(
                title="What they say",
                entries=[f"{cell.title}, {goal.goal.name}: {goal.sentence}" for cell, goal in goals],
                key="verdicts",
            ),
            *(
                Bullets(title=title, entries=entries, key=f"list-{number}")
                for number, (title, entries) in enumerate(lists)
            ),
        ],
        notes=(),
        warnings=(),
        data={"kind": "campaign-comparison", "regressed": found.regressed, **msgspec.structs.asdict(found)},
    )


def _cells(files: Sequence[RunFile]) -> dict[Key, list[RunFile]]:
    """Give the searches that have a value, as if their own records had been read, by measurer and frame size.

    What was asked for and has none is there with no search: also where a campaign ended before its turn.
    """
    cells: dict[Key, list[RunFile]] = {}
    for file in files:
        sizes: list[str | None] = [*entries(file.run, "frame_sizes")] or [None]
        for key in itertools.product(entries(file.run, "measurers"), sizes):
            cells.setdefault(key, [])
        for member in file.members:
            cell = cells.setdefault(member.cell, [])
            if member.run is not None and _lack(file, member) is None:
                cell.append(_as_file(file, member, member.run))
    return cells


def _left_out(files: Sequence[RunFile]) -> list[str]:
    return [
        f"{file.path.parent / member.path}: {lack}"
        for file in files
        for member in file.members
        if (lack := _lack(file, member)) is not None
    ]


def _lack(file: RunFile, member: Member) -> str | None:
    if member.failed:
        return "measuring failed"
    if member.run is None:
        return "it never began"
    return comparison.missing_value(_as_file(file, member, member.run))


def _where(*, new: bool, baseline: bool) -> str:
    if new and baseline:
        return "on either side"
    return "in the new ones" if new else "in the baseline"


def _as_file(file: RunFile, member: Member, run: Run) -> RunFile:
    return RunFile(
        path=file.path.parent / member.path,
        run=run,
        trials=[],
        bounds=[],
        goal_results=member.goal_results,
        warnings=member.warnings,
        ends=[member.end],
    )


def _name(key: Key) -> str:
    return key[0] if key[1] is None else f"{key[0]}, {key[1]}"


def _row(cell: CellComparison, goal: GoalComparison) -> list[str]:
    numbers = goal.comparison
    new, baseline = comparison.means(goal, partial(format_load, unit=cell.comparison.load_unit))
    return [
        cell.title,
        goal.goal.name,
        IN_WORDS[numbers.verdict],
        new,
        str(numbers.runs),
        baseline,
        str(numbers.baseline_runs),
        *comparison.change_and_range(numbers),
    ]
