"""What a report on a live comparison shows, in words and cells, from the records of a run."""

from __future__ import annotations

import math
from functools import partial

from brimful.records import NOTHING_PASSES, Activation, LossPairs, Pair, PairedPlan, Ratio, RunFile
from brimful.records.stated import paired_plan
from brimful.report import blocks, words
from brimful.report.blocks import Block, Card, Document, Figure, Sentence, Table
from brimful.report.junit import MEASUREMENT_FAILED, Case, Suite, failed_case
from brimful.report.paired import figures
from brimful.units import format_duration, format_load, format_ratio

_CONTROL = ("same", "differs")
_KINDS = {
    "early": "it holds at all numbers of pairs, error 1 %",
    "precision": "Student's, error 4 %",
    "end": "of a run that was ended, or of a control",
}
_MOST_DEVIATION = 100.0
_WIDER = 1.5
"""In precisions: an interval that is wider has more in it than the noise of pairs."""
_GOOD = ("no-regression", "same")
_SHORT = {
    "regression": "regression",
    "no-regression": "no regression",
    "at-threshold": "at the threshold",
    "undecided": "undecided",
    "cannot-tell": "this machine cannot tell",
    "same": "the same",
    "differs": "differs from itself",
}


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``comparison``.

    Raises
    ------
    RecordError
        When the record has no plan of such a run.
    """
    plan = paired_plan(file)
    ratios, losses = file.latest(Ratio, "device"), file.latest(LossPairs, "device")
    pairs = pairs_of(file)
    return Document(
        run=file.run,
        kind="Comparison",
        title=f"Comparison: {_named(plan)}",
        outcome=blocks.outcome(file, "trial"),
        cards=[_card(plan, ratio) for ratio in ratios],
        blocks=_blocks(file, plan, ratios, losses, pairs),
        notes=_notes(file, plan, ratios),
        set_up=_set_up(file, plan),
        warnings=[warning.text for warning in file.warnings],
        machine=blocks.machine(file),
        values="ratios",
        data={"plan": plan, "ratios": ratios, "losses": losses, "pairs": pairs, "activations": _activations(file)},
    )


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    plan = paired_plan(file)
    found = [ratio for ratio in file.latest(Ratio, "device") if ratio.verdict not in _CONTROL]
    told = [f"{ratio.device}/{plan.devices[0].name} {interval(ratio)}, {_short(ratio)}" for ratio in found]
    return "; ".join(told) or "no result"


def pairs_of(file: RunFile) -> list[Pair]:
    """Give the pairs that count: those since the loads were raised for the last time."""
    found = file.of(Pair)
    last = max((pair.epoch for pair in found), default=0)
    return [pair for pair in found if pair.epoch == last]


def interval(ratio: Ratio) -> str:
    """Write a ratio with its interval.

    >>> interval(Ratio("B", "undecided", "end", 3, 0.98412, 0.9712, 0.9971))
    '0.984 (0.971 to 0.997)'
    """
    if ratio.by == NOTHING_PASSES:
        return "without pairs" if ratio.ratio is None else f"{ratio.ratio:g}"
    if ratio.ratio is None:
        return "not known"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.ratio:.3f} (interval not known yet)"
    digits = 3 if ratio.high - ratio.low >= 0.002 else 4
    return f"{ratio.ratio:.{digits}f} ({ratio.low:.{digits}f} to {ratio.high:.{digits}f})"


def sentence(plan: PairedPlan, ratio: Ratio) -> str:
    """Say in words what a ratio means."""
    first, tolerance = plan.devices[0].name, format_ratio(plan.tolerance)
    if ratio.by == NOTHING_PASSES:
        return _without_pairs(first, ratio)
    said = f"{ratio.device}/{first} {interval(ratio)}."
    if ratio.verdict == "regression":
        return f"Regression: {ratio.device} is slower than {first} by more than {tolerance}. {said}"
    if ratio.verdict == "no-regression":
        faster = f" {ratio.device} is faster." if ratio.low is not None and ratio.low > 1 else ""
        slower = f" {ratio.device} is slower, but by less." if ratio.high is not None and ratio.high < 1 else ""
        return f"No regression: a loss of more than {tolerance} is excluded.{faster}{slower} {said}"
    if ratio.verdict == "at-threshold":
        width = (
            "restarts, earlier runs, queues or whole units keep wider"
            if _has_floor(plan, ratio)
            else "is as narrow as asked for"
        )
        return f"At the threshold: a loss of {tolerance} lies within the interval, which {width}. {said}"
    if ratio.verdict == "cannot-tell":
        return f"This machine cannot tell: {first} differs from itself. {said}"
    if ratio.verdict == "differs":
        return f"Control failed: the second instance of {first} differs from the first. {said}"
    if ratio.verdict == "same":
        return f"Control: the second instance of {first} does not differ from the first. {said}"
    return f"Undecided: the run ended before it was known whether {ratio.device} is slower by {tolerance}. {said}"


def _without_pairs(first: str, ratio: Ratio) -> str:
    """Say in words what follows where a device passes no frame of this size."""
    if ratio.verdict == "regression":
        return f"Regression: {ratio.device} passes no frame of this size, and {first} does."
    if ratio.verdict == "no-regression":
        return f"No regression: {first} passes no frame of this size, and {ratio.device} does."
    if ratio.verdict == "same":
        return f"Control: in this the second instance of {first} does not differ from the first."
    if ratio.verdict == "differs":
        return f"Control failed: one instance of {first} passes no frame of this size, and the other does."
    return f"Cannot tell: neither {first} nor {ratio.device} passes a frame of this size."


def _short(ratio: Ratio) -> str:
    if ratio.by == NOTHING_PASSES and ratio.verdict == "cannot-tell":
        return "neither passes any"
    return _SHORT.get(ratio.verdict, ratio.verdict)


def _has_floor(plan: PairedPlan, ratio: Ratio) -> bool:
    """Say whether an interval is wider than the precision at which its pairs ended the run."""
    if ratio.by != "precision" or not ratio.low or not ratio.high:
        return False
    return math.log(ratio.high / ratio.low) > _WIDER * 2 * plan.precision


def loss_sentence(plan: PairedPlan, losses: LossPairs) -> str:
    """Say in words what the pairs of the second question mean."""
    first = plan.devices[0].name
    count = losses.only_first + losses.only_device + losses.alike
    of = f"trials at 0.97 of the capacity with a loss ratio above {format_ratio(losses.loss_ratio)}"
    said = (
        f"Of {words.count(count, 'pair')}, {losses.only_device} with {losses.device} alone above it,"
        f" {losses.only_first} with {first} alone."
    )
    if losses.verdict in ("same", "differs", "cannot-tell"):
        return f"{_SHORT[losses.verdict].capitalize()} in losses below the capacity. {said}"
    if losses.verdict == "regression":
        return f"Regression: {losses.device} has more {of} than {first}. {said}"
    if losses.verdict == "no-regression":
        excess = format_ratio(losses.excess)
        return f"No regression: that {losses.device} has {excess} more {of} than {first} is excluded. {said}"
    return f"Undecided whether {losses.device} has more {of} than {first}. {said}"


def explain(file: RunFile) -> str:
    """Say how each verdict follows from the pairs."""
    plan = paired_plan(file)
    lines = [_reason(plan, ratio) for ratio in file.latest(Ratio, "device")]
    lines += [loss_sentence(plan, each) for each in file.latest(LossPairs, "device")]
    return "\n".join(lines) or "The devices were not compared: there is no verdict to explain."


def _reason(plan: PairedPlan, ratio: Ratio) -> str:
    name = f"{ratio.device}/{plan.devices[0].name}"
    if ratio.by == NOTHING_PASSES:
        return sentence(plan, ratio)
    if ratio.low is None or ratio.high is None:
        return f"{name}: {words.count(ratio.pairs, 'pair')}, too few for an interval: {_short(ratio)}"
    threshold = 1 - plan.tolerance if ratio.verdict not in _CONTROL else 1.0
    where = "holds" if ratio.low <= threshold <= ratio.high else "is above" if ratio.low > threshold else "is below"
    return (
        f"{name}: {words.count(ratio.pairs, 'pair')}, of which about {ratio.tau:.1f} in a row are worth one; interval"
        f" {ratio.low:.4f} to {ratio.high:.4f} ({_KINDS.get(ratio.by, ratio.by)}) {where} {threshold:g}:"
        f" {_short(ratio)}"
    )


def suite(file: RunFile) -> Suite:
    """Give the verdicts as test cases: each fails unless a regression is excluded."""
    plan = paired_plan(file)
    cases = []
    for ratio in file.latest(Ratio, "device"):
        passed = ratio.verdict in _GOOD
        said = sentence(plan, ratio)
        name = f"{ratio.device} against {plan.devices[0].name}"
        cases.append(Case(name=name, problem=None if passed else said, said=said))
    for losses in file.latest(LossPairs, "device"):
        said = loss_sentence(plan, losses)
        name = f"losses of {losses.device} against {plan.devices[0].name}"
        cases.append(Case(name=name, problem=None if losses.verdict in _GOOD else said, said=said))
    end = file.ends[-1] if file.ends else None
    if end is not None and end.reason == MEASUREMENT_FAILED:
        cases.append(failed_case(end.text))
    if end is None or not cases:
        text = "the run has not ended" if end is None else end.text or end.reason
        cases.append(Case(name="the comparison has a result", problem=text))
    return Suite(
        name=f"compare {_named(plan)}", cases=cases, duration_s=0.0 if end is None else end.search_s, command="compare"
    )


def _blocks(
    file: RunFile, plan: PairedPlan, ratios: list[Ratio], losses: list[LossPairs], pairs: list[Pair]
) -> list[Block]:
    if not ratios:
        return [Sentence("There is no result: the devices were not compared.")]
    shown: list[Block] = [Sentence(sentence(plan, ratio)) for ratio in ratios]
    shown += [Sentence(loss_sentence(plan, each)) for each in losses]
    shown += [Sentence(text) for ratio in ratios if (text := _to_narrow(file, plan, ratio))]
    shown.append(_table(plan, ratios))
    if losses:
        shown.append(_loss_table(file, plan, losses))
    if pairs:
        shown += _figures(file, plan, ratios, pairs)
    return shown


def _to_narrow(file: RunFile, plan: PairedPlan, ratio: Ratio) -> str:
    """Say what a narrower interval, or a verdict, would take."""
    if ratio.verdict in _CONTROL or not ratio.pairs or _has_floor(plan, ratio):
        return ""
    pair_s = _pair_s(file, ratio)
    name = f"{ratio.device}/{plan.devices[0].name}"
    if ratio.pairs_needed is not None and ratio.pairs_needed > ratio.pairs:
        more = ratio.pairs_needed - ratio.pairs
        return f"A verdict on {name} would take about {words.count(more, 'more pair')}, {_about(more * pair_s)}."
    more = 3 * ratio.pairs
    return f"Half the width of {name} would take about {words.count(more, 'more pair')}, {_about(more * pair_s)}."


def _pair_s(file: RunFile, ratio: Ratio) -> float:
    """Give how long a pair took, other devices and waits included."""
    times = [trial for trial in file.trials if trial.step == "pairs"]
    return (times[-1].start_s + times[-1].elapsed_s - times[0].start_s) / max(1, ratio.pairs) if times else 0.0


def _about(seconds: float) -> str:
    return format_duration(float(f"{seconds:.2g}"))


def _table(plan: PairedPlan, ratios: list[Ratio]) -> Table:
    first = plan.devices[0].name
    rows = [
        [
            f"{ratio.device}/{first}",
            _short(ratio),
            *(f"{value:.4f}" if value is not None else "–" for value in (ratio.ratio, ratio.low, ratio.high)),
            str(ratio.pairs),
            format_ratio(math.expm1(min(ratio.deviation, _MOST_DEVIATION)), digits=2),
            f"{ratio.tau:.1f}",
            str(ratio.instances),
            str(ratio.invalid),
        ]
        for ratio in ratios
    ]
    names = ["", "verdict", "ratio", "from", "to", "pairs", "std. deviation", "tau", "instances", "invalid"]
    return Table(title="Ratios of the capacity", names=names, rows=rows, key="ratios", words=2)


def _loss_table(file: RunFile, plan: PairedPlan, losses: list[LossPairs]) -> Table:
    first, unit = plan.devices[0].name, file.run.load_unit
    rows = [
        [
            each.device,
            _SHORT.get(each.verdict, each.verdict),
            format_load(each.load, unit),
            format_load(each.first_load, unit),
            str(each.only_device),
            str(each.only_first),
            str(each.alike),
        ]
        for each in losses
    ]
    names = ["", "verdict", "load", f"load of {first}", "it alone", f"{first} alone", "alike"]
    return Table(title="Trials above the loss ratio", names=names, rows=rows, key="losses", words=2)


def _figures(file: RunFile, plan: PairedPlan, ratios: list[Ratio], pairs: list[Pair]) -> list[Block]:
    return [
        Figure(
            title="Ratio and threshold",
            draw=partial(figures.draw_ratios, plan, ratios),
            caption="Each ratio with its interval. Dashed: a loss of the tolerance; an interval to the right of it"
            " excludes a regression, one to its left shows one.",
            key="ratio-figure",
        ),
        Figure(
            title="Pairs",
            draw=partial(figures.draw_pairs, file, plan, pairs),
            caption="The ratio of each pair, by when it was measured, and the mean up to there.",
            key="pairs-figure",
        ),
        Figure(
            title="Forwarded",
            draw=partial(figures.draw_forwarded, file, plan),
            caption="What each device forwarded under overload in each trial of a pair. What all devices share, such as"
            " other work of the machine, cancels out in the ratios above.",
            key="forwarded-figure",
        ),
    ]


def _card(plan: PairedPlan, ratio: Ratio) -> Card:
    is_good = ratio.verdict in _GOOD
    known = "one of them passes nothing" if ratio.by == NOTHING_PASSES else "interval not known"
    if ratio.low is not None and ratio.high is not None:
        known = f"{ratio.low:.3f} to {ratio.high:.3f}"
    return Card(
        name=f"{ratio.device} / {plan.devices[0].name}",
        value="–" if ratio.ratio is None else f"{ratio.ratio:.3f}",
        caption=known if not is_good else f"{known}: {_short(ratio)}",
        badge="" if is_good else _short(ratio),
        pairs=[("Pairs", str(ratio.pairs))],
    )


def _notes(file: RunFile, plan: PairedPlan, ratios: list[Ratio]) -> list[str]:
    notes = [
        "The ratio is of what is forwarded under overload, each device at the same factor (1.3) of its own capacity,"
        " without what stands in its queue at the end of a trial; the mean is of logarithms.",
        "Trials of a pair follow each other, in an order that a coin decides: what changes for all devices alike"
        " cancels out.",
        "A verdict before the end has an error of 1 %, one at the precision of 4 %; the interval of a run that was"
        " ended holds at any time with 95 %. An early verdict leaves a wide interval.",
    ]
    if file.ceilings:
        notes.append(
            "The tester could not offer all loads: a device whose capacity is near what it can offer was overloaded by"
            " a smaller factor."
        )
    if any(ratio.tau > 1.5 for ratio in ratios):
        notes.append(
            "tau: the number of pairs in a row that say as much as one, as states of a device last longer than a pair;"
            " intervals are wider by its root."
        )
    if plan.earlier_controls:
        count = words.count(len(plan.earlier_controls), "earlier run")
        notes.append(f"How far the first device differed from itself in {count} here is part of the interval.")
    return notes


def _set_up(file: RunFile, plan: PairedPlan) -> list[tuple[str, str]]:
    rows = []
    for device in plan.devices:
        queue = "" if not device.queue else f", queue {words.group(round(device.queue))} units"
        command = "" if device.command is None else f", made active by: {device.command}"
        rows.append((device.name, f"{device.spec}{command}{queue}"))
    rows += [
        ("Tolerance", format_ratio(plan.tolerance)),
        ("Precision", f"±{format_ratio(plan.precision)}"),
        ("Trials", format_duration(plan.trial_s)),
        ("Budget", format_duration(plan.budget_s)),
        ("Seed of the order", str(plan.seed)),
    ]
    if plan.renew_s is not None:
        rows.append(("Made anew after", format_duration(plan.renew_s)))
    return [*rows, *blocks.place_and_time(file.run)]


def _named(plan: PairedPlan) -> str:
    names = [device.name for device in plan.devices[1 : len(plan.devices) - plan.control]]
    return f"{' and '.join(names)} against {plan.devices[0].name}"


def _activations(file: RunFile) -> list[Activation]:
    return file.of(Activation)
