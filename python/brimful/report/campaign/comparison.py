"""Campaigns side by side: the searches of the same measurer and frame size are compared with each other."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import msgspec

from brimful.compare import DEFAULT_TOLERANCE
from brimful.errors import UsageError
from brimful.records import Member, Run, RunFile
from brimful.report import comparison
from brimful.report.comparison import ComparisonReport, GoalComparison, range_title, signed
from brimful.report.comparison_text import ROLES
from brimful.report.text import WIDTH, Style, bullets, plain, table
from brimful.units import format_load, format_ratio

Key = tuple[str, str | None]


class CellComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One measurer and frame size of both sides."""

    measurer: str
    frame_size: str | None
    comparison: ComparisonReport

    @property
    def title(self) -> str:
        """What it is."""
        return self.measurer if self.frame_size is None else f"{self.measurer}, {self.frame_size}"


class CampaignComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All that both sides have."""

    tolerance: float
    cells: list[CellComparison]
    only_new: list[str]
    """What only one side has."""
    only_baseline: list[str]

    @property
    def regressed(self) -> bool:
        """Whether a goal of a cell has a regression beyond the tolerance."""
        return any(cell.comparison.regressed for cell in self.cells)


def build(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> CampaignComparison:
    """Compare campaigns with those of a baseline.

    Raises
    ------
    UsageError
        When they have no measurer and frame size in common, asked different things of one, or all searches of one
        failed.
    """
    ours, theirs = _cells(new), _cells(baseline)
    for side, cells in ((new, ours), (baseline, theirs)):
        _refuse_failed(side, cells)
    both = [key for key in theirs if key in ours]
    if not both:
        message = "the campaigns cannot be compared: no measurer and frame size was searched in both"
        raise UsageError(message)
    return CampaignComparison(
        tolerance=DEFAULT_TOLERANCE if tolerance is None else tolerance,
        cells=[
            CellComparison(
                measurer=measurer,
                frame_size=size,
                comparison=comparison.build(ours[measurer, size], theirs[measurer, size], tolerance=tolerance),
            )
            for measurer, size in both
        ],
        only_new=[_name(key) for key in ours if key not in theirs],
        only_baseline=[_name(key) for key in theirs if key not in ours],
    )


def render(found: CampaignComparison, *, style: Style = plain) -> str:
    """Write the comparison for a terminal: a table of all cells, and a sentence for each goal of each."""
    goals = [goal for cell in found.cells for goal in cell.comparison.goals]
    rows = [["measurer and frame size", "goal", "new", "runs", "baseline", "runs", "change", range_title(goals)]]
    rows += [_row(cell, goal) for cell in found.cells for goal in cell.comparison.goals]
    sentences = [
        _sentence(f"{cell.title}, {goal.goal.name}", goal, style)
        for cell in found.cells
        for goal in cell.comparison.goals
    ]
    scope = f"conditional throughput, tolerance {format_ratio(found.tolerance)}"
    blocks = [
        f"{style('Campaign against campaign', 'title')}\n{style(scope, 'faint')}",
        table(rows, right=range(2, 8), indent=0),
        "\n".join(sentences),
        bullets("Only in the new ones", found.only_new, style),
        bullets("Only in the baseline", found.only_baseline, style),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def to_json(found: CampaignComparison) -> str:
    """Write the comparison as one JSON object of kind ``campaign-comparison``."""
    facts: dict[str, Any] = {"kind": "campaign-comparison", "regressed": found.regressed}
    facts.update(msgspec.to_builtins(found))
    return msgspec.json.format(msgspec.json.encode(facts), indent=2).decode()


def _cells(files: Sequence[RunFile]) -> dict[Key, list[RunFile]]:
    """Give the searches that ended, as if their own records had been read, by measurer and frame size."""
    cells: dict[Key, list[RunFile]] = {}
    for file in files:
        for member in file.members:
            if member.run is not None and not member.failed:
                found = _as_file(file, member, member.run)
                cells.setdefault((member.measurer, member.frame_size), []).append(found)
    return cells


def _refuse_failed(files: Sequence[RunFile], cells: dict[Key, list[RunFile]]) -> None:
    for file in files:
        for member in file.members:
            if (member.measurer, member.frame_size) not in cells:
                path = file.path.parent / member.path
                message = f"{path} cannot be compared: {member.name} failed; resume the campaign or leave it out"
                raise UsageError(message)


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
    numbers, unit = goal.comparison, cell.comparison.load_unit
    most = "?" if numbers.ratio_most is None else signed(numbers.ratio_most)
    return [
        cell.title,
        goal.goal.name,
        "unknown" if numbers.mean is None else format_load(numbers.mean, unit),
        str(numbers.runs),
        "unknown" if numbers.baseline_mean is None else format_load(numbers.baseline_mean, unit),
        str(numbers.baseline_runs),
        "?" if numbers.ratio is None else signed(numbers.ratio),
        f"{signed(numbers.ratio_least)} to {most}",
    ]


def _sentence(name: str, goal: GoalComparison, style: Style) -> str:
    role = ROLES.get(goal.comparison.verdict)
    text = textwrap.fill(
        f"{name}: {goal.sentence}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return style(text[: len(name) + 1], role) + text[len(name) + 1 :] if role else text
