"""What differences of pairs say: against naive twins, published values, and on drawn differences."""

import math

import numpy as np
import pytest
from brimful.statistics.discordant import Discordant, excluded_evidence, judge, unfair_evidence
from brimful.statistics.pairs import (
    AT_THRESHOLD,
    NO_REGRESSION,
    REGRESSION,
    UNDECIDED,
    Rule,
    autocorrelation_time,
    decide,
    estimate,
    floor_of_repeats,
    mixture_half_width,
    pairs_needed,
    student_half_width,
)

RULE = Rule(tolerance=0.02, precision=0.01)


def naive_mixture(pairs, deviation, alpha, prior=10.0):
    """The half width as the point where the mixture martingale reaches 1 / alpha, by bisection."""
    share = prior / (prior + pairs)

    def log_martingale(width):
        squares = pairs * width**2 / ((pairs - 1) * deviation**2)
        return math.log(share) / 2 + pairs / 2 * (math.log1p(squares) - math.log1p(share * squares))

    if log_martingale(1e9 * deviation) < -math.log(alpha):
        return math.inf
    low, high = 0.0, 1e9 * deviation
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if log_martingale(middle) < -math.log(alpha) else (low, middle)
    return high


@pytest.mark.parametrize("alpha", [0.01, 0.05])
@pytest.mark.parametrize("prior", [1.0, 10.0])
def test_the_width_of_the_mixture_is_where_its_martingale_reaches_one_over_alpha(alpha, prior):
    for pairs in range(2, 400, 7):
        expected = naive_mixture(pairs, 0.03, alpha, prior)
        assert mixture_half_width(pairs, 0.03, alpha, prior) == pytest.approx(expected, rel=1e-6)


def test_a_single_pair_says_nothing():
    assert mixture_half_width(1, 0.0, 0.05) == math.inf
    assert student_half_width(1, 0.0, 1.0, 0.05) == math.inf


def naive_time(values):
    """Geyer's initial positive sequence, sum by sum."""
    count, mean = len(values), sum(values) / len(values)

    def covariance(lag):
        return sum((values[i] - mean) * (values[i + lag] - mean) for i in range(count - lag)) / count

    total, lag = 0.0, 0
    while lag + 1 < count // 2 * 2:
        two = (covariance(lag) + covariance(lag + 1)) / covariance(0)
        if two <= 0:
            break
        total, lag = total + two, lag + 2
    return max(1.0, 2 * total - 1)


@pytest.mark.parametrize("seed", range(12))
def test_the_autocorrelation_time_is_that_of_its_definition(seed):
    draw = np.random.default_rng(seed)
    values = np.cumsum(draw.normal(size=5 + 17 * seed)) if seed % 2 else draw.normal(size=4 + 13 * seed)
    assert autocorrelation_time(list(values)) == pytest.approx(naive_time(list(values)), rel=1e-9)


def test_the_autocorrelation_time_of_a_known_process_is_found():
    draw, correlation = np.random.default_rng(7), 0.8
    values = [0.0]
    for noise in draw.normal(size=200_000):
        values.append(correlation * values[-1] + noise)
    assert autocorrelation_time(values) == pytest.approx((1 + correlation) / (1 - correlation), rel=0.05)


def test_one_interval_at_all_numbers_of_pairs_misses_in_fewer_runs_than_its_error():
    draw, missed = np.random.default_rng(11), 0
    for _ in range(400):
        values = draw.normal(size=300)
        counts = np.arange(1, 301)
        means = np.cumsum(values) / counts
        squares = np.cumsum(values**2) - counts * means**2
        missed += any(
            abs(means[n - 1]) > mixture_half_width(n, math.sqrt(squares[n - 1] / (n - 1)), 0.05) for n in range(2, 301)
        )
    assert missed <= 32  # 20 are expected at most; 33 or more of a fair 5 % come once in 250 times


@pytest.mark.parametrize(
    ("mean", "expected"), [(0.0, NO_REGRESSION), (-0.05, REGRESSION), (math.log(0.98), AT_THRESHOLD)]
)
def test_a_verdict_comes_when_enough_is_known_and_not_before(mean, expected):
    draw, values, found = np.random.default_rng(3), [], None
    while found is None:
        values.append(mean + draw.normal() * 0.02)
        found = decide(estimate(values, RULE), RULE)
    assert found.verdict == expected
    assert len(values) >= RULE.least_pairs


