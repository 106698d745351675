"""The tables of the report on a search."""

from __future__ import annotations

from brimful.records import SPECIFICATION
from brimful.report import facts, words
from brimful.report.blocks import Block, Bullets, Table
from brimful.report.throughput.model import BoundView, GoalView, Report
from brimful.report.throughput.rfc2544 import conditions
from brimful.report.throughput.statements import MISSING, make_statements
from brimful.report.throughput.trials import TrialView
from brimful.units import format_delay, format_duration, format_load, format_ratio

SHOWN_TRIALS = 2000
"""The most trials that a page lists; the record has them all."""
_NOTHING = "–"


def goals(report: Report) -> Table:
    """Give the bounds of each goal, and what it asks."""
    names = ["goal", "lower bound", "upper bound", "width", "asked", "loss", "exceed", "trial", "sum", "initial"]
    return Table(
        title="Bounds and goals",
        names=[*names, *(["p99 delay"] if report.limits_delay else [])],
        rows=[_goal(report, view) for view in report.goals],
        key="goals",
        words=1,
        notes=_loads(report),
    )


def _goal(report: Report, view: GoalView) -> list[str]:
    unit, goal = report.run.load_unit, view.goal
    return [
        goal.name,
        format_load(view.lower.load, unit) if view.lower else "none",
        format_load(view.upper.load, unit) if view.upper else "none",
        _NOTHING if view.reached_width is None else format_ratio(view.reached_width),
        "free" if goal.width is None else format_ratio(goal.width),
        format_ratio(goal.loss_ratio),
        format_ratio(goal.exceed_ratio),
        words.exact_seconds(goal.final_trial_duration_s),
        words.exact_seconds(goal.duration_sum_s),
        words.exact_seconds(goal.initial_trial_duration_s),
        *(["any" if goal.delay_limit_s is None else format_delay(goal.delay_limit_s)] if report.limits_delay else []),
    ]


def _loads(report: Report) -> list[str]:
    run = report.run
    said = [
        f"Loads searched: {format_load(run.min_load, run.load_unit)} to {format_load(run.max_load, run.load_unit)}."
    ]
    totals = [
        f"{view.goal.name} {format_load(view.aggregate_throughput, run.load_unit)}"
        for view in report.goals
        if view.aggregate_throughput is not None
    ]
    if totals and run.conversion_factor != 1:
        factor = facts.text(run.conversion_factor)
        said.insert(0, f"In total over all interfaces and directions (factor {factor}): {', '.join(totals)}.")
    if report.theoretical_rate is not None:
        shares = [
            f"{view.goal.name} {words.share(view.theoretical_share)}"
            for view in report.goals
            if view.theoretical_share is not None
        ]
        limit = format_load(report.theoretical_rate, run.load_unit)
        said.append(f"The link carries {limit} of this size" + (f": {', '.join(shares)}." if shares else "."))
    return said


def bounds(report: Report) -> Table:
    """Give the trials that each bound rests on."""
    return Table(
        title="What each bound rests on",
        names=["bound", "load", "full, low loss", "full, high loss", "short, low loss", "short, high loss"],
        rows=[
            [f"{view.goal.name}, {side}", format_load(bound.load, report.run.load_unit, digits=6), *_sums(bound)]
            for view in report.goals
            for side, bound in (("lower", view.lower), ("upper", view.upper))
            if bound is not None
        ],
        key="bounds",
        words=1,
        notes=["Time of its trials, full-length or short, with low loss or high."],
    )


def _sums(bound: BoundView) -> list[str]:
    sums = bound.sums
    if sums is None:
        return ["not recorded"] * 4
    return [format_duration(each) for each in (sums.full_low_s, sums.full_high_s, sums.short_low_s, sums.short_high_s)]


