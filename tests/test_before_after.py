"""Comparisons of samples against scipy, against slow definitions, and on worlds whose truth is known."""

import itertools
import math
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from brimful.statistics import power, ranks
from brimful.statistics.before_after import (
    compare_paired,
    compare_samples,
    dose_classes,
    dose_response,
    holm,
)
from brimful.statistics.density import common_densities, density
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

BENCH = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "bench" / "discards_power.py")))

tied_or_not = st.lists(st.one_of(st.integers(-5, 5).map(float), st.floats(-5, 5)), min_size=5, max_size=25)
anything = st.lists(
    st.one_of(st.floats(), st.floats(1e3, 1e9), st.sampled_from([0.0, 1e6, math.nan, math.inf])), max_size=20
)


@given(tied_or_not, tied_or_not)
def test_the_shift_is_the_median_of_all_differences(before, after):
    first, second = np.array(before), np.array(after)
    differences = np.sort(np.subtract.outer(second, first).ravel())
    shift, interval = ranks.shift(first, second)
    assert shift == pytest.approx(np.median(differences), abs=1e-9)
    deviation = math.sqrt(differences.size * (first.size + second.size + 1) / 12)
    rank = max(1, math.floor(differences.size / 2 - stats.norm.ppf(0.975) * deviation))
    assert interval == pytest.approx((differences[rank - 1], differences[-rank]), abs=1e-9)


@given(tied_or_not)
def test_the_pseudomedian_is_the_median_of_all_means_of_two(values):
    numbers = np.array(values)
    means = np.sort([(a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2)])
    found, interval = ranks.pseudomedian(numbers)
    assert found == pytest.approx(np.median(means), abs=1e-9)
    deviation = math.sqrt(means.size * (2 * numbers.size + 1) / 12)
    rank = max(1, math.floor(means.size / 2 - stats.norm.ppf(0.975) * deviation))
    assert interval == pytest.approx((means[rank - 1], means[-rank]), abs=1e-9)


@pytest.mark.parametrize("size", [6, 7, 40])
def test_medians_are_resampled_as_if_values_were_drawn_one_by_one(size):
    generator = np.random.default_rng(size)
    values = generator.normal(size=size)
    drawn = np.median(generator.choice(values, size=(20_000, size)), axis=1)
    found = ranks.resampled_medians(values, 20_000, generator)
    shares = np.linspace(0.05, 0.95, 19)
    step = np.diff(np.sort(values)).max()
    assert np.quantile(found, shares) == pytest.approx(np.quantile(drawn, shares), abs=step / 2 + 0.02)
    assert stats.ks_2samp(found, drawn).pvalue > 1e-3


@pytest.mark.filterwarnings("ignore:ks_2samp")
@pytest.mark.parametrize(("before", "after"), [(5, 5), (8, 13), (40, 60), (300, 310)])
def test_the_critical_statistic_is_the_least_with_such_a_p_value(before, after):
    generator = np.random.default_rng(before)
    critical = power.ks_critical(before, after, 0.05)
    rejected = []
    for move in np.linspace(0, 3, 60):
        test = stats.ks_2samp(generator.normal(size=before), generator.normal(move, size=after), method="exact")
        assert (test.pvalue < 0.05) == (test.statistic >= critical - 1e-9)
        rejected.append(test.pvalue < 0.05)
    assert 0 < sum(rejected) < 60


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_holm_adjusts_to_the_least_level_at_which_a_test_is_rejected(p_values):
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    slow = {}
    for place, test in enumerate(order):
        # A test is rejected when it and all with smaller p values pass their own bounds.
        slow[test] = min(1.0, max(p_values[order[k]] * (len(p_values) - k) for k in range(place + 1)))
    assert holm(p_values) == pytest.approx([slow[test] for test in range(len(p_values))])


