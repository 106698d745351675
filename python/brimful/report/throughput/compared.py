"""Searches against searches: what is shown of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from brimful.records import RunFile
from brimful.report import rendering, scales, words
from brimful.report.blocks import Block, Card, Document, Figure, Section, Table
from brimful.report.compared import Compared, Outcome, refuse_repeated
from brimful.report.throughput import comparison, strips
from brimful.report.throughput.comparison import CHANGE, IN_WORDS, ComparisonReport, GoalComparison, signed
from brimful.statistics.comparison import IMPROVEMENT, REGRESSION, SAME
from brimful.units import format_ratio

ROLES = {REGRESSION: "bad", IMPROVEMENT: "good", SAME: "good"}
_CAPTION = (
    "Each mark is the conditional throughput of a run; the line from it goes to the upper bound of that run, an arrow"
    " where none is known; hollow marks are irregular results. The grey band is the tolerance. The thick line is the"
    " range of the ratio of the means."
)


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
    shown = document(found)
    return Compared(
        regressed=found.regressed,
        text=lambda style, columns: rendering.text_of(shown, style=style, columns=columns),
        json=lambda: rendering.facts_as_json(shown),
        page=lambda: rendering.page_of(shown),
        outcomes=[
            Outcome(name=goal.goal.name, comparison=goal.comparison, sentence=goal.sentence) for goal in found.goals
        ],
    )


def document(report: ComparisonReport) -> Document:
    """Give what is shown of a comparison.

    Parameters
    ----------
    report
        From `brimful.report.throughput.comparison.build`.
    """
    tolerance = format_ratio(report.tolerance)
    return Document(
        run=None,
        kind="Comparison",
        title=comparison.headline(report),
        outcome=f"{report.new_title} against {report.baseline_title}",
        how=f"mean conditional throughput, {report.load_scope}; {CHANGE}; tolerance {tolerance}",
        cards=[
            Card(
                name=goal.goal.name,
                value="no value" if goal.comparison.ratio is None else signed(goal.comparison.ratio),
                caption=goal.sentence,
                badge=IN_WORDS[goal.comparison.verdict],
                role=ROLES.get(goal.comparison.verdict, "quiet"),
                colour=number,
            )
            for number, goal in enumerate(report.goals)
        ],
        cards_title="Change of the mean",
        blocks=[*_strips(report), _numbers(report)],
        sections=lambda: [Section(title="Runs", blocks=[_results(report)], key="runs")],
        notes=_notes(report),
        warnings=report.not_quiet,
        data={"kind": "comparison", "regressed": report.regressed, **msgspec.structs.asdict(report)},
    )


def _strips(report: ComparisonReport) -> list[Block]:
    if not any(value.least > 0 for goal in report.goals for value in goal.baseline):
        return []
    return [
        Figure(
            title="Every run",
            draw=partial(strips.draw_strips, report),
            caption=_CAPTION,
            key="strips",
            terminal="\n\n".join(filter(None, map(strips.strip, report.goals))),
        )
    ]


def _numbers(report: ComparisonReport) -> Table:
    spans = comparison.range_title(report.goals)
    return Table(
        title="Numbers",
        names=["goal", "new", "baseline", "runs", "change", spans, "spread", "Welch p", "permutation p", "detectable"],
        rows=[_row(goal, _loads_alike(report)) for goal in report.goals],
        key="numbers",
        words=1,
    )


def _row(goal: GoalComparison, alike: Callable[[float], str]) -> list[str]:
    numbers = goal.comparison
    return [
        goal.goal.name,
        *comparison.means(goal, alike),
        f"{numbers.runs} and {numbers.baseline_runs}",
        *comparison.change_and_range(numbers),
        "unknown" if numbers.spread is None else words.share(numbers.spread),
        words.p_value(numbers.welch_p),
        words.p_value(numbers.permutation_p),
        "unknown" if numbers.detectable is None else words.share(numbers.detectable),
    ]


def _results(report: ComparisonReport) -> Table:
    alike = _loads_alike(report)
    return Table(
        title="Results of the runs",
        names=["goal", "side", "run", "result", "conditional throughput", "upper bound"],
        rows=[
            [
                goal.goal.name,
                side,
                value.run_id,
                "regular" if value.regular else f"irregular ({value.reason})",
                alike(value.least) if value.least > 0 else "none",
                "none" if value.most is None else alike(value.most),
            ]
            for goal in report.goals
            for side, values in (("new", goal.new), ("baseline", goal.baseline))
            for value in values
        ],
        key="results",
        words=4,
        badges={"regular": "good", "irregular": "bad"},
    )


def _notes(report: ComparisonReport) -> list[str]:
    methods = ", ".join(f"{goal.goal.name}: {goal.comparison.method}" for goal in report.goals)
    least = words.p_value(report.goals[0].comparison.smallest_permutation_p) if report.goals else "?"
    return [
        f"Means are geometric. The range is that of the means by spread between runs ({methods}), widened by the"
        " distance between the bounds of the runs, within which each of them says nothing.",
        "Spread: the standard deviation between runs. Detectable: the least loss that 80 % of comparisons with runs"
        " like these would find.",
        f"With this number of runs a permutation test cannot give a p below {least}.",
    ]


def _loads_alike(report: ComparisonReport) -> Callable[[float], str]:
    """Give what writes loads with one unit and as many decimals, so that a column can be read down."""
    values = [value for goal in report.goals for value in (*goal.new, *goal.baseline)]
    loads = [load for value in values for load in (value.least, value.most) if load]
    factor, name = scales.load_scale(max(loads, default=1.0), report.load_unit)
    decimals = min(9, max(0, 3 - math.floor(math.log10(min(loads, default=1.0) / factor))))
    return lambda load: f"{load / factor:.{decimals}f} {name}"
