"""What a report says of a goal that a search was stopped before it reached."""

import re
from fractions import Fraction

import pytest
from brimful.records import GoalResult, Trial
from brimful.report.throughput.trials import view_trials
from brimful.report.throughput.undecided import so_far
from hypothesis import given
from hypothesis import strategies as st
from support import brimful, goal

UNIT = "frames/s"


def said(outcomes, exceed_ratio=0.5, result=None):
    """Give what is said of trials, each a load and whether it lost frames."""
    trials = [
        Trial(seq=seq, load=load, duration_s=1.0, intended=1000, sent=1000, lost=int(is_missed), start_s=seq)
        for seq, (load, is_missed) in enumerate(outcomes)
    ]
    views, _ = view_trials(trials, [goal(exceed=exceed_ratio)])
    return so_far(goal(exceed=exceed_ratio), result, views, UNIT)


@pytest.mark.parametrize(
    ("outcomes", "exceed_ratio", "place"),
    [
        ([(1000, False), (2000, True), (1500, False)], 0.5, "between 1.500 kpps and 2.000 kpps (3 of 3 agree)"),
        ([(1000, False), (1000, False), (1000, True), (2000, True)], 0.5, "between 1.000 kpps and 2.000 kpps (3 of 4"),
        ([(1000, False), (1000, False), (1000, True), (2000, True)], 0.0, "below 1.000 kpps (2 of 4 agree)"),
        ([(1000, False), (2000, False), (3000, False)], 0.5, "above 3.000 kpps (3 of 3 agree)"),
        ([(1000, True), (2000, True), (3000, True)], 0.5, "below 1.000 kpps (3 of 3 agree)"),
        # A stall at a low load, as on a machine that is not quiet.
        ([(1000, True), (2000, False), (3000, False), (4000, True)], 0.5, "between 3.000 kpps and 4.000 kpps (3 of 4"),
    ],
)
def test_the_place_is_where_the_fewest_trials_contradict(outcomes, exceed_ratio, place):
    assert place in said(outcomes, exceed_ratio)


def test_a_bound_that_is_known_is_not_put_in_doubt():
    """A device that became slower after its lower bound was found."""
    outcomes = [(2000, False), (2000, False), (1000, True), (1000, True), (1000, True), (3000, True)]
    assert "put it below 1.000 kpps" in said(outcomes)
    lower = GoalResult(goal="ndr", regular=False, reason="time-budget", lower_bound=2000.0)
    assert "between 2.000 kpps and 3.000 kpps (3 of 6 agree)" in said(outcomes, result=lower)
    upper = GoalResult(goal="ndr", regular=False, reason="time-budget", upper_bound=1000.0)
    assert "below 1.000 kpps" in said([(load, not is_missed) for load, is_missed in outcomes], result=upper)


def test_two_trials_say_too_little():
    assert said([(1000, False), (2000, True)]) == ""


LOADS = st.integers(1, 6).map(lambda place: 1000 * place)


@given(st.lists(st.tuples(LOADS, st.booleans()), min_size=3, max_size=30), st.sampled_from([0.0, 0.2, 0.5]))
def test_no_other_place_is_contradicted_less(outcomes, exceed_ratio):
    loads = sorted({load for load, _ in outcomes})
    share = Fraction(str(exceed_ratio))

    def cost(below):
        rest = loads[below:]
        return sum(
            share * (load in rest) if not is_missed else (1 - share) * (load not in rest)
            for load, is_missed in outcomes
        )

    best = max(range(len(loads) + 1), key=lambda below: (-cost(below), below))
    agree = sum(is_missed == (load in loads[best:]) for load, is_missed in outcomes)
    named = [f"{load / 1000:.3f} kpps" for load in loads[max(0, best - 1) : best + 1]]
    text = said(outcomes, exceed_ratio)
    assert re.findall(r"[\d.]+ kpps", text) == named
    assert f"({agree} of {len(outcomes)} agree)" in text


def test_a_search_out_of_time_says_where_it_would_have_gone_on(tmp_path):
    command = ("search", "-m", "sim:soft-knee,capacity=1Mpps,seed=7", "--quiet")
    whole = brimful(*command, cwd=tmp_path)
    stopped = brimful(*command, "--budget", "25s", cwd=tmp_path, check=1)
    text = " ".join(stopped.stdout.split())
    assert "ndr 952.7 kpps" in " ".join(whole.stdout.split())
    assert "put it between 952.7 kpps and 957.5 kpps (24 of 25 agree), which is no bound yet." in text
    assert "no bound yet" not in whole.stdout