def test_a_comparison_agrees_with_scipy():
    before, after = BENCH.periods(200, 3, ratio=0.8)
    found = compare_samples([*before, 0.0, math.nan], [*after, -1.0], seed=1)
    logs = np.log10(before), np.log10(after)
    margin = math.log10(1.05)
    assert (found.n_before, found.n_after, found.excluded_before, found.excluded_after) == (200, 200, 2, 1)
    assert found.p_value == pytest.approx(stats.ks_2samp(before, after, method="exact").pvalue)
    assert found.ratio_of_medians == pytest.approx(np.median(after) / np.median(before), rel=1e-2)
    assert found.equivalence_p == pytest.approx(
        max(
            stats.mannwhitneyu(logs[1] + margin, logs[0], alternative="greater", method="asymptotic").pvalue,
            stats.mannwhitneyu(logs[1] - margin, logs[0], alternative="less", method="asymptotic").pvalue,
        )
    )
    assert found == compare_samples([*before, 0.0, math.nan], [*after, -1.0], seed=1)


def test_a_paired_comparison_agrees_with_scipy():
    before, after = BENCH.periods(60, 3, ratio=0.9, paired=True)
    found = compare_paired(np.append(before, math.nan), np.append(after, 1e6), seed=1)
    logs = np.log10(after / before)
    assert (found.pairs, found.excluded) == (60, 1)
    assert found.p_value == pytest.approx(stats.wilcoxon(logs, method="asymptotic", correction=True).pvalue)
    assert found.median_ratio == pytest.approx(10 ** np.median(logs))


def test_clients_that_did_not_change_speak_against_a_change():
    before = np.full(40, 1e6)
    after = np.concatenate([np.full(10, 1.1e6), np.full(30, 1e6)])
    alone = compare_paired(before[:10], after[:10], seed=1)
    found = compare_paired(before, after, seed=1)
    assert found.zeros == 30
    assert found.median_ratio == pytest.approx(1.0)
    assert alone.p_value < 0.01


def test_the_detectable_shift_is_found_as_often_as_it_says():
    generator = np.random.default_rng(5)
    pool = generator.normal(7, 0.5, 400)
    (shift,) = power.detectable_shift(pool[:150], pool[150:], level=0.01, powers=[0.8], seed=1)
    drawn = [
        stats.ks_2samp(
            generator.choice(pool, 150) + generator.normal(0, 1e-3, 150),
            generator.choice(pool, 250) + generator.normal(0, 1e-3, 250) + shift,
            method="exact",
        ).pvalue
        for _ in range(300)
    ]
    assert np.mean(np.array(drawn) < 0.01) == pytest.approx(0.8, abs=0.08)


def test_the_detectable_paired_shift_is_found_as_often_as_it_says():
    generator = np.random.default_rng(6)
    differences = generator.normal(0, 0.1, 900)
    differences -= ranks.pseudomedian(differences)[0]
    (shift,) = power.detectable_paired_shift(differences, level=0.01, powers=[0.8], seed=1)
    drawn = [stats.wilcoxon(generator.choice(differences, 900) + shift, method="asymptotic").pvalue for _ in range(300)]
    assert np.mean(np.array(drawn) < 0.01) == pytest.approx(0.8, abs=0.1)


def test_without_an_effect_p_values_are_uniform():
    p_values = BENCH.ks_p_values(300, range(200))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert stats.kstest(BENCH.signed_rank_p_values(100, range(200)), "uniform").pvalue > 0.01


def test_a_tenth_less_is_found_by_the_paired_test_and_missed_by_the_other_one():
    paired = BENCH.signed_rank_p_values(300, range(60), ratio=0.9)
    unpaired = BENCH.ks_p_values(300, range(60), ratio=0.9)
    assert np.mean(np.array(paired) < 0.01) >= 0.95
    assert np.mean(np.array(unpaired) < 0.01) < 0.5


