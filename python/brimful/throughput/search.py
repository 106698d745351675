"""Searches from Python: what `brimful search` does, as one function."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from brimful.errors import MeasureError, UsageError, shown
from brimful.measurers.base import Measurer
from brimful.measurers.catalogue import is_disk
from brimful.measurers.function import MeasureFunction, measurer_of
from brimful.measurers.opening import open_measurer
from brimful.policies import ON_ERROR, ON_INVALID
from brimful.throughput.goals import PRESETS, SearchGoal, named_goals, plain_number
from brimful.throughput.manager import SearchRequest, run_search
from brimful.throughput.result import SearchResult
from brimful.throughput.run_loop import Progress

Load = float | str
"""A number of units per second, or a text like ``"10Mpps"``, ``"9.5Gbps"`` or, of the max load, ``"50%"``."""


def search(
    measure: str | Measurer | MeasureFunction,
    *,
    goals: Sequence[SearchGoal] | None = None,
    preset: str | None = None,
    min_load: Load | None = None,
    max_load: Load | None = None,
    strategy: str | None = None,
    hint: Load | None = None,
    budget_s: float | None = None,
    early_termination: bool = False,
    warm_up_s: float = 0.0,
    on_invalid: str = ON_INVALID,
    on_error: str = ON_ERROR,
    calibrate: bool = True,
    traffic: Sequence[str] = (),
    ip: int = 4,
    timeout_s: float = 30.0,
    labels: Mapping[str, str | float] | None = None,
    record: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> SearchResult:
    """Find how much load something takes.

    Defaults are those of `brimful search`, but for the record: one is kept where ``record`` names its directory.

    Parameters
    ----------
    measure
        What `brimful search` takes after ``--measurer``, like ``"lab:bridge"``; a `Measurer`; or a function
        ``measure(load, duration) -> (sent, lost)`` or ``(sent, lost, effective_duration)``.
    goals, preset
        What to find: goals of your own, or those of a preset. Default: the preset ``csit``.
    min_load, max_load
        Limits that no trial leaves. Default: what the measurer can offer, and a thousandth of the max load.
    strategy
        ``straddle``, ``classic`` or ``bisect``. Default: the preset's, or ``straddle``.
    hint
        A load near which the answer is expected; affects load selection only.
    budget_s
        Seconds after which the search ends with the bounds it has.
    early_termination
        Whether trials whose outcome is certain may be cut short.
    warm_up_s
        Length of a first trial at the max load that is not counted.
    on_invalid, on_error
        What to do about a trial that raised `InvalidTrialError` or in which nothing was sent, and about one whose
        answer cannot be: ``fail``, ``retry:N`` or ``loss``.
    calibrate
        Whether the tester's own ceiling is measured first, where it can be.
    traffic
        Options of `brimful-tester` that say what to send, like ``["--frame-size=1518", "--flows=1000"]``.
    ip
        Internet protocol of all frames, 4 or 6: what a lab's router routes.
    timeout_s
        How much longer than a trial the reply of a program may take.
    labels
        Kept in the record; numbers as they are written.
    record
        Directory of the record.
    resume
        Whether to go on with the run in ``record``.
    progress
        Gets before each trial where the search stands.

    Returns
    -------
    SearchResult
        ``result["ndr"]`` is the result of that goal; ``trials``, ``to_frame()`` and ``to_dict()`` have the rest.

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
    >>> result = search(measure, max_load=1e7)
    >>> 0.995e6 < result["ndr"].lower_bound <= 1e6
    True
    >>> search("sim:soft-knee,capacity=1Mpps,seed=7")["ndr"].regular
    True
    """
    request = _request(
        goals,
        preset,
        measurer=measure if isinstance(measure, str) else "",
        strategy=strategy,
        min_load=_load(min_load, "min_load"),
        max_load=_load(max_load, "max_load"),
        hint=_load(hint, "hint"),
        budget_s=None if budget_s is None else plain_number(budget_s, "budget_s"),
        early_termination=early_termination,
        warm_up_s=plain_number(warm_up_s, "warm_up_s"),
        on_invalid=str(on_invalid),
        on_error=str(on_error),
        calibrate=calibrate,
        traffic={"arguments": _options(traffic)},
        labels=_labels(labels),
    )
    began_s = time.monotonic()
    with _opened(measure, timeout_s=timeout_s, tester_arguments=_options(traffic), ip=ip) as measurer:
        result = run_search(
            request,
            measurer,
            out=None if record is None else Path(record),
            keep=record is not None,
            resume=resume,
            set_up_s=time.monotonic() - began_s,
            progress=lambda run, state: progress(state) if progress is not None else None,
        ).result
    if result.end.reason not in ("measurement-failed", "interrupted"):
        return result
    failure = KeyboardInterrupt() if result.end.reason == "interrupted" else MeasureError(result.end.text)
    failure.result = result  # type: ignore[union-attr]
    raise failure


def _request(goals: Sequence[SearchGoal] | None, preset: str | None, **rest: Any) -> SearchRequest:  # noqa: ANN401
    """Fill in what the command fills in."""
    if goals is not None and preset is not None:
        message = f"preset {shown(preset)} and goals both say what to find; give one of them"
        raise UsageError(message)
    name = None if goals is not None else preset or "csit"
    if name is not None and name not in PRESETS:
        message = f"preset is {shown(preset)}; there is {', '.join(PRESETS)}"
        raise UsageError(message)
    strategy = rest.pop("strategy")
    if strategy is None:
        strategy = "straddle" if name is None else PRESETS[name].strategy
    given = PRESETS[name].goals if name is not None else goals or []
    wanted = named_goals(given, of_disk=is_disk(rest["measurer"]))
    if not wanted:
        message = "goals is []: there is no search goal to search for; give one or more, or a preset"
        raise UsageError(message)
    return SearchRequest(goals=wanted, preset=name, strategy=str(strategy), **rest)


def _options(traffic: Sequence[str]) -> list[str]:
    """Give options of traffic as texts.

    Raises
    ------
    UsageError
        When one is none.
    """
    wrong = [traffic] if isinstance(traffic, str) else [word for word in traffic if not isinstance(word, str)]
    wrong += [word for word in traffic if isinstance(word, str) and not word.isprintable()]
    if wrong:
        message = f'traffic: {shown(wrong[0])} is no list of options; write ["--frame-size=64"]'
        raise UsageError(message)
    return list(traffic)


def _labels(labels: Mapping[str, str | float] | None) -> dict[str, str]:
    """Give labels as texts.

    Raises
    ------
    UsageError
        When one is neither text nor a number.
    """
    if labels is not None and not isinstance(labels, Mapping):
        message = f"labels is {shown(labels)}; give a mapping of names to texts"
        raise UsageError(message)
    found: dict[str, str] = {}
    for key, value in (labels or {}).items():
        plain: object = value.item() if hasattr(value, "item") else value
        if not isinstance(key, str) or not isinstance(plain, str | int | float):
            message = f"labels: {shown(key)} is {shown(value)}; a label is a text, and its value a text or a number"
            raise UsageError(message)
        text = str(plain)
        if not key or not f"{key}{text}".isprintable():
            message = f"labels: {shown(key)} is {shown(value)}; leave out characters that cannot be shown"
            raise UsageError(message)
        found[key] = text
    return found


def _load(value: object, name: str) -> str | float | None:
    return value if value is None or isinstance(value, str) else plain_number(value, name)


@contextlib.contextmanager
def _opened(measure: Any, **options: Any) -> Iterator[Measurer]:  # noqa: ANN401 - whatever a user gave
    """Give the measurer; what is opened here is closed as well."""
    if not isinstance(measure, str):
        yield measurer_of(measure)
        return
    measurer = open_measurer(measure, **options)
    try:
        yield measurer
    finally:
        measurer.close()
