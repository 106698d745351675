"""The state of all series in a few words, as an SVG for a README. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from brimful.report.trend.index_file import NOT_CHECKED, Row
from brimful.report.trend.reported import Reported
from brimful.trend.judgement import (
    ACCEPTED,
    NO_VALUE,
    NORMAL,
    PROGRESSION,
    REGRESSION,
    STATES,
    SUSPECTED_PROGRESSION,
    SUSPECTED_REGRESSION,
)

_BAD, _DOUBTFUL, _GOOD, _QUIET = "#b23420", "#8a5a00", "#1f7d4b", "#5d6779"
_COLOURS = {
    REGRESSION: _BAD,
    NO_VALUE: _DOUBTFUL,
    SUSPECTED_REGRESSION: _DOUBTFUL,
    SUSPECTED_PROGRESSION: _DOUBTFUL,
    PROGRESSION: _GOOD,
    ACCEPTED: _GOOD,
    NORMAL: _GOOD,
    NOT_CHECKED: _QUIET,
}
_WIDTH, _MARGIN = 7, 6
"""Of a character and beside a text, in pixels."""
_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{all}" height="20" role="img" aria-label="trend: {text}">
<title>trend: {text}</title>
<rect width="{all}" height="20" rx="3" fill="#3b4453"/>
<path d="M{label} 0h{rest}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{rest}z" fill="{colour}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{margin}" y="14" textLength="{label_text}">trend</text>
<text x="{at}" y="14" textLength="{length}">{text}</text>
</g>
</svg>
"""


def render(rows: Sequence[Row], found: Sequence[Reported]) -> str:
    """Write the badge: the number of findings if something got worse, else the worst state."""
    state, text = _said(rows, found)
    label_text, length = _WIDTH * len("trend"), _WIDTH * len(text)
    label = label_text + 2 * _MARGIN
    return _SVG.format(
        all=label + length + 2 * _MARGIN,
        rest=length + 2 * _MARGIN - 3,
        label=label,
        label_text=label_text,
        margin=_MARGIN,
        at=label + _MARGIN,
        length=length,
        text=text,
        colour=_COLOURS[state],
    )


def _said(rows: Sequence[Row], found: Sequence[Reported]) -> tuple[str, str]:
    counts = Counter(row.state for row in rows)
    state = next((state for state in (*STATES, NOT_CHECKED) if counts[state]), NOT_CHECKED)
    if state == REGRESSION:
        number = sum(each.finding.kind == REGRESSION for each in found)
        return state, "1 regression" if number == 1 else f"{number:,} regressions"
    if state in (NORMAL, NOT_CHECKED):
        return state, state
    return state, f"{state}: {counts[state]:,}"
