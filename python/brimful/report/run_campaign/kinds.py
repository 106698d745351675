"""What a report on a campaign shows of its runs, by their subject. A row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from brimful.records import Burst, RunFile
from brimful.records.stated import burst_plan, losses, recoveries, recovery_plan
from brimful.report import words
from brimful.report.blocks import Block
from brimful.report.burst import model as bursts
from brimful.report.loss import model as loss
from brimful.report.recovery import model as recovery
from brimful.units import format_load

_NOTHING = "–"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One row."""

    what: str
    """What was measured."""
    things: str
    """A trial, in words."""
    table: str
    """Title of the table of all sizes."""
    names: Sequence[str]
    """Columns after the size."""
    cells: Callable[[RunFile], list[str]]
    """Below them."""
    values: str
    """What the next are, in words."""
    value: Callable[[RunFile], str]
    """The result in a few words; empty: there is none."""
    section: Callable[[RunFile], list[Block]]
    """What a page shows of one size."""
    set_up: Callable[[RunFile], list[tuple[str, str]]]
    in_table: Sequence[str]
    """Rows of the set-up that the table has."""
    notes: Callable[[RunFile], list[str]]


def _burst_cells(file: RunFile) -> list[str]:
    plan, result = burst_plan(file), file.last(Burst)
    unit = file.run.load_unit
    throughput = _NOTHING if plan.throughput is None else format_load(plan.throughput, unit)
    nothing = [bursts.why_no_burst(file) or bursts.NO_RESULT, *[_NOTHING] * (len(bursts.RESULT_NAMES) - 1)]
    cells = nothing if result is None else bursts.result_cells(plan, result)
    return [throughput, format_load(plan.load, unit), *cells]


def _burst_value(file: RunFile) -> str:
    result = file.last(Burst)
    if result is None:
        return bursts.why_no_burst(file)
    return f"{'≥ ' if result.at_limit else ''}{bursts.frames(result.mean)}"


def _burst_section(file: RunFile) -> list[Block]:
    if file.last(Burst) is None:
        return [bursts.no_burst(file)]
    return [bursts.bursts_tried(file), bursts.tests_table(file)]


def _loss_cells(file: RunFile) -> list[str]:
    found, plan, unit = losses(file), file.planned(file.run.loss), file.run.load_unit
    reference = format_load(plan.reference, unit)
    if not found:
        return [reference, *[_NOTHING] * 4]
    lost = words.share(found[0].ratio)
    without = loss.lossless_up_to(found, unit)
    return [reference, format_load(found[0].load, unit), lost, without, str(len(found))]


def _loss_value(file: RunFile) -> str:
    found = losses(file)
    return loss.lossless_up_to(found, file.run.load_unit) if found else ""


def _recovery_cells(file: RunFile) -> list[str]:
    plan, found, unit = recovery_plan(file), recoveries(file), file.run.load_unit
    throughput = _NOTHING if plan.throughput is None else format_load(plan.throughput, unit)
    return [throughput, format_load(plan.load, unit), recovery.found(file), str(len(found))]


KINDS = {
    "burst-campaign": Kind(
        what="Back-to-back frames",
        things="burst",
        table="Longest burst without loss",
        names=["throughput", "load", *bursts.RESULT_NAMES],
        cells=_burst_cells,
        values="longest bursts in frames",
        value=_burst_value,
        section=_burst_section,
        set_up=lambda file: bursts.set_up(file, burst_plan(file)),
        in_table=["Throughput", "Load of bursts"],
        notes=lambda file: bursts.notes(file, burst_plan(file), file.last(Burst)),
    ),
    "loss-campaign": Kind(
        what="Loss rate",
        things="trial",
        table="Loss rate",
        names=["100 % is", "greatest load", "lost at it", "nothing lost up to", "loads"],
        cells=_loss_cells,
        values="nothing lost up to",
        value=_loss_value,
        section=loss.results,
        set_up=loss.set_up,
        in_table=["100 % is"],
        notes=loss.notes,
    ),
    "recovery-campaign": Kind(
        what="Recovery",
        things="trial",
        table="Recovery",
        names=["throughput", "load", "average", "rounds"],
        cells=_recovery_cells,
        values="recovery",
        value=lambda file: recovery.found(file) if recoveries(file) or file.passes_nothing else "",
        section=recovery.results,
        set_up=lambda file: recovery.set_up(file, recovery_plan(file)),
        in_table=["Throughput", "Load", "Reduced to"],
        notes=recovery.notes,
    ),
}
"""By the subject of the campaign."""
