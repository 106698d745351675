"""Suites side by side: test by test at each frame size, with change and interval."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from brimful.errors import UsageError
from brimful.records import RunFile
from brimful.report import facts
from brimful.report.burst import comparison as bursts
from brimful.report.compared import Compared, Outcome, refuse_different, refuse_repeated
from brimful.report.lines import bullets, table
from brimful.report.styles import Style
from brimful.report.suite.results import Result, plan_of, results_of
from brimful.report.suite.sections import THROUGHPUTS
from brimful.report.suite.values import AT_LEAST, FIGURES, names_of, test_of
from brimful.statistics.comparison import DEFAULT_TOLERANCE, REGRESSION, Comparison, Sample, compare

_NOT_JUDGED = "not judged"
_NONE = "–"
Key = tuple[str, str]
"""Name of a figure and frame size."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A figure at a frame size, of both sides."""

    test: str
    """The name of the figure: that of its test, or TEST.FIGURE."""
    size: str
    new: float
    """Mean of the runs, in SI units."""
    baseline: float
    comparison: Comparison | None
    """Of values of which more is better: latencies are turned over. None: the figure may be 0, or is neither good nor
    bad, so that it has no verdict."""

    @property
    def name(self) -> str:
        """What it is, in one line."""
        return f"{self.test} at {self.size}"

    @property
    def change(self) -> float | None:
        """New / baseline - 1."""
        return self.new / self.baseline - 1 if self.baseline else None

    @property
    def interval(self) -> tuple[float, float | None] | None:
        """Both ends of the change; no end where it is not known."""
        if self.comparison is None or self.test in _COUNTS:
            return None
        least, most = self.comparison.ratio_least, self.comparison.ratio_most
        if FIGURES[self.test].kind.need is not AT_LEAST:
            least, most = (0.0 if most is None else 1 / most), (1 / least if least > 0 else None)
        return least - 1, None if most is None else most - 1


