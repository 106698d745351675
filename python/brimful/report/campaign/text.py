"""The report on a campaign for a terminal."""

from __future__ import annotations

from brimful.records import RunFile
from brimful.report import facts, words
from brimful.report.campaign import tables
from brimful.report.campaign.model import Report, build
from brimful.report.campaign.tables import Table
from brimful.report.lines import WIDTH, bullets, table, wrap
from brimful.report.styles import Style, plain


def report_run(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report on a record with the subject ``campaign``."""
    return render(build(file), style=style, columns=columns)


def line(file: RunFile) -> str:
    """Give the result of a campaign in one line."""
    regular = sum(member.regular for member in file.members)
    ended = words.count(len(file.members), "search", "searches")
    return f"{ended} ended, {regular} regular" + ("" if file.is_done() else "; not finished")


def render(report: Report, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    report
        From `brimful.report.campaign.model.build`.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    set_up = [
        [measurer, f"{part}.{path}", value]
        for measurer, device, traffic in report.set_up
        for part, mapping in (("device", device), ("traffic", traffic))
        for path, value in facts.table(mapping)
    ]
    host = [["host", path, value] for path, value in facts.table(report.run.host)]
    blocks = [
        *_result(report, style, columns),
        _table(tables.searches(report), style, columns),
        _table(tables.parts(report), style, columns),
        _table(tables.goals(report), style, columns),
        bullets("How it was done", report.method, style, columns),
        bullets("Deviations from the RFC 2544 trial procedure", report.deviations, style, columns),
        "\n".join([style("Set-up", "title"), table(_once([*set_up, *host])), f"  {' '.join(report.run.command)}"]),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def summary(report: Report, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the result alone: what a campaign prints when it ends."""
    return "\n\n".join(block for block in _result(report, style, columns) if block) + "\n"


def _result(report: Report, style: Style, columns: int) -> list[str]:
    run = report.run
    tool = " ".join(part for part in (run.tool.get("name", ""), run.tool.get("version", "")) if part)
    how = f"strategy {run.strategy}" + (f", preset {run.preset}" if run.preset else "")
    head = [
        style(report.title, "title"),
        wrap(report.outcome, 0, columns=columns),
        style(wrap(f"run {run.run_id}, started {run.started}", 0, columns=columns), "faint"),
        style(wrap(f"{how}, {tool or 'unknown tool'}", 0, columns=columns), "faint"),
    ]
    return [
        "\n".join(head),
        _table(tables.throughput(report), style, columns),
        _table(tables.repeatability(report), style, columns),
        bullets("Irregular results, in no mean", tables.irregular(report), style, columns),
        bullets("Warnings", report.warnings, style, columns),
    ]


def _table(made: Table, style: Style, columns: int) -> str:
    """Align a table; a measurer stands on a line of its own above its rows, as its text may be long."""
    if not made.rows:
        return ""
    rows = [made.heads, *made.rows]
    measurers = [row[0] for row in made.rows]
    if made.grouped:
        rows = [row[1:] for row in rows]
    first_number = made.words - made.grouped
    heads, *lines = table(rows, right=range(first_number, len(rows[0])), indent=4 if made.grouped else 2).split("\n")
    shown = [style(made.title, "title"), style(heads, "faint")]
    before = None
    for measurer, line in zip(measurers, lines, strict=True):
        if made.grouped and measurer != before:
            shown.append(f"  {measurer}")
        before = measurer
        shown.append(line)
    if made.note:
        shown.append(style(wrap(made.note, 2, columns=columns), "faint"))
    text = "\n".join(shown)
    for word in (tables.FAILED, tables.IRREGULAR):
        text = text.replace(word, style(word, "bad"))
    return text


def _once(rows: list[list[str]]) -> list[list[str]]:
    """Write a first cell only where it changes."""
    names = [""] + [row[0] for row in rows]
    return [["" if row[0] == before else row[0], *row[1:]] for row, before in zip(rows, names, strict=False)]
