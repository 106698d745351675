"""The report on recovery as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

from pathlib import Path

from brimful.records import RunFile
from brimful.report import facts
from brimful.report.recovery import model
from brimful.report.web_page import render_page


def render(file: RunFile) -> str:
    """Write the report as a page.

    Parameters
    ----------
    file
        A record with the subject ``recovery``.
    """
    template = Path(__file__).with_name("page.html")
    return render_page(template, view=model.build(file), run=file.run, set_up=facts.set_up(file.run))
