"""The method of batch means: against naive twins, and how often its interval has the true mean in it."""

import itertools
import statistics

import numpy as np
import pytest
from brimful.delay import batches
from brimful.statistics.student import student_quantile
from hypothesis import given
from hypothesis import strategies as st

values = st.lists(st.floats(-1e3, 1e3).map(lambda value: round(value, 3)), min_size=3, max_size=70)


@given(values)
def test_dependence_is_von_neumanns_ratio(series):
    count, variance = len(series), statistics.pvariance(series)
    steps = statistics.mean((after - before) ** 2 for before, after in itertools.pairwise(series))
    if variance < 1e-9:
        return
    ratio = steps * (count - 1) / count / variance
    expected = (2 - ratio) / (4 * (count - 2) / (count * count - 1)) ** 0.5
    assert batches.dependence(series) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_constant_values_do_not_depend_on_each_other():
    assert batches.dependence([2.5] * 40) == 0.0


@given(values)
def test_merging_keeps_the_mean_of_pairs(series):
    merged = batches.merge(series)
    assert len(merged) == len(series) // 2
    paired = series[: 2 * len(merged)]
    assert statistics.fmean(merged) == pytest.approx(statistics.fmean(paired), abs=1e-9) if merged else not paired[1:]


@given(st.lists(st.floats(-10, 10), min_size=5, max_size=9))
def test_rounds_alone_make_the_interval_where_there_are_enough(means):
    spread = batches.spread_of([(mean, [mean - 1, mean + 1] * 16) for mean in means])
    error = statistics.stdev(means) / len(means) ** 0.5
    assert spread.value == pytest.approx(statistics.fmean(means), abs=1e-12)
    assert (spread.batches, spread.freedom) == (len(means), len(means) - 1)
    assert spread.half_width == pytest.approx(student_quantile(0.975, len(means) - 1) * error, abs=1e-9)


def test_batches_within_trials_make_it_where_rounds_are_few():
    independent = [1.0, 3.0, 2.0, 5.0, 1.0, 4.0, 1.0, 3.0, 2.0, 4.0, 1.0, 3.0, 2.0, 5.0, 1.0, 4.0]
    spread = batches.spread_of([(2.0, independent), (4.0, independent)])
    assert spread.value == 3.0
    assert spread.batches == 32
    assert spread.error == pytest.approx(statistics.stdev(independent * 2) / 32**0.5)


def test_neighbours_of_one_trial_are_merged_until_they_do_not_look_alike():
    slow = np.random.default_rng(3).normal(size=16).repeat(4).tolist()
    spread = batches.spread_of([(0.0, slow[:32]), (0.0, slow[32:])])
    assert spread.batches == 16


def test_a_mean_of_one_trial_without_batches_has_no_interval():
    spread = batches.spread_of([(3.0, [])])
    assert (spread.value, spread.error, spread.half_width) == (3.0, None, None)


def test_welch_as_in_its_formula():
    one = batches.spread_of([(value, []) for value in (1.0, 2.0, 3.0, 4.0, 5.0)])
    other = batches.spread_of([(value, []) for value in (1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.0)])
    found = batches.difference(one, other)
    parts = statistics.variance([1, 2, 3, 4, 5]) / 5, statistics.variance([1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.0]) / 7
    assert found.value == pytest.approx(2.0)
    assert found.error == pytest.approx(sum(parts) ** 0.5)
    assert found.freedom == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 4 + parts[1] ** 2 / 6))


@pytest.mark.parametrize(("count", "left_out"), [(6, 0), (8, 0), (9, 1), (10, 1), (15, 3), (30, 9)])
def test_the_interval_of_the_median_is_that_of_sign_test_tables(count, left_out):
    found = batches.median_interval(list(range(count)))
    assert found == ((count - 1) / 2, left_out, count - 1 - left_out)


def test_five_rounds_are_too_few_for_the_median():
    assert batches.median_interval([1, 2, 3, 4, 5]) is None


def correlated(chance, runs, length, phi):
    """Series of variance 1 in which each value is ``phi`` times the one before, and noise."""
    noise = chance.standard_normal((runs, length))
    series = np.empty_like(noise)
    series[:, 0] = noise[:, 0]
    for at in range(1, length):
        series[:, at] = phi * series[:, at - 1] + (1 - phi * phi) ** 0.5 * noise[:, at]
    return series


def coverage(pairs):
    """Give the share of runs whose interval has 0 in it."""
    inside = 0
    for rounds in pairs:
        spread = batches.spread_of(rounds)
        inside += abs(spread.value) <= spread.half_width
    return inside / len(pairs)


def trials_of(series):
    """Cut a run of frames into ten trials of 32 batches, every other stretch of it between them."""
    means = series.reshape(10, 2, 32, -1)[:, 0].mean(axis=2)
    return [(float(batch.mean()), batch.tolist()) for batch in means]


@pytest.mark.parametrize("phi", [0.0, 0.9, 0.99])
def test_ten_rounds_cover_the_truth_however_much_frames_depend_on_each_other(phi):
    series = correlated(np.random.default_rng(5), 1000, 6400, phi)
    # 1000 runs with 95 %: four standard deviations are 0.028.
    assert 0.922 <= coverage([trials_of(run) for run in series]) <= 0.978


def test_ten_rounds_cover_the_truth_where_trials_differ_and_the_machine_drifts():
    chance = np.random.default_rng(6)
    runs = []
    for _ in range(1000):
        drift = np.cumsum(chance.normal(size=20)) * 0.5
        level = chance.normal(size=20) + drift
        # Device and wire one after the other, the first of them by turns.
        rounds = [(level[2 * at + at % 2], level[2 * at + 1 - at % 2]) for at in range(10)]
        runs.append([(device - wire, []) for device, wire in rounds])
    assert 0.922 <= coverage(runs) <= 0.978


def test_ten_rounds_of_heavy_tails_cover_the_truth():
    chance = np.random.default_rng(7)
    stalls = chance.exponential(1.0, (1000, 10, 2)) ** 3
    assert coverage([[(device - wire, []) for device, wire in run] for run in stalls]) >= 0.93


@pytest.mark.parametrize(("phi", "least"), [(0.0, 0.93), (0.9, 0.9), (0.99, 0.85)])
def test_one_round_covers_nearly_as_often(phi, least):
    runs = correlated(np.random.default_rng(8), 1000, 3200, phi).reshape(1000, 32, 100).mean(axis=2)
    assert coverage([[(float(run.mean()), run.tolist())] for run in runs]) >= least


def test_frames_taken_for_independent_would_not_cover_the_truth():
    """What all this is for."""
    runs = correlated(np.random.default_rng(5), 300, 3200, 0.9)
    inside = [abs(run.mean()) <= 1.96 * run.std(ddof=1) / len(run) ** 0.5 for run in runs]
    assert np.mean(inside) < 0.5
