"""The report on a block device for a terminal.

It follows the text of resctl-bench, whose readers know where to look: header, graphs, solutions, remarks. What that
does not have (intervals, reasons, what to measure next) is added in lines of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from brimful.kernel import MODEL_KEYS
from brimful.records import Finding, RunFile, Solution
from brimful.report import words
from brimful.report.iocost import graph, header, solutions
from brimful.report.iocost.numbers import percent, rate, size
from brimful.report.styles import Style, plain

_GRAPHS_TITLE = "Graphs (square: fitted line, circle: data points, cross: rejected)"
_LABEL_COLUMNS = 12
"""Room for the labels beside a graph; with 80 columns of graph the text is at most 92 wide."""


def report_run(run_file: RunFile, *, style: Style = plain, columns: int) -> str:
    """Write the report on a record with the subject ``block-device``; its graphs have a width of their own."""
    return render(run_file, style=style)


def line(run_file: RunFile) -> str:
    """Give the result for a block device in one line."""
    solved = [solution.name for solution in run_file.solutions if solution.unsolved is None]
    return f"{len(solved)} of {words.count(len(run_file.solutions), 'solution')}: {', '.join(solved) or 'none'}"


def render(run_file: RunFile, *, style: Style = plain, columns: int | None = None, graphs: bool = True) -> str:
    """Write the whole report.

    Parameters
    ----------
    run_file
        A record with the subject ``block-device``.
    style
        How roles look; the default leaves text plain.
    columns
        Width of the terminal. Graphs are widened to it, and never narrower than 80 columns and their labels.
    graphs
        Whether there are graphs.
    """
    run = run_file.run
    sections = ["\n\n".join([style(header.title(run), "title"), *header.blocks(run)])]
    if graphs and run_file.series:
        sections.append(_section(_GRAPHS_TITLE, _graphs(run_file, columns), style))
    sections += [
        _section("Solutions", _solutions(run_file, style) or "  None.", style),
        _section("Remarks", _remarks(run_file), style),
        _section("Measure next", _measure_next(run_file.findings), style),
        _section("Warnings", _list(f"{note.code}: {note.text}" for note in run_file.warnings), style),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def render_summary(run_file: RunFile, *, style: Style = plain) -> str:
    """Write a device in a few lines: how much is known, its base model and the scale of each solution."""
    run = run_file.run
    points = next((len(series.points) for series in run_file.series if series.name == "MOF"), 0)
    lines = [
        ", ".join(
            [f"{points} point{'' if points == 1 else 's'}"]
            + [f"{name}=[{span}]" for name in ("MOF", "aMOF") if (span := _span(run_file.solutions, name))]
        )
    ]
    base = run.source.get("base_model") or {}
    if base:
        rates = [f"{key}={(size if key.endswith('bps') else rate)(base[key])}" for key in MODEL_KEYS if key in base]
        lines.append(f"base model: {' '.join(rates)}")
    scales = [
        (solution.name, f"{solution.name}={percent(solution.scale_factor)}%")
        for solution in run_file.solutions
        if solution.scale_factor is not None
    ]
    shared = " ".join(text for name, text in scales if name in solutions.COMMON_RULES)
    others = " ".join(text for name, text in scales if name not in solutions.COMMON_RULES)
    lines.append(f"solutions : {shared or others or 'none'}")
    if shared and others:
        lines.append(" " * 12 + others)
    return "\n".join([style(header.title(run), "title"), "", *lines]) + "\n"


def _graphs(run_file: RunFile, columns: int | None) -> str:
    width = max(graph.COLUMNS, (columns or 0) - _LABEL_COLUMNS)
    source = run_file.run.source
    fits = {fit.series: fit for fit in run_file.fits}
    x_max = graph.right_end(run_file.fits)
    drawn = []
    for series in run_file.series:
        label = graph.y_label(
            series.name,
            mem_profile=(source.get("memory") or {}).get("profile"),
            isolation_percentile=_isolation_percentile(run_file),
        )
        drawn.append("\n".join(graph.draw(series, fits.get(series.name), columns=width, x_max=x_max, label=label)))
    return "\n\n".join(drawn)


def _solutions(run_file: RunFile, style: Style) -> str:
    certainty = "bounds of the search" if header.has_bounds(run_file.run) else "95 %"
    return solutions.groups(run_file.solutions, _isolation_percentile(run_file), style, certainty=certainty)


def _remarks(run_file: RunFile) -> str:
    return _list(finding.text for finding in run_file.findings if finding.code != "measure-next")


def _measure_next(findings: Iterable[Finding]) -> str:
    lines = []
    for finding in findings:
        if finding.code == "measure-next":
            lines.append(f"* {finding.text}")
            if spec := finding.data.get("job_spec"):
                lines.append(f"  job spec: {spec}")
    return "\n".join(lines)


def _list(texts: Iterable[str]) -> str:
    return "\n".join(f"* {text}" for text in texts)


def _section(title: str, body: str, style: Style) -> str:
    return f"{style(title, 'title')}\n{'=' * len(title)}\n\n{body}" if body else ""


def _isolation_percentile(run_file: RunFile) -> str:
    return str(run_file.run.source.get("isolation_percentile") or "")


def _span(answers: Sequence[Solution], name: str) -> str:
    values = [solution.info[name] for solution in answers if solution.info.get(name) is not None]
    return f"{min(values):.3f},{max(values):.3f}" if values else ""
