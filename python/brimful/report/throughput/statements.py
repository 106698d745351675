"""What a report states on each item of `items.ITEMS`, from the records alone."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from brimful.records import Goal, Run
from brimful.report import facts, words
from brimful.report.throughput.items import ITEMS, Item
from brimful.report.throughput.model import WIDTH_DEFINITION, Report
from brimful.report.throughput.rfc2544 import conditions
from brimful.report.throughput.trials import TrialView
from brimful.units import format_delay, format_duration, format_load, format_ratio

STATED, MISSING = "stated", "missing"


class Statement(msgspec.Struct, frozen=True):
    """What is said on one item; ``missing`` when the record does not say, with where it would be said."""

    item: Item
    state: str
    text: str


def make_statements(report: Report) -> list[Statement]:
    """Give one statement for each item, in the order of `items.ITEMS`."""
    stated = [item for item in ITEMS if not (facts.counts_ios(report.run) and item.id in _OF_FRAMES)]
    return [Statement(item, *_MAKERS[item.id](report)) for item in stated]


_OF_FRAMES = frozenset({"rfc2544-format", "frame-size", "theoretical-rate", "protocol", "directions"})
"""What RFC 2544 asks of networks: a disk has none of it."""

_Said = tuple[str, str]


def _units(report: Report) -> _Said:
    return STATED, (
        f"Loads and rates are in {report.run.load_unit}, with k = 1,000, M = 1,000,000 and G = 1,000,000,000; "
        "times in seconds; counts in whole units; ratios and widths in per cent."
    )


def _trial_procedure(report: Report) -> _Said:
    if not report.deviations:
        return STATED, "None that the record shows."
    return STATED, f"{words.count(len(report.deviations), 'deviation')}, all listed."


def _load_reaction(report: Report) -> _Said:
    run = report.run
    if facts.is_simulated(run):
        return STATED, "Simulated: the load of a trial is constant and even; nothing is sent, so there are no gaps."
    if facts.is_own_tester(run):
        return STATED, _own_load_reaction(run)
    said = facts.lookup(run, facts.REACTION_KEYS)
    if said is not None:
        return STATED, facts.text(said)
    return MISSING, "The record does not say (traffic.load_reaction); a load is meant to be constant and even."


def _own_load_reaction(run: Run) -> str:
    """Say when our tester's frames are due, as its schedule has it."""
    bursts = run.traffic.get("bursts")
    if bursts is None:
        how = "evenly spaced: frame i of a sending port is due i / load after the start, so that all gaps scale with it"
    elif str(bursts).startswith("as captured"):
        how = f"spaced {bursts}: all gaps scale with it"
    else:
        how = f"in bursts: {bursts}; the gap after a burst scales with the load, distances within it do not"
    return f"Constant load on each sending port, {how}. A sender that fell behind catches up at 110 % of it at most."


def _load_scope(report: Report) -> _Said:
    factor = report.run.conversion_factor
    text = f"Every load, bound and throughput is {report.run.load_scope}"
    if factor == 1:
        return STATED, f"{text}. The aggregate value is the same (factor 1)."
    return STATED, f"{text}. The aggregate over all interfaces and directions is {facts.text(factor)} times that value."


def _traffic_profile(report: Report) -> _Said:
    run = report.run
    if facts.is_simulated(run):
        return STATED, "Simulated: no frames were made."
    if not run.traffic:
        return MISSING, "The record has no traffic profile (run.traffic)."
    if facts.counts_ios(run):
        return (
            STATED,
            f"{facts.text(facts.lookup(run, facts.PATTERN_KEYS))}, IOs of {facts.text(facts.io_size(run))} bytes.",
        )
    said = [f"directions: {facts.directions(run) or 'not recorded'}"]
    if run.traffic.get("profile_name"):
        sizes = facts.text(facts.lookup(run, facts.FRAME_SIZE_KEYS) or "not recorded")
        said = [f"profile: {facts.text(run.traffic['profile_name'])}", f"frame sizes: {sizes}", *said]
    for name, keys in (("mesh", facts.MESH_KEYS), ("modifiers", facts.MODIFIER_KEYS)):
        value = facts.lookup(run, keys)
        if value is not None:
            said.append(f"{name}: {facts.text(value)}")
    said.append(f"protocol: {facts.protocol(run) or 'not recorded'}")
    return STATED, "; ".join(said) + "."


def _loss_denominator(report: Report) -> _Said:
    text = "Loss ratio = (lost + unsent) / the larger of intended and sent, summed over all output interfaces."
    contract = report.run.measurer.contract
    return STATED, f"{text} Lost means: {facts.text(contract)}." if contract else text


