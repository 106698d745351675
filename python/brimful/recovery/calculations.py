"""From the trials of a round to the time of recovery, as an interval in which it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brimful.errors import RecordError
from brimful.records import Recovery, RecoveryPlan, Trial

OVERLOAD, PROBE, RESET = "overload", "probe", "reset"
"""What a trial is for: `Trial.path`."""
RESET_AT = 0.25
"""When in its trial the device is reset, as a share of it."""
NOT_BACK = 0.7
"""A device that forwarded nothing for this share of its trial may still have been away at its end."""


def recoveries(trials: Sequence[Trial], plan: RecoveryPlan, *, conversion_factor: float) -> list[Recovery]:
    """Give the time of each round that its trials complete.

    Raises
    ------
    RecordError
        When a round does not begin with its overload.
    """
    return list(_rounds(trials, plan, conversion_factor))


def _rounds(trials: Sequence[Trial], plan: RecoveryPlan, conversion_factor: float) -> Iterator[Recovery]:
    # What is at a greater load than the plan has was made before the tester was found unable to offer it.
    most = {PROBE: plan.load_after or plan.load}
    counted = [one for one in trials if one.invalid is None and one.load <= most.get(one.path or "", plan.load)]
    for number in sorted({trial.round or 0 for trial in counted}):
        own = [trial for trial in counted if trial.round == number]
        # A round that was interrupted is begun again with its overload, as probes have to follow it at once.
        own = own[max((place for place, trial in enumerate(own) if trial.path == OVERLOAD), default=0) :]
        if plan.of == RESET:
            yield of_reset(own[-1], conversion_factor=conversion_factor)
        elif is_over(own, plan):
            yield of_overload(own, plan)


def is_over(own: Sequence[Trial], plan: RecoveryPlan) -> bool:
    """Say whether a round has its last probe: enough without loss, or the limit has passed."""
    probes = _probes(own)
    if not probes:
        return False
    clean = [trial.lost == 0 for trial in probes[-plan.clean_probes :]]
    return (len(clean) == plan.clean_probes and all(clean)) or _end_s(probes[-1]) - _end_s(own[0]) >= plan.limit_s


def of_overload(own: Sequence[Trial], plan: RecoveryPlan) -> Recovery:
    """Give the time from the end of the overload (time stamp A) to the last frame lost (B), RFC 2544 section 26.5.

    A lies between the end of the overload's sending, at the earliest, and the end of its trial. B lies behind the begin
    of the last probe that lost frames, and before the first frame of the probe after it.
    """
    overload, probes = own[0], _probes(own)
    earliest_a, latest_a = overload.start_s + overload.duration_s, _end_s(overload)
    last_lossy = max((place for place, probe in enumerate(probes) if probe.lost), default=-1)
    low_s = max(0.0, probes[last_lossy].start_s - latest_a) if last_lossy >= 0 else 0.0
    number = overload.round or 0
    clean = probes[last_lossy + 1 :]
    if len(clean) < plan.clean_probes:
        return Recovery(round=number, low_s=_rounded(low_s))
    high_s = max(low_s, _end_s(clean[0]) - clean[0].duration_s - earliest_a)
    return Recovery(round=number, low_s=_rounded(low_s), high_s=_rounded(high_s))


def of_reset(trial: Trial, *, conversion_factor: float) -> Recovery:
    """Give the time without forwarding: frames lost / load (RFC 6201, frame-loss method), of the worst direction.

    It is known to a frame: the last before and the first after the gap may be as far from its ends.
    """
    lost = [direction["lost"] for direction in trial.directions if isinstance(direction.get("lost"), int)]
    frames = max(lost) if lost else trial.lost / conversion_factor
    low_s, high_s = max(0.0, frames - 1) / trial.load, (frames + 1) / trial.load
    is_back = frames / trial.load < NOT_BACK * trial.duration_s
    return Recovery(round=trial.round or 0, low_s=_rounded(low_s), high_s=_rounded(high_s) if is_back else None)


def _probes(own: Sequence[Trial]) -> list[Trial]:
    if not own or own[0].path != OVERLOAD or any(trial.path != PROBE for trial in own[1:]):
        message = "a round is one trial of overload and the probes after it; this one is not"
        raise RecordError(message)
    return list(own[1:])


def _end_s(trial: Trial) -> float:
    return trial.start_s + trial.elapsed_s


def _rounded(seconds: float) -> float:
    return round(seconds, 9)