def compare_runs(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> Compared:
    """Compare suites of one standard with those of a baseline.

    Raises
    ------
    UsageError
        When they cannot be compared, have no test in common, or a side has one run twice.
    RecordError
        When the record of a test cannot be read.
    """
    for side in (new, baseline):
        refuse_repeated(side)
    _refuse_others([*new, *baseline])
    ours, theirs = _by_test(new), _by_test(baseline)
    pairs = [_pair(key, ours[key], theirs[key], tolerance) for key in theirs if key in ours]
    if not pairs:
        message = f"{new[0].path}: no test has a figure on both sides; compare suites of the same tests and sizes"
        raise UsageError(message)
    missing, only_new, stated = _only_in(theirs, ours), _only_in(ours, theirs), _stated(new)
    lost = [name for name in missing if name not in stated]
    only_old = [f"{name}: {stated[name]}" if name in stated else name for name in missing]
    return Compared(
        regressed=any(pair.comparison is not None and pair.comparison.verdict == REGRESSION for pair in pairs),
        text=lambda style, columns: _text(pairs, only_new, only_old, style, columns),
        json=lambda: _json(pairs),
        outcomes=[
            Outcome(name=pair.name, comparison=pair.comparison, sentence=_sentence(pair))
            for pair in pairs
            if pair.comparison is not None
        ],
        incomplete=f"the new suites have no figure of {', '.join(lost)}; measure it" if lost else None,
    )


def _refuse_others(files: Sequence[RunFile]) -> None:
    plans = {plan_of(file).name for file in files}
    if len(plans) > 1:
        message = f"suites of {' and '.join(sorted(plans))} cannot be compared: their trials differ"
        raise UsageError(message)
    refuse_different(files)


def _by_test(side: Sequence[RunFile]) -> dict[Key, list[Result]]:
    """Give the tests that have each figure."""
    found: dict[Key, list[Result]] = {}
    for file in side:
        for result in results_of(file):
            for name in names_of(result.test):
                if FIGURES[name].of(result).value is not None:
                    found.setdefault((name, result.size), []).append(result)
    return found


def _stated(side: Sequence[RunFile]) -> dict[str, str]:
    """Give why tests that were done have no value of a figure, where there can be none, by its name and size."""
    found = {}
    for result in (result for file in side for result in results_of(file) if result.reason == "done"):
        for name in names_of(result.test):
            figure = FIGURES[name].of(result)
            if figure.value is None and (result.file is None or figure.is_least):
                found[f"{name} at {result.size}"] = figure.why
    return found


def _only_in(one: Mapping[Key, object], other: Mapping[Key, object]) -> list[str]:
    """Name the figures that one side alone has; of a test that the other has not, the first stands for all."""
    missing = [(name, size) for name, size in one if (name, size) not in other]
    return [f"{name} at {size}" for name, size in missing if (test_of(name), size) not in missing or "." not in name]


def _pair(key: Key, ours: Sequence[Result], theirs: Sequence[Result], tolerance: float | None) -> Pair:
    test, size = key
    sample, new, old = _SAMPLES.get(test), _mean(test, ours), _mean(test, theirs)
    if FIGURES[test].kind.need is AT_LEAST and not new and not old:
        # Nothing passes on either side: there is no ratio.
        sample = None
    if test in _COUNTS and tolerance is None:
        # One more that fails is worse, whatever the spread of other figures.
        tolerance = DEFAULT_TOLERANCE
    refuse_different(_files([*ours, *theirs]))
    return Pair(
        test=test,
        size=size,
        new=new,
        baseline=old,
        comparison=None if sample is None else compare(sample(test, ours), sample(test, theirs), tolerance=tolerance),
    )


def _mean(name: str, results: Sequence[Result]) -> float:
    return math.fsum(_values(name, results)) / len(results)


def _values(name: str, results: Sequence[Result]) -> list[float]:
    found = [FIGURES[name].of(result).value for result in results]
    return [value for value in found if value is not None]


def _files(results: Sequence[Result]) -> list[RunFile]:
    return [result.file for result in results if result.file is not None]


def _throughput(_name: str, results: Sequence[Result]) -> Sample:
    files = _files(results)
    found = [file.goal_results[0] for file in files]
    run = files[0].run
    return Sample(
        least=tuple(result.conditional_throughput or 0.0 for result in found),
        most=tuple(math.inf if result.upper_bound is None else result.upper_bound for result in found),
        unit=facts.load_of_a_unit(run.goals[0], run.conversion_factor, run.load_unit),
    )


def _latency(_name: str, results: Sequence[Result]) -> Sample:
    """Give what is more where the latency is less."""
    delays = [delay for file in _files(results) for delay in file.delays if delay.direction == "all"]
    means = [delay.mean for delay in delays]
    return Sample(
        least=tuple(1 / mean.high_s if mean.high_s else 0.0 for mean in means),
        most=tuple(1 / mean.low_s if mean.low_s and mean.low_s > 0 else math.inf for mean in means),
    )


def _bursts(_name: str, results: Sequence[Result]) -> Sample:
    return bursts.sample(_files(results))


def _exact(name: str, results: Sequence[Result]) -> Sample:
    """Give numbers that are known exactly."""
    values = tuple(_values(name, results))
    return Sample(least=values, most=values)


def _bounded(name: str, results: Sequence[Result]) -> Sample:
    """Give rates that a search found: the true one is less than the width of the search above it."""
    ends = []
    for result, value in zip(results, _values(name, results), strict=True):
        plan = None if result.file is None else result.file.run.switching
        is_open = plan is None or FIGURES[name].of(result).is_least
        ends.append(math.inf if plan is None or is_open else max(value + 1, value / (1 - plan.width)))
    return Sample(least=tuple(_values(name, results)), most=tuple(ends))


def _failures(name: str, results: Sequence[Result]) -> Sample:
    """Give what is more where less fails, and never 0."""
    values = tuple(1 / (1 + value) for value in _values(name, results))
    return Sample(least=values, most=values)


_COUNTS = ("broadcast", "errored", "errored.too-short", "errored.too-long", "congestion.blocking")
"""Numbers of failures, and a verdict that is one: 0 is usual, so that a change is no share."""
_SAMPLES: Mapping[str, Callable[[str, Sequence[Result]], Sample]] = {
    **dict.fromkeys(THROUGHPUTS, _throughput),
    **dict.fromkeys(_COUNTS, _failures),
    "bursts": _bursts,
    "latency": _latency,
    "caching": _exact,
    "learning": _bounded,
    "broadcast.throughput": _bounded,
}
"""Figures that are judged: their values, more of which is better."""


def _sentence(pair: Pair) -> str:
    new, baseline, change, interval, verdict = _cells(pair)
    return f"{verdict}: {new} instead of {baseline}, {change} ({interval})"


def _cells(pair: Pair) -> list[str]:
    kind = FIGURES[pair.test].kind
    change = _NONE if pair.change is None or pair.test in _COUNTS else _signed(pair.change)
    ends = pair.interval
    interval = _NONE if ends is None else f"{_signed(ends[0])} to {'?' if ends[1] is None else _signed(ends[1])}"
    verdict = _NOT_JUDGED if pair.comparison is None else pair.comparison.verdict
    return [kind.show(pair.new), kind.show(pair.baseline), change, interval, verdict]


def _signed(change: float) -> str:
    """Write a change.

    >>> _signed(-0.03), _signed(0.0)
    ('-3.0 %', '0.0 %')
    """
    percent = round(100 * change, 1)
    return f"{percent:+.1f} %" if percent else "0.0 %"


def _text(pairs: Sequence[Pair], only_new: list[str], only_old: list[str], style: Style, columns: int) -> str:
    rows = [["figure", "size", "new", "baseline", "change", "interval", "verdict"]]
    rows += [[pair.test, pair.size, *_cells(pair)] for pair in pairs]
    judged = [pair.comparison.verdict for pair in pairs if pair.comparison is not None]
    worse = judged.count(REGRESSION)
    lines = [
        style("Tests of both suites", "title"),
        table(rows, right=(2, 3, 4), columns=columns, lead=2),
        "Intervals are of 95 % where a side has several values, else of what lies between the bounds.",
        style(f"verdict: {worse} of {len(judged)} figures that are judged got worse", "title"),
    ]
    only = [bullets("Only in the new ones", only_new, style), bullets("Only in the baseline", only_old, style)]
    return "\n".join([*lines, *(block for block in only if block)]) + "\n"


def _json(pairs: Sequence[Pair]) -> str:
    tests: list[dict[str, Any]] = [
        {**msgspec.to_builtins(pair), "change": pair.change, "interval": pair.interval} for pair in pairs
    ]
    regressed = any(pair.comparison is not None and pair.comparison.verdict == REGRESSION for pair in pairs)
    return json.dumps({"kind": "suite-comparison", "regressed": regressed, "tests": tests}, indent=2)
