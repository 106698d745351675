"""Results and reasons in words."""

from __future__ import annotations

import math
import re

from brimful.errors import one_line
from brimful.records import Goal, GoalResult, Machine
from brimful.units import format_delay, format_duration, format_load, format_ratio

NO_RESULT = "no-result"
REASONS = {
    "regular": "Both relevant bounds are there and close enough.",
    "max-load-is-lower-bound": "Even the max load met the goal, so the result is only a lower limit.",
    "min-load-is-upper-bound": "Even the min load missed the goal, so the result is only an upper limit.",
    "no-progress": "A load was measured many times and still has no verdict, because its trials weigh too little.",
    "width-not-reached": "The bounds stayed further apart than the width of the goal.",
    "time-budget": "The time budget was spent before the goal was reached; the bounds are those known by then.",
    "interrupted": "The search was interrupted before the goal was reached; the bounds are those known by then.",
    "measurement-failed": "The measurer failed before the goal was reached; the bounds are those known by then.",
    NO_RESULT: "The record has no result for this goal: the run is still active, or was killed.",
}
"""What each reason code of a goal result means."""
CUT_SHORT = ("time-budget", "interrupted", "measurement-failed")
"""Reasons of a search that ended before its goals were reached."""

CLOCK_WORDS = {
    "done": "finished",
    "time-budget": "stopped when its time budget was spent",
    "interrupted": "was interrupted",
    "measurement-failed": "ended because the measurer failed",
}
"""How a run ended, by the reason of its `End` record."""


def explain(reason: str) -> str:
    """Give a reason code in a sentence."""
    return REASONS.get(reason, f"The record gives the reason {reason!r}, which this version does not know.")


def headline(result: GoalResult | None, unit: str) -> str:
    """Give the one value of a goal that a reader takes away, with its sign where it is no exact answer.

    >>> headline(GoalResult("ndr", False, "max-load-is-lower-bound", conditional_throughput=14.88e6), "frames/s")
    '≥ 14.88 Mpps'
    """
    if result is None:
        return "no result"
    throughput = result.conditional_throughput
    if result.regular and throughput is not None:
        return format_load(throughput, unit)
    if throughput is not None and (result.upper_bound is None or result.reason == "max-load-is-lower-bound"):
        return f"≥ {format_load(throughput, unit)}"
    if throughput is not None and result.upper_bound is not None:
        return f"{format_load(throughput, unit)} … {format_load(result.upper_bound, unit)}"
    if result.upper_bound is not None:
        return f"< {format_load(result.upper_bound, unit)}"
    return "no bounds"


def verb(unit: str) -> str:
    """Say what a thing does with what its load counts.

    >>> verb("frames/s"), verb("IO/s")
    ('forwards', 'does')
    """
    return "forwards" if unit.startswith(("frames", "packets")) else "does"


def as_sentence(text: str) -> str:
    """Write what went wrong as a sentence of its own.

    >>> as_sentence("the link is down"), as_sentence("")
    ('The link is down.', '')
    """
    said = one_line(text[:1].upper() + text[1:])
    return said if not said or said.endswith((".", "!", "?")) else f"{said}."


def sentence(goal: Goal, result: GoalResult | None, unit: str) -> str:
    """Say the result of a goal in one sentence for people who see no symbols."""
    asked = f"with at most {format_ratio(goal.loss_ratio)} loss" if goal.loss_ratio else "without loss"
    if goal.delay_limit_s is not None:
        asked += f" and with a p99 delay of at most {format_delay(goal.delay_limit_s)}"
    asked += _share_of_time(result)
    does = verb(unit)
    if result is None or (result.lower_bound is None and result.upper_bound is None):
        return f"How much it {does} {asked} is not known."
    throughput = result.conditional_throughput
    if throughput is None:
        upper = format_load(result.upper_bound, unit) if result.upper_bound is not None else "?"
        return f"It {does} less than {upper} {asked}."
    if result.upper_bound is None:
        return f"It {does} at least {format_load(throughput, unit)} {asked}."
    if result.regular:
        return f"It {does} {format_load(throughput, unit)} {asked}."
    return f"It {does} between {format_load(throughput, unit)} and {format_load(result.upper_bound, unit)} {asked}."


def _share_of_time(result: GoalResult | None) -> str:
    """Say in how much of the time a load met the goal, where it missed it in some trials: exceed ratios allow that."""
    sums = result.lower_bound_sums if result is not None else None
    if sums is None:
        return ""
    high_s = sums.full_high_s + sums.short_high_s
    if high_s == 0:
        return ""
    low_s = sums.full_low_s + sums.short_low_s
    permille = math.floor(1000 * low_s / (low_s + high_s))
    return f" in {permille / 10:g} % of the time of its trials"


def machine(seen: Machine) -> str:
    """Say how quiet the machine was.

    >>> machine(Machine(others_share=0.004, speed_spread=0.003, quiet=True))
    'Machine: quiet: others took 0.4 % of the processors, CPU speed varied by 0.3 %.'
    """
    return f"Machine: {'quiet' if seen.quiet else 'not quiet'}: {machine_figures(seen)}."


def machine_figures(seen: Machine) -> str:
    """Say what went to others, and how far the speed varied."""
    others, speed = (format_ratio(share, digits=3) for share in (seen.others_share, seen.speed_spread))
    return f"others took {others} of the processors, CPU speed varied by {speed}"


def count(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun.

    >>> count(1, "trial"), count(1200, "trial"), count(0, "is", "are")
    ('1 trial', '1,200 trials', '0 are')
    """
    return f"{group(number)} {one if number == 1 else many or one + 's'}"


def group(number: int) -> str:
    """Write a whole number in groups of three digits.

    >>> group(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def share(value: float) -> str:
    """Write a share in per cent with three digits that matter, or two where it is below 1 %.

    >>> share(0.98765), share(0.03456), share(0.00369), share(0.000123), share(0.0)
    ('98.8 %', '3.46 %', '0.37 %', '0.012 %', '0 %')
    """
    if value == 0:
        return "0 %"
    percent = value * 100
    decade = math.floor(math.log10(abs(percent)))
    digits = max(0, 2 - decade if decade >= 0 else 1 - decade)
    return f"{percent:.{min(digits, 9)}f} %"


def p_value(value: float | None) -> str:
    """Write the probability of a test.

    >>> p_value(0.9234), p_value(0.00004), p_value(None)
    ('0.923', '< 0.001', '–')
    """
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def bits(per_second: float) -> str:
    """Write a rate of bits.

    >>> bits(9.5e9)
    '9.500 Gbps'
    """
    return format_load(per_second, "bps")


def exact_seconds(value: float) -> str:
    """Write a time as it was asked for, not rounded.

    >>> exact_seconds(21.0), exact_seconds(1.25), exact_seconds(5.477)
    ('21 s', '1.25 s', '5.477 s')
    """
    return f"{value:.9g} s"


def seconds(value: float | None) -> str:
    """Write a time, or that it is not known."""
    return "not recorded" if value is None else format_duration(value)


def keep_units(text: str) -> str:
    r"""Hold numbers and their units together, so that no line breaks between them.

    >>> keep_units("9.5 Mpps in 2 min 3 s")
    '9.5\xa0Mpps in 2\xa0min 3\xa0s'
    """
    return _NUMBER_AND_UNIT.sub("\\1\N{NO-BREAK SPACE}", text)


_NUMBER_AND_UNIT = re.compile(r"([\d.]|≥|<) (?=[\d%]|[mun]s\b|s\b|min\b|h\b|[kMG]?pps\b|bytes\b)")
