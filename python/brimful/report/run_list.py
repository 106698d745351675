"""A list of runs as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brimful.report.web_page import TEMPLATES, render_page

REPORT_NAME = "report.html"


def page(runs: Sequence[Mapping[str, Any]], directory: Path) -> str:
    """Write the page.

    Parameters
    ----------
    runs
        ``path``, ``started``, ``subject``, ``what``, ``result`` and ``problem`` of each.
    directory
        Where the page will lie: links to reports beside the records lead from there.
    """
    listed = [{**run, "link": _link(Path(run["path"]), directory)} for run in runs]
    return render_page(TEMPLATES / "run_list.html", runs=listed)


def _link(run: Path, directory: Path) -> str | None:
    report = run / REPORT_NAME
    return os.path.relpath(report, directory) if report.exists() else None
