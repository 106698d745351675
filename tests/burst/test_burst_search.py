"""The search for the longest burst, and what tests say together, against definitions followed word by word."""

from fractions import Fraction

import pytest
from brimful.burst.calculations import completed_tests, corrected_buffer_s, result_of, warnings_of
from brimful.burst.search import BurstSearch
from brimful.errors import RecordError
from brimful.records import BurstPlan, BurstTest, Trial
from hypothesis import given
from hypothesis import strategies as st

PLAN = BurstPlan(load=1e6, tests=3, longest=1000, throughput=0.75e6)


def followed(search, buffer):
    """Run a search against a device that loses frames of every burst longer than its buffer; gives the lengths."""
    tried = []
    while (frames := search.next()) is not None:
        tried.append(frames)
        search.record(frames, lossless=frames <= buffer)
    return tried


@given(st.integers(1, 10**9), st.integers(1, 1000), st.integers(0, 10**9), st.integers(1, 3))
def test_the_longest_burst_is_found_to_the_step(longest, step, buffer, attempts):
    search = BurstSearch(longest=longest, step=step, attempts=attempts)
    tried = followed(search, buffer)
    most = longest // step * step
    assert search.held == min(buffer // step * step, most)
    assert search.lossy == (None if search.held == most else search.held + step)
    assert all(frames % step == 0 and 0 < frames <= longest for frames in tried)
    assert len(tried) <= attempts * ((longest // step).bit_length() + 1)


@given(st.integers(1, 5), st.lists(st.booleans(), min_size=5, max_size=5))
def test_a_length_is_lossy_when_all_its_attempts_lost_frames(attempts, outcomes):
    search = BurstSearch(longest=1, step=1, attempts=attempts)
    made = []
    for outcome in outcomes:
        if search.next() is None:
            break
        search.record(1, lossless=outcome)
        made.append(outcome)
    assert search.held == int(any(made))
    assert len(made) == (made.index(True) + 1 if any(made) else attempts)


def test_another_burst_than_the_one_due_is_refused():
    with pytest.raises(ValueError, match="7 frames was not due"):
        BurstSearch(longest=100, step=1, attempts=1).record(7, lossless=True)


def corrected_frame_by_frame(frames, load, throughput):
    """Seconds at the load of the frames that are still in the device when the last of a burst has come in."""
    came_in = Fraction(frames) / Fraction(load)
    forwarded = Fraction(throughput) * came_in
    return float((frames - forwarded) / Fraction(load))


@given(st.integers(1, 10**7), st.integers(2, 10**8), st.floats(0.001, 1.0))
def test_the_correction_leaves_what_is_still_in_the_device(frames, load, share):
    throughput = round(load * share, 3)
    found = corrected_buffer_s(frames / load, load=load, throughput=throughput)
    assert found == pytest.approx(corrected_frame_by_frame(frames, load, throughput), rel=1e-9, abs=1e-12)


def test_tests_are_averaged():
    tests = [BurstTest(0, 100, 101), BurstTest(1, 110, 111), BurstTest(2, 120, 121)]
    found = result_of(tests, PLAN)
    assert (found.mean, found.least, found.most, found.deviation, found.at_limit) == (110, 100, 120, 10, 0)
    assert found.implied_buffer_s == pytest.approx(110e-6)
    assert found.corrected_buffer_s == pytest.approx(27.5e-6)
    assert result_of([], PLAN) is None


def test_what_stands_at_the_limit_is_told():
    def codes(*tests):
        return [warning.code for warning in warnings_of(tests, PLAN)]

    assert codes(BurstTest(0, 1000), BurstTest(1, 500, 501)) == ["burst-at-limit"]
    assert codes(BurstTest(0, 900, 901)) == ["burst-near-limit"]
    assert codes(BurstTest(0, 0, 1)) == ["shortest-burst-lost"]
    assert codes(BurstTest(0, 899, 900)) == []


def trial(seq, test, burst, lost=0, invalid=None):
    return Trial(seq, 1e6, burst / 1e6, burst, burst, lost, round=test, burst=burst, invalid=invalid)


def test_trials_are_put_to_their_tests():
    plan = BurstPlan(load=1e6, tests=2, longest=3)
    spoiled = trial(1, 0, 3, invalid="off schedule")
    tests, search = completed_tests([trial(0, 0, 2), spoiled, trial(2, 0, 3, lost=1), trial(3, 1, 2, lost=2)], plan)
    assert tests == [BurstTest(0, 2, 3)]
    assert (search.held, search.lossy, search.next()) == (0, 2, 1)
    with pytest.raises(RecordError, match="trial 1 is test 0, a burst of 1 frames; due is test 0, a burst of 3"):
        completed_tests([trial(0, 0, 2), trial(1, 0, 1)], plan)
