"""The report on bursts of several frame sizes as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brimful.records import Member, RunFile
from brimful.report import facts
from brimful.report.burst import figures
from brimful.report.burst import model as one_size
from brimful.report.burst_campaign import model
from brimful.report.figures import NARROW, WIDE
from brimful.report.web_page import render_page

_OF_ALL = ("Host", "Labels")
"""Groups of facts that every size has alike."""


def render(file: RunFile) -> str:
    """Write the report as a page: the table, then a section for each frame size.

    Parameters
    ----------
    file
        A record with the subject ``burst-campaign``; those of its runs are read below it.
    """
    return render_page(
        Path(__file__).with_name("page.html"),
        view=model.build(file),
        names=model.NAMES,
        run=file.run,
        sections=[_section(member, run) for member, run in model.runs_of(file)],
        set_up=facts.set_up(file.run),
    )


def _section(member: Member, file: RunFile) -> dict[str, Any]:
    view = one_size.build(file)
    shown = view.result is not None
    return {
        "size": model.size_of(member),
        "view": view,
        "wide": figures.draw_bursts(view, WIDE) if shown else "",
        "narrow": figures.draw_bursts(view, NARROW) if shown else "",
        "set_up": [("Run", view.set_up), *(group for group in facts.set_up(file.run) if group[0] not in _OF_ALL)],
    }
