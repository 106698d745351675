"""Runs on back-to-back frames against runs: a test is a value between its longest burst and its shortest lossy one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from brimful.errors import UsageError
from brimful.records import RunFile
from brimful.records.stated import burst_plan, burst_tests
from brimful.report.burst import model
from brimful.report.compared import Compared, Outcome, refuse_different, refuse_repeated
from brimful.report.lines import table
from brimful.report.styles import Style
from brimful.statistics.comparison import REGRESSION, Comparison, Sample, compare
from brimful.units import format_load


def compare_runs(new: Sequence[RunFile], baseline: Sequence[RunFile], *, tolerance: float | None = None) -> Compared:
    """Compare the longest bursts of runs with those of a baseline.

    Raises
    ------
    UsageError
        When they cannot be compared, or a side has one run twice.
    """
    for side in (new, baseline):
        refuse_repeated(side)
    _check_alike([*new, *baseline])
    found = compare(sample(new), sample(baseline), tolerance=tolerance)
    return Compared(
        regressed=found.verdict == REGRESSION,
        text=lambda style, columns: _text(found, style),
        outcomes=[Outcome(name="longest burst without loss", comparison=found, sentence=_sentence(found))],
        json=lambda: msgspec.json.format(msgspec.json.encode(found), indent=2).decode(),
    )


def _check_alike(files: Sequence[RunFile]) -> None:
    loads = {burst_plan(file).load for file in files}
    if len(loads) > 1:
        shown = ", ".join(format_load(load, digits=6) for load in sorted(loads))
        message = f"bursts of different loads cannot be compared: {shown}; give the runs the same --max-load"
        raise UsageError(message)
    refuse_different(files)


def sample(side: Sequence[RunFile]) -> Sample:
    """Give the longest bursts of all tests.

    Raises
    ------
    UsageError
        When no test came to its end.
    """
    tests = [test for file in side for test in burst_tests(file)]
    ends = [(float(test.frames), math.inf if test.lossy is None else float(test.lossy)) for test in tests]
    # Where no frame passes, the shortest burst is lost.
    ends += [(0.0, float(burst_plan(file).step)) for file in side if file.passes_nothing]
    if not ends:
        message = f"{side[0].path}: has no test that came to its end; give runs that have"
        raise UsageError(message)
    return Sample(least=tuple(least for least, _ in ends), most=tuple(most for _, most in ends))


def _text(found: Comparison, style: Style) -> str:
    rows = [
        ["", "tests", "average"],
        ["new", str(found.runs), _frames(found.mean)],
        ["baseline", str(found.baseline_runs), _frames(found.baseline_mean)],
    ]
    lines = [
        style("Longest burst without loss", "title"),
        table(rows, right=(1, 2)),
        _sentence(found),
        style(f"verdict: {found.verdict}", "title"),
    ]
    return "\n".join(lines) + "\n"


def _sentence(found: Comparison) -> str:
    most = "?" if found.ratio_most is None else f"{found.ratio_most:.4f}"
    ratio = "not known" if found.ratio is None else f"{found.ratio:.4f}"
    return f"ratio {ratio}, {'by bounds' if found.by_bounds else '95 % interval'} {found.ratio_least:.4f} to {most}"


def _frames(mean: float | None) -> str:
    return "not known" if mean is None else f"{model.frames(mean)} frames"
