"""What a report is made of, as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.records import RunFile
from brimful.report.throughput.comparison import ComparisonReport
from brimful.report.throughput.model import Report, build
from brimful.report.throughput.statements import make_statements


def report_run(file: RunFile) -> str:
    """Write what the report on a record with the subject ``search`` is made of."""
    return to_json(build(file))


def to_json(report: Report) -> str:
    """Write the facts of a report and its statements as one JSON object of kind ``report``.

    Numbers that are not finite cannot be in JSON and are null.
    """
    facts: dict[str, Any] = {"kind": "report"}
    facts.update(msgspec.to_builtins(report))
    facts["statements"] = [
        {"id": statement.item.id, "row": statement.item.row, "state": statement.state, "text": statement.text}
        for statement in make_statements(report)
    ]
    return msgspec.json.format(msgspec.json.encode(facts), indent=2).decode()


def comparison_to_json(report: ComparisonReport) -> str:
    """Write a comparison as one JSON object of kind ``comparison``."""
    facts: dict[str, Any] = {"kind": "comparison", "regressed": report.regressed}
    facts.update(msgspec.to_builtins(report))
    return msgspec.json.format(msgspec.json.encode(facts), indent=2).decode()
