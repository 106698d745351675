"""What a page about a block device shows. Its text has the layout of resctl-bench, and is written by `text`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from brimful.kernel import MODEL_KEYS, PLACEHOLDER, QOS_KEYS
from brimful.records import RunFile
from brimful.report.blocks import Block, Bullets, Card, Code, Document, Panels, Section, Sentence, Table
from brimful.report.iocost import figures, header, searches, views
from brimful.report.iocost.views import LATENCY_CELLS, Answer

_SHOWN_CARDS = 4
_NOTES = (
    "MOF: how many times as large as its memory a workload can be, with this device for swap. aMOF: the same, if the"
    " workload is to stay protected from a memory hog. aMOF-delta: what that protection costs. Isolation: the share of"
    " its rate that a workload keeps beside the hog.",
    "Latencies: the first is the percentile of requests within a while, the second how it is over time: its mean, its"
    " own percentile, or the worst.",
    "rpct and wpct: the percentile of read and write latencies that has to stay below rlat and wlat. min and max:"
    " between which vrates the kernel may move.",
)


def build(file: RunFile) -> Document:
    """Compute what a page shows.

    Parameters
    ----------
    file
        A record with the subject ``block-device``.
    """
    solutions = views.answers(file)
    unsolved = views.unsolved(file)
    remarks = [finding.text for finding in file.findings if finding.code != "measure-next"]
    nothing = "What the rules without a solution lack." if unsolved else "Nothing that the analysis knows of."
    return Document(
        run=file.run,
        kind="Block device: QoS parameters",
        title=views.device_title(file),
        outcome=views.summarise(file),
        how=views.device_facts(file),
        cards=[_card(view) for view in solutions[:_SHOWN_CARDS]],
        lead=_lead(file, solutions),
        blocks=[
            _solutions(solutions),
            Table(
                title="Rules without a solution",
                names=["rule", "why there is none"],
                rows=[["; ".join(map(str, rules)), reason] for reason, rules in unsolved],
                key="unsolved",
                words=2,
            ),
            *_graphs(file, solutions),
        ],
        details=[
            Bullets(title="Remarks", entries=remarks, key="remarks"),
            Bullets(title="What to measure next", entries=views.next_steps(file) or [nothing], key="next"),
        ],
        sections=lambda: [_commands(file, solutions), _numbers(solutions)] if solutions else [],
        notes=_NOTES if solutions else (),
        set_up=views.method(file),
        groups=(),
        warnings=[f"{warning.code}: {warning.text}" for warning in file.warnings],
        values="lines",
        data={},
    )


def _card(view: Answer) -> Card:
    interval = f", {view.interval}" if view.interval else ""
    return Card(
        name=view.names,
        value=views.model_number("rrandiops", view.solution.model.get("rrandiops")),
        caption=f"random reads: {view.scale} of the base model{interval}",
        badge=view.letters,
        role="quiet",
        pairs=[(name, shown) for name, shown in view.expected[:4] if name != "aMOF-delta"],
    )


def _lead(file: RunFile, solutions: Sequence[Answer]) -> str:
    if not solutions:
        return ""
    bounds = "the bounds of the search for vrate" if header.has_bounds(file.run) else "the interval of 95 % of it"
    intervals = f", {bounds}" if any(view.interval for view in solutions) else ""
    return f"What the model is set to, its share of the base model{intervals}, and what is expected under them."


def _solutions(solutions: Sequence[Answer]) -> Block:
    if not solutions:
        return Sentence("There are no solutions.")
    return Table(
        title="Solutions",
        names=["rule", "scale", *(name for name, _ in solutions[0].expected)],
        rows=[
            [
                "; ".join(map(str, view.rules)),
                f"{view.scale} ({view.interval})" if view.interval else view.scale,
                *(shown for _, shown in view.expected),
            ]
            for view in solutions
        ],
        key="solutions",
        words=1,
    )


def _graphs(file: RunFile, solutions: Sequence[Answer]) -> list[Block]:
    panels, searched = figures.make_panels(file), searches.make_group(file)
    groups = [*([searched] if searched else []), *figures.sections(panels)]
    shown: list[Block] = []
    for number, group in enumerate(groups):
        empty = [panel.title for panel in group.panels if not panel.has_data]
        shown.append(
            Panels(
                title=group.title,
                draws=[(panel.title, partial(figures.draw, panel)) for panel in group.panels if panel.has_data],
                notes=[f"Without data: {'; '.join(empty)}."] if empty else [],
                key=f"graphs-{number}",
            )
        )
    if not shown:
        return [Sentence("The record has no series.")]
    rules = ", ".join(f"{rule.letter} {rule.name}" for view in solutions for rule in view.rules)
    looks = [
        "Dots: measured; crosses: rejected, the line does not rest on them (triangles: beyond the border).",
        "Solid lines: fitted.",
        "Dashed: the isolation threshold." if any(panel.threshold is not None for panel in panels) else "",
        f"Dotted: solutions, {rules}." if rules else "",
    ]
    return [Sentence(" ".join(filter(None, looks))), *shown]


def _commands(file: RunFile, solutions: Sequence[Answer]) -> Section:
    device = views.device_number(file)
    if device == PLACEHOLDER:
        where = "The record has no device number: put the one that lsblk -o NAME,MAJ:MIN gives in place of MAJ:MIN."
    else:
        where = (
            f"{device} is the number of the device where it was measured; lsblk -o NAME,MAJ:MIN gives the one it has"
            " elsewhere."
        )
    blocks: list[Block] = [Sentence(f"As root, both lines of one solution. {where}")]
    for view in solutions:
        lines = "\n".join(views.kernel_lines(file, view.solution))
        blocks.append(
            Code(title=view.names, text=lines)
            if lines
            else Sentence(f"{view.names}: the kernel would not take these numbers.")
        )
    return Section(title="How to set them", blocks=blocks, key="set")


def _numbers(solutions: Sequence[Answer]) -> Section:
    return Section(
        title="Numbers",
        blocks=[
            Table(
                title="Expected latencies",
                names=["rule", "", *(f"p{requests}, {views.over_time(time)}" for requests, time in LATENCY_CELLS)],
                rows=[
                    [view.names, direction, *(views.latency(view.solution.info, key, *cell) for cell in LATENCY_CELLS)]
                    for view in solutions
                    for direction, key in (("read", "rlat"), ("write", "wlat"))
                ],
                key="latencies",
                words=2,
            ),
            Table(
                title="Model",
                names=["rule", *MODEL_KEYS],
                rows=[
                    [view.names, *(views.model_number(key, view.solution.model.get(key)) for key in MODEL_KEYS)]
                    for view in solutions
                ],
                key="model",
                words=1,
                notes=[
                    "rbps and wbps: what is read and written a second. rseqiops and wseqiops: sequential reads and"
                    " writes. rrandiops and wrandiops: random ones."
                ],
            ),
            Table(
                title="QoS",
                names=["rule", *QOS_KEYS],
                rows=[
                    [view.names, *(views.qos_number(key, view.solution.qos) for key in QOS_KEYS)] for view in solutions
                ],
                key="qos",
                words=1,
            ),
        ],
        key="numbers",
    )
