"""Searches against searches."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import RunFile
from brimful.report.compared import Compared, Outcome, refuse_repeated
from brimful.report.throughput import comparison, comparison_text, export


def compare_runs(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> Compared:
    """Compare searches with those of a baseline.

    Raises
    ------
    UsageError
        When they cannot be compared, or a side has one run twice.
    """
    for side in (new, baseline):
        refuse_repeated(side)
    found = comparison.build(new, baseline, tolerance=tolerance)

    def page() -> str:
        from brimful.report.throughput import comparison_html

        return comparison_html.render(found)

    return Compared(
        regressed=found.regressed,
        text=lambda style, columns: comparison_text.render(found, style=style, columns=columns),
        json=lambda: export.comparison_to_json(found),
        page=page,
        outcomes=[
            Outcome(name=goal.goal.name, comparison=goal.comparison, sentence=goal.sentence) for goal in found.goals
        ],
    )
