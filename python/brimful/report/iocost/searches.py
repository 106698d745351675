"""What the searches for late IOs of a measurement saw: the share that was late or never sent, at each load."""

from __future__ import annotations

from brimful.records import RunFile, Series
from brimful.report.iocost.figures import Group, Panel

TITLE = "Late IOs"
_WORDS = {"late-reads": "Random reads", "late-writes": "Random writes", "late-mix": "Random reads and writes, 70 to 30"}
"""The steps of a measurement that offer loads."""
_FIRST_NUMBER = 100
"""Of a figure of this section: series of a record have the lower ones."""


def make_group(file: RunFile) -> Group | None:
    """Give a panel for each kind of IO whose loads were searched; none where none was.

    Parameters
    ----------
    file
        A run on a block device.
    """
    panels: list[Panel] = []
    for step, words in _WORDS.items():
        seen = [trial for trial in file.trials if trial.step == step and trial.invalid is None and trial.intended > 0]
        points = sorted((trial.load, trial.lost / trial.intended) for trial in seen)
        if points:
            panels.append(
                Panel(
                    number=_FIRST_NUMBER + len(panels),
                    series=Series(name=step, points=points, x_name="load", x_unit="IO/s"),
                    fit=None,
                    title=words,
                    quantity="late or not sent",
                    unit="%",
                    factor=100.0,
                    threshold=None,
                    marks=[],
                    x_end=1.05 * points[-1][0],
                )
            )
    return Group(TITLE, panels) if panels else None