def test_an_ended_run_is_judged_by_the_interval_that_holds_at_any_time():
    few = estimate([0.0, 0.01, -0.01], RULE)
    assert decide(few, RULE) is None
    assert decide(few, RULE, is_ended=True).verdict == UNDECIDED


def test_the_precision_ends_a_run_by_the_width_of_this_run_and_judges_by_what_earlier_ones_add():
    draw = np.random.default_rng(5)
    values = list(math.log(0.97) + draw.normal(size=2000) * 0.02)
    plain = decide(estimate(values, RULE), RULE)
    assert plain.verdict == REGRESSION
    floored = decide(estimate(values, RULE, floor=0.05), RULE)
    assert floored.verdict == AT_THRESHOLD
    assert floored.half_width >= 0.05


def test_restarts_that_differ_widen_the_interval():
    draw = np.random.default_rng(6)
    shifts = [0.03, -0.02, 0.01, -0.04, 0.02]
    values = [shift + draw.normal() * 0.01 for shift in shifts for _ in range(40)]
    units = [unit for unit in range(5) for _ in range(40)]
    rule = Rule(tolerance=0.02, precision=0.01, are_fresh=True)
    assert estimate(values, rule, units=units).final > 5 * estimate(values, rule).final
    alike = [draw.normal() * 0.01 for _ in values]
    assert estimate(alike, rule, units=units).final < 3 * estimate(alike, rule).final


def test_the_pairs_that_are_needed_are_the_first_number_that_is_enough():
    found = estimate(list(np.random.default_rng(9).normal(size=20) * 0.05), RULE)
    needed = pairs_needed(found, RULE)

    def is_enough(pairs):
        early = math.sqrt(found.tau) * mixture_half_width(pairs, found.deviation, 0.01)
        width = student_half_width(pairs, found.deviation, found.tau, 0.04)
        return early < abs(found.mean - RULE.threshold) or width <= 0.01

    assert is_enough(needed)
    assert not is_enough(needed - 1)


def test_ratios_of_earlier_runs_are_a_floor_only_beyond_their_own_errors():
    assert floor_of_repeats([0.01, -0.01], [0.0, 0.0]) == 0.0  # two say nothing
    assert floor_of_repeats([0.01, -0.01, 0.01], [0.01] * 3) == 0.0
    assert floor_of_repeats([0.01, -0.01, 0.01], [0.0] * 3) == pytest.approx(0.02)


def test_the_evidence_of_a_fair_coin_has_a_mean_of_one_at_most():
    count = 40
    mean = sum(math.comb(count, k) / 2**count * unfair_evidence(Discordant(count - k, k)) for k in range(count + 1))
    assert mean == pytest.approx(1.0)


def test_the_evidence_against_an_excess_has_a_mean_of_one_where_the_excess_is_there():
    draw = np.random.default_rng(2)
    found = []
    for _ in range(4000):
        only_first, only_second, alike = draw.multinomial(60, [0.05, 0.10, 0.85])
        found.append(excluded_evidence(Discordant(int(only_first), int(only_second), int(alike)), 0.05))
    assert np.mean(found) <= 1.15


def test_losses_are_judged_once_they_are_clear():
    options = {"excess": 0.05, "early_alpha": 0.01, "alpha": 0.05}
    assert judge([0] * 39, **options) == UNDECIDED
    assert judge([0] * 100, **options) == NO_REGRESSION
    assert judge([1, 0, 0, 0] * 12, **options) == REGRESSION
    assert judge([-1, 0, 0, 0, 0, 0, 0, 0] * 12, **options) == NO_REGRESSION


def test_losses_that_come_in_a_row_count_less():
    options = {"excess": 0.05, "early_alpha": 0.01, "alpha": 0.05}
    assert judge([1] * 10 + [0] * 60, **options) == UNDECIDED
    scattered = [int(draw < 0.3) for draw in np.random.default_rng(1).random(70)]
    assert judge(scattered, **options) == REGRESSION
