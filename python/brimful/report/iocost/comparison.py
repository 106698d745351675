"""Two sets of runs on block devices side by side: what became of each solution and each line."""

from __future__ import annotations

import itertools
import math
import statistics
import textwrap
from collections.abc import Sequence

import msgspec

from brimful.errors import UsageError
from brimful.kernel import MODEL_KEYS, QOS_KEYS
from brimful.records import Fit, RunFile, Solution
from brimful.report import facts, words
from brimful.report.compared import Compared
from brimful.report.iocost import figures, views
from brimful.report.lines import WIDTH, table
from brimful.report.styles import Style, plain
from brimful.statistics.comparison import DEFAULT_TOLERANCE, IMPROVEMENT, REGRESSION, SAME, UNCLEAR
from brimful.units import format_ratio

SUBJECT = "block-device"
ROLES = {REGRESSION: "bad", IMPROVEMENT: "good", SAME: "good"}

_Points = list[tuple[float, float]]


class SolutionSide(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of one side have of a solution."""

    runs: int
    solved: int
    scale_factor: float | None
    """Geometric mean of the runs that solved it."""
    interval: tuple[float, float] | None
    """From the least to the greatest that a run allows for, where a run has an interval or there are several runs."""
    unsolved: str | None
    """Why no run solved it."""


class NumberDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A number of the model or of the QoS parameters that differs; means where a side has several runs."""

    name: str
    ours: float
    against: float


class SolutionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One solution of both sides."""

    name: str
    ours: SolutionSide
    against: SolutionSide
    ratio: float | None
    """Of the scale factors."""
    intervals_overlap: bool | None
    """Null: neither side has one. A side without one counts as a point."""
    numbers: list[NumberDifference]
    verdict: str
    """``regression``, ``improvement``, ``same`` or ``unclear``."""
    sentence: str


class SeriesComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Where the lines through one series are furthest apart."""

    name: str
    y_unit: str
    low: float | None
    """From here both sides have lines; null: nowhere."""
    high: float | None
    at: float | None
    """Where the difference is greatest."""
    ours: float | None
    """The line there; the mean of the lines where a side has several."""
    against: float | None

    @property
    def difference(self) -> float | None:
        """The greatest difference, with its sign."""
        return None if self.ours is None or self.against is None else self.ours - self.against


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All solutions and series of two sets of runs."""

    tolerance: float
    title: str
    ours: list[str]
    against: list[str]
    notes: list[str]
    """In what the runs differ that a reader should know."""
    solutions: list[SolutionComparison]
    series: list[SeriesComparison]

    @property
    def regressed(self) -> bool:
        """Whether a solution was lost or got worse beyond the tolerance."""
        return any(solution.verdict == REGRESSION for solution in self.solutions)


def build(
    ours: Sequence[RunFile], against: Sequence[RunFile], *, tolerance: float = 0.01, any_device: bool = False
) -> Comparison:
    """Compare runs on block devices with a baseline.

    Parameters
    ----------
    ours, against
        At least one run each.
    tolerance
        Relative difference of scale factors that does not matter.
    any_device
        Compare runs on devices of different models too.

    Raises
    ------
    UsageError
        When the runs cannot be compared, and why.
    """
    if not ours or not against:
        message = "nothing to compare: give at least one run before --against and one after it"
        raise UsageError(message)
    first = against[0]
    for other in [*against, *ours]:
        _refuse(first, other, any_device=any_device)
    names = dict.fromkeys(solution.name for file in [*against, *ours] for solution in file.solutions)
    series = dict.fromkeys(series.name for file in [*against, *ours] for series in file.series)
    return Comparison(
        tolerance=tolerance,
        title=views.device_title(first),
        ours=[file.run.run_id for file in ours],
        against=[file.run.run_id for file in against],
        notes=_notes(first, [*against[1:], *ours]),
        solutions=[_solution(name, ours, against, tolerance) for name in names],
        series=[_series(name, ours, against) for name in sorted(series, key=figures.canonical)],
    )


def compare_runs(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> Compared:
    """Compare runs on block devices with those of a baseline, at a tolerance of 1 % if none is given.

    Raises
    ------
    UsageError
        When they cannot be compared.
    """
    found = build(new, baseline, tolerance=DEFAULT_TOLERANCE if tolerance is None else tolerance)
    return Compared(
        regressed=found.regressed, text=lambda style, columns: render(found, style=style), json=lambda: to_json(found)
    )


def render(comparison: Comparison, *, style: Style = plain) -> str:
    """Write the comparison for a terminal.

    Parameters
    ----------
    comparison
        From `build`.
    style
        How roles look; the default leaves text plain.
    """
    names = [ids[0] if len(ids) == 1 else f"{len(ids)} runs" for ids in (comparison.ours, comparison.against)]
    title = f"{comparison.title}: {names[0]} against {names[1]}"
    head = [style(title, "title"), style(f"scale factors; tolerance {format_ratio(comparison.tolerance)}", "faint")]
    head += [_wrapped(f"note: {note}") for note in comparison.notes]
    rows = [["solution", "new", "interval", "baseline", "interval", "ratio", "verdict"]]
    rows += [_solution_row(solution) for solution in comparison.solutions]
    sentences = [_sentence_line(solution, style) for solution in comparison.solutions]
    differing = [
        _wrapped(f"{solution.name}: {', '.join(_number_text(number) for number in solution.numbers)}")
        for solution in comparison.solutions
        if solution.numbers
    ]
    lines = [["series", "at vrate", "new", "baseline", "difference", "", "both from", "to"]]
    lines += [_series_row(series) for series in comparison.series]
    blocks = ["\n".join(head)]
    if len(rows) > 1:
        blocks += [table(rows, right=range(1, 6), indent=0), "\n".join(sentences)]
    if differing:
        blocks.append("\n".join([style("Numbers that differ, new and baseline", "title"), *differing]))
    if len(lines) > 1:
        blocks.append(f"{style('Greatest differences of the lines', 'title')}\n{table(lines, right=range(1, 8))}")
    return "\n\n".join(blocks) + "\n"


def to_json(comparison: Comparison) -> str:
    """Write the comparison as one JSON object of kind ``comparison``."""
    content: dict[str, object] = {"kind": "comparison", "subject": SUBJECT, "regressed": comparison.regressed}
    content.update(msgspec.to_builtins(comparison))
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()


def _refuse(first: RunFile, other: RunFile, *, any_device: bool) -> None:
    if other.run.subject != SUBJECT:
        message = f"{other.path} is no run on a block device (subject {other.run.subject}): compare it with its like"
        raise UsageError(message)
    one, two = (str(file.run.device.get("model", "")).strip() for file in (first, other))
    if one != two and not any_device:
        message = (
            f"{other.path} cannot be compared with {first.path}: the device is {two or 'unknown'!r} in one and "
            f"{one or 'unknown'!r} in the other; say --any-device to compare them all the same"
        )
        raise UsageError(message)


def _notes(first: RunFile, others: Sequence[RunFile]) -> list[str]:
    """Say in what the runs differ that bears on their results, each thing once."""
    facts_of = [_facts(file) for file in [first, *others]]
    notes = []
    for name in facts_of[0]:
        seen = list(dict.fromkeys(facts.text(each[name]) for each in facts_of))
        if len(seen) > 1:
            notes.append(f"{name} differs: {' | '.join(seen)}")
    models = [file.run.source.get("base_model") for file in [first, *others]]
    if any(model != models[0] for model in models):
        notes.append("base models differ, and each scale factor is of its own: compare the numbers of the model")
    return notes


def _facts(file: RunFile) -> dict[str, object]:
    """Give what runs that are compared should have in common."""
    device, source = file.run.device, file.run.source
    memory, system = (part if isinstance(part, dict) else {} for part in (source.get("memory"), source.get("system")))
    keys = ("bench_version", "fit", "scale_basis", "isolation_percentile", "isolation_threshold")
    return {
        "method": source.get("method") or "resctl-bench",
        "device": str(device.get("model", "")).strip(),
        "firmware": str(device.get("firmware", "")).strip(),
        "size in bytes": device.get("size_bytes"),
        "memory profile": memory.get("profile"),
        "kernel": system.get("kernel"),
        **{key.replace("_", " "): source.get(key) for key in keys},
    }


def _solution(name: str, ours: Sequence[RunFile], against: Sequence[RunFile], tolerance: float) -> SolutionComparison:
    found = [[_named(file.solutions, name) for file in side] for side in (ours, against)]
    new, old = (_side(side) for side in found)
    ratio = overlap = None
    if new.scale_factor is not None and old.scale_factor is not None:
        ratio = new.scale_factor / old.scale_factor
        if new.interval is not None or old.interval is not None:
            low, high = new.interval or (new.scale_factor, new.scale_factor)
            old_low, old_high = old.interval or (old.scale_factor, old.scale_factor)
            overlap = low <= old_high and old_low <= high
    verdict = _verdict(new, old, ratio, overlap, tolerance)
    return SolutionComparison(
        name=name,
        ours=new,
        against=old,
        ratio=ratio,
        intervals_overlap=overlap,
        numbers=_numbers(*found) if ratio is not None else [],
        verdict=verdict,
        sentence=_sentence(new, old, ratio, overlap, verdict),
    )


def _named(solutions: Sequence[Solution], name: str) -> Solution | None:
    return next((solution for solution in solutions if solution.name == name), None)


def _side(found: Sequence[Solution | None]) -> SolutionSide:
    solved = [each for each in found if each is not None and each.scale_factor is not None and each.scale_factor > 0]
    factors = [each.scale_factor or 0.0 for each in solved]
    ends = [each.interval or (factor, factor) for each, factor in zip(solved, factors, strict=True)]
    interval = None
    if len(solved) > 1 or any(each.interval for each in solved):
        interval = min(low for low, _ in ends), max(high for _, high in ends)
    reasons = [each.unsolved for each in found if each is not None and each.unsolved]
    return SolutionSide(
        runs=len(found),
        solved=len(solved),
        scale_factor=math.exp(statistics.fmean(math.log(factor) for factor in factors)) if factors else None,
        interval=interval,
        unsolved=None if solved else next(iter(reasons), "the rule was not asked for"),
    )


def _verdict(new: SolutionSide, old: SolutionSide, ratio: float | None, overlap: bool | None, tolerance: float) -> str:
    if ratio is None:
        if bool(new.solved) == bool(old.solved):
            return SAME
        return IMPROVEMENT if new.solved else REGRESSION
    if 1 - tolerance <= ratio <= 1 + tolerance:
        return SAME
    if overlap:
        return UNCLEAR
    return IMPROVEMENT if ratio > 1 else REGRESSION


def _sentence(new: SolutionSide, old: SolutionSide, ratio: float | None, overlap: bool | None, verdict: str) -> str:
    if ratio is None:
        if verdict == SAME:
            return "Neither side has a solution."
        side = "The solution is lost" if verdict == REGRESSION else "There is a solution now"
        return f"{side}; without one {'now' if verdict == REGRESSION else 'before'}: {new.unsolved or old.unsolved}."
    change = f"The scale factor is {words.share(abs(ratio - 1))} {'lower' if ratio < 1 else 'higher'}"
    if verdict == SAME:
        return "The same, within the tolerance."
    if verdict == UNCLEAR:
        return f"{change}, but the intervals overlap: inconclusive."
    sure = "and the intervals do not overlap" if overlap is False else "and there are no intervals to doubt it by"
    return f"{'A regression' if verdict == REGRESSION else 'An improvement'}. {change}, {sure}."


def _numbers(ours: Sequence[Solution | None], against: Sequence[Solution | None]) -> list[NumberDifference]:
    differing = []
    for part, key in [*(("model", key) for key in MODEL_KEYS), *(("qos", key) for key in QOS_KEYS)]:
        sides = [
            [getattr(each, part)[key] for each in side if each is not None and key in getattr(each, part)]
            for side in (ours, against)
        ]
        if all(sides):
            new, old = (statistics.fmean(values) for values in sides)
            if new != old:
                differing.append(NumberDifference(name=key, ours=new, against=old))
    return differing


def _series(name: str, ours: Sequence[RunFile], against: Sequence[RunFile]) -> SeriesComparison:
    files = [*ours, *against]
    unit = next(series.y_unit for file in files for series in file.series if series.name == name)
    new, old = (_lines_of(side, name) for side in (ours, against))
    nothing = SeriesComparison(name=name, y_unit=unit, low=None, high=None, at=None, ours=None, against=None)
    if not new or not old:
        return nothing
    low, high = max(line[0][0] for line in new + old), min(line[-1][0] for line in new + old)
    if low > high:
        return nothing
    # The difference of lines is itself a line between their vertices, so it is greatest at one of those.
    xs = {low, high} | {x for line in new + old for x, _ in line if low <= x <= high}
    values = {x: (_mean_at(new, x), _mean_at(old, x)) for x in sorted(xs)}
    at = max(values, key=lambda x: abs(values[x][0] - values[x][1]))
    return SeriesComparison(
        name=name, y_unit=unit, low=low, high=high, at=at, ours=values[at][0], against=values[at][1]
    )


def _lines_of(files: Sequence[RunFile], name: str) -> list[_Points]:
    fits: list[Fit | None] = [{fit.series: fit for fit in file.fits}.get(name) for file in files]
    return [fit.vertices for fit in fits if fit is not None and fit.vertices]


def _mean_at(lines: Sequence[_Points], x: float) -> float:
    return statistics.fmean(_value_at(line, x) for line in lines)


def _value_at(line: _Points, x: float) -> float:
    """Give the height of a line; beyond its ends that of the end."""
    if x <= line[0][0]:
        return line[0][1]
    for (left, y_left), (right, y_right) in itertools.pairwise(line):
        if left <= x <= right:
            return y_right if x == right else y_left + (y_right - y_left) * (x - left) / (right - left)
    return line[-1][1]


def _solution_row(solution: SolutionComparison) -> list[str]:
    cells = [solution.name]
    for side in (solution.ours, solution.against):
        counted = f" ({side.solved} of {side.runs})" if side.runs > 1 else ""
        cells.append((words.share(side.scale_factor) if side.scale_factor is not None else "none") + counted)
        cells.append(" to ".join(words.share(end) for end in side.interval) if side.interval else "-")
    return [*cells, "-" if solution.ratio is None else f"{solution.ratio:.3f}", solution.verdict]


def _series_row(series: SeriesComparison) -> list[str]:
    if series.ours is None or series.against is None or series.difference is None:
        return [series.name, "-", "-", "-", "-", "", "-", "-"]
    factor, unit = (1e3, " ms") if series.y_unit == "s" else (1.0, f" {series.y_unit}" if series.y_unit else "")
    relative = f"{series.difference / series.against * 100:+.1f} %" if series.against > 0 else ""
    shown = [f"{value * factor:.4g}{unit}" for value in (series.ours, series.against)]
    if series.difference == 0:
        return [series.name, "-", *shown, "none", "", f"{series.low:.2f}", f"{series.high:.2f}"]
    change = f"{series.difference * factor:+.4g}{unit}"
    return [series.name, f"{series.at:.2f}", *shown, change, relative, f"{series.low:.2f}", f"{series.high:.2f}"]


def _number_text(number: NumberDifference) -> str:
    ratio = f" ({number.ours / number.against:.3f})" if number.against else ""
    return f"{number.name} {facts.text(round(number.ours, 2))} and {facts.text(round(number.against, 2))}{ratio}"


def _sentence_line(solution: SolutionComparison, style: Style) -> str:
    filled = _wrapped(f"{solution.name}: {solution.sentence}")
    role = ROLES.get(solution.verdict)
    length = len(solution.name) + 1
    return style(filled[:length], role) + filled[length:] if role else filled


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
