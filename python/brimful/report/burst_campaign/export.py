"""Bursts of several frame sizes as JSON for other programs."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.records import Member, RunFile
from brimful.report.burst_campaign import model


def to_json(file: RunFile) -> str:
    """Give one object: what was asked for, and in ``sizes`` an entry for each frame size that ended."""
    content = {
        "kind": "burst-campaign",
        "run_id": file.run.run_id,
        "path": str(file.path),
        "started": file.run.started,
        "tool": file.run.tool,
        "frame_sizes": model.planned_sizes(file),
        "end": file.ends[-1].reason if file.ends else None,
        "sizes": [_entry(file, member) for member in file.members],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()


def _entry(file: RunFile, member: Member) -> dict[str, Any]:
    run = member.run
    return {
        "frame_size": member.frame_size,
        "path": str(file.path.parent / member.path),
        "run_id": None if run is None else run.run_id,
        "load_unit": None if run is None else run.load_unit,
        "plan": None if run is None else run.burst,
        "traffic": None if run is None else run.traffic,
        "end": member.end.reason,
        "text": member.end.text,
        "trials": member.end.trials,
        "result": member.burst,
        "warnings": member.warnings,
    }
