"""Two records on discards side by side: findings and levels, without a verdict."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from brimful.errors import UsageError
from brimful.records import RunFile
from brimful.report.compared import Compared
from brimful.report.discards import method, model, tables
from brimful.report.lines import table as aligned
from brimful.report.styles import Style, plain

SUBJECT = "switch-discards"


class Difference(msgspec.Struct, frozen=True):
    """One number of both sides, as it is shown; empty where a side has none."""

    table: str
    name: str
    """What it is of: the words at the left of its row."""
    column: str
    ours: str
    against: str


def build(ours: RunFile, against: RunFile) -> list[Difference]:
    """Give every cell of the tables in which the two differ.

    Raises
    ------
    UsageError
        When one of them is not on discards.
    """
    for file in (ours, against):
        if file.run.subject != SUBJECT:
            message = f"{file.path}: the subject is {file.run.subject}, not {SUBJECT}; compare runs of one kind"
            raise UsageError(message)
    sides = [_cells(file) for file in (ours, against)]
    keys = dict.fromkeys([*sides[0], *sides[1]])
    return [
        Difference(*key, *(side.get(key, "") for side in sides))
        for key in keys
        if sides[0].get(key) != sides[1].get(key)
    ]


def compare_runs(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> Compared:
    """Put two runs on discards side by side, without a verdict.

    Raises
    ------
    UsageError
        When a side is not one run.
    """
    if len(new) != 1 or len(baseline) != 1:
        message = "runs on discards are compared one with one; give one run before --against and one after it"
        raise UsageError(message)
    ours, against = new[0], baseline[0]
    return Compared(
        regressed=False,
        text=lambda style, columns: render(ours, against, style=style),
        json=lambda: to_json(ours, against),
    )


def render(ours: RunFile, against: RunFile, *, style: Style = plain) -> str:
    """Write what differs as text."""
    found = build(ours, against)
    head = [
        style(f"{method.TITLE}: {ours.run.run_id} against {against.run.run_id}", "title"),
        *(f"{name}: {method.about(model.build(file))}" for name, file in (("ours", ours), ("against", against))),
    ]
    blocks = ["\n".join(head)]
    for title in dict.fromkeys(each.table for each in found):
        rows = [["", "", "ours", "against"]]
        rows += [[each.name, each.column, each.ours, each.against] for each in found if each.table == title]
        blocks.append("\n".join([style(title, "title"), aligned(rows, right=(2, 3))]))
    if not found:
        blocks.append("No number of the tables differs.")
    return "\n\n".join(blocks) + "\n"


def to_json(ours: RunFile, against: RunFile) -> str:
    """Give what differs for other programs."""
    content = {
        "ours": ours.run.run_id,
        "against": against.run.run_id,
        "differences": build(ours, against),
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()


def _cells(file: RunFile) -> dict[tuple[str, str, str], str]:
    return {
        (table.title, ", ".join(row[: table.words]), head): cell
        for table in tables.make_tables(model.build(file))
        for row in table.rows
        for head, cell in zip(table.names[table.words :], row[table.words :], strict=True)
    }
