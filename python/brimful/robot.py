"""The Robot Framework library: ``Library    brimful.robot    runs=results/runs    html=results/page.html``.

Its keywords find throughput, compare devices, and fail a test whose device takes too little.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from brimful import units
from brimful.files import check_target, write_atomically
from brimful.paired.compare import ComparisonResult
from brimful.testing import RunsOfTest, check_page, missed, page_of, regressions
from brimful.throughput.goals import parse_goal
from brimful.throughput.result import SearchResult
from brimful.version import VERSION

_OUTCOMES = {"PASS": "passed", "FAIL": "failed"}


class BrimfulLibrary:
    """Keywords to find how much load a data plane takes.

    Every search and comparison keeps its record below the directory ``runs``; ``brimful report`` shows it. Where
    ``html`` names a file, one page of all of them is written at the end.
    """

    ROBOT_LIBRARY_SCOPE = "GLOBAL"
    ROBOT_LIBRARY_VERSION = VERSION
    ROBOT_LIBRARY_DOC_FORMAT = "TEXT"
    ROBOT_LISTENER_API_VERSION = 3
    """It hears of tests by the methods below that begin with an underscore, as others would be keywords."""

    def __init__(self, runs: str = "runs", html: str | None = None) -> None:
        self.ROBOT_LIBRARY_LISTENER = self
        self._directory = Path(runs).absolute()
        self._html = None if html is None else Path(html)
        if self._html is not None:
            check_page()
            check_target(self._html, "html")
        self._begun: list[RunsOfTest] = []
        self._ended: list[tuple[str, str, Path]] = []

    # Options are named one by one: with any names, Robot Framework would take `sim:sharp,capacity=1Mpps` for an option.
    def search_throughput(
        self,
        measurer: Any,  # noqa: ANN401 - a text, or what a Python library made
        *,
        preset: str | None = None,
        goals: str | None = None,
        min_load: str | None = None,
        max_load: str | None = None,
        hint: str | None = None,
        budget: str | None = None,
        warm_up: str | None = None,
        early_termination: bool = False,
        calibrate: bool = True,
        traffic: str = "",
        ip: int = 4,
        timeout: str = "30s",
    ) -> SearchResult:
        """Find how much load a measurer takes, like ``lab:bridge`` or ``tester:eth1,eth2``; gives the result.

        Options are those of ``brimful search``: times like ``60s``, loads like ``10Mpps``, goals like
        ``loss=0,trial=1s`` with a semicolon between them, ``traffic`` like ``--frame-size=1518 --flows=1000``.
        """
        result = self._runs.search(
            measurer,
            preset=preset,
            goals=None if goals is None else [parse_goal(goal) for goal in goals.split(";")],
            min_load=min_load,
            max_load=max_load,
            hint=hint,
            budget_s=None if budget is None else units.parse_duration(budget),
            warm_up_s=0.0 if warm_up is None else units.parse_duration(warm_up),
            early_termination=early_termination,
            calibrate=calibrate,
            traffic=shlex.split(traffic),
            ip=ip,
            timeout_s=units.parse_duration(timeout),
        )
        self._log(repr(result))
        return result

    def compare_devices(
        self,
        first: Any,  # noqa: ANN401 - a text, or what a Python library made
        *others: Any,  # noqa: ANN401 - likewise
        tolerance: str = "2%",
        precision: str = "1%",
        budget: str = "10m",
        trial: str = "500ms",
        seed: int = 1,
        traffic: str = "",
        ip: int = 4,
        timeout: str = "30s",
    ) -> ComparisonResult:
        """Compare devices with the first one, in pairs of trials in random order; gives the comparison.

        Options are those of ``brimful compare``.
        """
        result = self._runs.compare(
            first,
            *others,
            tolerance=tolerance,
            precision=precision,
            budget_s=units.parse_duration(budget),
            trial_s=units.parse_duration(trial),
            seed=seed,
            traffic=shlex.split(traffic),
            ip=ip,
            timeout_s=units.parse_duration(timeout),
        )
        self._log(", ".join(f"{ratio.device}: {ratio.verdict}" for ratio in result.ratios))
        return result

    def throughput_should_be_at_least(self, result: SearchResult, load: str, goal: str = "ndr") -> None:
        """Fail where the conditional throughput of a goal is below a load like ``1.2Mpps``."""
        self.throughput_should_meet(result, f"{goal} >= {load}")

    def throughput_should_meet(self, result: SearchResult, *conditions: str) -> None:
        """Fail where a condition like ``pdr.upper < 2Mpps`` or ``ndr >= 95% of runs/base`` is missed."""
        _fail_with(missed(result, conditions))

    def throughput_should_be_regular(self, result: SearchResult) -> None:
        """Fail where a goal was not reached."""
        _fail_with([f"{found.goal} is irregular: {found.reason}" for found in result.goal_results if not found.regular])

    def no_device_should_be_slower(self, comparison: ComparisonResult) -> None:
        """Fail where a device is slower than the first by more than the tolerance, or that is not known."""
        _fail_with(regressions(comparison))

    def get_throughput(self, result: SearchResult, goal: str = "ndr") -> float | None:
        """Give the conditional throughput of a goal as a number of units a second."""
        return result[goal].conditional_throughput

    def _start_suite(self, data: Any, result: Any) -> None:  # noqa: ANN401 - of Robot Framework
        """Name what is measured outside of tests after the suite."""
        self._begin(data.name)

    def _start_test(self, data: Any, result: Any) -> None:  # noqa: ANN401 - of Robot Framework
        """Name what is measured after the test."""
        self._begin(data.name)

    def _end_test(self, data: Any, result: Any) -> None:  # noqa: ANN401 - of Robot Framework
        """Note what the test measured and its outcome."""
        self._end(data.name, result.status)

    def _end_suite(self, data: Any, result: Any) -> None:  # noqa: ANN401 - of Robot Framework
        """Note what was measured outside of tests."""
        self._end(data.name, result.status)

    def _close(self) -> None:
        """Write the page."""
        if self._html is not None:
            write_atomically(self._html, page_of(self._ended, "Searches and comparisons of the tests").encode())

    def _log(self, found: str) -> None:
        """Write to the log of Robot Framework, which takes what is printed."""
        print(f"{found}\nRecord: {self._runs.made[-1].path}")  # noqa: T201

    @property
    def _runs(self) -> RunsOfTest:
        if not self._begun:
            # Robot Framework begins a suite before it imports the libraries of that suite.
            self._begin("suite")
        return self._begun[-1]

    def _begin(self, name: str) -> None:
        self._begun.append(RunsOfTest(self._directory, name))

    def _end(self, name: str, status: str) -> None:
        made = self._begun.pop().made if self._begun else []
        outcome = _OUTCOMES.get(status, "skipped")
        self._ended += [(name, outcome, one.path) for one in made if one.has_record]


robot = BrimfulLibrary
"""What Robot Framework takes from this module: it looks for the name of the module."""


def _fail_with(problems: list[str]) -> None:
    if problems:
        raise AssertionError("\n".join(problems))
