"""A record on discards as JSON for other programs."""

from __future__ import annotations

import msgspec

from brimful.records import RunFile
from brimful.report.discards import method, model


def to_json(file: RunFile) -> str:
    """Give one object: what was analysed, the findings with their numbers, and all series by their names."""
    view = model.build(file)
    content = {
        "run_id": file.run.run_id,
        "started": file.run.started,
        "tool": file.run.tool,
        "source": file.run.source,
        "sites": view.sites,
        "method": dict(method.rows(view)),
        "findings": [
            {"code": finding.code, "subject": finding.subject, "text": finding.text, **finding.data}
            for finding in file.findings
        ],
        "series": {
            series.name: {"x": series.x_name, "x_unit": series.x_unit, "unit": series.y_unit, "points": series.points}
            for series in file.series
        },
        "warnings": [{"code": warning.code, "text": warning.text} for warning in file.warnings],
    }
    return msgspec.json.encode(content).decode()
