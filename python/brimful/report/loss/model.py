"""What a report on the frame loss rate shows, from the records of a run."""

from __future__ import annotations

from functools import partial

from brimful.records import Loss, LossPlan, RunFile
from brimful.records.stated import loss_plan, losses
from brimful.report import blocks, facts, ports, words
from brimful.report.blocks import Block, Card, Document, Figure, Sentence, Table
from brimful.report.lone_ports import lone_losers
from brimful.report.loss import figures
from brimful.units import format_duration, format_load


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``loss``.

    Raises
    ------
    RecordError
        When the record has no plan of such a run.
    """
    plan = loss_plan(file)
    found = losses(file)
    return Document(
        run=file.run,
        kind="Frame loss rate" if facts.counts_frames(file.run) else "Loss rate",
        title=f"Loss rate by load: {blocks.device_name(file.run)}",
        outcome=blocks.outcome(file, "trial"),
        cards=_cards(file, plan, found),
        blocks=[*results(file), *ports.blocks(file.trials, file.run.load_unit)],
        notes=notes(file),
        set_up=set_up(file),
        warnings=[*(warning.text for warning in file.warnings), *ports.remarks(file.trials), *_lone(file)],
        machine=blocks.machine(file),
        values="loss ratios",
        data={"plan": plan, "losses": found, "not_offered": not_offered(file, plan, found)},
    )


def results(file: RunFile) -> list[Block]:
    """Give figure and table of the loss at each load."""
    plan, found = file.planned(file.run.loss), losses(file)
    if not found:
        return [Sentence("There is no result: no trial was made.")]
    return [_figure(file, plan, found), _table(file, plan, found)]


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    found = losses(file)
    if not found:
        return "no result"
    without = f"no loss up to {lossless_up_to(found, file.run.load_unit)}"
    return f"{words.share(found[0].ratio)} lost at {format_load(found[0].load, file.run.load_unit)}, {without}"


def not_offered(file: RunFile, plan: LossPlan, found: list[Loss]) -> list[float]:
    """Give the loads that the tester could not offer, the greatest first."""
    made = {one.load for one in found}
    return sorted({load for load in plan.loads if load > file.ceiling} - made, reverse=True)


def greatest_without_loss(found: list[Loss]) -> float | None:
    """Give the greatest load at which, as at all measured below it, nothing was lost.

    >>> greatest_without_loss([Loss(3.0, 1, 9, 1, 0.1), Loss(2.0, 1, 6, 0, 0.0), Loss(1.0, 1, 3, 0, 0.0)])
    2.0
    """
    clean = None
    for one in reversed(found):
        if one.lost:
            break
        clean = one.load
    return clean


def ends_with_loss(file: RunFile) -> bool:
    """Whether the loads of a run ended before two in a row lost nothing, which section 26.3 of RFC 2544 asks for."""
    return file.is_done() and any(one.lost for one in losses(file)[-2:])


def lossless_up_to(found: list[Loss], unit: str) -> str:
    """Write it; where there is none, below the least load that was measured it is not known.

    >>> lossless_up_to([Loss(2.0, 1, 6, 1, 0.2), Loss(1.0, 1, 3, 1, 0.3)], "frames/s")
    '< 1.000 pps'
    """
    clean = greatest_without_loss(found)
    return f"< {format_load(found[-1].load, unit)}" if clean is None else format_load(clean, unit)


def _lone(file: RunFile) -> list[str]:
    return [text] if (text := lone_losers(file)) else []


def _cards(file: RunFile, plan: LossPlan, found: list[Loss]) -> list[Card]:
    if not found:
        return []
    clean, unit = greatest_without_loss(found), file.run.load_unit
    without = lossless_up_to(found, unit)
    share = "" if clean is None else f"{words.share(clean / plan.reference)} of the greatest load"
    top = Card(
        name=f"lost at {format_load(found[0].load, unit)}",
        value=words.share(found[0].ratio),
        caption=f"{words.count(found[0].trials, 'trial')} of {format_duration(plan.duration_s)}",
    )
    return [top, Card(name="nothing lost up to", value=without, caption=share)]


def _figure(file: RunFile, plan: LossPlan, found: list[Loss]) -> Figure:
    return Figure(
        title="Loss rate over load",
        draw=partial(figures.draw_losses, file, plan, found),
        caption="The loss in a typical trial at each load. Where there are several, the bar is its 95 % interval, and"
        " the thin line goes up to the limit of the mean over a long time. Both axes are whole, as RFC 2544 section"
        " 26.3 asks for.",
        key="losses",
    )


def _table(file: RunFile, plan: LossPlan, found: list[Loss]) -> Table:
    units, is_repeated = facts.units(file.run), plan.sweeps > 1
    rows = {
        one.load: [
            format_load(one.load, file.run.load_unit),
            words.share(one.load / plan.reference),
            words.share(one.ratio),
            *(_of_repeats(one) if is_repeated else []),
            words.group(one.lost),
            words.group(one.sent),
            str(one.trials),
        ]
        for one in found
    }
    reached = format_load(found[0].load, file.run.load_unit)
    for load in not_offered(file, plan, found):
        why = f"reaches {reached}" if load > found[0].load else "was late at it"
        cells = [format_load(load, file.run.load_unit), words.share(load / plan.reference)]
        rows[load] = [*cells, f"not offered: the tester {why}", *["–"] * (6 if is_repeated else 3)]
    of_repeats = ["typical trial", "95 % interval", "mean at most"] if is_repeated else []
    names = ["load", "of the greatest", "lost", *of_repeats, f"{units} lost", f"{units} sent", "trials"]
    ordered = [rows[load] for load in sorted(rows, reverse=True)]
    return Table(title="Loss rate", names=names, rows=ordered, key="results")


def _of_repeats(one: Loss) -> list[str]:
    if one.typical is None or one.typical_low is None or one.typical_high is None or one.limit is None:
        return ["–"] * 3
    interval = f"{words.share(one.typical_low)} to {words.share(one.typical_high)}"
    return [words.share(one.typical), interval, words.share(one.limit)]


def notes(file: RunFile) -> list[str]:
    """Say what the values mean, and what they do not."""
    plan, found, units = file.planned(file.run.loss), losses(file), facts.units(file.run)
    said = [f"Lost: ({units} sent - {units} received) / {units} sent, mean of the trials at a load."]
    if plan.until_lossless:
        said.append(
            "Loads go from the greatest downwards until trials at two loads, one after the other, lose nothing (RFC"
            " 2544 section 26.3); below that nothing was measured."
        )
        if ends_with_loss(file):
            said.append("The loads ended before two in a row lost nothing: a smaller --load-step has lower ones.")
    if plan.sweeps == 1:
        said.append("There is one trial a load: it shows no spread, so that no interval is stated. See --tests.")
    else:
        made = sum(one.trials for one in found)
        said += [
            "Typical trial: at the time of the run, half of the trials at a load lose more, half less. The 95 %"
            " interval is that of this median. What happens in fewer trials than half is not in it.",
            "Mean at most: the 95 % limit of the mean over a long time, with what is so rare that these"
            f" {made} trials need not show it, even if such a trial loses everything. For it, trials of all loads are"
            " taken together, as if rare losses came equally often at each; ten times as many leave a tenth open.",
            "What changes more slowly than the run lasted is in neither.",
        ]
    said.append(f"Loads are {file.run.load_scope}.")
    return said


def set_up(file: RunFile) -> list[tuple[str, str]]:
    """Say how it was measured."""
    plan = file.planned(file.run.loss)
    return [
        ("Device", file.run.measurer.spec or "not recorded"),
        ("100 % is", format_load(plan.reference, file.run.load_unit, digits=6)),
        ("Loads", f"{len(plan.loads)} at most" if plan.until_lossless else f"{len(plan.loads)}, as asked for"),
        ("Sweeps", str(plan.sweeps)),
        ("Trials", f"{format_duration(plan.duration_s)}, {format_duration(plan.rest_s)} apart"),
        *facts.traffic(file.run),
        *blocks.place_and_time(file.run),
    ]
