"""From trials to results: the delay at each load in each direction, with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from brimful.delay import batches
from brimful.delay.batches import Spread
from brimful.delay.observed import ALL, FROM, TO, Observed, distribution, mean_wait, observe
from brimful.records import Delay, DelayInterval, DelayPlan, Trial, Warning
from brimful.units import format_delay, format_load, format_ratio

DEVICE, WIRE = "device", "wire"
"""The paths of trials."""
ASSUMED_POLL_S = 1e-6
"""How long an arrived frame waits at most until a tester that does not report it looks at its port: about what one turn
with a burst each way takes a busy one."""
MUCH_AWAY = 0.05
"""Share of a delay from which on a reader learns what the tester's absence may have added to its mean."""
_CLOCK_S = 1e-9
"""Resolution of the stamps."""
_HISTOGRAM = 1e-3
"""Resolution of a histogram of three digits, as a share of the value."""


class Pair(msgspec.Struct, frozen=True):
    """What was seen of one direction in one round; null where nothing was."""

    device: Observed | None
    wire: Observed | None


def results(trials: Sequence[Trial], plan: DelayPlan, ceiling: float = math.inf) -> list[Delay]:
    """Give the result of each load and direction for which there are trials, up to what the tester could offer.

    Raises
    ------
    RecordError
        When a trial says what cannot be.
    """
    seen = [(trial, observe(trial.directions, where=f"trial {trial.seq}")) for trial in trials if trial.invalid is None]
    found = []
    for load in (load for load in plan.loads if load <= ceiling):
        for direction in (ALL, TO, FROM):
            rounds: dict[int, dict[str, Observed]] = {}
            for trial, views in seen:
                if trial.load == load and trial.path is not None and trial.round is not None and direction in views:
                    rounds.setdefault(trial.round, {})[trial.path] = views[direction]
            pairs = [Pair(paths.get(DEVICE), paths.get(WIRE)) for _, paths in sorted(rounds.items())]
            result = _result(load, direction, pairs, plan)
            if result is not None:
                found.append(result)
    return found


def warnings(found: Iterable[Delay]) -> list[Warning]:
    """Say what a reader of the results should know beyond the numbers."""
    said = []
    for result in found:
        at = f"at {format_load(result.load)}"
        if result.direction == ALL and result.device.lost:
            share = result.device.lost / result.device.sent
            text = (
                f"{at} the device lost {result.device.lost:,} of {result.device.sent:,} frames"
                f" ({format_ratio(share, digits=2)}): a delay under loss is that of full queues, not of processing"
            )
            said.append(Warning(code="delay-under-loss", text=text))
        if result.wire is not None and result.direction == ALL and result.wire.lost:
            text = f"{at} {result.wire.lost} frames were lost on the bare wire: by the tester itself"
            said.append(Warning(code="loss-on-wire", text=text))
        if result.direction == ALL and result.mean.systematic_s > MUCH_AWAY * result.device.mean_s + ASSUMED_POLL_S:
            text = (
                f"{at} the tester was away or sent in bursts so much that it may misstate the mean"
                f" by {format_delay(result.mean.systematic_s)}; give it a processor of its own or a quieter machine"
            )
            said.append(Warning(code="tester-away", text=text))
        if result.mean.dependence > batches.DEPENDENT_Z:
            text = (
                f"{at}, {result.direction}: neighbouring batches still depend on each other, so that"
                " the interval may be too narrow; measure more rounds"
            )
            said.append(Warning(code="dependent-batches", text=text))
    return said


def _result(load: float, direction: str, pairs: Sequence[Pair], plan: DelayPlan) -> Delay | None:
    if plan.wire is not None and plan.wire_run is None:
        pairs = [pair for pair in pairs if pair.device is not None and pair.wire is not None]
    device = [pair.device for pair in pairs if pair.device is not None]
    wire = [pair.wire for pair in pairs if pair.wire is not None]
    if not device or (plan.wire is not None and not wire):
        return None
    medians: list[float | None] = []
    if plan.wire is None:
        mean, method = batches.spread_of(_series(device)), "total"
        medians = [trial.median_s for trial in device]
    elif plan.wire_run is not None:
        mean = batches.difference(batches.spread_of(_series(device)), batches.spread_of(_series(wire)))
        method = "welch"
    else:
        both = list(zip(device, wire, strict=True))
        mean, method = batches.spread_of([_difference(*pair) for pair in both]), "paired"
        medians = [_difference_of_medians(*pair) for pair in both]
    seen = distribution(device)
    # The device's delay is this at most: no frame over the wire was quicker than its quickest.
    longest_s = seen.mean_s - min((trial.min_s for trial in wire), default=0.0)
    unsure = systematic(device, wire, longest_s)
    return Delay(
        load=load,
        direction=direction,
        of="total" if method == "total" else "device",
        mean=_mean_interval(mean, method, unsure.of_mean_s),
        median=_median_interval(medians, unsure.of_median_s, device + wire),
        device=seen,
        wire=distribution(wire) if wire else None,
    )


