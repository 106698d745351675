"""Records of campaigns: the searches, or runs on bursts, that ended."""

from __future__ import annotations

from brimful.records.burst import Burst
from brimful.records.record import Record
from brimful.records.run import End, Run, Warning
from brimful.records.throughput import GoalResult


class Member(Record, frozen=True, omit_defaults=True, tag="member"):
    """A search or a run on bursts that ended, with what its own record says of it, trials and bounds apart."""

    name: str
    """Its place in the campaign: number, measurer and frame size."""
    measurer: str
    """As given to the campaign: the members of one measurer have it alike."""
    repeat: int
    """From 1."""
    path: str
    """Directory of its record, relative to that of the campaign."""
    end: End
    frame_size: str | None = None
    """As given to the campaign; null where sizes were not varied."""
    run: Run | None = None
    """First line of its record; null when it never began."""
    goal_results: list[GoalResult] = []
    burst: Burst | None = None
    """Result of a run on bursts; null where it has none, or is a search."""
    warnings: list[Warning] = []

    @property
    def cell(self) -> tuple[str, str | None]:
        """What it shares with its repeats."""
        return self.measurer, self.frame_size

    @property
    def failed(self) -> bool:
        """Whether measuring failed."""
        return self.end.reason == "measurement-failed"

    @property
    def regular(self) -> bool:
        """Whether every goal was reached."""
        return bool(self.goal_results) and all(result.regular for result in self.goal_results)


def planned_members(run: Run) -> int | None:
    """Give how many members a campaign, or a part of one, was to have; none where its record does not say."""
    source = run.source
    shard = source.get("shard")
    if isinstance(shard, dict) and isinstance(shard.get("members"), list):
        return len(shard["members"])
    measurers, sizes, repeats = source.get("measurers"), source.get("frame_sizes"), source.get("repeats")
    if not isinstance(measurers, list) or not isinstance(sizes, list) or not isinstance(repeats, int):
        return None
    return len(measurers) * max(1, len(sizes)) * repeats
