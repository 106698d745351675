"""Which part of a merged campaign measured what, and where."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.records import Run


class PartView(msgspec.Struct, frozen=True):
    """A part, as the record of the merged campaign has it."""

    part: int = 0
    started: str = ""
    members: list[str] = []
    host: dict[str, Any] = {}
    labels: dict[str, str] = {}

    @property
    def machine(self) -> str:
        """Processors and kernel."""
        known = [str(self.host[name]) for name in ("cpus", "cpu_model") if self.host.get(name)]
        return ", ".join(part for part in (" x ".join(known), str(self.host.get("kernel") or "")) if part)


def parts_of(run: Run) -> list[PartView]:
    """Give the parts of a campaign; none where it was not merged."""
    try:
        return msgspec.convert(run.source.get("shards", []), list[PartView])
    except msgspec.ValidationError:
        return []
