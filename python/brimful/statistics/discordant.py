"""Pairs of trials of which only one was bad: whether one side is bad more often, at any number of pairs.

Without a difference the bad one of such a pair is decided by a fair coin (McNemar 1947). What is known is kept as
evidence: a number whose mean is 1 at most while the hypothesis holds, so that it exceeds 1 / alpha with a probability
of alpha at most, at any time (Ville 1939).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from brimful.statistics.pairs import NO_REGRESSION, REGRESSION, UNDECIDED, autocorrelation_time

_BETS = 64
LEAST_PAIRS = 40
"""Before a verdict: fewer do not show how long states of a device last."""


class Discordant(msgspec.Struct, frozen=True):
    """Pairs by which of their two trials were bad."""

    only_first: float = 0
    only_second: float = 0
    alike: float = 0

    @classmethod
    def count(cls, differences: Sequence[int]) -> Discordant:
        """Count pairs by their differences: 1 where only the second trial was bad, -1 the first, 0 where both alike."""
        return cls(differences.count(-1), differences.count(1), differences.count(0))

    def worth(self, tau: float) -> Discordant:
        """Give as many independent pairs as these are worth; ``tau``: how many are worth one."""
        return Discordant(self.only_first / tau, self.only_second / tau, self.alike / tau)


def unfair_evidence(pairs: Discordant) -> float:
    """Give the evidence that the second is bad more often or more rarely: Beta-binomial against a fair coin.

    >>> round(unfair_evidence(Discordant(only_second=10)), 2), round(unfair_evidence(Discordant(5, 5, 90)), 2)
    (93.09, 0.37)
    """
    first, second = pairs.only_first, pairs.only_second
    count = first + second
    log_beta = math.lgamma(first + 1) + math.lgamma(second + 1) - math.lgamma(count + 2)
    return math.exp(min(700.0, log_beta + count * math.log(2)))


def excluded_evidence(pairs: Discordant, excess: float) -> float:
    """Give the evidence that the second is bad in a share of trials that is larger by less than ``excess``.

    Capital of bets on what a pair gives: 1 where only the first was bad, 1/2 where both were alike, 0 where only the
    second was. If the excess were as large as stated or larger, no bet on a mean above (1 - excess) / 2 would win.
    """
    fair = (1 - excess) / 2
    bets = (np.arange(_BETS) + 0.5) / _BETS / fair
    logs = (
        pairs.only_first * np.log1p(bets * (1 - fair))
        + pairs.alike * np.log1p(bets * (0.5 - fair))
        + pairs.only_second * np.log1p(-bets * fair)
    )
    most = float(logs.max())
    return math.exp(min(700.0, most)) * float(np.exp(logs - most).mean())


def judge(differences: Sequence[int], *, excess: float, early_alpha: float, alpha: float) -> str:
    """Give the verdict on the second: a regression, a larger excess excluded, or undecided so far.

    Parameters
    ----------
    differences
        Of each pair, in their order: see `Discordant.count`. As states that last make neighbours alike, pairs count as
        many times less as their autocorrelation time says.
    excess
        A share of trials.
    early_alpha, alpha
        Errors of a regression, and of excluding one.
    """
    if len(differences) < LEAST_PAIRS:
        return UNDECIDED
    pairs = Discordant.count(differences).worth(autocorrelation_time(differences))
    if pairs.only_second > pairs.only_first and unfair_evidence(pairs) >= 1 / early_alpha:
        return REGRESSION
    if excluded_evidence(pairs, excess) >= 1 / alpha:
        return NO_REGRESSION
    return UNDECIDED
