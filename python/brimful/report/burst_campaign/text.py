"""The report on bursts of several frame sizes for a terminal."""

from __future__ import annotations

from brimful.records import RunFile
from brimful.report import measured
from brimful.report.burst import text as one_size
from brimful.report.burst.model import frames
from brimful.report.burst_campaign import model
from brimful.report.lines import WIDTH
from brimful.report.styles import Style, plain


def line(file: RunFile) -> str:
    """Give the result of a campaign in one line."""
    found = [
        f"{'≥ ' if member.burst.at_limit else ''}{frames(member.burst.mean)} at {model.size_of(member)}"
        for member in file.members
        if member.burst is not None
    ]
    said = f"longest bursts in frames: {', '.join(found)}" if found else "no result"
    return said + ("" if file.is_done() else "; not finished")


def render(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    file
        A record with the subject ``burst-campaign``.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    view = model.build(file)
    result = "There is no result: no frame size came to its end."
    if view.rows:
        title = style("Longest burst without loss", "title")
        result = measured.titled(title, model.NAMES, view.rows, right=range(len(model.NAMES)))
    return measured.render(view, file.run, [result], style, columns)


def explain(file: RunFile) -> str:
    """Say of each frame size, burst by burst, how each test came to its end."""
    lines = []
    for member, run in model.runs_of(file):
        lines.append(f"frame size {model.size_of(member)}")
        lines.extend(f"  {text}" for text in one_size.explain(run).splitlines())
    return "\n".join(lines) or "No burst was sent."
