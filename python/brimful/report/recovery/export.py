"""A record on recovery as JSON for other programs."""

from __future__ import annotations

import msgspec

from brimful.records import RunFile
from brimful.report.recovery import model


def to_json(file: RunFile) -> str:
    """Give one object: what was measured, the time of each round, and the warnings."""
    content = {
        "kind": "report",
        "run_id": file.run.run_id,
        "path": str(file.path),
        "started": file.run.started,
        "measurer": file.run.measurer,
        "device": file.run.device,
        "traffic": file.run.traffic,
        "load_unit": file.run.load_unit,
        "load_scope": file.run.load_scope,
        "plan": file.run.recovery,
        "end": file.ends[-1].reason if file.ends else None,
        "trials": len(file.trials),
        "recoveries": model.recoveries_of(file),
        "deviations": file.run.deviations,
        "warnings": file.warnings,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
