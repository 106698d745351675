"""Searches from Python: a function that measures in, what it takes out."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from brimful.attempts import ON_ERROR, ON_INVALID, FailurePolicy
from brimful.errors import MeasureError, UsageError, shown
from brimful.measurers.base import Description, Measurer
from brimful.measurers.function import FunctionMeasurer, MeasureFunction
from brimful.throughput.goals import SearchGoal, named_goals, plain_number
from brimful.throughput.limits import check_limits
from brimful.throughput.run_loop import Plan, SearchLoop, SearchResult


def search(
    measure: Measurer | MeasureFunction,
    *,
    goals: Sequence[SearchGoal],
    min_load: float,
    max_load: float,
    strategy: str = "straddle",
    hint: float | None = None,
    budget_s: float | None = None,
    early_termination: bool = False,
    on_invalid: str = ON_INVALID,
    on_error: str = ON_ERROR,
) -> SearchResult:
    """Find how much load something takes.

    Parameters
    ----------
    measure
        A measurer, or a function ``measure(load, duration) -> (sent, lost)`` or ``(sent, lost, effective_duration)``.
    goals
        What to find.
    min_load, max_load
        Limits that no trial leaves, in units per second.
    strategy
        ``straddle``, ``classic`` or ``bisect``.
    hint
        A load near which the answer is expected; affects load selection only.
    budget_s
        Seconds after which the search ends with the bounds it has.
    early_termination
        Whether trials whose outcome is certain may be cut short.
    on_invalid, on_error
        What to do about a trial that raised `InvalidTrialError` or in which nothing was sent, and about one whose
        answer cannot be: ``fail``, ``retry:N`` or ``loss``.

    Returns
    -------
    SearchResult
        ``goal_results`` in the order of the goals, and all ``trials``.

    Raises
    ------
    UsageError
        When goals or limits cannot be searched for.
    MeasureError
        When a trial gave nothing that can be counted.

    Notes
    -----
    Nothing measured is lost: whatever ends the search after its start, be it `MeasureError`, `KeyboardInterrupt` or an
    exception of ``measure`` itself, has the attribute ``result``, the `SearchResult` with the trials and bounds so far.

    Examples
    --------
    >>> def measure(load, duration):
    ...     sent = round(load * duration)
    ...     return sent, max(0, sent - round(1e6 * duration))
    >>> result = search(measure, goals=[SearchGoal(loss_ratio=0)], min_load=1e3, max_load=1e7)
    >>> result.goal_results[0].regular
    True
    >>> 0.995e6 < result.goal_results[0].lower_bound <= 1e6
    True
    """
    measurer = _measurer_of(measure)
    plan = Plan(
        goals=named_goals(goals),
        min_load=plain_number(min_load, "min_load"),
        max_load=plain_number(max_load, "max_load"),
        strategy=str(strategy),
        hint=None if hint is None else plain_number(hint, "hint"),
        budget_s=None if budget_s is None else plain_number(budget_s, "budget_s"),
        early_termination=early_termination and measurer.describe().can_stop_early,
        on_invalid=FailurePolicy.parse(str(on_invalid)),
        on_error=FailurePolicy.parse(str(on_error)),
    )
    loop = SearchLoop(plan, measurer)
    check_limits(plan.goals, plan.max_load, measurer.describe())
    try:
        result = loop.run()
    except BaseException as error:
        with contextlib.suppress(AttributeError):  # some exceptions have a result of their own
            error.result = loop.end("measurement-failed", shown(error))  # type: ignore[attr-defined]
        raise
    if result.end.reason not in ("measurement-failed", "interrupted"):
        return result
    was_interrupted = result.end.reason == "interrupted"
    failure = KeyboardInterrupt() if was_interrupted else MeasureError(result.end.text)
    failure.result = result  # type: ignore[union-attr]
    raise failure


def _measurer_of(measure: Any) -> Measurer:  # noqa: ANN401 - whatever a user gave
    function = getattr(measure, "measure", measure)
    if isinstance(measure, type) or not callable(function):
        message = f"measure is {shown(measure)}; give a function measure(load, duration) or a Measurer"
        raise UsageError(message)
    if not hasattr(measure, "describe"):
        return FunctionMeasurer(function)
    missing = [name for name in ("describe", "measure", "now") if not callable(getattr(measure, name, None))]
    if missing:
        message = f"measurer {shown(measure)} has no {missing[0]}(); it needs describe(), measure() and now()"
        raise UsageError(message)
    if not isinstance(measure.describe(), Description):
        message = f"describe() of measurer {shown(measure)} returned {shown(measure.describe())}; return a Description"
        raise UsageError(message)
    found: Measurer = measure
    return found