@pytest.mark.parametrize("ratio", [1.0, 0.9])
def test_intervals_hold_the_truth(ratio):
    unpaired, paired = (make(100, range(100), ratio) for make in (BENCH.unpaired_results, BENCH.paired_results))
    for results, field in (
        (unpaired, "ratio_interval"),
        (unpaired, "shift_interval"),
        (paired, "median_interval"),
        (paired, "shift_interval"),
    ):
        assert np.mean([BENCH.holds(getattr(found, field), ratio) for found in results]) >= 0.88
    assert BENCH.dose_coverage(range(100), ratio) >= 0.88


def test_equivalence_is_shown_for_the_same_and_not_at_the_margin():
    same, apart = (BENCH.paired_results(300, range(40), ratio) for ratio in (1.0, 1.05))
    assert np.mean([found.equivalent for found in same]) > 0.7
    assert np.mean([found.equivalent for found in apart]) < 0.2


def test_the_dose_response_weighs_clients_by_their_tests():
    generator = np.random.default_rng(2)
    first, second = generator.normal(7, 0.3, (2, 12))
    n_with, n_without = generator.integers(1, 30, (2, 12))
    total = weighted = 0.0
    for a, b, m, n in zip(first, second, n_with, n_without, strict=True):
        weight = 1 / (1 / m + 1 / n)
        total += weight
        weighted += weight * (a - b)
    found = dose_response(first, second, n_with, n_without)
    assert found.ratio == pytest.approx(10 ** (weighted / total))
    assert found.interval[0] < found.ratio < found.interval[1]


def test_dose_classes_share_out_the_clients():
    clients = 60
    doses = np.repeat([3.0, 30.0, 300.0], 20)
    base = np.linspace(6, 8, clients)
    found = dose_classes(base - np.log10(doses) / 10, base, np.full(clients, 4), np.full(clients, 9), doses)
    assert [response.clients for response in found] == [20, 20, 20, 0]
    assert [response.ratio for response in found[:3]] == pytest.approx([3**-0.1, 30**-0.1, 300**-0.1])
    assert found[3].reason == "fewer than 5 clients have tests of both kinds"


@settings(deadline=None, max_examples=30)
@given(anything, anything)
def test_any_values_give_results_or_a_reason(before, after):
    size = min(len(before), len(after))
    first, second = np.array(before), np.array(after)
    for found in (
        compare_samples(first, second, seed=1),
        compare_paired(first[:size], second[:size], seed=1),
        dose_response(first[:size], second[:size], second[:size], first[:size]),
    ):
        assert (found.reason is None) == (found.p_value is not None)
        if found.p_value is not None:
            assert 0 <= found.p_value <= 1
    for drawn in (density(first), *common_densities(first, second)):
        assert drawn.values + drawn.excluded in (first.size, second.size)


def test_values_that_are_all_equal_are_compared():
    same = np.full(30, 1e6)
    found = compare_samples(same, same, seed=1)
    assert (found.p_value, found.shift_ratio, found.equivalent, found.detectable_95) == (1.0, 1.0, True, None)
    paired = compare_paired(same, same, seed=1)
    assert (paired.p_value, paired.shift_ratio, paired.equivalent) == (1.0, 1.0, True)


def test_a_density_is_the_histogram_of_the_original_figure():
    values = np.random.default_rng(1).lognormal(16, 1, 500)
    found = density(np.append(values, 0.0))
    heights, edges = np.histogram(np.log10(values), bins=22, density=True)
    assert found.edges == pytest.approx(edges[:-1])
    assert found.density == pytest.approx(heights)
    assert found.cumulated == pytest.approx(np.cumsum(heights) / heights.sum())
    assert (found.values, found.excluded) == (500, 1)


def test_common_densities_have_the_same_bins():
    generator = np.random.default_rng(1)
    before, after = common_densities(generator.lognormal(16, 1, 500), generator.lognormal(17, 1, 300))
    assert before.edges == after.edges
    assert len(before.edges) == 17
    width = before.edges[1] - before.edges[0]
    assert sum(before.density) * width == pytest.approx(1) == sum(after.density) * width
