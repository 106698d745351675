"""The load that a tester can offer through a lab, found in few trials."""

import pytest
from brimful.errors import MeasureError
from brimful.measurers.tester import highest_offered


def trials_of(highest, spoiled=()):
    """What is on schedule up to a load, but for the trials with these numbers; and the loads that were asked for."""
    asked = []

    def is_on_schedule(load):
        asked.append(load)
        return load <= highest and len(asked) - 1 not in spoiled

    return is_on_schedule, asked


@pytest.mark.parametrize("highest", [1e6, 0.99e6, 0.5e6, 0.1e6])
def test_the_highest_load_on_schedule_is_found_within_a_fifth(highest):
    is_on_schedule, asked = trials_of(highest)
    found = highest_offered(1e6, is_on_schedule)
    assert 0.8 * highest < found <= highest
    above = sum(load > highest for load in set(asked))
    assert len(asked) <= above + 1 + 4


def test_a_spoiled_trial_costs_no_load():
    is_on_schedule, _ = trials_of(1e6, spoiled={0, 1, 3})
    assert highest_offered(1e6, is_on_schedule) == 1e6


def test_a_tester_that_is_never_on_schedule_is_told():
    with pytest.raises(MeasureError, match=r"cannot even send \d+ frames/s on schedule through the lab"):
        highest_offered(1e6, lambda load: False)
