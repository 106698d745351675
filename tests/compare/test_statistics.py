"""The statistics of comparisons, against values of scipy 1.17 (written down) and by simulation."""

import math
import random
from statistics import fmean

import pytest
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import GoalResult
from brimful.statistics.comparison import (
    IMPROVEMENT,
    REGRESSION,
    SAME,
    UNCLEAR,
    Sample,
    compare,
    interval,
    permutation_p,
    smallest_permutation_p,
)
from brimful.statistics.repeatability import arithmetic_mean, summarise
from brimful.statistics.student import student_cdf, student_quantile
from brimful.throughput.goals import SearchGoal, named_goals
from brimful.throughput.run_loop import Plan, SearchLoop
from hypothesis import given
from hypothesis import strategies as st


def sample(*least, width=0.005):
    return Sample(least, tuple(value / (1 - width) for value in least))


@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [
        (0.975, 1, 12.706204736432095),
        (0.975, 2, 4.302652729911275),
        (0.975, 4, 2.7764451051977987),
        (0.975, 10, 2.2281388519649385),
        (0.975, 30, 2.0422724563012373),
        (0.975, 1e5, 1.9599877072),
        (0.8, 3, 0.9784723123633045),
        (0.025, 4, -2.7764451051977987),
        (0.5, 7, 0.0),
    ],
)
def test_student_quantiles_of_scipy(probability, freedom, expected):
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-8)


@given(st.floats(0.001, 0.999), st.floats(0.6, 1e4))
def test_quantile_is_the_inverse_of_the_distribution(probability, freedom):
    assert student_cdf(student_quantile(probability, freedom), freedom) == pytest.approx(probability, abs=1e-9)


def test_welch_as_scipy_has_it():
    # scipy.stats.ttest_ind([1, 2, 3, 4], [3, 5, 4, 7, 6], equal_var=False): p = 0.036217..., on values not logarithms
    new = [math.exp(value) for value in (1, 2, 3, 4)]
    baseline = [math.exp(value) for value in (3, 5, 4, 7, 6)]
    found = compare(sample(*new), sample(*baseline))
    assert found.welch_p == pytest.approx(2 * student_cdf(-2.5 / math.sqrt(5 / 3 / 4 + 2.5 / 5), 6.98069), abs=1e-5)
    assert found.method == "Welch"


def test_permutation_tests():
    assert permutation_p([1, 2, 3], [4, 5, 6]) == pytest.approx(2 / 20)
    assert permutation_p([1, 2], [1, 2]) == 1.0
    assert permutation_p([1.0], [2.0]) is None
    assert permutation_p([0.0, 1.0], [2.0, 3.0]) is None
    assert permutation_p(range(1, 20), range(1, 20)) is None
    assert smallest_permutation_p(2, 3) == pytest.approx(1 / 10)


def test_one_run_a_side_is_as_wide_as_its_bounds():
    found = compare(sample(1e6), sample(1e6))
    assert found.ratio == pytest.approx(1)
    assert found.ratio_least == pytest.approx(0.995)
    assert found.ratio_most == pytest.approx(1 / 0.995)
    assert (found.verdict, found.spread, found.welch_p, found.detectable) == (SAME, None, None, None)
    assert found.method == "bounds only"


def test_one_run_against_several_uses_their_spread():
    found = compare(sample(0.97e6), sample(1e6, 1.001e6, 0.999e6))
    assert found.method.startswith("Student")
    assert found.verdict == REGRESSION
    assert found.ratio_most > 0.975


def test_runs_that_are_all_alike_have_no_spread():
    found = compare(sample(1e6, 1e6, 1e6), sample(1e6, 1e6))
    assert found.spread == 0
    assert found.detectable == pytest.approx(0.005, rel=0.01)
    assert found.verdict == SAME


