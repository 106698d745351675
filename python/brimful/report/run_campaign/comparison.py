"""Campaigns of bursts side by side: the runs of the same frame size are compared with each other."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from brimful.errors import UsageError
from brimful.records import RunFile
from brimful.report.burst import comparison as one_size
from brimful.report.compared import Compared, refuse_repeated
from brimful.report.lines import bullets
from brimful.report.run_campaign import model
from brimful.report.styles import Style


def compare_runs(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> Compared:
    """Compare the longest bursts of each frame size with those of a baseline.

    Raises
    ------
    UsageError
        When no frame size has a result on both sides, the runs of one differ, or a side has one run twice.
    RecordError
        When the record of a run cannot be read.
    """
    for side in (new, baseline):
        refuse_repeated(side)
    ours, theirs = _by_size(new), _by_size(baseline)
    found = {
        size: one_size.compare_runs(ours[size], theirs[size], tolerance=tolerance) for size in ours if size in theirs
    }
    if not found:
        message = f"{new[0].path}: no frame size has a result on both sides; compare campaigns of the same sizes"
        raise UsageError(message)
    lost = [size for size in theirs if size not in ours]
    return Compared(
        regressed=any(compared.regressed for compared in found.values()),
        text=lambda style, columns: _text(found, [size for size in ours if size not in theirs], lost, style, columns),
        json=lambda: _json(found),
        outcomes=[
            msgspec.structs.replace(outcome, name=f"{size}, {outcome.name}")
            for size, compared in found.items()
            for outcome in compared.outcomes
        ],
        incomplete=f"the new campaigns have no result at frame size {', '.join(lost)}; measure it" if lost else None,
    )


def _by_size(side: Sequence[RunFile]) -> dict[str, list[RunFile]]:
    """Give the runs that have a result."""
    runs: dict[str, list[RunFile]] = {}
    for file in side:
        for member, run in model.runs_of(file):
            if member.burst is not None or run.passes_nothing:
                runs.setdefault(model.size_of(member), []).append(run)
    return runs


def _json(found: dict[str, Compared]) -> str:
    facts = {
        "kind": "burst-campaign-comparison",
        "regressed": any(compared.regressed for compared in found.values()),
        "sizes": {size: json.loads(compared.json()) for size, compared in found.items()},
    }
    return json.dumps(facts, indent=2)


def _text(found: dict[str, Compared], only_new: list[str], lost: list[str], style: Style, columns: int) -> str:
    blocks = [
        style(f"Frame size {size}", "title") + "\n" + compared.text(style, columns) for size, compared in found.items()
    ]
    only = [bullets("Only in the new ones", only_new, style), bullets("Only in the baseline", lost, style)]
    return "\n".join([*blocks, *(f"{block}\n" for block in only if block)])
