"""``brimful.bisect``: a bisection from Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from brimful import units
from brimful.bisection.bench import FunctionBench
from brimful.bisection.histories import between
from brimful.bisection.manager import BisectionRequest, run_bisection
from brimful.errors import UsageError
from brimful.managed import Place
from brimful.measurers.base import Measurer
from brimful.measurers.function import MeasureFunction, measurer_of
from brimful.records import End, Visit


class BisectionResult(msgspec.Struct, frozen=True):
    """What a bisection found."""

    answer: str
    """``one`` build, ``two`` builds, a ``range`` that the changes are in, ``none``, or ``cannot-say``."""
    builds: list[list[str]]
    """Builds of which one is it, for each change that was found."""
    probability: float
    reason: str
    ratio: float
    """Of the last build to the first."""
    belief: dict[str, float]
    """Probability of each build to have changed something."""
    visits: list[Visit]
    end: End
    path: Path


def bisect(
    start: Callable[[str], Measurer | MeasureFunction],
    builds: Sequence[str],
    *,
    confidence: float | str = 0.95,
    tolerance: float | str = 0.01,
    pairs: int = 20,
    trial: float | str = 0.5,
    most_visits: int = 200,
    budget: float | str | None = None,
    max_load: float | str | None = None,
    seed: int = 1,
    out: str | Path | None = None,
    resume: bool = False,
) -> BisectionResult:
    """Find which build changed how much a device forwards.

    Parameters
    ----------
    start
        Gives a fresh instance of a build: a measurer, or a function ``measure(load, duration) -> (sent, lost)``.
    builds
        From the good one to the bad one.
    confidence
        Probability from which on a build is named.
    tolerance
        A change of less, relative, is none.
    pairs, trial
        Pairs of trials in each visit, and the length of a trial in seconds.
    most_visits, budget
        It ends with a range after this many visits, or seconds.
    max_load
        The largest load to offer.
    seed
        What the order of trials is drawn from.
    out, resume
        Directory of the record, and whether to go on with it.

    Raises
    ------
    UsageError
        When the request cannot be carried out.
    MeasureError
        When nothing could be measured.

    Examples
    --------
    >>> import tempfile
    >>> def start(build):
    ...     capacity = 1e5 if int(build) < 3 else 0.9e5
    ...     return lambda load, duration: (int(load * duration), max(0, int((load - capacity) * duration)))
    >>> bisect(start, ["0", "1", "2", "3", "4"], pairs=2, trial=0.1, out=tempfile.mkdtemp()).builds
    [['3']]
    """
    names = list(builds)
    if len(names) < 2:
        message = "bisect() takes two builds at least, the good one and the bad one"
        raise UsageError(message)

    def opened(build: int) -> Measurer:
        return measurer_of(start(names[build]))

    request = BisectionRequest(
        measurer=getattr(start, "__qualname__", type(start).__name__),
        versions=between(names, names[0], names[-1], "bisect()"),
        confidence=_ratio(confidence),
        tolerance=_ratio(tolerance),
        pairs=pairs,
        trial_s=_seconds(trial),
        most_visits=most_visits,
        budget_s=None if budget is None else _seconds(budget),
        max_load=max_load,
        seed=seed,
    )
    place = Place(out=None if out is None else Path(out), resume=resume)
    done = run_bisection(request, FunctionBench(opened), place=place)
    found = done.outcome.answer
    return BisectionResult(
        answer="range" if found is None else found.answer,
        builds=[names[1:]] if found is None else [[names[build] for build in group] for group in found.builds],
        probability=0.0 if found is None else found.probability,
        reason=done.outcome.end.text if found is None else found.reason,
        ratio=1.0 if found is None else math.exp(found.change),
        belief={} if found is None else dict(zip(names, found.belief, strict=True)),
        visits=done.outcome.visits,
        end=done.outcome.end,
        path=done.path,
    )


def _ratio(value: float | str) -> float:
    return units.parse_ratio(value) if isinstance(value, str) else value


def _seconds(value: float | str) -> float:
    return units.parse_duration(value) if isinstance(value, str) else value
