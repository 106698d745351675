"""What a comparison is made of, as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.report.throughput.comparison import ComparisonReport


def comparison_to_json(report: ComparisonReport) -> str:
    """Write a comparison as one JSON object of kind ``comparison``."""
    facts: dict[str, Any] = {"kind": "comparison", "regressed": report.regressed}
    facts.update(msgspec.to_builtins(report))
    return msgspec.json.format(msgspec.json.encode(facts), indent=2).decode()
