"""Ranks without a library of statistics, held against one."""

import numpy as np
import pytest
from brimful.statistics.ranks import EXACT_RANKS, median_interval, signed_rank_p
from hypothesis import given
from hypothesis import strategies as st

stats = pytest.importorskip("scipy.stats")


@given(
    st.lists(st.integers(-30, 30), min_size=1, max_size=70) | st.permutations(range(1, 40)).map(lambda v: v[:25]),
    st.sampled_from(["two-sided", "greater", "less"]),
    st.integers(0, 2**25),
)
def test_signed_ranks_are_those_of_scipy(sizes, alternative, signs):
    differences = np.array([-size if signs >> (place % 25) & 1 else size for place, size in enumerate(sizes)], float)
    if not differences.any():
        assert signed_rank_p(differences, alternative) == 1.0
        return
    large = np.abs(differences)
    exact = large.size <= EXACT_RANKS and large.all() and np.unique(large).size == large.size
    theirs = stats.wilcoxon(
        differences,
        zero_method="wilcox" if exact else "pratt",
        correction=not exact,
        alternative=alternative,
        method="exact" if exact else "asymptotic",
    ).pvalue
    # Where the sum of ranks is within a half of its middle, nothing speaks for either side: theirs is just below 1.
    tolerance = 0.2 if alternative == "two-sided" and theirs > 0.8 else 1e-9
    assert signed_rank_p(differences, alternative) == pytest.approx(min(1.0, theirs), abs=tolerance)


@pytest.mark.parametrize("size", [1, 2, 5, 6, 11, 100, 101, 3000])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_interval_of_a_median_is_that_of_the_binomial_distribution(size, confidence):
    values = np.arange(1.0, size + 1)
    rank = max(1, int(stats.binom.ppf((1 - confidence) / 2, size, 0.5)))
    assert median_interval(values, confidence=confidence) == (values[rank - 1], values[-rank])
