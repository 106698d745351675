"""The limit of a mean of values between 0 and 1."""

import math

import pytest
from brimful.statistics.limits import mean_limit
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(1, 10_000))
def test_of_values_that_are_all_zero_it_is_the_rule_of_three(number):
    assert mean_limit(0.0, number) == pytest.approx(1 - 0.05 ** (1 / number), abs=1e-12)


@given(st.integers(0, 60), st.integers(1, 60))
def test_it_is_wrong_of_coins_in_one_of_twenty_cases_at_most(ones, number):
    """Coins are the worst case. With a chance just above the limit, so few heads come in at most 5 % of cases."""
    ones = min(ones, number)
    limit = mean_limit(ones / number, number)
    if limit < 1:
        heads = sum(math.comb(number, k) * limit**k * (1 - limit) ** (number - k) for k in range(ones + 1))
        assert heads <= 0.05 + 1e-9


@given(st.floats(0, 1), st.integers(1, 1000))
def test_it_is_above_the_mean_and_falls_with_their_number(mean, number):
    assert mean <= mean_limit(mean, number + 1) <= mean_limit(mean, number) <= 1
