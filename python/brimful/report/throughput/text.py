"""The report of a run for a terminal."""

from __future__ import annotations

from brimful.records import SPECIFICATION, RunFile
from brimful.report import facts, words
from brimful.report.lines import WIDTH, bullets, lines_of, table, wrap, wrapped_table
from brimful.report.styles import Style, plain
from brimful.report.throughput.model import GoalView, Report, build
from brimful.report.throughput.rfc2544 import conditions
from brimful.report.throughput.statements import MISSING, make_statements
from brimful.units import format_delay, format_duration, format_load, format_ratio

_UNREST = "the goal was reached; how far to trust it, the machine says: it was not quiet"


def report_run(file: RunFile, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report on a record with the subject ``search``."""
    return render(build(file), style=style, columns=columns)


def line(file: RunFile) -> str:
    """Give the result of a search in one line."""
    found = {result.goal: result for result in file.goal_results}
    unit = file.run.load_unit
    results = [
        f"{goal.name} {words.headline(found.get(goal.name), unit)}"
        + ("" if (result := found.get(goal.name)) is None or result.regular else f" ({result.reason})")
        for goal in file.run.goals
    ]
    return ", ".join(results)


def render(report: Report, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the report as lines for a terminal.

    Parameters
    ----------
    report
        From `brimful.report.throughput.model.build`.
    style
        How roles look; the default leaves text plain.
    columns
        Where sentences wrap; tables are as wide as they are.
    """
    blocks = [
        _head(report, style, columns),
        _results(report, style, columns),
        _bounds(report, style, columns),
        _rfc2544(report, style),
        _trials(report, style, columns),
        *(lines_of(block, style, columns) for block in report.ports),
        bullets("Deviations from the RFC 2544 trial procedure", report.deviations, style, columns),
        _warnings(report, style, columns),
        _set_up(report, style, columns),
        _statements(report, style, columns),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def summary(report: Report, *, style: Style = plain, columns: int = WIDTH) -> str:
    """Write the result alone: what a search prints when it ends; where it failed without a bound, why it did."""
    if report.found_nothing:
        return _head(report, style, columns) + "\n"
    blocks = [
        _head(report, style, columns),
        _results(report, style, columns),
        _bounds(report, style, columns),
        _warnings(report, style, columns),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(report: Report, style: Style, columns: int) -> str:
    run = report.run
    tool = " ".join(part for part in (run.tool.get("name", ""), run.tool.get("version", "")) if part)
    how = f"strategy {run.strategy}" + (f", preset {run.preset}" if run.preset else "")
    lines = [
        style(report.title, "title"),
        wrap(report.outcome, 0, columns=columns),
        *([wrap(words.machine(report.machine), 0, columns=columns)] if report.machine is not None else []),
        style(wrap(f"run {run.run_id}, started {run.started}", 0, columns=columns), "faint"),
        style(wrap(f"{how}, {tool or 'unknown tool'}", 0, columns=columns), "faint"),
    ]
    return "\n".join(lines)


def _results(report: Report, style: Style, columns: int) -> str:
    lines = []
    name_width = max((len(view.goal.name) for view in report.goals), default=0)
    value_width = max((len(view.headline) for view in report.goals), default=0)
    for view in report.goals:
        regular = f"regular ({_UNREST})" if report.is_restless else style("regular", "good")
        kind = regular if view.regular else style(f"IRREGULAR ({view.reason})", "bad")
        name = style(view.goal.name.ljust(name_width), "title")
        lines.append(f"  {name}  {view.headline.rjust(value_width)}  {kind}")
        said = view.sentence if view.regular else f"{view.sentence} {view.explanation}"
        lines.append(wrap(said, 4 + name_width, columns=columns))
    head = style(f"Conditional throughput, {report.run.load_scope}", "title")
    return "\n".join([head, *lines])


def _bounds(report: Report, style: Style, columns: int) -> str:
    run = report.run
    rows = [["goal", "lower bound", "upper bound", "width", "asked", "loss", "exceed", "trial", "sum"]]
    rows += [_bound_row(report, view) for view in report.goals]
    if report.limits_delay:
        delays = ["p99 delay", *(_delay_limit(view) for view in report.goals)]
        rows = [[*row, delay] for row, delay in zip(rows, delays, strict=True)]
    parts = [style("Bounds and goals", "title"), table(rows, right=range(1, len(rows[0])))]
    if run.conversion_factor != 1:
        aggregates = [
            f"{view.goal.name} {format_load(view.aggregate_throughput, run.load_unit)}"
            for view in report.goals
            if view.aggregate_throughput is not None
        ]
        if aggregates:
            factor = facts.text(run.conversion_factor)
            total = f"In total over all interfaces and directions (factor {factor}): {', '.join(aggregates)}."
            parts.append(wrap(total, 2, columns=columns))
    limits = f"{format_load(run.min_load, run.load_unit)} to {format_load(run.max_load, run.load_unit)}"
    parts.append(wrap(f"Loads searched: {limits}.", 2, columns=columns))
    if report.theoretical_rate is not None:
        shares = [
            f"{view.goal.name} {words.share(view.theoretical_share)}"
            for view in report.goals
            if view.theoretical_share is not None
        ]
        limit = format_load(report.theoretical_rate, run.load_unit)
        carries = f"The link carries {limit} of this size" + (f": {', '.join(shares)}." if shares else ".")
        parts.append(wrap(carries, 2, columns=columns))
    return "\n".join(parts)


def _bound_row(report: Report, view: GoalView) -> list[str]:
    unit = report.run.load_unit
    goal = view.goal
    return [
        goal.name,
        format_load(view.lower.load, unit) if view.lower else "none",
        format_load(view.upper.load, unit) if view.upper else "none",
        format_ratio(view.reached_width) if view.reached_width is not None else "-",
        format_ratio(goal.width) if goal.width is not None else "free",
        format_ratio(goal.loss_ratio),
        format_ratio(goal.exceed_ratio),
        words.exact_seconds(goal.final_trial_duration_s),
        words.exact_seconds(goal.duration_sum_s),
    ]


def _delay_limit(view: GoalView) -> str:
    return "any" if view.goal.delay_limit_s is None else format_delay(view.goal.delay_limit_s)


def _rfc2544(report: Report, style: Style) -> str:
    if not facts.counts_frames(report.run):
        return ""
    found = conditions(report)
    rows = [["goal", "rate", "frame size", "limit of the medium", "trials", "protocol"]]
    rows += [
        [
            view.goal.name,
            view.headline,
            found.frame_size,
            found.limit,
            words.exact_seconds(view.goal.final_trial_duration_s),
            found.protocol,
        ]
        for view in report.goals
    ]
    return "\n".join([style("RFC 2544", "title"), table(rows, right=range(1, 5))])


def _trials(report: Report, style: Style, columns: int) -> str:
    totals = report.statistics
    if not totals.total:
        return "\n".join([style("Trials", "title"), "  None."])
    warm_up = f"{totals.warm_up} for warm-up, " if totals.warm_up else ""
    lines = [
        f"{words.count(totals.total, 'trial')}: {totals.counted} counted, {totals.invalid} invalid, {warm_up}"
        f"{totals.stopped_early} stopped early; {_lengths(totals.shortest_s, totals.longest_s)} each; "
        f"{format_duration(totals.sending_s)} of sending in {format_duration(totals.elapsed_s)}.",
        f"{words.group(totals.sent)} sent, {words.group(totals.lost)} lost, {words.group(totals.unsent)} unsent.",
    ]
    lines += [f"Invalid: {reason} ({words.count(n, 'time')})." for reason, n in totals.invalid_reasons.items()]
    return "\n".join([style("Trials", "title"), *(wrap(line, 2, columns=columns) for line in lines)])


def _lengths(shortest: float | None, longest: float | None) -> str:
    if shortest is None or longest is None or shortest == longest:
        return words.seconds(longest)
    return f"{format_duration(shortest)} to {format_duration(longest)}"


def _warnings(report: Report, style: Style, columns: int) -> str:
    return bullets("Warnings", [_note(note.code, note.text, note.times) for note in report.warnings], style, columns)


def _note(code: str, text: str, times: int) -> str:
    repeated = f" ({words.count(times, 'time')})" if times > 1 else ""
    return f"{code}: {text}{repeated}" if text else f"{code}{repeated}"


def _set_up(report: Report, style: Style, columns: int) -> str:
    run = report.run
    rows = [
        [name, path, value]
        for name, mapping in (
            ("device", facts.device(run)),
            ("traffic", run.traffic),
            ("measurer", facts.measurer(run)),
            ("host", run.host),
        )
        for path, value in facts.table(mapping)
    ]
    names = [""] + [row[0] for row in rows]
    rows = [["" if row[0] == before else row[0], *row[1:]] for row, before in zip(rows, names, strict=False)]
    if run.command:
        rows.append(["command", "", " ".join(run.command)])
    return "\n".join([style("Set-up", "title"), *wrapped_table(rows, columns)])


def _statements(report: Report, style: Style, columns: int) -> str:
    asked = f"What a report has to state by {SPECIFICATION} and RFC 2544"
    lines = [style(line, "title") for line in wrap(asked, 0, columns=columns).splitlines()]
    for statement in make_statements(report):
        missing = statement.state == MISSING
        said = f"{statement.item.id}: {'MISSING. ' if missing else ''}{statement.text}"
        text = wrap(said, 2, hang=2, columns=columns)
        lines.append(text.replace("MISSING.", style("MISSING.", "bad"), 1) if missing else text)
    return "\n".join(lines)
