"""Trials as reports show them: loss against each goal, place on the time axis, totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from statistics import median

import msgspec

from brimful.errors import one_line
from brimful.records import Goal, Trial
from brimful.units import nanoseconds

WARM_UP = "warm-up"
"""What the record gives as the reason why a warm-up trial does not count."""
LONG_PAUSE_S = 30.0
"""A pause between trials is cut out of the time axis when it is longer than this and than ten usual trials."""


_LOAD_PREFIX = re.compile(r"^invalid trial (\d+ )?at [^:]*: ")


class TrialView(msgspec.Struct, frozen=True, kw_only=True):
    """One trial for show."""

    seq: int
    start_s: float
    end_s: float
    load: float
    duration_s: float
    effective_duration_s: float
    intended: int
    sent: int
    lost: int
    unsent: int
    loss_ratio: float
    """A lower bound of the loss ratio when the trial was stopped early."""
    delay_p99_s: float | None
    exceeded: list[str]
    """Goals for which it is a high-loss trial: whose loss ratio or delay limit it exceeds."""
    level: str
    """``clean`` (no goal exceeded), ``between``, ``above`` (all exceeded), ``invalid`` or ``warm-up``."""
    stopped_early: bool
    phase: int | None
    invalid: str | None
    warnings: list[str]


class Pause(msgspec.Struct, frozen=True):
    """A stretch without trials that is cut out of the time axis."""

    at_s: float
    """Where it is on the axis after cutting."""
    length_s: float


class TrialStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the trials of a run."""

    total: int
    counted: int
    invalid: int
    """Spoiled trials; warm-up trials are not among them."""
    invalid_reasons: dict[str, int]
    warm_up: int
    warm_up_s: float
    """Sum of the intended durations of warm-up trials."""
    stopped_early: int
    stopped_early_share: float
    sending_s: float
    """Sum of the intended durations of all trials."""
    elapsed_s: float
    """Wall time of all trials, waits included."""
    wait_per_trial_s: float | None
    """Median of what a trial takes beyond its duration; null where the record does not say."""
    sent: int
    lost: int
    unsent: int
    duplicated: int | None
    reordered: int | None
    late: int | None
    shortest_s: float | None
    longest_s: float | None
    effective_share_least: float | None
    """Smallest ratio of effective to intended duration."""
    effective_share_most: float | None


def exact_ratio(value: float) -> Fraction:
    """Give the fraction that a decimal number was written as.

    >>> exact_ratio(0.005)
    Fraction(1, 200)
    """
    return Fraction(str(value))


def loss_counts(trial: Trial) -> tuple[int, int]:
    """Give what was not forwarded and what should have been.

    What a trial that was stopped early did not send any more is not loss, so its ratio is a lower bound.
    """
    unsent = 0 if trial.stopped_early else max(0, trial.intended - trial.sent)
    return trial.lost + unsent, max(trial.intended, trial.sent)


def exceeds(trial: Trial, goal: Goal) -> bool:
    """Say whether a trial is a high-loss one for a goal, by whole numbers."""
    missing, expected = loss_counts(trial)
    threshold = exact_ratio(goal.loss_ratio)
    return missing * threshold.denominator > expected * threshold.numerator or is_slow(trial, goal)


def meeting(trials: Sequence[Trial], goal: Goal) -> list[Trial]:
    """Give the trials that are no high-loss ones for a goal."""
    return [trial for trial in trials if not exceeds(trial, goal)]


def is_slow(trial: Trial, goal: Goal) -> bool:
    """Say whether the delay of a trial is above the limit of a goal; of a stopped trial it is not known."""
    if goal.delay_limit_s is None or trial.stopped_early:
        return False
    return trial.delay_p99_s is None or nanoseconds(trial.delay_p99_s) > nanoseconds(goal.delay_limit_s)


def view_trials(trials: Sequence[Trial], goals: Sequence[Goal]) -> tuple[list[TrialView], list[Pause]]:
    """Give all trials for show, with long pauses cut out of their times."""
    starts, pauses = _axis(trials)
    views = [_view(trial, goals, start) for trial, start in zip(trials, starts, strict=True)]
    return views, pauses


