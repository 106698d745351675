"""The belief over builds against a naive twin, and what must hold of it whatever was visited."""

import itertools
import math
import statistics

import numpy as np
import pytest
from brimful.statistics import belief as model
from brimful.statistics.belief import FIRST_SHARES, History, Visit, believe
from brimful.statistics.next_build import of_levels, of_suspect, suspects
from hypothesis import given
from hypothesis import strategies as st

MERGED = History([(0,), (1,), (1,), (2, 3), (4,)])
HISTORIES = [History.linear(1), History.linear(4), MERGED]


def pair_variances(visits):
    """Give the variance of the pairs of each visit, and the sizes that those saw that are not far noisier than most."""

    def quantile(visit, deviations):
        part = 2 / 9 / (visit.pairs - 1)
        return (1 - part + deviations * part**0.5) ** 3

    usual = statistics.median(visit.deviation**2 / quantile(visit, 0) for visit in visits)
    loud = [visit for visit in visits if visit.deviation**2 > usual * quantile(visit, model._DISTURBED)]
    quiet = [visit for visit in visits if visit not in loud]
    pooled = sum((visit.pairs - 1) * visit.deviation**2 for visit in quiet) / sum(visit.pairs - 1 for visit in quiet)
    return [visit.deviation**2 if visit in loud else pooled for visit in visits], [abs(visit.mean) for visit in quiet]


def naive(history, visits):
    """Give the weight of each hypothesis (builds that changed): each alone, by the density of all visits at once."""
    changes = range(1, history.builds)
    has = [{k for k in changes if history.has[build, k]} for build in range(history.builds)]
    hypotheses = [((), {}, model.NO_CHANGE)]
    pairs = list(itertools.combinations(changes, 2))
    two = model.TWO_CHANGES if pairs else 0.0
    for k in changes:
        hypotheses.append(((k,), {k: 1.0}, (1 - model.NO_CHANGE) * (1 - two) / len(changes)))
    for j, k in pairs:
        for share, weight in zip(FIRST_SHARES, model._SHARE_WEIGHTS, strict=True):
            prior = (1 - model.NO_CHANGE) * two * weight / len(pairs)
            hypotheses.append(((j, k), {j: share, k: 1 - share}, prior))
    variances, sizes_seen = pair_variances(visits)
    of_pairs = [one / visit.pairs for one, visit in zip(variances, visits, strict=True)]
    typical = statistics.median(of_pairs)
    scale = max(model.LEAST_CHANGE_SCALE, *sizes_seen, 0)
    seen = np.array([visit.mean for visit in visits])
    weights = {}
    for builds, sizes, prior in hypotheses:
        level = [sum(size for k, size in sizes.items() if k in has[build]) for build in range(history.builds)]
        profile = np.array([level[visit.build] - level[visit.beside] for visit in visits])
        for stray in model._INSTANCES:
            covariance = np.diag(
                [one + max(typical, model.USUAL_INSTANCES**2) * stray**2 for one in of_pairs]
            ) + scale**2 * np.outer(profile, profile)
            density = math.exp(-0.5 * seen @ np.linalg.solve(covariance, seen)) / math.sqrt(np.linalg.det(covariance))
            weight = prior * density * stray / (1 + stray**2)
            weights[builds] = weights.get(builds, 0.0) + weight
    total = sum(weights.values())
    return {builds: weight / total for builds, weight in weights.items()}


def visits_of(history):
    build = st.integers(0, history.bad)
    visit = st.builds(Visit, build, build, st.floats(-0.1, 0.1), st.integers(2, 30), st.floats(0.01, 0.2))
    return st.lists(visit, min_size=2, max_size=6)


@st.composite
def cases(draw):
    history = draw(st.sampled_from(HISTORIES))
    return history, draw(visits_of(history))


def same_groups(belief, twin):
    """Give the twin's weight by groups, as two changes that no visit parts come as one change does."""
    one, two = {}, {}
    for builds, weight in twin.items():
        if len(builds) == 1:
            one[builds[0]] = weight
        elif builds:
            key = tuple(sorted(int(belief.group[build]) for build in builds))
            two[key] = two.get(key, 0.0) + weight
    return one, two


@given(cases())
def test_the_belief_is_that_of_the_naive_twin(case):
    history, visits = case
    belief, twin = believe(history, visits), naive(history, visits)
    one, two = same_groups(belief, twin)
    assert belief.none == pytest.approx(twin[()], rel=1e-6, abs=1e-9)
    assert [belief.one[build] for build in sorted(one)] == pytest.approx(
        [one[build] for build in sorted(one)], abs=1e-9
    )
    for (first, second), weight in two.items():
        of_pair = belief.within[first] if first == second else belief.two.get((first, second), np.zeros(1)).sum()
        assert of_pair == pytest.approx(weight, abs=2e-6)


@given(cases())
def test_probabilities_are_whole(case):
    history, visits = case
    belief = believe(history, visits)
    assert belief.none + belief.one.sum() + belief.first.sum() == pytest.approx(1.0)
    assert belief.first.sum() == pytest.approx(belief.second.sum())
    assert belief.at_level.sum(axis=(0, 2)) == pytest.approx(1.0)
    assert belief.at_level[:, 0, 0].sum() == pytest.approx(1.0)
    assert (of_levels(belief) >= 0).all()


