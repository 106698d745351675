"""The report on recovery for a terminal."""

from __future__ import annotations

from brimful.records import RunFile
from brimful.report import measured
from brimful.report.lines import WIDTH
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
    results = [f"Average: {view.average}"]
    if view.rows:
        right = range(len(view.names))
        results.append(measured.titled(style("Rounds", "title"), view.names, view.rows, right=right))
    return measured.render(view, file.run, results, style, columns)
