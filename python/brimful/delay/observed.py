"""What one trial says of the delay: checked, and both directions together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from brimful.delay.histograms import DelayHistogram
from brimful.errors import RecordError
from brimful.records import DelayDistribution

ALL, TO, FROM = "all", "to", "from"
"""Directions: both together, from the first port to the second, and back."""
_ROUNDING = 1e-9
"""What a mean may be beyond its extremes, as a share: sums of floats round."""


class _Said(msgspec.Struct, frozen=True):
    """The ``delay`` of a direction, as a measurer replies."""

    frames: int
    min_s: float
    mean_s: float
    max_s: float
    jitter_s: float | None = None
    p50_s: float | None = None
    p90_s: float | None = None
    p99_s: float | None = None
    p999_s: float | None = None
    batches: list[tuple[int, float | None]] = []
    histogram: str | None = None
    polls: list[tuple[int, float]] = []


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """The delays of one trial in one direction, or in both."""

    sent: int
    lost: int
    frames: int
    min_s: float
    mean_s: float
    max_s: float
    jitter_s: float | None
    median_s: float | None
    batches: list[float | None]
    """Means of the frames of each batch, in the order of sending; null where none arrived."""
    histogram: DelayHistogram | None
    polls: list[tuple[int, float]]
    """Times between two looks of the tester at its port, those of about the same length together: how many, and their
    sum in seconds, zero where no frame waits for a look. Empty where the tester does not report them."""


def observe(directions: Sequence[dict[str, Any]], *, where: str) -> dict[str, Observed]:
    """Give what a trial says of each direction in which frames arrived, and of all together.

    Parameters
    ----------
    directions
        As the measurer replied, that from the first port first.
    where
        Names the trial in an error.

    Raises
    ------
    RecordError
        Naming what cannot be.
    """
    found: dict[str, Observed] = {}
    for name, direction in zip((TO, FROM), directions, strict=False):
        if direction.get("delay") is None:
            continue
        try:
            said = msgspec.convert(direction["delay"], _Said)
            sent, lost = (msgspec.convert(direction.get(field), int) for field in ("sent", "lost"))
            found[name] = _one(said, sent, lost, where=where)
        except (msgspec.ValidationError, ValueError) as error:
            message = f"{where}: direction {name!r}: delay: {error}"
            raise RecordError(message) from error
    if found:
        found[ALL] = _together(list(found.values()))
    return found


def distribution(trials: Sequence[Observed]) -> DelayDistribution:
    """Merge the delays of trials; percentiles come from the merged histograms."""
    frames = sum(trial.frames for trial in trials)
    jitters = [(trial.frames, trial.jitter_s) for trial in trials if trial.jitter_s is not None]
    histogram = _merged(trials)

    longest_s = max(trial.max_s for trial in trials)

    def percentile(thousandths: int) -> float | None:
        # A histogram knows the longest delay to a thousandth only.
        return None if histogram is None else min(longest_s, histogram.percentile_s(thousandths))

    return DelayDistribution(
        sent=sum(trial.sent for trial in trials),
        lost=sum(trial.lost for trial in trials),
        frames=frames,
        mean_s=_weighted((trial.frames, trial.mean_s) for trial in trials),
        min_s=min(trial.min_s for trial in trials),
        max_s=longest_s,
        jitter_s=_weighted(jitters) if len(jitters) == len(trials) else None,
        p50_s=percentile(500),
        p90_s=percentile(900),
        p99_s=percentile(990),
        p999_s=percentile(999),
    )


def mean_wait(trials: Sequence[Observed], longest_s: float) -> float:
    """Give how much longer frames took than the quickest, in the mean; of each frame ``longest_s`` counts at most."""
    quickest_s = min(trial.min_s for trial in trials)
    histogram = _merged(trials)
    if histogram is None:
        mean_s = _weighted((trial.frames, trial.mean_s) for trial in trials)
        return min(longest_s, mean_s - quickest_s)
    return histogram.mean_wait_s(quickest_s, longest_s)


def _merged(trials: Sequence[Observed]) -> DelayHistogram | None:
    known = [trial.histogram for trial in trials if trial.histogram is not None]
    return DelayHistogram.merged(known) if len(known) == len(trials) else None


def _one(said: _Said, sent: int, lost: int, *, where: str) -> Observed:
    times = [said.min_s, said.mean_s, said.max_s, *(mean for _, mean in said.batches if mean is not None)]
    times += [total_s for _, total_s in said.polls]
    times += [time for time in (said.jitter_s, said.p50_s, said.p90_s, said.p99_s, said.p999_s) if time is not None]
    counts = [count for count, _ in [*said.batches, *said.polls]]
    if said.frames < 1 or min([*counts, *(total_s for _, total_s in said.polls)], default=0) < 0:
        message = "a count or a sum is below what it can be"
        raise ValueError(message)
    rounded = _ROUNDING * abs(said.mean_s)
    is_between = said.min_s - rounded <= said.mean_s <= said.max_s + rounded
    if not all(map(math.isfinite, times)) or not is_between:
        message = "the mean is not between the least and the greatest"
        raise ValueError(message)
    if not 0 <= lost <= sent:
        message = f"lost {lost} of {sent} frames"
        raise ValueError(message)
    histogram = None if said.histogram is None else DelayHistogram.decode(said.histogram, where=where)
    if histogram is not None and histogram.total() != said.frames:
        message = f"the histogram holds {histogram.total()} of {said.frames} units"
        raise ValueError(message)
    return Observed(
        sent=sent,
        lost=lost,
        frames=said.frames,
        min_s=said.min_s,
        mean_s=said.mean_s,
        max_s=said.max_s,
        jitter_s=said.jitter_s,
        median_s=said.p50_s,
        batches=[mean if frames else None for frames, mean in said.batches],
        histogram=histogram,
        polls=[(count, total_s) for count, total_s in said.polls if count],
    )


def _together(parts: list[Observed]) -> Observed:
    if len(parts) == 1:
        return parts[0]
    histogram = _merged(parts)
    jitters = [(part.frames, part.jitter_s) for part in parts if part.jitter_s is not None]
    batches = zip(*(part.batches for part in parts), strict=False)
    return Observed(
        sent=sum(part.sent for part in parts),
        lost=sum(part.lost for part in parts),
        frames=sum(part.frames for part in parts),
        min_s=min(part.min_s for part in parts),
        mean_s=_weighted((part.frames, part.mean_s) for part in parts),
        max_s=max(part.max_s for part in parts),
        jitter_s=_weighted(jitters) if len(jitters) == len(parts) else None,
        median_s=None if histogram is None else histogram.percentile_s(500),
        batches=[_mean_of_known(batch) for batch in batches],
        histogram=histogram,
        polls=[poll for part in parts for poll in part.polls],
    )


def _mean_of_known(batch: Sequence[float | None]) -> float | None:
    known = [mean for mean in batch if mean is not None]
    return math.fsum(known) / len(known) if len(known) == len(batch) else None


def _weighted(pairs: Iterable[tuple[int, float]]) -> float:
    known = list(pairs)
    return math.fsum(weight * value for weight, value in known) / sum(weight for weight, _ in known)
