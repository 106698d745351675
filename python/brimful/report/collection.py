"""Reports on runs of any subjects as one HTML file: a list of what was found, and each report whole."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from brimful.records import RunFile
from brimful.records.subjects import load, subject_of
from brimful.report.web_page import TEMPLATES, render_page


class Entry(msgspec.Struct, frozen=True):
    """A run, and the test that made it."""

    test: str
    outcome: str
    """``passed``, ``failed`` or ``skipped``."""
    file: RunFile


def page(entries: Sequence[Entry], title: str) -> str:
    """Write the page; ``title`` says what the runs are of."""
    import markupsafe

    rows = []
    for entry in entries:
        subject = subject_of(entry.file.run, str(entry.file.path))
        rows.append(
            {
                "test": entry.test,
                "outcome": entry.outcome,
                "subject": subject.name,
                "result": load(subject.line)(entry.file),
                "path": str(entry.file.path.parent),
                # A page within a page: its text is not to be touched, its quotes are for the template to escape.
                "page": markupsafe.Markup(load(subject.page)(entry.file)),
            }
        )
    return render_page(TEMPLATES / "collection.html", title=title, rows=rows)
