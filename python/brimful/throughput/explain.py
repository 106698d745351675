"""Why a load is what it is for a goal, in a sentence with the sums."""

from __future__ import annotations

from collections.abc import Sequence

from brimful import units
from brimful.records import Goal
from brimful.throughput.verify import Assessment, Losses

_VERDICTS = {"lower-bound": "is a lower bound", "upper-bound": "is an upper bound", "undecided": "is undecided"}


def explanation(
    goal: Goal,
    load: float,
    found: Assessment,
    delays_s: Sequence[float] = (),
    unit: str = "frames/s",
    losses: Losses | None = None,
) -> str:
    """Say why a load is an upper bound, a lower bound or undecided (MLRsearch-15 Load Classification).

    Parameters
    ----------
    goal
        The goal that the load is judged for.
    load
        Units per second.
    found
        What its trials say.
    delays_s
        99th percentiles of the delay of its trials, for a goal with a delay limit.
    unit
        What the load counts.
    losses
        What its trials lost and did not send; none: it is not said.
    """
    claim = f"{units.format_load(load, unit, digits=6)} {_VERDICTS[found.verdict]} for {goal.name}"
    if found.trials == 0:
        return f"{claim}: it was never measured."
    return f"{claim}: {_reason(goal, found)} ({_sums(goal, found)}{_delays(goal, delays_s)}{_losses(losses)})."


def _reason(goal: Goal, found: Assessment) -> str:
    limit = units.format_ratio(goal.exceed_ratio)
    whole = found.missing_s + found.sums.full_low_s + found.effective_high_loss_s
    high = f"{_seconds(found.effective_high_loss_s)} of {_seconds(whole)}"
    worst = units.format_ratio(found.pessimistic_exceed_ratio)
    best = units.format_ratio(found.optimistic_exceed_ratio)
    if found.verdict == "upper-bound":
        return f"{high} were high-loss; even if all missing time turned out clean that is {best}, above {limit}"
    if found.verdict == "lower-bound":
        return f"{high} were high-loss; even if all missing time turned out lossy that is {worst}, at most {limit}"
    return (
        f"{high} were high-loss and {_seconds(found.missing_s)} are missing; that may end anywhere"
        f" from {best} to {worst}, and {limit} is allowed"
    )


def _sums(goal: Goal, found: Assessment) -> str:
    sums = found.sums
    slow = "" if goal.delay_limit_s is None else f" or a p99 delay above {units.format_delay(goal.delay_limit_s)}"
    text = (
        f"high-loss means a loss ratio above {units.format_ratio(goal.loss_ratio)}{slow}; full-length trials:"
        f" {_seconds(sums.full_low_s)} low-loss, {_seconds(sums.full_high_s)} high-loss"
    )
    if sums.short_low_s or sums.short_high_s:
        text += f"; short ones: {_seconds(sums.short_low_s)} low-loss, {_seconds(sums.short_high_s)} high-loss"
    return f"{text}; {found.trials} trial{'s' if found.trials != 1 else ''}"


def _delays(goal: Goal, delays_s: Sequence[float]) -> str:
    if goal.delay_limit_s is None or not delays_s:
        return ""
    limit = units.nanoseconds(goal.delay_limit_s)
    slow = sum(units.nanoseconds(delay) > limit for delay in delays_s)
    if not slow:
        return f"; p99 delay {units.format_delay(max(delays_s))} at most"
    return (
        f"; p99 delay {units.format_delay(max(delays_s))} at most, above the limit"
        f" {units.format_delay(goal.delay_limit_s)} in {slow} trial{'s' if slow != 1 else ''}"
    )


def _losses(losses: Losses | None) -> str:
    """Split what counts as loss, where not all of it was lost."""
    if losses is None or not losses.unsent:
        return ""
    return f"; {losses.lost:,} lost and {losses.unsent:,} unsent of {losses.intended:,} units"


def _seconds(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".") + " s"
