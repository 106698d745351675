"""The report on delay for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import RunFile
from brimful.report import measured
from brimful.report.delay import model
from brimful.report.delay.model import Row
from brimful.report.lines import WIDTH
from brimful.report.styles import Style, plain
from brimful.units import format_delay, format_load


def line(file: RunFile) -> str:
    """Give the result of a delay run in one line."""
    unit = file.run.load_unit
    both = [delay for delay in file.delays if delay.direction == "all"]
    return ", ".join(f"{format_delay(delay.mean.value_s)} at {format_load(delay.load, unit)}" for delay in both)


def render(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    file
        A record with the subject ``delay``.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    view = model.build(file)
    results = ["There is no result: too few trials were made."]
    if view.results:
        results = [
            _rows(style(view.headline, "title"), ["load", "direction", *view.result_names], view.results),
            _rows(
                style(f"How long {view.distribution_names[0]} took, the tester's own delay included", "title"),
                ["load", "", *view.distribution_names],
                view.distributions,
            ),
        ]
    return measured.render(view, file.run, results, style, columns)


def _rows(title: str, names: Sequence[str], rows: Sequence[Row]) -> str:
    cells = [[row.load, row.name, *row.cells] for row in rows]
    return measured.titled(title, names, cells, right=range(2, len(names)))