@pytest.mark.parametrize(
    ("new", "verdict"),
    [(0.97e6, REGRESSION), (1.03e6, IMPROVEMENT), (1.0e6, SAME), (0.9945e6, UNCLEAR)],
)
def test_verdicts(new, verdict):
    spread = (0.999, 1.0, 1.001)
    found = compare(sample(*(new * part for part in spread)), sample(*(1e6 * part for part in spread)))
    assert found.verdict == verdict


def test_a_loss_within_the_tolerance_is_no_regression():
    spread = (0.999, 1.0, 1.001)
    new, baseline = (sample(*(load * part for part in spread)) for load in (0.97e6, 1e6))
    assert compare(new, baseline, tolerance=0.05).verdict == SAME
    assert compare(new, baseline, tolerance=0.02).verdict == REGRESSION


def test_least_values_say_only_what_they_can():
    at_least = Sample((14.88e6,), (math.inf,))
    assert compare(at_least, sample(9e6), tolerance=0.01).verdict == IMPROVEMENT
    assert compare(at_least, sample(9e6)).ratio is None
    assert compare(at_least, at_least, tolerance=0.01).verdict == UNCLEAR
    assert compare(sample(9e6), at_least, tolerance=0.01).verdict == REGRESSION
    nothing = Sample((0.0,), (math.inf,))
    assert compare(nothing, sample(9e6), tolerance=0.01).verdict == UNCLEAR
    at_most = Sample((0.0, 0.0), (1e4, 1e4))
    assert compare(Sample((0.0,), (1e4,)), sample(9e6), tolerance=0.01).verdict == REGRESSION
    assert compare(at_most, sample(9e6, 9e6)).verdict == REGRESSION
    assert compare(at_most, sample(9e6, 9e6)).by_bounds


@pytest.mark.parametrize(
    ("tolerance", "verdicts"),
    [
        (None, (UNCLEAR, UNCLEAR)),
        (0.0, (UNCLEAR, UNCLEAR)),
        (0.01, (REGRESSION, IMPROVEMENT)),
        # The means are 1.6 % apart, but the bounds only 1.06 %.
        (0.013, (UNCLEAR, UNCLEAR)),
    ],
)
def test_one_run_a_side_is_judged_only_by_a_tolerance_that_was_given(tolerance, verdicts):
    new, baseline = Sample((49.24,), (49.49,)), Sample((50.02,), (50.27,))
    found = compare(new, baseline, tolerance=tolerance), compare(baseline, new, tolerance=tolerance)
    assert tuple(each.verdict for each in found) == verdicts
    assert all(each.by_bounds for each in found)


def test_no_runs_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        compare(Sample((), ()), sample(1e6))


@given(st.lists(st.floats(1.0, 1e9), min_size=1, max_size=5), st.lists(st.floats(1.0, 1e9), min_size=1, max_size=5))
def test_swapping_the_sides_turns_everything_around(new, baseline):
    one, other = compare(sample(*new), sample(*baseline)), compare(sample(*baseline), sample(*new))
    assert one.ratio == pytest.approx(1 / other.ratio)
    if one.ratio_most is not None and other.ratio_least > 0:
        assert one.ratio_most == pytest.approx(1 / other.ratio_least)
    assert one.welch_p == pytest.approx(other.welch_p)
    assert one.ratio_least <= one.ratio
    assert one.ratio_most is None or one.ratio <= one.ratio_most


def test_the_interval_has_the_truth_in_it_often_enough():
    random_runs = random.Random(1)
    hits = 0
    for _ in range(400):
        new, baseline = ([math.exp(random_runs.gauss(0, 0.02)) for _ in range(3)] for _ in range(2))
        found = compare(sample(*new, width=1e-6), sample(*baseline, width=1e-6))
        hits += found.ratio_least <= 1 <= (found.ratio_most or math.inf)
    assert hits / 400 >= 0.93


