"""Which build to visit next: the one whose visit says most of where the change is. Pure statistics."""

from __future__ import annotations

import numpy as np

from brimful.statistics.belief import LEVELS, Belief, Floats

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(9)
_NEVER = 1e-300


def information(belief: Belief) -> Floats:
    """Give for each build what a visit of it beside build 0 says of its level: the mutual information, in bits.

    The mean of a visit is normal at each level; expectations are by nine points of Gauss and Hermite.
    """
    level = np.array(LEVELS)
    centre = level * belief.change
    variance = belief.variance + level**2 * belief.change_error**2
    means = centre[:, None] + np.sqrt(2 * variance)[:, None] * _NODES
    distance = (means[:, :, None] - centre) ** 2 / variance
    density = np.exp(-0.5 * distance) / np.sqrt(variance)
    own = np.einsum("knk->kn", density)
    mixture = np.einsum("bl,knl->bkn", belief.at_level, density)
    gain = np.log2(own / np.maximum(mixture, _NEVER)) @ (_WEIGHTS / np.sqrt(np.pi))
    found: Floats = np.maximum(0.0, (belief.at_level * gain).sum(axis=1))
    return found