class Systematic(msgspec.Struct, frozen=True):
    """What more trials do not improve, in seconds."""

    of_mean_s: float
    of_median_s: float


def systematic(device: Sequence[Observed], wire: Sequence[Observed], delay_s: float) -> Systematic:
    """Give how far the tester may misstate a delay because it is not always there to take frames.

    A frame that has arrived waits until the tester looks at its port, unless the kernel notes its arrival: then the
    times between two looks are reported as zero. In the difference of two paths such waits cancel only where they are
    the same on both, and they need not be. A frame that a device still has when the tester goes away for a time g waits
    for it, one that has passed a wire does not: that adds up to min(g, delay) x g - min(g, delay)^2 / 2 a unit of time
    to the mean. The other way round, a frame waits on the wire while the tester sends the rest of a burst, and not if
    the device holds it for longer than that: of each wait over the wire, up to the delay may be missing. The larger of
    both counts, and the usual time between two looks on top.

    Parameters
    ----------
    device, wire
        Trials over either path; of the wire there may be none.
    delay_s
        Of the device, at most.
    """
    delay_s = max(0.0, delay_s)
    polls = [poll for trial in device for poll in trial.polls]
    if not all(trial.polls for trial in device):
        return Systematic(_CLOCK_S + ASSUMED_POLL_S, _CLOCK_S + ASSUMED_POLL_S)
    total_s = math.fsum(seconds for _, seconds in polls)
    usual_s = _CLOCK_S + total_s / sum(count for count, _ in polls)
    waited_s = math.fsum(count * _waited(seconds / count, delay_s) for count, seconds in polls)
    added_s = waited_s / total_s if total_s > 0 else 0.0
    missing_s = mean_wait(wire, delay_s) if wire else 0.0
    typical = [trial.median_s - trial.min_s for trial in wire if trial.median_s is not None]
    return Systematic(
        of_mean_s=usual_s + max(added_s, missing_s),
        of_median_s=usual_s + min(delay_s, max(typical, default=0.0)),
    )


def _waited(gap_s: float, delay_s: float) -> float:
    within_s = min(gap_s, delay_s)
    return within_s * gap_s - within_s**2 / 2


def _series(trials: Sequence[Observed]) -> list[tuple[float, Sequence[float]]]:
    return [(trial.mean_s, [mean for mean in trial.batches if mean is not None]) for trial in trials]


def _difference(device: Observed, wire: Observed) -> tuple[float, list[float]]:
    pairs = zip(device.batches, wire.batches, strict=False)
    return device.mean_s - wire.mean_s, [one - other for one, other in pairs if one is not None and other is not None]


def _difference_of_medians(device: Observed, wire: Observed) -> float | None:
    if device.median_s is None or wire.median_s is None:
        return None
    return device.median_s - wire.median_s


def _mean_interval(spread: Spread, method: str, systematic_s: float) -> DelayInterval:
    half = spread.half_width
    return DelayInterval(
        value_s=spread.value,
        low_s=None if half is None else spread.value - half - systematic_s,
        high_s=None if half is None else spread.value + half + systematic_s,
        systematic_s=systematic_s,
        method=method,
        batches=spread.batches,
        freedom=None if half is None else spread.freedom,
        dependence=spread.dependence,
    )


def _median_interval(
    values: Sequence[float | None], systematic_s: float, trials: Sequence[Observed]
) -> DelayInterval | None:
    known = [value for value in values if value is not None]
    found = batches.median_interval(known)
    if found is None or len(known) < len(values):
        return None
    value, low, high = found
    resolution_s = _HISTOGRAM * max(trial.median_s or 0.0 for trial in trials)
    wider_s = systematic_s + resolution_s
    return DelayInterval(
        value_s=value,
        low_s=low - wider_s,
        high_s=high + wider_s,
        systematic_s=wider_s,
        method="sign",
        batches=len(known),
    )
