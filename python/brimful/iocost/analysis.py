"""From a result to lines and settings."""

from __future__ import annotations

from typing import Any

import msgspec

from brimful.iocost import solve
from brimful.iocost.layout import Model
from brimful.iocost.read import Points, Result
from brimful.iocost.rules import Target, Task
from brimful.iocost.selectors import Selector
from brimful.iocost.solve import Fits, Setting, UnsolvedError


class Analysis(msgspec.Struct, frozen=True):
    """A result with its lines and what every rule came to."""

    result: Result
    task: Task
    method: str
    basis: str
    """Whose base model solutions scale: ``result``, of a merge ``first`` or ``median``."""
    base_model: Model
    points: dict[Selector, Points]
    fits: Fits
    settings: dict[str, tuple[Target, Setting]]
    unsolved: dict[str, str]
    """Name of a rule: why it has no solution."""
    merge: dict[str, Any] | None
    """What was merged, of a merge."""

    @property
    def files(self) -> list[str]:
        """The results that it rests on."""
        if self.merge is None:
            return [self.result.path]
        return [source["file"] for source in self.merge["sources"] if source["rejected"] is None]


def analyse(
    result: Result,
    task: Task,
    *,
    method: str,
    basis: str = "result",
    base_model: Model | None = None,
    merge: dict[str, Any] | None = None,
) -> Analysis:
    """Fit all series of a result and solve all rules of a task."""
    found = ((selector, result.points(selector)) for selector in task.wanted)
    points = {selector: series for selector, series in found if series is not None}
    fits = solve.fit_all(points, isolation_threshold=result.isolation_threshold, method=method)
    settings: dict[str, tuple[Target, Setting]] = {}
    unsolved: dict[str, str] = {}
    for rule in task.rules:
        try:
            settings[rule.name] = rule.target, solve.solve(rule.target, fits, task)
        except UnsolvedError as reason:
            unsolved[rule.name] = str(reason)
    base_model = base_model or result.base_model
    return Analysis(result, task, method, basis, base_model, points, fits, settings, unsolved, merge)
