"""What one trial says of the delay: checked, and both directions together."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from brimful.errors import RecordError, UsageError
from brimful.records import DelayDistribution

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

ALL, TO, FROM = "all", "to", "from"
"""Directions: both together, from the first port to the second, and back."""
_ROUNDING = 1e-9
"""What a mean may be beyond its extremes, as a share: sums of floats round."""
_LONGEST_NS = 10**15
_DIGITS = 3
_PLAIN, _COMPRESSED = 0x1C849313, 0x1C849314
"""Cookies of the V2 encoding (HdrHistogram, `AbstractHistogram.java`), words of 8 bytes."""


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
    histograms: list[str]
    """Of each direction; fewer than directions where one is not known."""
    polls: list[tuple[int, float]]
    """Times between two looks of the tester at its port, those of about the same length together: how many, and their
    sum in seconds. Empty where the tester does not tell."""
    parts: int
    """Directions in it."""


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
            found[name] = _one(said, sent, lost)
        except (msgspec.ValidationError, ValueError) as error:
            message = f"{where}: direction {name!r}: delay: {error}"
            raise RecordError(message) from error
    if found:
        found[ALL] = _together(list(found.values()), where=where)
    return found


def distribution(trials: Sequence[Observed], *, where: str) -> DelayDistribution:
    """Merge the delays of trials; percentiles come from the merged histograms."""
    frames = sum(trial.frames for trial in trials)
    jitters = [(trial.frames, trial.jitter_s) for trial in trials if trial.jitter_s is not None]
    known = all(len(trial.histograms) == trial.parts for trial in trials)
    histogram = merged((text for trial in trials for text in trial.histograms), where=where) if known else None

    def percentile(share: float) -> float | None:
        return None if histogram is None else histogram.get_value_at_percentile(share) / 1e9

    return DelayDistribution(
        sent=sum(trial.sent for trial in trials),
        lost=sum(trial.lost for trial in trials),
        frames=frames,
        mean_s=_weighted((trial.frames, trial.mean_s) for trial in trials),
        min_s=min(trial.min_s for trial in trials),
        max_s=max(trial.max_s for trial in trials),
        jitter_s=_weighted(jitters) if len(jitters) == len(trials) else None,
        p50_s=percentile(50),
        p90_s=percentile(90),
        p99_s=percentile(99),
        p999_s=percentile(99.9),
    )


def mean_wait(trials: Sequence[Observed], longest_s: float, *, where: str) -> float:
    """Give how much longer frames took than the quickest, in the mean; of each frame ``longest_s`` counts at most."""
    quickest_s = min(trial.min_s for trial in trials)
    if any(len(trial.histograms) < trial.parts for trial in trials):
        mean_s = _weighted((trial.frames, trial.mean_s) for trial in trials)
        return min(longest_s, mean_s - quickest_s)
    histogram = merged((text for trial in trials for text in trial.histograms), where=where)
    waits = (
        (step.count_added_in_this_iter_step, min(longest_s, max(0.0, step.value_iterated_to / 1e9 - quickest_s)))
        for step in histogram.get_recorded_iterator()
    )
    return _weighted(waits)


def merged(texts: Iterable[str], *, where: str) -> HdrHistogram:
    """Add histograms up that are encoded as V2 in base64, compressed or not.

    Raises
    ------
    RecordError
        When one cannot be decoded.
    UsageError
        When the library is not installed.
    """
    try:
        from hdrh.histogram import HdrHistogram
    except ImportError as error:
        message = f"percentiles of delays need {error.name}; install it with: pip install 'brimful[delay]'"
        raise UsageError(message) from error
    total = HdrHistogram(1, _LONGEST_NS, _DIGITS)
    for text in texts:
        try:
            total.add(HdrHistogram.decode(_compressed(text)))
        except Exception as error:
            # The library raises classes of its own, IndexError and those of zlib, all for the same reason.
            message = f"{where}: the histogram of delays cannot be decoded: {error}"
            raise RecordError(message) from error
    return total


def _compressed(text: str) -> bytes:
    """Give an encoding that the library decodes: it knows the compressed one alone."""
    content = base64.b64decode(text, validate=True)
    if int.from_bytes(content[:4], "big") != _PLAIN:
        return text.encode()
    packed = zlib.compress(content)
    return base64.b64encode(_COMPRESSED.to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed)


def _one(said: _Said, sent: int, lost: int) -> Observed:
    times = [said.min_s, said.mean_s, said.max_s, *(mean for _, mean in said.batches if mean is not None)]
    times += [total_s for _, total_s in said.polls]
    times += [time for time in (said.jitter_s, said.p50_s, said.p90_s, said.p99_s, said.p999_s) if time is not None]
    if said.frames < 1 or any(count < 0 for count, _ in [*said.batches, *said.polls]):
        message = "a count is below what it can be"
        raise ValueError(message)
    rounded = _ROUNDING * abs(said.mean_s)
    is_between = said.min_s - rounded <= said.mean_s <= said.max_s + rounded
    if not all(map(math.isfinite, times)) or not is_between:
        message = "the mean is not between the least and the greatest"
        raise ValueError(message)
    if not 0 <= lost <= sent:
        message = f"lost {lost} of {sent} frames"
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
        histograms=[] if said.histogram is None else [said.histogram],
        polls=[(count, total_s) for count, total_s in said.polls if count],
        parts=1,
    )


def _together(parts: list[Observed], *, where: str) -> Observed:
    if len(parts) == 1:
        return parts[0]
    histograms = [text for part in parts for text in part.histograms]
    known = len(histograms) == len(parts)
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
        median_s=merged(histograms, where=where).get_value_at_percentile(50) / 1e9 if known else None,
        batches=[_mean_of_known(batch) for batch in batches],
        histograms=histograms,
        polls=[poll for part in parts for poll in part.polls],
        parts=len(parts),
    )


def _mean_of_known(batch: Sequence[float | None]) -> float | None:
    known = [mean for mean in batch if mean is not None]
    return math.fsum(known) / len(known) if len(known) == len(batch) else None


def _weighted(pairs: Iterable[tuple[int, float]]) -> float:
    known = list(pairs)
    return math.fsum(weight * value for weight, value in known) / sum(weight for weight, _ in known)
