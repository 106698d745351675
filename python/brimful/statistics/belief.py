"""Which build made it slower: the belief over builds, from visits that compared two of them. Pure statistics.

Build 0 is good, the last one bad. A *visit* compares a fresh instance of one build with a fresh instance of another:
the mean of the logarithms of the ratios of its pairs. The model: none of the builds changed anything, or one did, or
two did and each did a good part of it. A build is slower by all changes among its ancestors and itself. A visit strays
by the noise of its pairs, which they show, and by that of instances, which is not known: it is integrated over, and so
is the size of the change. So few visits are believed as little as Student's t believes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

NO_CHANGE = 0.5
"""Prior probability that none of the builds changed anything."""
TWO_CHANGES = 0.05
"""Of the rest, that two did."""
FIRST_SHARES = (-0.5, 1 / 3, 1 / 2, 2 / 3, 1.5)
"""What the first of two changes may be of the whole. A second change that is less than a third is not one of two."""
_SHARE_WEIGHTS = (0.1, 0.25, 0.3, 0.25, 0.1)
LEVELS = (0.0, 1.0, *FIRST_SHARES)
"""Where a build may be between good and bad. The share of a second change is among those of a first one."""
LEAST_CHANGE_SCALE = 0.05
"""Least standard deviation of the prior of the change, as a logarithm of a ratio."""
USUAL_INSTANCES = 0.003
"""What instances of a build stray by, as a guess: layout and hashing differ by start."""
_INSTANCES = 0.125 * 1.6 ** np.arange(14)
"""What they may stray by, in the guess, or in standard errors of a visit by its pairs where that is more. The prior is
half a Cauchy distribution on that scale."""
_FINEST = 1e-5
"""Nothing is known better than to that: counts are whole numbers."""


class Visit(msgspec.Struct, frozen=True):
    """One comparison of fresh instances of two builds."""

    build: int
    beside: int
    mean: float
    """Of ln(build / beside) of its pairs."""
    pairs: int
    deviation: float
    """Standard deviation of a pair."""


class History:
    """Builds from good (0) to bad (the last), and what each descends from.

    Parameters
    ----------
    parents
        Of each build but the first, in an order in which parents come first. None of a build: the first.

    Examples
    --------
    >>> History.linear(3).parents
    ((), (0,), (1,), (2,))
    """

    def __init__(self, parents: Sequence[Sequence[int]]) -> None:
        self.parents = ((), *(tuple(row) or (0,) for row in parents))
        self.builds = len(self.parents)
        self.has = np.eye(self.builds, dtype=bool)
        """Row build, column change: whether the build has the change. Build 0 has none."""
        for build in range(1, self.builds):
            for parent in self.parents[build]:
                self.has[build] |= self.has[parent]
        self.has[:, 0] = False

    @classmethod
    def linear(cls, changes: int) -> History:
        """Give a history without merges, of so many builds after the good one."""
        return cls([(build,) for build in range(changes)])

    @property
    def bad(self) -> int:
        """The last build."""
        return self.builds - 1


class Belief(msgspec.Struct, frozen=True, kw_only=True):
    """What is believed after some visits. Indices of arrays are builds; build 0 has no change."""

    none: float
    """Probability that nothing changed."""
    one: Floats
    """That this build alone did."""
    first: Floats
    """That two did, and this was the earlier."""
    second: Floats
    two: dict[tuple[int, int], float]
    """That two did, by groups of builds that no visit parts yet."""
    group: NDArray[np.int64]
    """The group of each build."""
    change: float
    """Expected change from good to bad, as a logarithm of the ratio, if there is one."""
    change_error: float
    variance: float
    """Expected variance of a visit of as many pairs as the visits had."""
    at_level: Floats
    """Row build, column level of `LEVELS`: that the build lies there."""

    @property
    def changed(self) -> Floats:
        """Probability that this build changed something."""
        return self.one + self.first + self.second


def believe(history: History, visits: Sequence[Visit]) -> Belief:
    """Give the belief after these visits, every build being equally likely to have changed something.

    Examples
    --------
    >>> visits = [Visit(4, 0, -0.05, 20, 0.01), Visit(2, 0, 0.0, 20, 0.01), Visit(3, 0, -0.05, 20, 0.01)]
    >>> belief = believe(History.linear(4), visits)
    >>> int(belief.changed.argmax()), bool(belief.one[3] > 0.8), round(belief.change, 3)
    (3, True, -0.05)
    """
    groups = _groups(history, visits)
    hypotheses = _hypotheses(groups)
    columns = {build: column for column, build in enumerate(groups.points)}
    pairs = sorted({(visit.build, visit.beside) for visit in visits})
    profile = np.column_stack(
        [hypotheses.level[:, columns[build]] - hypotheses.level[:, columns[beside]] for build, beside in pairs]
        or [np.zeros(len(hypotheses.prior))]
    )
    fit = _fit(profile, visits, [pairs.index((visit.build, visit.beside)) for visit in visits])
    with np.errstate(divide="ignore"):
        weight = np.log(hypotheses.prior)[:, None] + fit.likelihood
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    return _summary(groups, hypotheses, weight.sum(axis=1), weight, fit)


class _Groups(msgspec.Struct, frozen=True):
    """Builds whose changes no visit parts."""

    points: list[int]
    """Builds that were visited."""
    of: NDArray[np.int64]
    """Of each build but 0: its group, in the order of their first builds."""
    size: Floats
    at_points: NDArray[np.bool_]
    """Row group, column visited build: whether it has the changes of the group."""
    share: Floats
    """Row build, column group: the share of the changes of the group that the build has."""


def _groups(history: History, visits: Sequence[Visit]) -> _Groups:
    points = sorted({build for visit in visits for build in (visit.build, visit.beside)})
    signature = np.packbits(history.has[points][:, 1:], axis=0).T if points else np.zeros((history.bad, 1), np.uint8)
    numbers: dict[bytes, int] = {}
    of = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in np.ascontiguousarray(signature)])
    member = np.zeros((history.bad, len(numbers)))
    member[np.arange(history.bad), of] = 1.0
    size = member.sum(axis=0)
    first = member.argmax(axis=0) + 1
    return _Groups(
        points=points,
        of=of,
        size=size,
        at_points=history.has[points][:, first].T,
        share=history.has[:, 1:].astype(np.float64) @ member / size,
    )


class _Hypotheses(msgspec.Struct, frozen=True):
    """Rows: nothing changed, then a change in each group, then two changes in one group, then in each two groups."""

    prior: Floats
    level: Floats
    """Row hypothesis, column visited build: its level, of the whole change."""
    earlier: NDArray[np.int64]
    """Of the last kind, for each share of the first change: its groups."""
    later: NDArray[np.int64]


def _hypotheses(groups: _Groups) -> _Hypotheses:
    count, size = len(groups.size), groups.size
    changes = size.sum()
    either = max(1.0, changes * (changes - 1) / 2)
    earlier, later = np.triu_indices(count, 1)
    at = groups.at_points.astype(np.float64)
    two = TWO_CHANGES if changes > 1 else 0.0
    same = two * size * (size - 1) / 2 / either
    apart = two * size[earlier] * size[later] / either
    some = 1 - NO_CHANGE
    prior = [[NO_CHANGE], some * (1 - two) * size / changes, some * same]
    level = [np.zeros((1, at.shape[1])), at, at]
    for share, weight in zip(FIRST_SHARES, _SHARE_WEIGHTS, strict=True):
        prior.append(some * weight * apart)
        level.append(share * at[earlier] + (1 - share) * at[later])
    return _Hypotheses(np.concatenate(prior), np.concatenate(level), earlier, later)


class _Fit(msgspec.Struct, frozen=True):
    """Row hypothesis, column what instances stray by."""

    likelihood: Floats
    """Logarithm, with the prior of the column."""
    mean: Floats
    """Of the change."""
    variance: Floats
    of_visit: Floats
    """Of each column: the variance of a visit."""


def _fit(profile: Floats, visits: Sequence[Visit], column: Sequence[int]) -> _Fit:
    """Integrate the change exactly: visits are normal given the change, and so is the change before them."""
    mean = np.array([visit.mean for visit in visits])
    of_pairs = _pair_variance(visits) / np.array([visit.pairs for visit in visits])
    typical = float(np.exp(np.log(of_pairs).mean())) if visits else USUAL_INSTANCES**2
    of_instances = max(typical, USUAL_INSTANCES**2) * _INSTANCES**2
    of_visits = of_pairs[:, None] + of_instances
    member = np.zeros((profile.shape[1], len(visits)))
    member[column, np.arange(len(visits))] = 1.0
    precision = profile**2 @ (member @ (1 / of_visits)) + 1 / change_scale(visits) ** 2
    moment = profile @ (member @ (mean[:, None] / of_visits))
    common = -0.5 * (np.log(of_visits) + mean[:, None] ** 2 / of_visits).sum(axis=0)
    instances = np.log(_INSTANCES / (1 + _INSTANCES**2))
    likelihood = instances + common + 0.5 * (moment**2 / precision - np.log(precision))
    return _Fit(likelihood, moment / precision, 1 / precision, typical + of_instances)


def _pair_variance(visits: Sequence[Visit]) -> float:
    """Give the variance of a pair, of all visits together."""
    freedom = sum(visit.pairs - 1 for visit in visits)
    squares = math.fsum((visit.pairs - 1) * visit.deviation**2 for visit in visits)
    return max(squares / freedom if freedom else 0.0, _FINEST**2)


def change_scale(visits: Sequence[Visit]) -> float:
    """Give the standard deviation of the prior of the change: at least the largest that was seen."""
    return max(LEAST_CHANGE_SCALE, *(abs(visit.mean) for visit in visits)) if visits else LEAST_CHANGE_SCALE


def _summary(groups: _Groups, hypotheses: _Hypotheses, total: Floats, weight: Floats, fit: _Fit) -> Belief:
    count, size = len(groups.size), groups.size
    one, same = total[1 : 1 + count], total[1 + count : 1 + 2 * count]
    apart = total[1 + 2 * count :].reshape(len(FIRST_SHARES), -1)
    either = np.zeros((len(FIRST_SHARES), count, count))
    either[:, hypotheses.earlier, hypotheses.later] = apart
    both = either.sum(axis=0)
    if_changed = weight[1:] / max(float(weight[1:].sum()), 1e-300)
    change = float((if_changed * fit.mean[1:]).sum())
    spread = float((if_changed * (fit.variance[1:] + (fit.mean[1:] - change) ** 2)).sum())
    return Belief(
        none=float(total[0]),
        one=_of_builds(one, groups),
        first=_of_builds(same + both.sum(axis=1), groups),
        second=_of_builds(same + both.sum(axis=0), groups),
        two={
            **{(group, group): float(same[group]) for group in range(count) if size[group] > 1},
            **{
                (int(a), int(b)): float(both[a, b])
                for a, b in zip(hypotheses.earlier, hypotheses.later, strict=True)
                if both[a, b] > 1e-6
            },
        },
        group=np.concatenate([[-1], groups.of]),
        change=change,
        change_error=math.sqrt(spread),
        variance=float((weight.sum(axis=0) * fit.of_visit).sum()),
        at_level=_levels(groups.share, float(total[0]), one, same, either),
    )


def _of_builds(of_groups: Floats, groups: _Groups) -> Floats:
    return np.concatenate([[0.0], (of_groups / groups.size)[groups.of]])


def _levels(share: Floats, none: float, one: Floats, same: Floats, either: Floats) -> Floats:
    """Give for each build the probability of each level; within a group changes are anywhere."""
    without = 1 - share
    found = np.zeros((len(share), len(LEVELS)))
    full = share @ one + share**2 @ same
    none_yet = none + without @ one + without**2 @ same
    half = 2 * (share * without) @ same
    for index, first in enumerate(FIRST_SHARES):
        weights = either[index]
        full += ((share @ weights) * share).sum(axis=1)
        none_yet += ((without @ weights) * without).sum(axis=1)
        found[:, 2 + index] += ((share @ weights) * without).sum(axis=1)
        found[:, _level_of(1 - first)] += ((without @ weights) * share).sum(axis=1)
    found[:, _level_of(0.5)] += half
    found[:, 0], found[:, 1] = none_yet, full
    return found


def _level_of(share: float) -> int:
    """Give the index of the level: a share's complement is rounded."""
    return 2 + min(range(len(FIRST_SHARES)), key=lambda index: abs(FIRST_SHARES[index] - share))
