"""What to visit next, or what the answer is: a function of what was visited. It knows no clock and no device.

First the ends, until a change is shown or excluded; then the build that says most a second; at last what is believed
against its parent, directly.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache

import msgspec
import numpy as np

from brimful.statistics.belief import Belief, History, Visit, believe
from brimful.statistics.next_build import Suspect, of_levels, of_suspect, suspects
from brimful.statistics.student import student_quantile

ONE, TWO, RANGE, NONE, CANNOT_SAY = "one", "two", "range", "none", "cannot-say"
"""Answers: one build, two builds, builds among which the changes are, no change, a machine that strays by itself."""
ENDS, CONTROL, SEARCH, CONFIRM = "ends", "control", "search", "confirm"
"""What a visit is for."""

SHOWN = 0.01
"""Probability that nothing changed, below which a change is shown."""
EXCLUDED = 0.01
"""Probability that a change is larger than the tolerance, below which it is excluded."""
EXCLUDED_ERRORS = 2.5
"""The same as standard errors."""
FIRST_ENDS, MOST_ENDS = 3, 40
"""Visits of the bad build before anything is decided, and after which it is given up."""
CONTROLS = 2
"""Visits of the good build beside itself, after the first ones of the bad build."""
CONTROL_LIMIT = 0.999
"""The good build must not differ from itself with this confidence."""
CONFIRMING = 2
"""Visits of what is believed beside its parent."""
LEADING = 0.5
"""Probability from which on the likeliest answer itself is tested; before, it is asked where the change is."""
LEAST_INFORMATION = 1e-4
"""In bits: visits that say less are not worth their time."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    confidence: float = 0.95
    tolerance: float = 0.01
    """A change of less, relative, is none."""
    most_visits: int = 200


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that things take, as known so far."""

    build_s: float
    visit_s: float


class Next(msgspec.Struct, frozen=True):
    """What to visit, and why."""

    build: int
    beside: int
    purpose: str
    bits: float | None = None
    """What it is expected to say, in a search."""


class Answer(msgspec.Struct, frozen=True):
    """What was found: ``builds`` are those of which one is it, for each change that was found."""

    kind: str
    builds: tuple[tuple[int, ...], ...]
    probability: float
    reason: str = ""


def decide(
    history: History,
    visits: Sequence[Visit],
    *,
    settings: Settings,
    costs: Costs,
    made: Collection[int] = (),
    broken: Collection[int] = (),
) -> tuple[Next | Answer, Belief]:
    """Decide what comes next.

    Parameters
    ----------
    history
        The builds. The first and the last are not broken.
    visits
        All so far, in order.
    settings, costs
        What was asked for, and what it takes.
    made
        Builds that need not be built any more.
    broken
        Builds that cannot be visited.

    Returns
    -------
    tuple
        The next visit or the answer, and what is believed now.
    """
    belief = believe(history, visits)
    ends = [visit for visit in visits if visit.build == history.bad and visit.beside == 0]
    controls = [visit for visit in visits if visit.build == visit.beside]
    if (step := _of_ends(history, ends, controls, belief, settings)) is not None:
        return step, belief
    testable = tuple(build for build in range(history.builds) if build not in broken)
    suspect = _suspect(belief, groups_of(history, testable))
    if suspect is not None and suspect.answer.probability >= settings.confidence:
        return _confirmed(history, visits, testable, suspect.answer), belief
    if len(visits) >= settings.most_visits:
        return in_range(belief, settings.confidence, f"after {len(visits)} visits"), belief
    step = _most_telling(history, belief, suspect, costs, made, broken)
    return step or in_range(belief, settings.confidence, "nothing is left to test"), belief


class _Suspect(msgspec.Struct, frozen=True):
    """The likeliest answer that tests cannot part any more."""

    suspect: Suspect
    answer: Answer


def _suspect(belief: Belief, apart: Sequence[tuple[int, ...]]) -> _Suspect | None:
    sizes = np.bincount(belief.group[1:])
    parted = {int(belief.group[group[0]]): group for group in apart if sizes[belief.group[group[0]]] == len(group)}
    for suspect in suspects(belief):
        if all(group in parted for group in suspect.groups):
            groups = tuple(parted[group] for group in suspect.groups)
            named = ONE if len(groups) == 1 else TWO
            kind = named if max(map(len, groups)) == 1 else RANGE
            return _Suspect(suspect, Answer(kind, groups, suspect.probability))
    return None


def _most_telling(
    history: History,
    belief: Belief,
    suspect: _Suspect | None,
    costs: Costs,
    made: Collection[int],
    broken: Collection[int],
) -> Next | None:
    """Give the visit that says most a second; none: there is none."""
    seconds = np.array([costs.visit_s + costs.build_s * (build not in made) for build in range(history.builds)])
    seconds[list(broken)] = np.inf
    if suspect is None or suspect.answer.probability < LEADING:
        rows = [(of_levels(belief), 0)]
    else:
        rows = [
            (of_suspect(belief, suspect.suspect, beside_bad=False), 0),
            (of_suspect(belief, suspect.suspect, beside_bad=True), history.bad),
        ]
    bits, beside = max(rows, key=lambda row: float((row[0] / seconds).max()))
    best = int((bits / seconds).argmax())
    if bits[best] < LEAST_INFORMATION or not np.isfinite(seconds[best]):
        return None
    return Next(best, beside, SEARCH, float(bits[best]))


def _of_ends(
    history: History, ends: Sequence[Visit], controls: Sequence[Visit], belief: Belief, settings: Settings
) -> Next | Answer | None:
    """Look at both ends first; none: a change is shown."""
    if len(ends) < FIRST_ENDS:
        return Next(history.bad, 0, ENDS)
    if len(controls) < CONTROLS:
        return Next(0, 0, CONTROL)
    if len(ends) > FIRST_ENDS and _is_shown_to_stray(controls, ends):
        return Answer(CANNOT_SAY, (), 1.0, "the good build differs from itself")
    if belief.none < SHOWN:
        return None
    if _is_excluded(belief, settings.tolerance):
        return Answer(NONE, (), 1 - EXCLUDED)
    if len(ends) >= MOST_ENDS or len(ends) + len(controls) >= settings.most_visits:
        possible = -100 * math.expm1(-abs(belief.change) - EXCLUDED_ERRORS * belief.change_error)
        reason = f"no change was shown in {len(ends)} visits, but one of {possible:.1f} % is possible"
        return Answer(NONE, (), belief.none, reason)
    return Next(history.bad, 0, ENDS)


def _is_excluded(belief: Belief, tolerance: float) -> bool:
    limit, error = -math.log1p(-tolerance), belief.change_error
    return abs(belief.change) + EXCLUDED_ERRORS * error < limit


def _is_shown_to_stray(controls: Sequence[Visit], ends: Sequence[Visit]) -> bool:
    """Say whether the good build differs from itself by more than visits of the same builds differ."""
    squares = sum(_squares(kind) for kind in (controls, ends))
    freedom = len(controls) + len(ends) - 2
    of_pairs = max(visit.deviation**2 / visit.pairs for visit in controls)
    error = math.sqrt(max(squares / freedom, of_pairs) / len(controls))
    return abs(_mean(controls)) > student_quantile(0.5 + CONTROL_LIMIT / 2, freedom) * error


def _mean(visits: Sequence[Visit]) -> float:
    return math.fsum(visit.mean for visit in visits) / len(visits)


def _squares(visits: Sequence[Visit]) -> float:
    centre = _mean(visits)
    return math.fsum((visit.mean - centre) ** 2 for visit in visits)


@lru_cache(maxsize=16)
def groups_of(history: History, testable: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Give the builds whose changes no test can part, as builds between are broken; each group once."""
    rows = np.ascontiguousarray(np.packbits(history.has[list(testable)][:, 1:], axis=0).T)
    found: dict[bytes, list[int]] = {}
    for build, row in enumerate(rows, start=1):
        found.setdefault(row.tobytes(), []).append(build)
    return [tuple(group) for group in found.values()]


