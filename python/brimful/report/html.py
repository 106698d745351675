"""The report of a run as one HTML file that needs nothing else: no scripts, no network."""

from __future__ import annotations

import re
from pathlib import Path

from brimful.errors import UsageError
from brimful.report import facts, figures, palette, words
from brimful.report.items import ITEMS
from brimful.report.model import WIDTH_DEFINITION, Report
from brimful.report.rfc2544 import conditions
from brimful.report.statements import MISSING, make_statements
from brimful.units import format_delay, format_duration, format_load, format_ratio

TEMPLATES = Path(__file__).parent / "templates"
SHOWN_TRIALS = 2000
"""A page lists at most so many trials; the record has them all."""


def render(report: Report) -> str:
    """Write the report as a page.

    Parameters
    ----------
    report
        From `brimful.report.model.build`.
    """
    return render_page(
        "report.html",
        report=report,
        run=report.run,
        statements=make_statements(report),
        missing=MISSING,
        items=ITEMS,
        set_up=[
            (name, rows)
            for name, rows in (
                ("Device", facts.table(facts.device(report.run))),
                ("Traffic", facts.table(report.run.traffic)),
                ("Measurer", facts.table(facts.measurer(report.run))),
                ("Host", facts.table(report.run.host)),
                ("Labels", facts.table(report.run.labels)),
            )
            if rows
        ],
        irregular=_irregular(report),
        simulated=facts.is_simulated(report.run),
        conditions=conditions(report),
        counts_frames=facts.counts_frames(report.run),
        figures=_figures(report) if report.trials else [],
        shown_trials=report.trials[:SHOWN_TRIALS],
        width_definition=WIDTH_DEFINITION,
    )


def render_page(template: str, **values: object) -> str:
    """Fill a template of this package; what comes from records is escaped."""
    try:
        import jinja2
    except ImportError as error:
        message = f"an HTML report needs {error.name}; install it with: pip install 'brimful[report]'"
        raise UsageError(message) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: words.keep_units(value) if type(value) is str else value,
    )
    environment.filters.update(
        delay=format_delay,
        duration=format_duration,
        exact=words.exact_seconds,
        ratio=format_ratio,
        share=words.share,
        group=words.group,
        value=facts.text,
        bits=words.bits,
        machine=words.machine,
        options=_options,
    )
    environment.globals.update(
        load=format_load, count=words.count, style=(TEMPLATES / "page.css").read_text(), goal_colour=_goal_variable
    )
    return environment.get_template(template).render(**values)


def _options(text: str) -> str:
    """Keep lines from breaking within an option: browsers break after every hyphen."""
    import markupsafe

    escaped = str(markupsafe.escape(words.keep_units(text)))
    return markupsafe.Markup(re.sub(r"(?<![\w-])--[a-z][a-z-]*", r'<span class="option">\g<0></span>', escaped))


def _irregular(report: Report) -> list[tuple[str, str]]:
    """Give the irregular goals, those of one reason together, and the reason in words."""
    names: dict[str, list[str]] = {}
    for view in report.goals:
        if not view.regular:
            names.setdefault(view.explanation, []).append(view.goal.name)
    return [
        (f"{' and '.join(goals)} {'is' if len(goals) == 1 else 'are'} irregular.", explanation)
        for explanation, goals in names.items()
    ]


def _goal_variable(number: int) -> str:
    return f"var(--goal-{number % len(palette.GOALS)})"


def _figures(report: Report) -> list[dict[str, str]]:
    marks = " Dotted vertical lines stand where phases or longer trials began." if len(report.phases) > 1 else ""
    pauses = " Dashed vertical lines stand for pauses that were cut out." if report.pauses else ""
    made = [
        {
            "id": "search-time",
            "title": "Search-time graph",
            "wide": figures.draw_search_time(report, figures.WIDE),
            "narrow": figures.draw_search_time(report, figures.NARROW),
            "caption": (
                "Each trial is a line from its start to its end at the load it offered, with a mark at its end. "
                "Stepped lines are the relevant lower bounds (solid) and upper bounds (dashed) of each goal; "
                "between them lies what was not yet known. Triangles on the border stand for trials beyond it."
                + marks
                + pauses
            ),
        },
        {
            "id": "load-loss",
            "title": "Loss against load",
            "wide": figures.draw_load_loss(report, figures.WIDE),
            "narrow": figures.draw_load_loss(report, figures.NARROW),
            "caption": (
                "Every counted trial by its load and its loss ratio, on a logarithmic scale with zero set apart at the "
                "bottom. Bands lie between the bounds of a goal, dotted lines are the loss ratios that goals allow, "
                "triangles at the top the conditional throughputs."
            ),
        },
    ]
    return made if report.statistics.counted else made[:1]
