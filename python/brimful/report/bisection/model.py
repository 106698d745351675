"""What a report on a bisection shows, in words and cells, from the records of a run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial

from brimful.records import Bisected, BisectionPlan, Build, RunFile, Visit
from brimful.records.stated import bisection_plan
from brimful.report import blocks, facts, words
from brimful.report.bisection import figures
from brimful.report.bisection.measured import Measured, measured_builds, ratio
from brimful.report.blocks import Block, Card, Document, Figure, Sentence, Table
from brimful.units import format_duration, format_ratio

_PURPOSES = {
    "ends": "whether there is a change at all",
    "control": "whether the good build differs from itself",
    "search": "where the change is",
    "confirm": "the likeliest build beside its parent",
}
_NAMED = 40
"""Characters of a name in tables."""


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``bisection``.

    Raises
    ------
    RecordError
        When the record has no plan of such a run.
    """
    plan = bisection_plan(file)
    answer, visits, builds = file.last(Bisected), file.of(Visit), file.of(Build)
    return Document(
        run=file.run,
        kind="Bisection",
        title=f"Bisection: {name(plan, 0)} to {name(plan, len(plan.versions) - 1)}",
        outcome=blocks.outcome(file, "trial"),
        cards=[] if answer is None else [_card(plan, answer)],
        blocks=_blocks(plan, answer, visits, builds),
        notes=_notes(plan),
        set_up=_set_up(file, plan),
        warnings=[warning.text for warning in file.warnings],
        machine=blocks.machine(file),
        values="answer",
        data={"plan": plan, "answer": answer, "visits": visits, "builds": builds},
    )


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    answer = file.last(Bisected)
    return "no result" if answer is None else _short(bisection_plan(file), answer)


def name(plan: BisectionPlan, number: int) -> str:
    """Give what a build is called, as it can be shown."""
    if not 0 <= number < len(plan.versions):
        return f"build {number}, which is none"
    version = plan.versions[number]
    text = facts.text(version.title or version.version)
    return text if len(text) <= _NAMED else f"{text[: _NAMED - 3]}..."


def sentence(plan: BisectionPlan, answer: Bisected) -> str:
    """Say in words what was found."""
    sure, change = _percent(answer.probability), _change(answer)
    last = len(plan.versions) - 1
    if answer.answer == "one":
        found = answer.builds[0][0]
        if not 0 <= found < len(plan.versions):
            return name(plan, found)
        said = f"{name(plan, found)} made it {change}, with a probability of {sure}."
        return f"{said} Its diff: {diff_command(plan, found)}"
    if answer.answer == "two":
        first, second = (name(plan, group[0]) for group in answer.builds)
        return f"Two builds changed it, with a probability of {sure}: {first} and {second}; together {change}."
    if answer.answer == "range":
        ranges = " and ".join(_range(plan, group) for group in answer.builds)
        why = f" ({answer.reason})" if answer.reason else ""
        return f"The change lies in {ranges}, with a probability of {sure}{why}. In all it is {change}."
    if answer.answer == "cannot-say":
        return f"This machine cannot say: {answer.reason}."
    ends = f"{name(plan, 0)} and {name(plan, last)}"
    if answer.reason:
        return f"No difference between {ends} was found: {answer.reason}."
    return f"No difference: a change of more than {format_ratio(plan.tolerance)} between {ends} is excluded."


def diff_command(plan: BisectionPlan, number: int) -> str:
    """Give the command that shows what a build changed."""
    version, parents = plan.versions[number], plan.versions[number].parents
    parent = plan.versions[parents[0] if parents else 0].version
    if plan.git is None:
        return f"compare {facts.text(parent)} with {facts.text(version.version)}"
    return f"git -C {shlex.quote(facts.text(plan.git))} diff {parent[:12]} {version.version[:12]}"


def _short(plan: BisectionPlan, answer: Bisected) -> str:
    sure = _percent(answer.probability)
    if answer.answer == "one":
        return f"{name(plan, answer.builds[0][0])} made it {_change(answer)} ({sure})"
    if answer.answer == "two":
        return f"{' and '.join(name(plan, group[0]) for group in answer.builds)} changed it ({sure})"
    if answer.answer == "range":
        return f"in {' and '.join(_range(plan, group) for group in answer.builds)} ({sure})"
    return "this machine cannot say" if answer.answer == "cannot-say" else "no difference"


def _card(plan: BisectionPlan, answer: Bisected) -> Card:
    titles = {
        "one": "the build that changed it",
        "two": "the builds that changed it",
        "range": "the change lies in",
        "none": "good and bad build",
        "cannot-say": "good and bad build",
    }
    values = {"none": "no difference", "cannot-say": "this machine cannot say"}
    shown = " and ".join(_range(plan, group) for group in answer.builds)
    return Card(
        name=titles.get(answer.answer, answer.answer),
        value=values.get(answer.answer, shown),
        caption=_change(answer) if answer.builds else "",
        badge="" if answer.answer in ("one", "two") else answer.answer.replace("-", " "),
        pairs=[("Probability", _percent(answer.probability)), ("Nothing changed", _percent(answer.none))],
    )


