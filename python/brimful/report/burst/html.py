"""The report on back-to-back frames as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

from pathlib import Path

from brimful.records import RunFile
from brimful.report import facts
from brimful.report.burst import figures, model
from brimful.report.figures import NARROW, WIDE
from brimful.report.web_page import render_page


def render(file: RunFile) -> str:
    """Write the report as a page.

    Parameters
    ----------
    file
        A record with the subject ``burst``.
    """
    view = model.build(file)
    shown = view.result is not None
    return render_page(
        Path(__file__).with_name("page.html"),
        view=view,
        run=file.run,
        wide=figures.draw_bursts(view, WIDE) if shown else "",
        narrow=figures.draw_bursts(view, NARROW) if shown else "",
        set_up=facts.set_up(file.run),
    )