def test_the_loss_that_would_show_shows():
    random_runs = random.Random(2)
    seen, trials = 0, 300
    loss = compare(sample(*(math.exp(x) for x in (-0.01, 0, 0.01))), sample(*(math.exp(x) for x in (-0.01, 0, 0.01))))
    for _ in range(trials):
        new = [math.exp(random_runs.gauss(math.log1p(-loss.detectable), 0.01)) for _ in range(3)]
        baseline = [math.exp(random_runs.gauss(0, 0.01)) for _ in range(3)]
        seen += compare(sample(*new), sample(*baseline)).verdict == REGRESSION
    assert 0.65 <= seen / trials <= 0.95


def test_the_mean_of_runs_is_the_same_wherever_it_is_stated():
    values = (30e3, 48e3, 60e3)
    found = compare(sample(*values), sample(*reversed(values)))
    assert found.mean == found.baseline_mean == summarise(values).mean == 46e3


SPREADS = st.lists(st.floats(0.97, 1.03), min_size=2, max_size=8)


@given(SPREADS, st.floats(1e3, 1e7), st.floats(1.0, 1.02))
def test_the_interval_of_one_throughput_is_that_of_its_ratio_to_what_is_known_exactly(factors, base, width):
    least = tuple(base * factor for factor in factors)
    one = Sample(least, tuple(value * width for value in least))
    low, _ = interval(one)
    assert low <= arithmetic_mean(least) * (1 + 1e-12)
    exact = Sample((base,), (base,))
    found = compare(one, exact)
    # With one run that nothing is unknown of, the spread is that of the repeats; its own run adds to the margin.
    margin = math.log(low) - fmean(math.log(value) for value in least)
    alone = margin * math.sqrt(1 + len(least))
    assert found.ratio_least == pytest.approx(math.exp(fmean(map(math.log, least)) + alone) / base, rel=1e-9)
    assert found.ratio_most == pytest.approx(math.exp(fmean(map(math.log, one.most)) - alone) / base, rel=1e-9)


def test_runs_that_agree_differ_by_their_bounds_alike_everywhere():
    one = Sample((997.2e3,) * 3, (1002.2e3,) * 3, unit=1.0)
    low, high = interval(one)
    assert (low, high) == pytest.approx((997.2e3 - 1, 1002.2e3 + 1), rel=1e-12)
    found = compare(one, one)
    assert (found.ratio_least, found.ratio_most) == pytest.approx((low / high, high / low), rel=1e-12)


def test_one_run_and_an_open_side_have_no_interval():
    assert interval(Sample((1e6,), (1.005e6,))) is None
    assert interval(Sample((1e6, 1e6), (1.005e6, math.inf))) is None
    assert interval(Sample((1e6, 0.0), (1.005e6, 1.005e6))) is None


@pytest.mark.parametrize("kind", ["sharp", "livelock", "stalls", "noisy"])
def test_the_interval_of_a_campaign_covers_the_capacity(kind):
    """Three searches, each begun near what the ones before found, as a campaign has them; a fixed seed."""
    draw = random.Random(7)
    goals = named_goals([SearchGoal(loss_ratio=0), SearchGoal(loss_ratio=0.005)])
    covered = dict.fromkeys((goal.name for goal in goals), 0)
    for campaign in range(100):
        capacity = draw.uniform(4e5, 13e6)
        runs: list[list[GoalResult]] = []
        for repeat in range(3):
            system = SimulatedMeasurer(f"{kind},capacity={capacity},seed={3 * campaign + repeat + 1}")
            hint = fmean(run[0].upper_bound for run in runs) if runs else None
            plan = Plan(goals=goals, min_load=9001.0, max_load=14.88e6, hint=hint)
            runs.append(SearchLoop(plan, system).run().goal_results)
        for index, goal in enumerate(goals):
            found = [run[index] for run in runs]
            sample = Sample(
                tuple(one.conditional_throughput for one in found),
                tuple(max(one.conditional_throughput, one.upper_bound) for one in found),
                unit=1.0,
            )
            low, high = interval(sample)
            covered[goal.name] += low <= capacity <= high
    assert all(count >= 93 for count in covered.values()), covered