def rfc2544(report: Report) -> Block:
    """Give what RFC 2544 section 26 wants beside every rate."""
    title, key = "RFC 2544", "rfc2544"
    if not facts.counts_frames(report.run):
        what = report.run.load_unit
        return Bullets(title=title, entries=[f"Loads count {what}: RFC 2544 has nothing to say about them."], key=key)
    found = conditions(report)
    return Table(
        title=title,
        names=["goal", "protocol", "rate", "bits of frames", "frame size", "limit of the medium", "share", "trials"],
        rows=[
            [
                view.goal.name,
                found.protocol,
                view.headline,
                _NOTHING if view.bits_per_second is None else words.bits(view.bits_per_second),
                found.frame_size,
                found.limit,
                _NOTHING if view.theoretical_share is None else words.share(view.theoretical_share),
                words.exact_seconds(view.goal.final_trial_duration_s),
            ]
            for view in report.goals
        ],
        key=key,
        words=2,
        notes=[f"{view.goal.name}: {view.rfc2544}." for view in report.goals],
    )


def totals(report: Report) -> Bullets:
    """Say how many trials there were, and what they counted."""
    found = report.statistics
    warm_up = f"{found.warm_up} for warm-up, " if found.warm_up else ""
    lengths = list(dict.fromkeys(words.seconds(length) for length in (found.shortest_s, found.longest_s)))
    entries = [
        f"{words.count(found.total, 'trial')}: {found.counted} counted, {found.invalid} invalid, {warm_up}"
        f"{found.stopped_early} stopped early; {' to '.join(lengths)} each; "
        f"{format_duration(found.sending_s)} of sending in {format_duration(found.elapsed_s)}.",
        f"{words.group(found.sent)} sent, {words.group(found.lost)} lost, {words.group(found.unsent)} unsent.",
        *(f"Invalid: {reason} ({words.count(times, 'time')})." for reason, times in found.invalid_reasons.items()),
    ]
    return Bullets(title="Trials", entries=entries if found.total else ["None."], key="trials")


def statements(report: Report) -> Table:
    """Give what is stated on each item that a report has to state."""
    return Table(
        title=f"What {SPECIFICATION} and RFC 2544 ask for, and where it is",
        names=["item", "asked for", "source", "stated", "where"],
        rows=[
            [
                said.item.id,
                said.item.asks,
                said.item.source if said.item.row is None else f"{said.item.source} ({said.item.level})",
                f"MISSING. {said.text}" if said.state == MISSING else said.text,
                said.item.section,
            ]
            for said in make_statements(report)
        ],
        key="specification",
        words=5,
        badges={"MISSING.": "bad"},
        links=4,
        terminal=(0, 3),
    )


def trials(report: Report) -> Table:
    """Give every trial, as far as a page has room."""
    shown = report.trials[:SHOWN_TRIALS]
    rest = f" (the first {len(shown)} here, the rest in the record)" if len(shown) < len(report.trials) else ""
    names = ["outcome", "number", "start", "load", "duration", "effective", "sent", "lost", "unsent", "loss ratio"]
    return Table(
        title=f"All {words.count(len(report.trials), 'trial')}{rest}",
        names=[*names, *(["p99 delay"] if report.limits_delay else [])],
        rows=[_trial(report, trial) for trial in shown],
        key="all-trials",
        words=1,
        badges={"clean": "good", "above": "bad"},
        folded=True,
    )


def _trial(report: Report, trial: TrialView) -> list[str]:
    exceeded = f"above {', '.join(trial.exceeded)}" if trial.exceeded else "clean"
    delay = _NOTHING if trial.delay_p99_s is None else format_delay(trial.delay_p99_s)
    return [
        (trial.invalid or exceeded) + (", stopped early" if trial.stopped_early else ""),
        str(trial.seq),
        format_duration(trial.start_s),
        format_load(trial.load, report.run.load_unit, digits=6),
        words.exact_seconds(trial.duration_s),
        words.exact_seconds(trial.effective_duration_s),
        words.group(trial.sent),
        words.group(trial.lost),
        words.group(trial.unsent),
        f"{'≥ ' if trial.stopped_early else ''}{format_ratio(trial.loss_ratio)}",
        *([delay] if report.limits_delay else []),
    ]
