"""What a report on a test of a switch shows, from its record."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.records import RunFile, SwitchingPlan, SwitchingResult, Trial
from brimful.report import blocks, words
from brimful.report.blocks import Block, Card, Document, Sentence, Table
from brimful.units import format_delay, format_load

TITLES = {
    "caching": "Address caching capacity (section 5.7)",
    "learning": "Address learning rate (section 5.8)",
    "ageing": "Ageing of addresses",
    "errored": "Errored frames (section 5.9)",
    "broadcast": "Broadcast frames (section 5.10)",
}
_VERDICTS = {"at-least": "at least", "none": "no verdict"}
_NONE = "–"


def build(file: RunFile) -> Document:
    """Compute what a report shows.

    Parameters
    ----------
    file
        A record with the subject ``switching``.

    Raises
    ------
    RecordError
        When the record has no plan of such a run.
    """
    plan = _plan(file)
    found = file.latest(SwitchingResult, "name")
    shown: list[Block] = [results_table(plan, found)] if found else [Sentence("There is no result.")]
    return Document(
        run=file.run,
        kind="RFC 2889 test",
        title=f"{TITLES[plan.test]}: {blocks.device_name(file.run)}",
        outcome=blocks.outcome(file, "trial"),
        cards=[Card(name=one.name or plan.test, value=shown_value(plan, one)) for one in found],
        blocks=[*shown, *iterations(file)],
        notes=_notes(plan),
        set_up=_set_up(file, plan),
        warnings=[warning.text for warning in file.warnings],
        machine=blocks.machine(file),
        values="results",
        data={"plan": plan, "results": found},
    )


def line(file: RunFile) -> str:
    """Give the result of a run in one line."""
    plan, found = _plan(file), file.latest(SwitchingResult, "name")
    shown = [f"{one.name}: {shown_value(plan, one)}".removeprefix(": ") for one in found]
    return f"{plan.test}: {', '.join(shown) or 'no result'}"


def shown_value(plan: SwitchingPlan, result: SwitchingResult) -> str:
    """Give the figure or the verdict of a result in words."""
    if result.verdict == "none" or result.value is None:
        return _VERDICTS.get(result.verdict, result.verdict)
    if result.verdict in ("pass", "fail"):
        return result.verdict
    least = "at least " if result.verdict == "at-least" else ""
    if plan.test == "caching":
        return f"{least}{words.count(round(result.value), 'address', 'addresses')}"
    if plan.test == "learning" or result.name == "throughput":
        return f"{least}{format_load(result.value, 'frames/s')}"
    return f"{least}{format_delay(result.value)}"


def results_table(plan: SwitchingPlan, found: Sequence[SwitchingResult]) -> Table:
    """Show all results of a test."""
    rows = [[one.name or plan.test, shown_value(plan, one), one.text or _NONE] for one in found]
    names = [_NAMED[plan.test], "result", "remark"]
    return Table(title=TITLES[plan.test], names=names, rows=rows, key=plan.test, words=3)


_NAMED = {
    "caching": "addresses",
    "learning": "test",
    "ageing": "test",
    "errored": "frames",
    "broadcast": "port",
}


def iterations(file: RunFile) -> list[Table]:
    """Show each trial of a search for addresses, as sections 5.7 and 5.8 want it."""
    plan = _plan(file)
    if plan.test not in ("caching", "learning"):
        return []
    rows = [_iteration(plan, trial) for trial in file.trials if trial.invalid is None]
    names = ["addresses", "learned at", "load", "sent", "received", "flooded", "flooded while learning"]
    return [Table(title="Trials", names=names, rows=rows, key=f"{plan.test}-trials", words=1)] if rows else []


def _iteration(plan: SwitchingPlan, trial: Trial) -> list[str]:
    known = {name: words.group(trial.extra[name]) for name in ("flooded", "learning_flooded") if name in trial.extra}
    name = f"{trial.extra.get('addresses')}" + (f", {trial.step}" if plan.test == "caching" else "")
    return [
        name,
        format_load(trial.load, "frames/s"),
        format_load(plan.rate, "frames/s"),
        words.group(trial.sent),
        words.group(trial.sent - trial.lost),
        known.get("flooded", _NONE),
        known.get("learning_flooded", _NONE),
    ]


def _plan(file: RunFile) -> SwitchingPlan:
    plan = file.run.switching
    return file.planned(plan if plan and plan.test in TITLES else None)


def _notes(plan: SwitchingPlan) -> list[str]:
    return {
        "caching": [
            "The addresses are those learned at the second port; the sender of the test frames has an entry of its own,"
            " so the table of the device has room for one more.",
        ],
        "learning": ["The rate is that of new addresses; the frames to them are sent afterwards."],
        "ageing": ["An address that sends nothing is looked up until its frames are flooded."],
        "errored": [
            "Frames that are too short are to be filtered; those that are too long may be.",
            "On a virtual interface this says nothing of a cable: there no driver pads or refuses frames.",
        ],
        "broadcast": [
            "The throughput is the highest rate at which each port but the sender's gets each frame once; the rows of"
            " ports are of that rate.",
        ],
    }[plan.test]


def _set_up(file: RunFile, plan: SwitchingPlan) -> list[tuple[str, str]]:
    return [
        ("Device", file.run.measurer.spec or "not recorded"),
        ("Sends test frames", plan.ports[0] if plan.ports else "not recorded"),
        ("Addresses learned at", plan.ports[1] if len(plan.ports) > 1 else "not recorded"),
        ("Watch for floods", ", ".join(plan.ports[2:]) or "not recorded"),
        ("Frame size", f"{plan.frame_size} bytes"),
        ("Between trials", plan.forgets or f"silence of {plan.rest_s:g} s"),
        *blocks.place_and_time(file.run),
    ]