def _view(trial: Trial, goals: Sequence[Goal], start: float) -> TrialView:
    missing, expected = loss_counts(trial)
    exceeded = [goal.name for goal in goals if exceeds(trial, goal)]
    if trial.invalid is not None:
        level = WARM_UP if trial.invalid == WARM_UP else "invalid"
    elif not exceeded:
        level = "clean"
    else:
        level = "above" if len(exceeded) == len(goals) else "between"
    return TrialView(
        seq=trial.seq,
        start_s=start,
        end_s=start + _length(trial),
        load=trial.load,
        duration_s=trial.duration_s,
        effective_duration_s=effective_duration(trial),
        intended=trial.intended,
        sent=trial.sent,
        lost=trial.lost,
        unsent=max(0, trial.intended - trial.sent),
        loss_ratio=missing / expected if expected else 0.0,
        delay_p99_s=trial.delay_p99_s,
        exceeded=exceeded,
        level=level,
        stopped_early=trial.stopped_early,
        phase=trial.phase,
        invalid=trial.invalid,
        warnings=[str(warning.get("code", "")) for warning in trial.warnings],
    )


def effective_duration(trial: Trial) -> float:
    """Give the time that a trial weighs; the intended duration where the measurer did not say."""
    return trial.duration_s if trial.effective_duration_s is None else trial.effective_duration_s


def _length(trial: Trial) -> float:
    return trial.elapsed_s if trial.elapsed_s > 0 else trial.duration_s


def _axis(trials: Sequence[Trial]) -> tuple[list[float], list[Pause]]:
    """Give the start of each trial on an axis without long pauses, and the pauses.

    A clock that starts afresh (a run resumed by another process) counts as a pause of unknown length.
    """
    if not trials:
        return [], []
    long_pause = max(LONG_PAUSE_S, 10 * median(_length(trial) for trial in trials))
    timed = any(trial.start_s > 0 for trial in trials)
    starts: list[float] = []
    pauses: list[Pause] = []
    shift = -trials[0].start_s
    free = 0.0
    for trial in trials:
        start = trial.start_s + shift if timed else free
        gap = start - free
        if starts and (gap > long_pause or gap < -long_pause):
            pauses.append(Pause(free, max(0.0, gap)))
            shift -= gap
            start = free
        starts.append(start)
        free = max(free, start + _length(trial))
    return starts, pauses


def total(trials: Sequence[Trial]) -> TrialStatistics:
    """Sum up the trials of a run."""
    counted = [trial for trial in trials if trial.invalid is None]
    warm_up = [trial for trial in trials if trial.invalid == WARM_UP]
    reasons = [trial.invalid for trial in trials if trial.invalid is not None and trial.invalid != WARM_UP]
    stopped = sum(trial.stopped_early for trial in counted)
    timed = [trial for trial in trials if trial.elapsed_s > 0 and not trial.stopped_early]
    shares = [effective_duration(trial) / trial.duration_s for trial in counted if trial.duration_s > 0]
    durations = [trial.duration_s for trial in trials]
    return TrialStatistics(
        total=len(trials),
        counted=len(counted),
        invalid=len(reasons),
        invalid_reasons=dict(Counter(one_line(_LOAD_PREFIX.sub("", reason)) for reason in reasons)),
        warm_up=len(warm_up),
        warm_up_s=sum(trial.duration_s for trial in warm_up),
        stopped_early=stopped,
        stopped_early_share=stopped / len(counted) if counted else 0.0,
        sending_s=sum(durations),
        elapsed_s=sum(_length(trial) for trial in trials),
        wait_per_trial_s=max(0.0, median(trial.elapsed_s - trial.duration_s for trial in timed)) if timed else None,
        sent=sum(trial.sent for trial in counted),
        lost=sum(trial.lost for trial in counted),
        unsent=sum(max(0, trial.intended - trial.sent) for trial in counted if not trial.stopped_early),
        duplicated=_sum_known([trial.duplicated for trial in counted]),
        reordered=_sum_known([trial.reordered for trial in counted]),
        late=_sum_known([trial.late for trial in counted]),
        shortest_s=min(durations, default=None),
        longest_s=max(durations, default=None),
        effective_share_least=min(shares, default=None),
        effective_share_most=max(shares, default=None),
    )


def _sum_known(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
