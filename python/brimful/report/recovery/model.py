"""What a report on recovery shows, in words and cells, from the records of a run."""

from __future__ import annotations

import math

import msgspec

from brimful.errors import RecordError
from brimful.records import Recovery, RecoveryPlan, RunFile
from brimful.report import facts, measured
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


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown about a run."""

    file: RunFile
    plan: RecoveryPlan
    title: str
    outcome: str
    average: str
    names: list[str]
    rows: list[list[str]]
    notes: list[str]
    set_up: list[tuple[str, str]]
    warnings: list[str]
    machine: str | None


def build(file: RunFile) -> View:
    """Compute what a report shows.

    Raises
    ------
    RecordError
        When the record has no plan of such a run.
    """
    plan = file.run.recovery
    if plan is None:
        message = f"{file.path}:1: the run is of the subject 'recovery', but does not say what was measured"
        raise RecordError(message)
    found = recoveries_of(file)
    return View(
        file=file,
        plan=plan,
        title=f"{_TITLES.get(plan.of, plan.of)}: {measured.device_name(file.run)}",
        outcome=measured.outcome(file, "trial"),
        average=average(found),
        names=["round", "at least", "at most"],
        rows=[[str(one.round + 1), format_delay(one.low_s), _most(one)] for one in found],
        notes=[_METHODS.get(plan.of, ""), f"Loads are {file.run.load_scope}."],
        set_up=_set_up(file, plan),
        warnings=[warning.text for warning in file.warnings],
        machine=measured.machine(file),
    )


def recoveries_of(file: RunFile) -> list[Recovery]:
    """Give the times of a run, in the order of its rounds."""
    return [record for record in file.others if isinstance(record, Recovery)]


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


def _set_up(file: RunFile, plan: RecoveryPlan) -> list[tuple[str, str]]:
    run = file.run
    throughput = "not known" if plan.throughput is None else format_load(plan.throughput, run.load_unit)
    if plan.throughput_run is not None:
        throughput += f", {plan.throughput_goal} of run {plan.throughput_run}"
    rows = [
        ("Device", str(run.measurer.get("spec", "not recorded"))),
        ("Throughput", throughput),
        ("Load", f"{format_load(plan.load, run.load_unit)} for {format_duration(plan.duration_s)}"),
    ]
    if plan.load_after is not None:
        probes = f"{format_load(plan.load_after, run.load_unit)}, probes of {format_duration(plan.probe_s)}"
        rows.append(("Reduced to", f"{probes}, until {plan.clean_probes} in a row lose nothing"))
    if plan.reset_command is not None:
        rows.append(("Reset by", facts.text(plan.reset_command)))
    return [
        *rows,
        ("Rounds", str(plan.rounds)),
        ("Frame size", facts.text(facts.lookup(run, facts.FRAME_SIZE_KEYS) or "unknown")),
        ("Started", run.started),
        ("Host", f"{run.host.get('cpu_model', '')}, kernel {run.host.get('kernel', '')}"),
    ]
