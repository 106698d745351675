"""Records of campaigns: the searches, or runs of another subject, that ended."""

from __future__ import annotations

from brimful.records.burst import Burst
from brimful.records.loss import Loss
from brimful.records.record import Record
from brimful.records.recovery import Recovery
from brimful.records.run import End, Run, Warning
from brimful.records.throughput import GoalResult


class Member(Record, frozen=True, omit_defaults=True, tag="member"):
    """A search or another run that ended, with what its own record says of it, trials and bounds apart."""

    name: str
    """Number in the campaign, measurer and frame size; its last line is valid."""
    measurer: str
    """As given to the campaign: the members of one measurer have it alike."""
    repeat: int
    """From 1."""
    path: str
    """Directory of its record, relative to that of the campaign."""
    end: End
    """Last line of its record."""
    frame_size: str | None = None
    """As given to the campaign; null where sizes were not varied."""
    run: Run | None = None
    """First line of its record; null when it never began."""
    goal_results: list[GoalResult] = []
    """Of a search."""
    burst: Burst | None = None
    """Result of a run on bursts; null where it has none, or is another run."""
    losses: list[Loss] = []
    """Of a run on the loss rate."""
    recoveries: list[Recovery] = []
    """Of a run on recovery."""
    warnings: list[Warning] = []
    """From its record."""

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

    @property
    def results(self) -> list[Record]:
        """What a run that is no search found."""
        return [*([] if self.burst is None else [self.burst]), *self.losses, *self.recoveries]

    @property
    def answered(self) -> bool:
        """Whether a search reached its goals, or another run found values that are more than limits."""
        if self.burst is not None:
            return not self.burst.at_limit
        if self.recoveries:
            return all(one.high_s is not None for one in self.recoveries)
        return bool(self.losses) or self.regular


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
