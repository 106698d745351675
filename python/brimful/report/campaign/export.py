"""What the report on a campaign is made of, as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.records import RunFile
from brimful.report.campaign import model


def to_json(file: RunFile) -> str:
    """Write the facts of a report on a campaign as one JSON object of kind ``campaign``."""
    facts: dict[str, Any] = {"kind": "campaign"}
    facts.update(msgspec.to_builtins(model.build(file)))
    return msgspec.json.format(msgspec.json.encode(facts), indent=2).decode()
