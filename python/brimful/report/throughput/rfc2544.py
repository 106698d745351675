"""What RFC 2544 section 26 wants beside every rate: frame size, limit of the medium, protocol."""

from __future__ import annotations

import msgspec

from brimful.report import facts
from brimful.report.throughput.model import Report
from brimful.units import format_load

UNKNOWN = "not recorded"


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Cells of the table, the same for every goal."""

    frame_size: str
    limit: str
    protocol: str

    @property
    def missing(self) -> list[str]:
        """What the record does not say."""
        cells = {"frame size": self.frame_size, "limit of the medium": self.limit, "protocol": self.protocol}
        return [name for name, cell in cells.items() if cell == UNKNOWN]


def conditions(report: Report) -> Conditions:
    """Look up under which conditions the rates of a run were measured."""
    run = report.run
    if facts.is_simulated(run):
        return Conditions(frame_size="simulated", limit="simulated", protocol="simulated")
    size = facts.lookup(run, facts.FRAME_SIZE_KEYS)
    limit = UNKNOWN
    if report.theoretical_rate is not None:
        limit = format_load(report.theoretical_rate, run.load_unit)
    elif facts.is_lab(run):
        limit = "none (virtual)"
    return Conditions(
        frame_size=UNKNOWN if size is None else f"{facts.text(size)} bytes" if report.frame_size else facts.text(size),
        limit=limit,
        protocol=facts.protocol(run) or UNKNOWN,
    )
