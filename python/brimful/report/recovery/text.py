"""The report on recovery for a terminal."""

from __future__ import annotations

from brimful.records import RunFile
from brimful.report.lines import WIDTH, bullets, table, wrap
from brimful.report.recovery import model
from brimful.report.styles import Style, plain


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    of = "" if file.run.recovery is None else f" from {file.run.recovery.of}"
    return f"recovery{of} {model.average(model.recoveries_of(file))}"


def render(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    file
        A record with the subject ``recovery``.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    view = model.build(file)
    head = [
        style(view.title, "title"),
        wrap(view.outcome, 0, columns=columns),
        style(f"run {file.run.run_id}, started {file.run.started}", "faint"),
    ]
    blocks = ["\n".join(head), f"Average: {view.average}"]
    if view.rows:
        rounds = table([view.names, *view.rows], right=range(len(view.names)))
        blocks.append("\n".join([style("Rounds", "title"), rounds]))
    blocks += [
        bullets("Warnings", view.warnings, style, columns),
        bullets("Deviations", file.run.deviations, style, columns),
        bullets("What the values mean", view.notes, style, columns),
        "\n".join([style("Set-up", "title"), table(view.set_up)]),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"
