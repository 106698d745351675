"""The report on back-to-back frames for a terminal."""

from __future__ import annotations

from brimful.records import RunFile
from brimful.report.burst import model
from brimful.report.lines import WIDTH, bullets, table, wrap
from brimful.report.styles import Style, plain


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    return model.headline(file)


def render(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    file
        A record with the subject ``burst``.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    view = model.build(file)
    head = [
        style(view.title, "title"),
        wrap(view.outcome, 0, columns=columns),
        *([wrap(view.machine, 0, columns=columns)] if view.machine is not None else []),
        style(f"run {file.run.run_id}, started {file.run.started}", "faint"),
    ]
    blocks = ["\n".join(head)]
    if view.results:
        blocks.append(_table(style("Longest burst without loss", "title"), view.result_names, view.results))
        blocks.append(_table(style("Tests", "title"), view.test_names, view.test_rows))
    else:
        blocks.append("There is no result: no test came to its end.")
    blocks += [
        bullets("Warnings", view.warnings, style, columns),
        bullets("Deviations", file.run.deviations, style, columns),
        bullets("What the values mean", view.notes, style, columns),
        "\n".join([style("Set-up", "title"), table(view.set_up)]),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _table(title: str, names: list[str], rows: list[list[str]]) -> str:
    return "\n".join([title, table([names, *rows], right=range(len(names)))])
