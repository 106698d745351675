"""How long a search says that it still takes, against how long it then took."""

import math
from statistics import median

import pytest
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import Trial
from brimful.throughput.goals import PRESETS, named_goals
from brimful.throughput.manager import SearchRequest, run_search
from brimful.throughput.remaining import RemainingTime

TRIAL = (1e6, 1.0)


def a_trial(duration_s, elapsed_s):
    return Trial(seq=0, load=1e6, duration_s=duration_s, intended=1, sent=1, lost=0, start_s=0.0, elapsed_s=elapsed_s)


def test_waits_of_trials_so_far_are_expected_of_those_to_come():
    remaining = RemainingTime()
    assert remaining.left_s(60.0, TRIAL, 0.0) == 60.0
    for _ in range(3):
        remaining.note(a_trial(1.0, 1.5))
    assert remaining.left_s(40.0, TRIAL, 4.5) == pytest.approx(60.0)


def test_a_trial_that_was_stopped_early_takes_nothing_off():
    remaining = RemainingTime()
    remaining.note(a_trial(60.0, 2.0))
    assert remaining.left_s(60.0, TRIAL, 2.0) == 60.0


def test_what_is_left_grows_while_nothing_is_gained():
    remaining = RemainingTime()
    left = [remaining.left_s(30.0, TRIAL, at) for at in (28.0, 54.0, 91.0, 250.0)]
    assert left == sorted(left)
    assert left[0] == 30.0
    assert left[-1] > 60.0


def test_it_tends_to_zero():
    remaining = RemainingTime()
    remaining.left_s(30.0, TRIAL, 0.0)
    assert remaining.left_s(0.1, TRIAL, 500.0) == TRIAL[1]
    assert remaining.left_s(0.0, None, 500.0) == 0.0
    assert remaining.left_s(None, TRIAL, 500.0) is None


@pytest.mark.parametrize(("preset", "at_end"), [("csit", 0.05), ("rfc2544", 0.25)])  # trials of 1 s and a minute
def test_half_way_through_it_is_about_right_and_at_the_end_one_trial_is_left(preset, at_end):
    errors, beyond_the_last = [], []
    for kind in ("sharp", "soft-knee", "livelock", "noisy", "stalls", "vhost"):
        for seed in range(3):
            shown = []
            search = SearchRequest(
                measurer="sim", goals=named_goals(PRESETS[preset].goals), strategy=PRESETS[preset].strategy
            )
            measurer = SimulatedMeasurer(f"{kind},seed={seed}")
            outcome = run_search(
                search, measurer, keep=False, progress=lambda _, progress, shown=shown: shown.append(progress)
            )
            took_s = outcome.result.end.search_s
            half = [progress for progress in shown if progress.elapsed_s <= took_s / 2][-1]
            errors.append(math.log(half.remaining_s / (took_s - half.elapsed_s)))
            beyond_the_last.append((shown[-1].remaining_s - shown[-1].next_trial[1]) / took_s)
    assert abs(median(errors)) < math.log(1.3)
    assert median(map(abs, errors)) < math.log(2)
    assert median(beyond_the_last) < at_end
