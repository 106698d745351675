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
from brimful.report.suite.requirements import KINDS
from brimful.report.suite.results import VALUES, Result, plan_of, results_of
from brimful.report.suite.sections import THROUGHPUTS
from brimful.statistics.comparison import REGRESSION, Comparison, Sample, compare

_NOT_JUDGED = "not judged"
_NONE = "–"
Key = tuple[str, str]
"""Test and frame size."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A test at a frame size, of both sides."""

    test: str
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
        if self.comparison is None:
            return None
        least, most = self.comparison.ratio_least, self.comparison.ratio_most
        if not KINDS[self.test].is_least:
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
    lost = [" at ".join(key) for key in theirs if key not in ours]
    only_new = [" at ".join(key) for key in ours if key not in theirs]
    return Compared(
        regressed=any(pair.comparison is not None and pair.comparison.verdict == REGRESSION for pair in pairs),
        text=lambda style, columns: _text(pairs, only_new, lost, style, columns),
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
    """Give the tests that have a figure."""
    found: dict[Key, list[Result]] = {}
    for file in side:
        for result in results_of(file):
            if result.test in KINDS and result.value is not None:
                found.setdefault((result.test, result.size), []).append(result)
    return found


def _pair(key: Key, ours: Sequence[Result], theirs: Sequence[Result], tolerance: float | None) -> Pair:
    test, size = key
    sample = _SAMPLES.get(test)
    files = [[result.file for result in side if result.file is not None] for side in (ours, theirs)]
    refuse_different([*files[0], *files[1]])
    return Pair(
        test=test,
        size=size,
        new=_mean(ours),
        baseline=_mean(theirs),
        comparison=None if sample is None else compare(sample(files[0]), sample(files[1]), tolerance=tolerance),
    )


def _mean(results: Sequence[Result]) -> float:
    values = [result.value for result in results if result.value is not None]
    return math.fsum(values) / len(values)


def _throughput(files: Sequence[RunFile]) -> Sample:
    found = [file.goal_results[0] for file in files]
    run = files[0].run
    return Sample(
        least=tuple(result.conditional_throughput or 0.0 for result in found),
        most=tuple(math.inf if result.upper_bound is None else result.upper_bound for result in found),
        unit=facts.load_of_a_unit(run.goals[0], run.conversion_factor, run.load_unit),
    )


def _latency(files: Sequence[RunFile]) -> Sample:
    """Give what is more where the latency is less."""
    means = [next(delay for delay in file.delays if delay.direction == "all").mean for file in files]
    return Sample(
        least=tuple(1 / mean.high_s if mean.high_s else 0.0 for mean in means),
        most=tuple(1 / mean.low_s if mean.low_s and mean.low_s > 0 else math.inf for mean in means),
    )


def _addresses(files: Sequence[RunFile]) -> Sample:
    """Give how many addresses are learned of any pattern: known exactly."""
    least = tuple(VALUES["caching"](file) or 0.0 for file in files)
    return Sample(least=least, most=least)


_SAMPLES: Mapping[str, Callable[[Sequence[RunFile]], Sample]] = {
    **dict.fromkeys(THROUGHPUTS, _throughput),
    "bursts": bursts.sample,
    "latency": _latency,
    "caching": _addresses,
}
"""Tests whose figures are judged: their values, more of which is better."""


def _sentence(pair: Pair) -> str:
    new, baseline, change, interval, verdict = _cells(pair)
    return f"{verdict}: {new} instead of {baseline}, {change} ({interval})"


def _cells(pair: Pair) -> list[str]:
    kind = KINDS[pair.test]
    change = _NONE if pair.change is None else _signed(pair.change)
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


def _text(pairs: Sequence[Pair], only_new: list[str], lost: list[str], style: Style, columns: int) -> str:
    rows = [["test", "size", "new", "baseline", "change", "interval", "verdict"]]
    rows += [[pair.test, pair.size, *_cells(pair)] for pair in pairs]
    judged = [pair.comparison.verdict for pair in pairs if pair.comparison is not None]
    worse = judged.count(REGRESSION)
    lines = [
        style("Tests of both suites", "title"),
        table(rows, right=(2, 3, 4), columns=columns, lead=2),
        "Intervals are of 95 % where a side has several values, else of what lies between the bounds.",
        style(f"verdict: {worse} of {len(judged)} figures that are judged got worse", "title"),
    ]
    only = [bullets("Only in the new ones", only_new, style), bullets("Only in the baseline", lost, style)]
    return "\n".join([*lines, *(block for block in only if block)]) + "\n"


def _json(pairs: Sequence[Pair]) -> str:
    tests: list[dict[str, Any]] = [
        {**msgspec.to_builtins(pair), "change": pair.change, "interval": pair.interval} for pair in pairs
    ]
    regressed = any(pair.comparison is not None and pair.comparison.verdict == REGRESSION for pair in pairs)
    return json.dumps({"kind": "suite-comparison", "regressed": regressed, "tests": tests}, indent=2)
