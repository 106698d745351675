"""From trials to results: the delay at each load in each direction, with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from brimful.delay import batches
from brimful.delay.batches import Spread
from brimful.delay.observed import ALL, FROM, TO, Observed, distribution, observe
from brimful.records import Delay, DelayInterval, DelayPlan, Trial, Warning

DEVICE, WIRE = "device", "wire"
"""The paths of trials."""
SPINNING_ABOVE = 1000.0
"""Frames a second of a direction: below, the tester sleeps between frames."""
SPINNING_S, SLEEPING_S = 1e-6, 200e-6
"""How long an arrived frame may wait until the tester looks at its ports: the time of one turn with a burst each way,
and how long it sleeps at a time."""
_CLOCK_S = 1e-9
"""Resolution of the stamps."""
_HISTOGRAM = 1e-3
"""Resolution of a histogram of three digits, as a share of the value."""


class Pair(msgspec.Struct, frozen=True):
    """What was seen of one direction in one round; null where nothing was."""

    device: Observed | None
    wire: Observed | None


def results(trials: Sequence[Trial], plan: DelayPlan) -> list[Delay]:
    """Give the result of each load and direction for which there are trials.

    Raises
    ------
    RecordError
        When a trial says what cannot be.
    """
    seen = [(trial, observe(trial.directions, where=f"trial {trial.seq}")) for trial in trials if trial.invalid is None]
    found = []
    for load in plan.loads:
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
        if result.direction == ALL and result.device.lost:
            share = result.device.lost / result.device.sent
            text = (
                f"at {result.load:g}/s the device lost {result.device.lost} of {result.device.sent} frames"
                f" ({share:.2g} of them): a delay under loss is that of full queues, not of processing"
            )
            said.append(Warning(code="delay-under-loss", text=text))
        if result.wire is not None and result.direction == ALL and result.wire.lost:
            text = f"at {result.load:g}/s {result.wire.lost} frames were lost on the bare wire: by the tester itself"
            said.append(Warning(code="loss-on-wire", text=text))
        if result.mean.dependence > batches.DEPENDENT_Z:
            text = (
                f"at {result.load:g}/s, {result.direction}: neighbouring batches still depend on each other, so that"
                " the interval may be too narrow; measure more rounds"
            )
            said.append(Warning(code="dependent-batches", text=text))
    return said


def _result(load: float, direction: str, pairs: Sequence[Pair], plan: DelayPlan) -> Delay | None:
    device = [pair.device for pair in pairs if pair.device is not None]
    wire = [pair.wire for pair in pairs if pair.wire is not None]
    if not device or (plan.wire is not None and not wire):
        return None
    where = f"load {load:g}/s, {direction}"
    if plan.wire is None:
        mean, median, method = batches.spread_of(_series(device)), [seen.median_s for seen in device], "total"
    elif plan.wire_run is not None:
        mean = batches.difference(batches.spread_of(_series(device)), batches.spread_of(_series(wire)))
        median, method = [], "welch"
    else:
        both = [(pair.device, pair.wire) for pair in pairs if pair.device is not None and pair.wire is not None]
        if not both:
            return None
        mean = batches.spread_of([_difference(one, other) for one, other in both])
        median = [
            None if one.median_s is None or other.median_s is None else one.median_s - other.median_s
            for one, other in both
        ]
        method = "paired"
    systematic_s = systematic(load)
    return Delay(
        load=load,
        direction=direction,
        of="total" if method == "total" else "device",
        mean=_mean_interval(mean, method, systematic_s),
        median=_median_interval(median, systematic_s, device + wire),
        device=distribution(device, where=where),
        wire=distribution(wire, where=where) if wire else None,
    )


def systematic(load: float) -> float:
    """Give what more trials do not improve: the resolution of the clock, and how long an arrived frame may wait.

    That wait is in the delays of both paths; it cancels where it is the same in both, which nothing says.
    """
    return _CLOCK_S + (SPINNING_S if load >= SPINNING_ABOVE else SLEEPING_S)


def _series(trials: Sequence[Observed]) -> list[tuple[float, Sequence[float]]]:
    return [(trial.mean_s, [mean for mean in trial.batches if mean is not None]) for trial in trials]


def _difference(device: Observed, wire: Observed) -> tuple[float, list[float]]:
    pairs = zip(device.batches, wire.batches, strict=False)
    return device.mean_s - wire.mean_s, [one - other for one, other in pairs if one is not None and other is not None]


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
