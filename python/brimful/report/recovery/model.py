"""What a report on recovery shows, in words and cells, from the records of a run."""

from __future__ import annotations

import math

from brimful.records import NONE_PASSES, Recovery, RecoveryPlan, RunFile
from brimful.records.stated import recoveries, recovery_plan
from brimful.report import blocks, facts, ports, words
from brimful.report.blocks import Block, Card, Document, Sentence, Table
from brimful.units import format_delay, format_duration, format_load

_TITLES = {"overload": "System recovery", "reset": "Reset"}
_METHODS = {
    "overload": (
        "Recovery (RFC 2544 section 26.5): the time from the reduction of the overload to the last frame lost. Probes"
        " are short trials one after the other; the time is between the values shown: from the end of the overload at"
        " the latest to the begin of the last probe that lost frames, and from its end at the earliest to the first"
        " frame of the probe after that."
    ),
    "reset": (
        "Reset time (RFC 2544 section 26.6, RFC 6201, frame-loss method): frames lost / load, of the worse direction;"
        " known to one frame each way."
    ),
}


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``recovery``.

    Raises
    ------
    RecordError
        When the record has no plan of such a run.
    """
    plan = recovery_plan(file)
    found = recoveries(file)
    return Document(
        run=file.run,
        kind="Recovery",
        title=f"{_TITLES.get(plan.of, plan.of)}: {blocks.device_name(file.run)}",
        outcome=blocks.outcome(file, "trial"),
        cards=[Card(name=f"average of {words.count(len(found), 'round')}", value=average(found))] if found else [],
        blocks=[*results(file), *ports.blocks(file.trials, file.run.load_unit)],
        notes=notes(file),
        set_up=set_up(file, plan),
        warnings=[*(warning.text for warning in file.warnings), *ports.remarks(file.trials)],
        machine=blocks.machine(file),
        values="times",
        data={"plan": plan, "recoveries": found},
    )


def results(file: RunFile) -> list[Block]:
    """Give the average, and the time of each round."""
    found = recoveries(file)
    if not found:
        return [Sentence(words.as_sentence(NONE_PASSES if file.passes_nothing else "there is no result"))]
    table = Table(
        title="Rounds",
        names=["round", "at least", "at most"],
        rows=[[str(one.round + 1), format_delay(one.low_s), _most(one)] for one in found],
        key="rounds",
    )
    return [Sentence(f"Average: {average(found)}"), table]


def notes(file: RunFile) -> list[str]:
    """Say what the values mean."""
    return [_METHODS.get(recovery_plan(file).of, ""), f"Loads are {file.run.load_scope}."]


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    of = "" if file.run.recovery is None else f" from {file.run.recovery.of}"
    return NONE_PASSES if file.passes_nothing else f"recovery{of} {average(recoveries(file))}"


def found(file: RunFile) -> str:
    """Give the average of a run, or what stands for it."""
    return NONE_PASSES if file.passes_nothing else average(recoveries(file))


def average(found: list[Recovery]) -> str:
    """Say between which values the average over rounds lies.

    >>> average([Recovery(0, 0.1, 0.2), Recovery(1, 0.2, 0.3)]), average([Recovery(0, 1.5, None)]), average([])
    ('150 ms to 250 ms', 'at least 1.5 s', 'no result')
    """
    if not found:
        return "no result"
    low = format_delay(math.fsum(one.low_s for one in found) / len(found))
    known = [one.high_s for one in found if one.high_s is not None]
    if len(known) < len(found):
        return f"at least {low}"
    return f"{low} to {format_delay(math.fsum(known) / len(known))}"


def _most(one: Recovery) -> str:
    return "not within the limit" if one.high_s is None else format_delay(one.high_s)


def set_up(file: RunFile, plan: RecoveryPlan) -> list[tuple[str, str]]:
    """Say how it was measured."""
    run = file.run
    throughput = "not known" if plan.throughput is None else format_load(plan.throughput, run.load_unit)
    if plan.throughput_run is not None:
        throughput += f", {plan.throughput_goal} of run {plan.throughput_run}"
    rows = [
        ("Device", run.measurer.spec or "not recorded"),
        ("Throughput", throughput),
        (
            "Load",
            f"{blocks.load_offered(plan.load, plan.asked, run.load_unit)} for {format_duration(plan.duration_s)}",
        ),
    ]
    if plan.load_after is not None:
        probes = f"{format_load(plan.load_after, run.load_unit)}, probes of {format_duration(plan.probe_s)}"
        rows.append(("Reduced to", f"{probes}, until {plan.clean_probes} in a row lose nothing"))
    if plan.reset_command is not None:
        rows.append(("Reset by", facts.text(plan.reset_command)))
    return [
        *rows,
        ("Rounds", str(plan.rounds)),
        *facts.traffic(run),
        *blocks.place_and_time(run),
    ]