def _blocks(
    plan: BisectionPlan, answer: Bisected | None, visits: Sequence[Visit], builds: Sequence[Build]
) -> list[Block]:
    found = measured_builds(plan, visits)
    shown: list[Block] = [Sentence("There is no answer." if answer is None else sentence(plan, answer))]
    if answer is not None and answer.belief:
        shown.append(
            Figure(
                title="Belief over builds",
                draw=partial(figures.draw_belief, plan, answer, found),
                caption="Above: how likely each build is to have changed something. Below: each build that was visited"
                " beside the good one, with its interval of 95 %.",
                key="belief",
            )
        )
        if answer.builds:
            shown.append(_likeliest(plan, answer))
    if found:
        shown.append(_measured(plan, found))
    if visits:
        shown.append(_log(plan, visits))
    if broken := [build for build in builds if build.failure is not None]:
        rows = [[name(plan, build.build), facts.text(build.failure or "")] for build in broken]
        shown.append(Table(title="Skipped builds", names=["build", "why"], rows=rows, key="skipped", words=2))
    return shown


def _likeliest(plan: BisectionPlan, answer: Bisected) -> Table:
    order = sorted(range(len(answer.belief)), key=lambda number: -answer.belief[number])
    rows = [
        [name(plan, number), _percent(answer.belief[number])] for number in order[:5] if answer.belief[number] >= 0.001
    ]
    rows.append(["nothing changed", _percent(answer.none)])
    return Table(
        title="Likeliest to have changed something", names=["build", "probability"], rows=rows, key="likeliest", words=1
    )


def _measured(plan: BisectionPlan, found: Sequence[Measured]) -> Table:
    return Table(
        title="Measured builds",
        names=["build", "ratio to the good build", "95 %", "visits"],
        rows=[
            [name(plan, one.build), f"{one.ratio:.4f}", f"{one.low:.4f} to {one.high:.4f}", str(one.visits)]
            for one in found
        ],
        key="measured",
        words=1,
    )


def _log(plan: BisectionPlan, visits: Sequence[Visit]) -> Table:
    return Table(
        title="Visits",
        names=["visit", "build", "beside", "to find out", "ratio", "time"],
        rows=[
            [
                str(number),
                name(plan, visit.build),
                name(plan, visit.beside),
                _PURPOSES.get(visit.purpose, visit.purpose),
                f"{ratio(visit.mean):.4f}",
                format_duration(round(visit.elapsed_s, 1)),
            ]
            for number, visit in enumerate(visits, start=1)
        ],
        key="visits",
        words=4,
    )


def _notes(plan: BisectionPlan) -> list[str]:
    return [
        "A visit compares fresh instances of two builds under overload, in pairs of trials; what it strays by is learnt"
        " from the visits.",
        "The belief starts with each build as likely as any other to have changed something. It holds that none, one or"
        " two of them did; a change of less than a third of the whole counts as part of the larger one.",
        f"It stops at {format_ratio(plan.confidence)}, after visits of the build beside its parent. Of answers"
        " with that probability at least this share is right.",
    ]


def _set_up(file: RunFile, plan: BisectionPlan) -> list[tuple[str, str]]:
    rows = [
        ("Measurer", file.run.measurer.spec or "not recorded"),
        ("Builds", f"{len(plan.versions) - 1} after the good one"),
    ]
    if plan.git is not None:
        rows.append(("Repository", facts.text(plan.git)))
    if plan.prepare is not None:
        rows.append(("Made by", facts.text(plan.prepare)))
    return [
        *rows,
        ("Confidence", format_ratio(plan.confidence)),
        ("Tolerance", format_ratio(plan.tolerance)),
        ("Visit", f"{plan.pairs} pairs of trials of {format_duration(plan.trial_s)}"),
        *blocks.place_and_time(file.run),
    ]


def _range(plan: BisectionPlan, group: Sequence[int]) -> str:
    if len(group) == 1:
        return name(plan, group[0])
    count = words.count(len(group), "build")
    return f"{name(plan, group[0])} to {name(plan, group[-1])} ({count})"


def _change(answer: Bisected) -> str:
    share = 1 - ratio(answer.change)
    error = ratio(answer.change) * answer.change_error
    return f"{abs(share) * 100:.1f} ± {196 * error:.1f} % {'slower' if share > 0 else 'faster'}"


def _percent(probability: float) -> str:
    """Write a probability; none is quite certain.

    >>> _percent(0.9684), _percent(0.99999), _percent(0.00001)
    ('96.8 %', '99.9 %', 'below 0.1 %')
    """
    if probability < 0.001:
        return "below 0.1 %"
    return f"{min(99.9, 100 * probability):.1f} %"
