"""Reports made of blocks: as lines for a terminal, as one HTML file, as JSON.

The row of a subject (`brimful.records.subjects`) names the function that builds its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from brimful.records import RunFile
from brimful.records.subjects import load, subject_of
from brimful.report import facts
from brimful.report.blocks import Document, Pairs
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
    view = document_of(file)
    deviations = view.run.deviations if view.deviations is None else view.deviations
    parts = [
        *_results(view, style, columns),
        *(lines_of(block, style, columns) for block in view.details),
        bullets("Deviations", deviations, style, columns),
        bullets("What the values mean", view.notes, style, columns),
        "\n".join([style("Set-up", "title"), *wrapped_table(view.set_up or _set_up(file, view), columns)]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the results alone: what a command prints when a run has ended; of one without any, how it ended."""
    view = document_of(file)
    parts = _results(view, style, columns)
    return "\n\n".join(part for part in parts[: None if view.has_result else 1] if part) + "\n"


def _results(view: Document, style: Style, columns: int) -> list[str]:
    head = [
        style(view.title, "title"),
        wrap(view.outcome, 0, columns=columns),
        *([wrap(view.machine, 0, columns=columns)] if view.machine is not None else []),
        style(wrap(f"run {view.run.run_id}, started {view.run.started}", 0, columns=columns), "faint"),
        *([style(wrap(view.how, 0, columns=columns), "faint")] if view.how else []),
    ]
    return [
        "\n".join(head),
        lines_of_cards(view.cards_title, view.cards, style, columns) if view.cards and view.cards_title else "",
        *(lines_of(block, style, columns) for block in view.blocks),
        bullets("Warnings", view.warnings, style, columns),
    ]


def _set_up(file: RunFile, view: Document) -> list[list[str]]:
    """Give the groups of facts as rows, the name of each once, and the command."""
    rows = [
        [name if number == 0 else "", *pair] for name, pairs in _groups(file, view) for number, pair in enumerate(pairs)
    ]
    return [*rows, ["Command", "", " ".join(view.run.command)]] if view.run.command else rows


def _groups(file: RunFile, view: Document) -> Sequence[tuple[str, Pairs]]:
    return facts.set_up(view.run, facts.device(view.run, file.trials)) if view.groups is None else view.groups


def page(file: RunFile) -> str:
    """Write the report as one HTML file that needs nothing else: no scripts, no network."""
    view = document_of(file)
    return render_page(
        TEMPLATES / "document.html",
        view=view,
        run=view.run,
        deviations=view.run.deviations if view.deviations is None else view.deviations,
        groups=_groups(file, view),
        is_simulated=facts.is_simulated(view.run),
        wide=WIDE,
        narrow=NARROW,
    )


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
        "deviations": run.deviations,
        "warnings": file.warnings,
        **document_of(file).data,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
