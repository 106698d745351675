"""Reports made of blocks: as lines for a terminal, as one HTML file, as JSON.

The row of a subject (`brimful.records.subjects`) names the function that builds its blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from brimful.records import RunFile
from brimful.records.subjects import load, subject_of
from brimful.report import facts
from brimful.report.blocks import Document
from brimful.report.figures import NARROW, WIDE
from brimful.report.lines import WIDTH, bullets, lines_of, lines_of_cards, wrap, wrapped_table
from brimful.report.styles import Style, plain
from brimful.report.web_page import TEMPLATES, render_page


def document_of(file: RunFile) -> Document:
    """Build what a report on a run shows.

    Raises
    ------
    RecordError
        When the record lacks what its subject needs.
    """
    document: Document = load(subject_of(file.run, str(file.path)).document or "")(file)
    return document


def text(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    file
        A record of a subject that has blocks.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    return text_of(_whole(file), style=style, columns=columns)


def text_of(view: Document, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write a document as lines for a terminal; see `text`."""
    set_up = wrapped_table(view.set_up or _set_up(view), columns)
    parts = [
        *_results(view, style, columns),
        *(lines_of(block, style, columns) for block in view.details),
        bullets("Deviations", view.deviations or (), style, columns),
        bullets("What the values mean", view.notes, style, columns),
        "\n".join([style("Set-up", "title"), *set_up]) if set_up else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the results alone: what a command prints when a run has ended; of one without any, how it ended."""
    view = document_of(file)
    parts = _results(view, style, columns)
    return "\n\n".join(part for part in parts[: None if view.has_result else 1] if part) + "\n"


def page(file: RunFile) -> str:
    """Write the report as one HTML file that needs nothing else: no scripts, no network."""
    return page_of(_whole(file))


def page_of(view: Document) -> str:
    """Write a document as one HTML file; see `page`."""
    is_simulated = view.run is not None and facts.is_simulated(view.run)
    return render_page(
        TEMPLATES / "document.html", view=view, run=view.run, is_simulated=is_simulated, wide=WIDE, narrow=NARROW
    )


def _whole(file: RunFile) -> Document:
    """Build a document, with what the record has where its subject says nothing else."""
    view = document_of(file)
    return msgspec.structs.replace(
        view,
        deviations=file.run.deviations if view.deviations is None else view.deviations,
        groups=facts.set_up(file.run, facts.device(file.run, file.trials)) if view.groups is None else view.groups,
    )


def _results(view: Document, style: Style, columns: int) -> list[str]:
    run = "" if view.run is None else f"run {view.run.run_id}, started {view.run.started}"
    head = [
        style(view.title, "title"),
        *(wrap(text, 0, columns=columns) for text in (view.outcome, view.machine) if text),
        *(style(wrap(text, 0, columns=columns), "faint") for text in (run, view.how) if text),
    ]
    return [
        "\n".join(head),
        lines_of_cards(view.cards_title, view.cards, style, columns) if view.cards and view.cards_title else "",
        *(lines_of(block, style, columns) for block in view.blocks),
        bullets("Warnings", view.warnings, style, columns),
    ]


def _set_up(view: Document) -> list[list[str]]:
    """Give the groups of facts as rows, the name of each once, and the command."""
    rows = [
        [name if number == 0 else "", *pair] for name, pairs in view.groups or () for number, pair in enumerate(pairs)
    ]
    command = [] if view.run is None else view.run.command
    return [*rows, ["Command", "", " ".join(command)]] if command else rows


def to_json(file: RunFile) -> str:
    """Give the record as one object for other programs: what was measured, the results, and the warnings."""
    run = file.run
    content: dict[str, Any] = {
        "kind": "report",
        "run_id": run.run_id,
        "path": str(file.path),
        "started": run.started,
        "tool": run.tool,
        "measurer": run.measurer.facts(),
        "device": run.device,
        "traffic": run.traffic,
        "load_unit": run.load_unit,
        "load_scope": run.load_scope,
        "end": file.ends[-1].reason if file.ends else None,
        "trials": len(file.trials),
        "passes_nothing": file.passes_nothing,
        "deviations": run.deviations,
        "warnings": file.warnings,
        **document_of(file).data,
    }
    return _as_json(content)


def facts_as_json(view: Document) -> str:
    """Give what a document has for JSON alone as one object for other programs."""
    return _as_json(view.data)


def _as_json(content: Mapping[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
