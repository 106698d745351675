"""Says where a system did not stay the same during a search: its result then stands for no one capacity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from brimful import units
from brimful.records import Goal, Run, Trial, Warning, is_rate_of_units
from brimful.statistics.steadiness import Move, Outcome, TwoModes, find_move, find_two_modes

MOVED, TWO_MODES = "capacity-moved", "two-modes"
_TURNS = 3
"""From one mode to the other and back: fewer are what a move looks like."""


def steadiness_warnings(run: Run, trials: Sequence[Trial]) -> Iterator[Warning]:
    """Name the second at which the capacity moved and by how much, or the two values between which it went."""
    counted = [trial for trial in trials if trial.invalid is None]
    # None where loads are no rates of what is counted.
    factor = run.conversion_factor if is_rate_of_units(run.load_unit) else None
    modes = find_two_modes([_outcome(trial, run.goals[0], factor) for trial in counted])
    if modes is not None and _turns(modes) >= _TURNS:
        yield Warning(code=TWO_MODES, text=_two_modes(modes, counted, run.load_unit))
        return
    moves = [(move, goal) for goal in run.goals if (move := find_move(_judged(counted, goal, factor))) is not None]
    if moves:
        move, goal = max(moves, key=lambda found: found[0].evidence)
        yield Warning(code=MOVED, text=_moved(move, goal, run.load_unit))


def _judged(trials: Sequence[Trial], goal: Goal, factor: float | None) -> list[Outcome]:
    """Give the trials of which it is certain whether they were high-loss ones for a goal."""
    outcomes = ((trial, _outcome(trial, goal, factor)) for trial in trials)
    return [outcome for trial, outcome in outcomes if outcome.lossy or not trial.stopped_early]


def _outcome(trial: Trial, goal: Goal, factor: float | None) -> Outcome:
    expected = max(trial.intended, trial.sent)
    missing = trial.lost if trial.stopped_early else expected - trial.sent + trial.lost
    delay_s, limit_s = trial.delay_p99_s, goal.delay_limit_s
    slow = limit_s is not None and not trial.stopped_early and (delay_s is None or delay_s > limit_s)
    per_unit = trial.load / max(1, expected) if factor is None else 1 / (trial.duration_s * factor)
    # What a trial that was stopped would have forwarded is not known.
    whole = missing > 0 and not trial.stopped_early
    return Outcome(
        at_s=trial.start_s,
        duration_s=trial.duration_s,
        load=trial.load,
        forwarded=(trial.sent - trial.lost) * per_unit if whole else trial.load,
        lossy=missing > goal.loss_ratio * expected or slow,
    )


def _moved(move: Move, goal: Goal, unit: str) -> str:
    def said(load: float | None) -> str:
        return "above all loads that were tried" if load is None else units.format_load(load, unit)

    share = f" ({move.after / move.before - 1:+.1%})".replace("%", " %") if move.after and move.before else ""
    since = "" if move.from_s == move.at_s else f"between {units.format_duration(move.from_s)} and "
    return (
        f"{since}{units.format_duration(move.at_s)} after the start the capacity moved from {said(move.before)} to"
        f" {said(move.after)}{share}, as trials for goal {goal.name} tell: the bounds mix trials of before and after"
    )


def _turns(modes: TwoModes) -> int:
    order = sorted([(index, False) for index in modes.in_lower] + [(index, True) for index in modes.in_upper])
    return sum(one != other for (_, one), (_, other) in pairwise(order))


def _two_modes(modes: TwoModes, trials: Sequence[Trial], unit: str) -> str:
    times = [trials[index].start_s for index in (*modes.in_lower, *modes.in_upper)]
    lower, upper = (units.format_load(load, unit) for load in (modes.lower, modes.upper))
    in_lower_s, in_upper_s = (
        sum(trials[index].duration_s for index in indices) for indices in (modes.in_lower, modes.in_upper)
    )
    share = f"{in_lower_s / (in_lower_s + in_upper_s):.0%}".replace("%", " %")
    return (
        f"the capacity alternated {_turns(modes)} times from {units.format_duration(min(times))} to"
        f" {units.format_duration(max(times))} after the start: of {len(times)} trials at about {upper}"
        f" {len(modes.in_lower)} forwarded about {lower} ({share} of the time) and {len(modes.in_upper)} nearly all:"
        f" the bounds mix both"
    )