def _effective_duration(report: Report) -> _Said:
    least, most = report.statistics.effective_share_least, report.statistics.effective_share_most
    if least is None or most is None:
        return STATED, "No trial counted."
    said = facts.lookup(report.run, facts.EFFECTIVE_KEYS)
    if said is not None:
        source = facts.text(said)
    elif facts.is_simulated(report.run):
        source = "the intended duration and the overhead of the trial (overhead-counts)"
    else:
        source = "as the measurer reports it (effective_duration_s), without saying how (measurer.effective_duration)"
    if least == most == 1:
        return STATED, "Equal to the intended duration of the trial: no trial reports another."
    return STATED, (
        f"Between {words.share(least)} and {words.share(most)} of the intended duration: {source}. "
        "Sums of time use it; whether a trial is full-length depends on the intended duration."
    )


def _width_definition(report: Report) -> _Said:
    return STATED, f"Width is relative: {WIDTH_DEFINITION}."


def _regular_results(report: Report) -> _Said:
    regular = [view.goal.name for view in report.goals if view.regular]
    if not regular:
        return STATED, "There is no regular result."
    return STATED, f"Both bounds and the conditional throughput are given for {', '.join(regular)}."


def _irregular_results(report: Report) -> _Said:
    irregular = [f"{view.goal.name} ({view.reason})" for view in report.goals if not view.regular]
    if not irregular:
        return STATED, "There is no irregular result."
    return STATED, f"Marked as irregular: {', '.join(irregular)}."


def _result_kind(report: Report) -> _Said:
    regular = sum(view.regular for view in report.goals)
    return STATED, f"{regular} regular, {len(report.goals) - regular} irregular."


def _one_result(report: Report) -> _Said:
    without = [view.goal.name for view in report.goals if view.reason == words.NO_RESULT]
    if without:
        return MISSING, f"No result yet for {', '.join(without)}."
    return STATED, f"{words.count(len(report.goals), 'goal')}, as many results."


def _measurer(report: Report) -> _Said:
    run, totals = report.run, report.statistics
    handling = []
    for name, keys, number in (
        ("Duplicates", facts.DUPLICATE_KEYS, totals.duplicated),
        ("Reordered units", facts.REORDER_KEYS, totals.reordered),
    ):
        said = facts.lookup(run, keys)
        counted = f"{words.group(number)} seen" if number is not None else "not counted apart"
        handling.append(f"{name}: {facts.text(said)}, {counted}." if said is not None else f"{name}: {counted}.")
    ceiling = facts.number(facts.lookup(run, facts.CEILING_KEYS))
    if ceiling is not None:
        handling.append(f"The tester alone reaches {format_load(ceiling, run.load_unit)}.")
    else:
        handling.append("The ceiling of the tester alone was not measured.")
    handling.append(f"Unsent units count as loss ({words.group(totals.unsent)} of them).")
    handling.append(f"Invalid trials: {_invalid_policy(report)}")
    return STATED, " ".join(handling)


def _invalid_policy(report: Report) -> str:
    invalid = report.statistics.invalid
    policies = f"policy {report.run.on_invalid} (errors: {report.run.on_error})"
    return f"{policies}; {words.count(invalid, 'trial was', 'trials were')} invalid, never counted."


def _configuration(report: Report) -> _Said:
    if not report.run.device:
        return MISSING, "The goals are given in full; the record says nothing about the device (run.device)."
    return STATED, "Device, traffic, measurer, host and all attributes of all goals are given as recorded."


def _isolation(report: Report) -> _Said:
    if facts.is_simulated(report.run):
        return STATED, "Simulated: no network was involved."
    said = facts.lookup(report.run, facts.ISOLATION_KEYS)
    if said is None and facts.is_lab(report.run):
        return STATED, "Isolated: tester and device are in network namespaces of one host, with no link to any network."
    if said is None:
        return MISSING, "The record does not say (device.isolation)."
    return STATED, "Isolated." if said is True else facts.text(said)


def _warm_up(report: Report) -> _Said:
    if report.statistics.warm_up_s > 0:
        return STATED, f"{format_duration(report.statistics.warm_up_s)} at max load before the search, never counted."
    spoiled = _spoiled_warm_up(report)
    if spoiled is not None:
        return STATED, (
            f"{format_duration(spoiled.duration_s)} at max load before the search, in a trial that was invalid"
            f" ({spoiled.invalid}): how well it warmed up is not known."
        )
    if facts.is_simulated(report.run):
        return STATED, "Simulated: there is nothing to warm up."
    said = facts.lookup(report.run, facts.WARM_UP_KEYS)
    if said is None:
        return (
            STATED,
            "None: the search began without a warm-up trial, and the record has no other (measurer.warm_up).",
        )
    seconds = facts.number(said)
    return STATED, f"{format_duration(seconds)} before the search." if seconds is not None else facts.text(said)


