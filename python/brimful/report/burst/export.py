"""A record on back-to-back frames as JSON for other programs."""

from __future__ import annotations

import msgspec

from brimful.records import RunFile
from brimful.report.burst import model


def to_json(file: RunFile) -> str:
    """Give one object: what was measured, the result, each test, and the warnings."""
    end = file.ends[-1] if file.ends else None
    content = {
        "kind": "report",
        "run_id": file.run.run_id,
        "path": str(file.path),
        "started": file.run.started,
        "tool": file.run.tool,
        "measurer": file.run.measurer,
        "device": file.run.device,
        "traffic": file.run.traffic,
        "load_unit": file.run.load_unit,
        "load_scope": file.run.load_scope,
        "plan": file.run.burst,
        "end": None if end is None else end.reason,
        "trials": len(file.trials),
        "result": model.result_of(file),
        "tests": model.tests_of(file),
        "deviations": file.run.deviations,
        "warnings": file.warnings,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()