def _confirmed(history: History, visits: Sequence[Visit], testable: Sequence[int], answer: Answer) -> Next | Answer:
    """Visit what is believed beside its parent directly, before it is said."""
    for group in answer.builds:
        build = next((build for build in group if build in testable), group[-1])
        parent = _tested_parent(history, build, testable)
        direct = sum(visit.build == build and visit.beside == parent for visit in visits)
        if direct < CONFIRMING:
            return Next(build, parent, CONFIRM)
    return answer


def _tested_parent(history: History, build: int, testable: Sequence[int]) -> int:
    """Give the nearest build before it that can be visited, along first parents."""
    while build:
        build = history.parents[build][0]
        if build in testable:
            return build
    return 0


def in_range(belief: Belief, confidence: float, reason: str) -> Answer:
    """Give the fewest neighbouring builds that hold all changes with the confidence, or as much of it as there is."""
    before = np.concatenate([[0.0], np.cumsum((belief.one + belief.first)[1:])])
    after = np.concatenate([np.cumsum((belief.one + belief.second)[:0:-1])[::-1], [0.0]])
    some = 1 - belief.none
    builds = len(before) - 1
    best: tuple[int, int] = (1, builds)
    for low in range(1, builds + 1):
        outside = before[low - 1] + after[low - 1 :]  # of the range low .. low - 1 + index
        fits = np.flatnonzero(some - outside >= confidence)
        if len(fits) and int(fits[0]) - 1 < best[1] - best[0]:
            best = low, low + int(fits[0]) - 1
    low, high = best
    inside = float(some - before[low - 1] - after[high])
    return Answer(RANGE, (tuple(range(low, high + 1)),), min(1.0, max(0.0, inside)), reason)
