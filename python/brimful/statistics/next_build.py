"""Which visit to make next: the one that says most of where the change is. Pure statistics."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from brimful.statistics.belief import FIRST_SHARES, LEVELS, Belief, Floats, level_of

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(9)
_NEVER, _NEGLIGIBLE = 1e-300, 1e-6
_MOST_TRIED, _WITHIN = 128, 8
"""Builds of which each is tried, and those within a group of a longer history: information is smooth there."""
_NEGLIGIBLE_SHARE = 1e-3


class Suspect(msgspec.Struct, frozen=True):
    """What may be the answer: a change in one group of builds, or one in each of two."""

    groups: tuple[int, ...]
    probability: float


def suspects(belief: Belief) -> list[Suspect]:
    """Give what may be the answer, the likeliest first."""
    alone = np.bincount(belief.group[1:], weights=belief.one[1:]) + belief.within
    found = [Suspect((group,), float(probability)) for group, probability in enumerate(alone)]
    found += [Suspect(pair, float(shares.sum())) for pair, shares in belief.two.items()]
    return sorted(found, key=lambda suspect: -suspect.probability)


def of_levels(belief: Belief) -> Floats:
    """Give for each build what a visit of it beside build 0 says of its level: the mutual information, in bits."""
    joint = np.eye(len(LEVELS))[:, None, None, :] * belief.at_level
    return _information(belief, joint, np.array(LEVELS))


def of_suspect(belief: Belief, suspect: Suspect, *, beside_bad: bool) -> Floats:
    """Give for each build what a visit of it says of whether the suspect is the answer, in bits.

    The visit is beside build 0, or beside the last one, which has the whole change whatever made it.
    """
    own = _levels_if(belief, suspect)
    joint = np.stack([own, np.maximum(0.0, belief.at_level - own)])
    return _information(belief, joint, np.array(LEVELS) - beside_bad)


def _levels_if(belief: Belief, suspect: Suspect) -> Floats:
    """Give for each kind and build the probability that the suspect is the answer and the build lies at a level."""
    found = np.zeros_like(belief.at_level)
    if len(suspect.groups) == 1:
        has = belief.share[:, suspect.groups[0]]
        found[0, :, 0], found[0, :, 1] = (1 - has) * suspect.probability, has * suspect.probability
        return found
    earlier, later = (belief.share[:, group] for group in suspect.groups)
    of_shares = belief.two[suspect.groups[0], suspect.groups[1]]
    for own, share, probability in zip(found[1:], FIRST_SHARES, of_shares, strict=True):
        own[:, 0] += probability * (1 - earlier) * (1 - later)
        own[:, 1] += probability * earlier * later
        own[:, level_of(share)] += probability * earlier * (1 - later)
        own[:, level_of(1 - share)] += probability * (1 - earlier) * later
    return found


def _information(belief: Belief, joint: Floats, level: NDArray[Any]) -> Floats:
    """Give the mutual information between what is asked and the mean of a visit.

    The mean is normal for each kind of change and level; expectations are by nine points of Gauss and Hermite.

    Parameters
    ----------
    belief
        Has the change of each kind, and how visits stray.
    joint
        Probabilities: axes answer, kind, build, level.
    level
        What a build at each level differs by from what it is beside, of the whole change.
    """
    tried = candidates(belief)
    joint = joint[:, :, tried]
    there = joint.max(axis=(0, 2)) > _NEGLIGIBLE
    parts = joint.transpose(0, 2, 1, 3)[:, :, there]
    centre = np.outer(belief.change_if, level)[there]
    variance = (belief.variance + np.outer(belief.change_error_if, level) ** 2)[there]
    means = centre[:, None] + np.sqrt(2 * variance)[:, None] * _NODES
    density = np.exp(-0.5 * (means[:, :, None] - centre) ** 2 / variance) / np.sqrt(variance)
    of_answer = parts @ density.reshape(-1, len(centre)).T
    ratio = of_answer / np.maximum(of_answer.sum(axis=0) * parts.sum(axis=2)[:, :, None], _NEVER)
    gain = np.log2(np.maximum(ratio, _NEVER)).reshape(*parts.shape, -1) @ (_WEIGHTS / np.sqrt(np.pi))
    found = np.zeros(len(belief.one))
    found[tried] = np.maximum(0.0, (parts * gain).sum(axis=(0, 2)))
    return found


def candidates(belief: Belief) -> NDArray[np.int64]:
    """Give the builds that are worth a look: all, or of a long history the last of each group and some within it."""
    builds = len(belief.one)
    if builds <= _MOST_TRIED:
        return np.arange(builds)
    mass = np.bincount(belief.group[1:], weights=belief.changed[1:])
    found = {0}
    for group, share in enumerate(mass):
        members = np.flatnonzero(belief.group == group)
        count = min(len(members), _WITHIN if share > _NEGLIGIBLE_SHARE else 1)
        found.update(members[np.linspace(len(members) - 1, 0, count).astype(int)].tolist())
    return np.array(sorted(found))
