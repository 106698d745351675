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
TWO_CHANGES = 0.1
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
_DISTURBED = 4.0
"""From how far out on, in standard deviations, pairs of a visit stray more than those of others."""
_SELDOM, _NEVER = 1e-6, 1e-300


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
        self.weights = self.has[:, 1:].astype(np.float32)
        """The same without build 0, as numbers: what sums over changes are made with."""

    @classmethod
    def linear(cls, changes: int) -> History:
        """Give a history without merges, of this many builds after the good one."""
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
    two: dict[tuple[int, int], Floats]
    """That two did, by groups of builds that no visit parts yet, for each of `FIRST_SHARES`."""
    within: Floats
    """That two did, both in this group."""
    group: NDArray[np.int64]
    """The group of each build, from 0; build 0 is in none."""
    share: Floats
    """Row build, column group: the share of the changes of the group that the build has."""
    change: float
    """Expected change from good to bad, as a logarithm of the ratio, if there is one."""
    change_error: float
    variance: float
    """Expected variance of a visit of as many pairs as the visits had."""
    change_if: Floats
    """Expected change if at most one build changed something, then if two did, for each of `FIRST_SHARES`."""
    change_error_if: Floats
    at_level: Floats
    """Axes kind as in ``change_if``, build, level of `LEVELS`: that the build lies there."""

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
    return _summary(groups, hypotheses, weight, fit)


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
        share=(history.weights @ member.astype(np.float32)).astype(np.float64) / size,
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
    of_pairs = _pair_variances(visits) / np.array([visit.pairs for visit in visits])
    typical = float(np.median(of_pairs)) if visits else USUAL_INSTANCES**2
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


def _pair_variances(visits: Sequence[Visit]) -> Floats:
    """Give the variance of the pairs of each visit: that of all together, or its own where it was disturbed."""
    freedom, own = _freedom(visits), _own_variances(visits)
    quiet = ~disturbed(visits)
    together = float((freedom * own)[quiet].sum() / max(1.0, freedom[quiet].sum()))
    found: Floats = np.where(quiet, together, own)
    return found


def disturbed(visits: Sequence[Visit]) -> NDArray[np.bool_]:
    """Say of each visit whether its pairs strayed clearly more than those of most.

    Something else used the machine then: it says little of the builds, and nothing of how noisy the others are.

    >>> [bool(one) for one in disturbed([Visit(1, 0, 0.0, 20, 0.01)] * 3 + [Visit(1, 0, 0.1, 20, 0.5)])]
    [False, False, False, True]
    """
    freedom, own = _freedom(visits), _own_variances(visits)
    usual = float(np.median(own / _chi_square(freedom, 0.0))) if visits else 0.0
    found: NDArray[np.bool_] = own > usual * _chi_square(freedom, _DISTURBED)
    return found


def _freedom(visits: Sequence[Visit]) -> Floats:
    return np.array([max(1, visit.pairs - 1) for visit in visits], dtype=float)


def _own_variances(visits: Sequence[Visit]) -> Floats:
    return np.array([max(visit.deviation, _FINEST) ** 2 for visit in visits])


def _chi_square(freedom: Floats, deviations: float) -> Floats:
    """Give a quantile of chi square / its freedom, named by that of the normal distribution (Wilson and Hilferty)."""
    part = 2 / (9 * freedom)
    found: Floats = np.maximum((1 - part + deviations * np.sqrt(part)) ** 3, _SELDOM)
    return found


def change_scale(visits: Sequence[Visit]) -> float:
    """Give the standard deviation of the prior of the change: at least the largest that an undisturbed visit saw."""
    seen = [abs(visit.mean) for visit, loud in zip(visits, disturbed(visits), strict=True) if not loud]
    return max([LEAST_CHANGE_SCALE, *seen])


def _summary(groups: _Groups, hypotheses: _Hypotheses, weight: Floats, fit: _Fit) -> Belief:
    count, total = len(groups.size), weight.sum(axis=1)
    one, within = total[1 : 1 + count], total[1 + count : 1 + 2 * count]
    either = np.zeros((len(FIRST_SHARES), count, count))
    either[:, hypotheses.earlier, hypotheses.later] = total[1 + 2 * count :].reshape(len(FIRST_SHARES), -1)
    both = either.sum(axis=0)
    change, error = _moments(weight[1:], fit.mean[1:], fit.variance[1:])
    kinds = [slice(1, 1 + 2 * count)]
    for start in range(1 + 2 * count, len(weight), max(1, len(hypotheses.earlier))):
        kinds.append(slice(start, start + len(hypotheses.earlier)))
    of_kinds = [_moments(weight[kind], fit.mean[kind], fit.variance[kind]) for kind in kinds]
    of_kinds += [(change, error)] * (1 + len(FIRST_SHARES) - len(kinds))
    return Belief(
        none=float(total[0]),
        one=_of_builds(one, groups),
        first=_of_builds(within + both.sum(axis=1), groups),
        second=_of_builds(within + both.sum(axis=0), groups),
        two={(int(a), int(b)): either[:, a, b] for a, b in np.argwhere(both > _SELDOM)},
        within=within,
        group=np.concatenate([[-1], groups.of]),
        share=groups.share,
        change=change,
        change_error=error,
        change_if=np.array([mean for mean, _ in of_kinds]),
        change_error_if=np.array([spread for _, spread in of_kinds]),
        variance=float((weight.sum(axis=0) * fit.of_visit).sum()),
        at_level=_at_levels(groups.share, float(total[0]), one, within, either),
    )


def _moments(weight: Floats, mean: Floats, variance: Floats) -> tuple[float, float]:
    """Give mean and standard deviation of a mixture."""
    share = weight / max(float(weight.sum()), _NEVER)
    centre = float((share * mean).sum())
    return centre, math.sqrt(max(0.0, float((share * (variance + (mean - centre) ** 2)).sum())))


def _of_builds(of_groups: Floats, groups: _Groups) -> Floats:
    return np.concatenate([[0.0], (of_groups / groups.size)[groups.of]])


def _at_levels(share: Floats, none: float, one: Floats, within: Floats, either: Floats) -> Floats:
    """Give for each build the probability of each level; within a group changes are anywhere."""
    without = 1 - share
    found = np.zeros((1 + len(FIRST_SHARES), len(share), len(LEVELS)))
    found[0, :, 0] = none + without @ one + without**2 @ within
    found[0, :, 1] = share @ one + share**2 @ within
    found[0, :, level_of(0.5)] = 2 * (share * without) @ within
    for own, first, weights in zip(found[1:], FIRST_SHARES, either, strict=True):
        if_first, if_not = share @ weights, without @ weights
        own[:, 0] += (if_not * without).sum(axis=1)
        own[:, 1] += (if_first * share).sum(axis=1)
        own[:, level_of(first)] += (if_first * without).sum(axis=1)
        own[:, level_of(1 - first)] += (if_not * share).sum(axis=1)
    return found


def level_of(share: float) -> int:
    """Give the index of the level of a build with this share of the whole change: a complement is rounded."""
    return min(range(len(LEVELS)), key=lambda index: abs(LEVELS[index] - share))
