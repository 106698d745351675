"""The tables of the report on a campaign."""

from __future__ import annotations

from brimful.report import words
from brimful.report.blocks import Bullets, Table
from brimful.report.campaign.model import Cell, CellGoal, Report
from brimful.units import format_delay, format_duration, format_load, format_ratio

NOTHING = "-"
REGULAR, IRREGULAR, FAILED = "regular", "IRREGULAR", "FAILED"


_BADGES = {REGULAR: "good", IRREGULAR: "bad", FAILED: "bad"}


def throughput(report: Report) -> Table:
    """Give the results as RFC 2544 section 26.1 asks: frame size, medium's maximum, rate found."""
    linked = any(cell.link_rate is not None for cell in report.cells)
    in_bits = any(goal.bits_l2 is not None for cell in report.cells for goal in cell.goals)
    summed = any(cell.conversion_factor != 1 for cell in report.cells)
    heads = ["measurer", report.size_name, "goal", "runs", "throughput", "95 % interval"]
    heads += ["in total"] if summed else []
    heads += ["L2", "L1"] if in_bits else []
    heads += ["link max", "of it"] if linked else []
    rows = []
    for cell in report.cells:
        for goal in cell.goals:
            row = [cell.measurer, cell.frame_size or NOTHING, goal.goal.name, *_found(cell, goal)]
            row += [_load(goal.total, cell.load_unit)] if summed else []
            row += [_bits(goal.bits_l2), _bits(goal.bits_l1)] if in_bits else []
            if linked:
                row += [
                    _load(cell.link_rate, cell.load_unit),
                    NOTHING if goal.link_share is None else words.share(goal.link_share),
                ]
            rows.append(row)
    return Table(
        key="throughput",
        title=f"Throughput, {report.load_scope}",
        names=heads,
        words=3,
        rows=rows,
        grouped=True,
        badges=_BADGES,
        notes=[
            "Means over the repeats; the 95 % interval of the throughput has the width between the bounds in it."
            + (" L2 and L1 are of the throughput, not in total." if in_bits and summed else "")
        ],
    )


def repeatability(report: Report) -> Table:
    """Give how far apart the repeats are, also in widths of the goal: what one search leaves open by itself."""
    rows = []
    for cell in report.cells:
        for goal in cell.goals:
            spread = goal.spread
            if spread is None or spread.deviation is None:
                continue
            rows.append(
                [
                    cell.measurer,
                    cell.frame_size or NOTHING,
                    goal.goal.name,
                    str(spread.runs),
                    format_load(spread.deviation, cell.load_unit, digits=3),
                    NOTHING if spread.variation is None else words.share(spread.variation),
                    format_load(spread.least, cell.load_unit),
                    format_load(spread.most, cell.load_unit),
                    NOTHING if goal.range_in_widths is None else f"{goal.range_in_widths:.1f}",
                ]
            )
    return Table(
        key="repeatability",
        title="Repeatability",
        names=["measurer", report.size_name, "goal", "runs", "deviation", "of mean", "least", "most", "widths"],
        words=3,
        rows=rows,
        grouped=True,
        notes=["Widths: (most - least) / most, in widths of the goal. One search leaves one width open."],
    )


def searches(report: Report) -> Table:
    """Give every search."""
    names = [goal.name for goal in report.run.goals]
    merged = ["part"] if report.parts else []
    return Table(
        key="searches",
        title="Searches, in their order",
        badges=_BADGES,
        names=["search", "result", *merged, "repeat", "trials", "time", "first guess", *names],
        words=2,
        rows=[
            [
                member.name,
                member.state if member.state == REGULAR else member.state.upper(),
                *([NOTHING if member.part is None else str(member.part)] if merged else []),
                str(member.repeat),
                str(member.trials),
                format_duration(member.search_s),
                "none" if member.guess is None else format_load(member.guess, member.load_unit),
                *member.headlines,
            ]
            for member in report.members
        ],
    )


def parts(report: Report) -> Table:
    """Give where each part of a merged campaign was measured."""
    return Table(
        key="parts",
        title="Parts, each measured by itself",
        names=["part", "began", "machine", "labels", "searches"],
        words=4,
        rows=[
            [
                str(part.part),
                part.started,
                part.machine or NOTHING,
                ", ".join(f"{name}={value}" for name, value in part.labels.items()) or NOTHING,
                str(len(part.members)),
            ]
            for part in report.parts
        ],
    )


def goals(report: Report) -> Table:
    """Give what each goal asks for."""
    asked = report.run.goals
    limited = any(goal.delay_limit_s is not None for goal in asked)
    return Table(
        key="goals",
        title="What each goal asks",
        names=["goal", "loss", *(["p99 delay"] if limited else []), "exceed", "trial", "sum", "width"],
        words=1,
        rows=[
            [
                goal.name,
                format_ratio(goal.loss_ratio),
                *([_delay(goal.delay_limit_s)] if limited else []),
                format_ratio(goal.exceed_ratio),
                words.exact_seconds(goal.final_trial_duration_s),
                words.exact_seconds(goal.duration_sum_s),
                "free" if goal.width is None else format_ratio(goal.width),
            ]
            for goal in asked
        ],
    )


def irregular(report: Report) -> Bullets:
    """Say every irregular result, those of a cell that are alike in one line."""
    said: list[str] = []
    for cell in report.cells:
        for goal in cell.goals:
            names: dict[str, list[str]] = {}
            for found in goal.irregular:
                names.setdefault(f"{goal.goal.name} {found.headline} ({found.reason})", []).append(found.member)
            said += [f"{text}: {', '.join(members)}" for text, members in names.items()]
    return Bullets(title="Irregular results, in no mean", entries=said, key="irregular")


def _found(cell: Cell, goal: CellGoal) -> list[str]:
    """Give runs, mean and interval; of irregular results alone only what they allow."""
    runs = f"{len(goal.values)} of {cell.runs}" if len(goal.values) != cell.runs else str(cell.runs)
    if goal.spread is None:
        if cell.failed == cell.runs:
            return [runs, FAILED, NOTHING]
        bound = IRREGULAR if goal.at_least is None else f"≥ {format_load(goal.at_least, cell.load_unit)}"
        return [runs, bound, NOTHING]
    return [runs, format_load(goal.spread.mean, cell.load_unit), _span(goal.spread.interval, cell.load_unit)]


def _span(ends: tuple[float, float] | None, unit: str) -> str:
    """Write an interval, its unit once where both ends have the same."""
    if ends is None:
        return "one run"
    low, high = (format_load(end, unit) for end in ends)
    number, _, of_low = low.partition(" ")
    return f"{number if high.endswith(f' {of_low}') else low} to {high}"


def _delay(limit_s: float | None) -> str:
    return "any" if limit_s is None else format_delay(limit_s)


def _load(per_second: float | None, unit: str) -> str:
    return NOTHING if per_second is None else format_load(per_second, unit)


def _bits(per_second: float | None) -> str:
    return NOTHING if per_second is None else words.bits(per_second)