@given(cases(), st.randoms())
def test_the_order_of_visits_does_not_matter(case, random):
    history, visits = case
    other = random.sample(visits, len(visits))
    assert believe(history, visits).one == pytest.approx(believe(history, other).one)


@given(cases())
def test_slower_and_faster_are_alike(case):
    history, visits = case
    turned = [Visit(visit.build, visit.beside, -visit.mean, visit.pairs, visit.deviation) for visit in visits]
    one, other = believe(history, visits), believe(history, turned)
    assert one.changed == pytest.approx(other.changed)
    assert one.change == pytest.approx(-other.change)


def test_builds_that_no_visit_parts_are_equally_likely():
    visits = [Visit(8, 0, -0.05, 20, 0.02), Visit(4, 0, -0.05, 20, 0.02)]
    belief = believe(History.linear(8), visits)
    assert belief.one[1:5] == pytest.approx(belief.one[1])
    assert belief.one[1] > 10 * belief.one[5]


def test_few_visits_are_believed_less_than_their_pairs_say():
    """Pairs that agree to a hair say nothing of how instances stray."""
    few = believe(History.linear(2), [Visit(2, 0, -0.01, 100, 1e-4), Visit(1, 0, 0.0, 100, 1e-4)])
    many = believe(History.linear(2), [Visit(2, 0, -0.01, 100, 1e-4), Visit(1, 0, 0.0, 100, 1e-4)] * 4)
    assert few.one[2] < 0.9 < 0.97 < many.one[2]


def test_two_changes_are_believed_where_the_middle_lies_between():
    levels = {8: -0.04, 6: -0.04, 5: -0.02, 3: -0.02, 2: 0.0}
    visits = [Visit(build, 0, level, 20, 0.01) for build, level in levels.items()] * 3
    belief = believe(History.linear(8), visits)
    suspect = suspects(belief)[0]
    assert suspect.probability > 0.95
    assert suspect.groups == (belief.group[3], belief.group[6])


def test_a_change_that_a_branch_has_is_not_on_the_other():
    """Builds 2 and 3 are branches of 1: where 2 is slower and 3 is not, 2 did it."""
    visits = [Visit(5, 0, -0.05, 20, 0.01), Visit(2, 0, -0.05, 20, 0.01), Visit(3, 0, 0.0, 20, 0.01)] * 2
    belief = believe(MERGED, visits)
    assert belief.one[2] > 0.9


def test_the_middle_says_most_and_the_ends_say_nothing():
    bits = of_levels(believe(History.linear(8), [Visit(8, 0, -0.05, 20, 0.01)] * 3))
    assert int(bits.argmax()) == 4
    assert bits[0] == pytest.approx(0.0, abs=1e-6)
    assert bits[8] < 0.2 * bits[4]
    assert 0.9 < bits[4] < 1.3


def test_the_rest_of_the_history_says_whether_a_change_was_alone():
    """Once the middle is parted, only the last build beside the suspect says whether something changed later."""
    visits = [Visit(8, 0, -0.04, 20, 0.06), Visit(3, 0, -0.04, 20, 0.02), Visit(2, 0, 0.0, 20, 0.02)] * 3
    belief = believe(History.linear(8), visits)
    suspect = suspects(belief)[0]
    assert suspect.groups == (belief.group[3],)
    beside_bad = of_suspect(belief, suspect, beside_bad=True)
    assert beside_bad[3] > 0
    assert beside_bad[8] < 0.01 * beside_bad[3]


def test_information_is_that_of_a_fine_sum():
    belief = believe(History.linear(6), [Visit(6, 0, -0.03, 20, 0.06)] * 3 + [Visit(3, 0, -0.01, 20, 0.06)])
    levels = np.array(model.LEVELS)
    points = np.linspace(-0.4, 0.4, 20_001)
    centre = np.outer(belief.change_if, levels)
    variance = belief.variance + np.outer(belief.change_error_if, levels) ** 2
    density = np.exp(-0.5 * (points - centre[..., None]) ** 2 / variance[..., None]) / np.sqrt(
        2 * math.pi * variance[..., None]
    )
    for build in range(7):
        at = np.einsum("kl,klp->lp", belief.at_level[:, build], density)
        levels_own = belief.at_level[:, build].sum(axis=0)[:, None]
        ratio = np.maximum(at, 1e-300) / np.maximum(at.sum(axis=0) * levels_own, 1e-300)
        fine = (at * np.log2(ratio)).sum() * (points[1] - points[0])
        assert of_levels(belief)[build] == pytest.approx(fine, abs=0.01)


@pytest.mark.parametrize("mean", [-0.3, 0.0, 0.3])
def test_a_visit_that_was_disturbed_says_little_and_nothing_of_the_others(mean):
    quiet = [Visit(4, 0, -0.03 + stray, 20, 0.05) for stray in (-0.01, 0.0, 0.01, 0.0)]
    disturbed = Visit(4, 0, mean, 20, 1.5)
    without, belief = (believe(History.linear(4), visits) for visits in (quiet, [*quiet, disturbed]))
    assert belief.none == pytest.approx(without.none, rel=0.5)
    assert belief.change == pytest.approx(without.change, abs=0.002)
    assert belief.variance == pytest.approx(without.variance, rel=0.3)