def _spoiled_warm_up(report: Report) -> TrialView | None:
    """Give the warm-up trial if the tester spoiled it: the reason then stands where it would say what it was."""
    run, first = report.run, next(iter(report.trials), None)
    if first is None or run.warm_up_s <= 0 or first.invalid is None:
        return None
    return first if (first.load, first.duration_s) == (run.max_load, run.warm_up_s) else None


def _rfc2544_format(report: Report) -> _Said:
    if not facts.counts_frames(report.run):
        return STATED, f"Loads count {report.run.load_unit}, not frames: RFC 2544 does not apply."
    missing = conditions(report).missing
    if missing:
        return (
            MISSING,
            f"Rate and duration stand in one table, but the record does not say the {' and the '.join(missing)}.",
        )
    if facts.is_simulated(report.run):
        return STATED, "Rate and duration stand in one table; no frames were made and there is no medium."
    return STATED, "Rate, frame size, limit of the medium, protocol and duration stand together in one table."


def _frame_size(report: Report) -> _Said:
    if not facts.counts_frames(report.run):
        return STATED, "No frames."
    said = facts.lookup(report.run, facts.FRAME_SIZE_KEYS)
    if said is None and facts.is_simulated(report.run):
        return STATED, "Simulated: frames have no size."
    if said is None:
        return MISSING, "The record does not say (traffic.frame_size)."
    return STATED, f"{facts.text(said)} bytes, FCS included." if report.frame_size else facts.text(said)


def _theoretical_rate(report: Report) -> _Said:
    if report.theoretical_rate is not None:
        return STATED, f"{format_load(report.theoretical_rate, report.run.load_unit)} in each direction."
    if not facts.counts_frames(report.run):
        return STATED, "No frames."
    if facts.is_simulated(report.run):
        return STATED, "Simulated: there is no medium."
    if facts.is_lab(report.run):
        return STATED, "None: the links are virtual Ethernet, which has no bit rate."
    return MISSING, "Not known: the record does not have both the frame size and the bit rate (device.link_bps)."


def _protocol(report: Report) -> _Said:
    run = report.run
    medium = "virtual Ethernet" if facts.is_lab(run) else facts.lookup(run, facts.MEDIUM_KEYS)
    parts = [
        f"{name}: {facts.text(value)}"
        for name, value in (
            ("protocol", facts.protocol(run)),
            ("flows", facts.lookup(run, facts.STREAM_KEYS)),
            ("medium", medium),
        )
        if value is not None
    ]
    if parts:
        return STATED, "; ".join(parts) + "."
    if facts.is_simulated(run) or not facts.counts_frames(run):
        return STATED, "Simulated: no frames were made." if facts.is_simulated(run) else "No frames."
    return MISSING, "The record does not say (traffic.protocol, traffic.flows, device.medium)."


def _trial_duration(report: Report) -> _Said:
    return STATED, "; ".join(
        f"{view.goal.name}: final trials of {words.exact_seconds(view.goal.final_trial_duration_s)}, "
        f"{words.exact_seconds(view.goal.duration_sum_s)} in sum, "
        f"at most {format_ratio(view.goal.exceed_ratio)} of it above the loss ratio{_or_delay(view.goal)}"
        for view in report.goals
    )


def _or_delay(goal: Goal) -> str:
    return "" if goal.delay_limit_s is None else f" or the delay limit of {format_delay(goal.delay_limit_s)}"


def _directions(report: Report) -> _Said:
    said = facts.directions(report.run)
    if said is not None:
        return STATED, f"Traffic ran in {said}." if "direction" in said else f"Directions: {said}."
    if facts.is_simulated(report.run) or not facts.counts_frames(report.run):
        return STATED, "Does not apply."
    return MISSING, "The record does not say (traffic.directions)."


_MAKERS: dict[str, Callable[[Report], _Said]] = {
    "units": _units,
    "trial-procedure": _trial_procedure,
    "load-reaction": _load_reaction,
    "load-scope": _load_scope,
    "traffic-profile": _traffic_profile,
    "loss-denominator": _loss_denominator,
    "effective-duration": _effective_duration,
    "width-definition": _width_definition,
    "regular-results": _regular_results,
    "irregular-results": _irregular_results,
    "result-kind": _result_kind,
    "one-result-per-goal": _one_result,
    "measurer": _measurer,
    "configuration": _configuration,
    "rfc2544-format": _rfc2544_format,
    "isolation": _isolation,
    "warm-up": _warm_up,
    "frame-size": _frame_size,
    "theoretical-rate": _theoretical_rate,
    "protocol": _protocol,
    "trial-duration": _trial_duration,
    "directions": _directions,
}
