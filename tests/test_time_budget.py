"""The time budget, which begins with the command, and the tester's own ceiling, which takes some of it."""

import time

import msgspec
import pytest
from brimful.errors import MeasureError, UsageError
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.throughput.manager import SearchRequest, run_search
from support import NDR_AND_PDR

CEILING = 2e6
CALIBRATION_S = 20.0


class Calibrated:
    """A simulated system with a tester whose ceiling is unknown, and a clock that is not called virtual."""

    def __init__(self, max_load=None, hang_s=0.0, error=None):
        self._inner = SimulatedMeasurer("soft-knee,seed=3")
        self._calibrated_s = 0.0
        self._max_load = max_load
        self._hang_s = hang_s
        self._error = error

    def describe(self):
        return msgspec.structs.replace(
            self._inner.describe(), can_calibrate=True, max_load=self._max_load, virtual_time=False
        )

    def calibrate(self):
        time.sleep(self._hang_s)
        if self._error is not None:
            raise MeasureError(self._error)
        self._calibrated_s = CALIBRATION_S
        return CEILING

    def measure(self, load, duration_s, *, stop_above=None):
        return self._inner.measure(load, duration_s, stop_above=stop_above)

    def now(self):
        return self._calibrated_s + self._inner.now()

    def resume_at(self, elapsed_s):
        pass


def searched(tmp_path, measurer, budget_s, **more):
    notes = []
    set_up_s = more.pop("set_up_s", 0.0)
    request = SearchRequest(
        measurer="ours", goals=NDR_AND_PDR, strategy="straddle", budget_s=budget_s, min_load="1kpps", **more
    )
    outcome = run_search(request, measurer, out=tmp_path, set_up_s=set_up_s, note=notes.append)
    return outcome, notes


def test_set_up_and_calibration_count(tmp_path):
    outcome, _ = searched(tmp_path, measurer := Calibrated(), 30.0, set_up_s=5.0)
    assert outcome.result.end.reason == "time-budget"
    assert outcome.result.trials
    assert measurer.now() <= 25.0
    assert outcome.run.budget_s == 30.0


def test_a_budget_that_is_over_before_the_first_trial_ends_the_search_without_bounds(tmp_path):
    outcome, _ = searched(tmp_path, Calibrated(), CALIBRATION_S + 1, set_up_s=1.0)
    assert outcome.result.end.reason == "time-budget"
    assert outcome.result.trials == []
    assert [result.lower_bound for result in outcome.result.goal_results] == [None, None]


def test_virtual_time_is_spent_on_trials_only(tmp_path):
    outcome, _ = searched(tmp_path, measurer := SimulatedMeasurer("soft-knee,seed=3"), 30.0, set_up_s=1000.0)
    assert outcome.result.trials
    assert 20.0 < measurer.now() <= 30.0


@pytest.mark.parametrize(("measurer", "more"), [({}, {"max_load": "2Mpps"}), ({"max_load": 2e6}, {})])
def test_a_search_that_can_do_without_the_ceiling_does_not_spend_its_budget_on_it(tmp_path, measurer, more):
    outcome, notes = searched(tmp_path, Calibrated(**measurer, hang_s=60.0), 4.0, **more)
    assert outcome.run.measurer.ceiling is None
    assert "the budget is too short for the tester's own ceiling" in notes[-1]
    assert outcome.result.end.reason == "time-budget"


@pytest.mark.parametrize("more", [{}, {"max_load": "50%"}])
def test_a_search_that_needs_the_ceiling_says_that_the_budget_is_too_short(tmp_path, more):
    with pytest.raises(UsageError, match=r"--budget .* is over before .* give more time, or --max-load"):
        searched(tmp_path, Calibrated(hang_s=60.0), 0.3, **more)
    assert list(tmp_path.iterdir()) == []


def test_a_budget_that_is_too_short_for_bounds_says_so_before_the_first_trial(tmp_path):
    _, notes = searched(tmp_path, Calibrated(), CALIBRATION_S + 2)
    assert notes[-1] == (
        "--budget 22 s is too short for bounds: 2 s are left, and the trials that the goals ask for take 22 s at least;"
        " give more time, or goals with less (--preset quick)"
    )


def test_the_ceiling_leaves_the_time_that_bounds_take(tmp_path):
    with pytest.raises(UsageError, match=r"--budget 22 s is over .* and bounds are found, which take 22 s of trials"):
        searched(tmp_path, Calibrated(hang_s=60.0), 22.2, set_up_s=5.4)
    assert list(tmp_path.iterdir()) == []


BUSY = "the tester is late even where nothing is asked of it: is the machine busy?"


@pytest.mark.parametrize(("measurer", "more"), [({}, {"max_load": "2Mpps"}), ({"max_load": 2e6}, {})])
def test_a_search_that_can_do_without_the_ceiling_goes_on_where_it_cannot_be_measured(tmp_path, measurer, more):
    outcome, notes = searched(tmp_path, Calibrated(**measurer, error=BUSY), None, **more)
    assert f"{BUSY}; results near it cannot be told from the device's" in notes
    assert outcome.run.measurer.ceiling is None
    assert {result.reason for result in outcome.result.goal_results} == {"max-load-is-lower-bound"}


@pytest.mark.parametrize("more", [{}, {"max_load": "50%"}])
def test_a_search_that_needs_the_ceiling_ends_where_it_cannot_be_measured(tmp_path, more):
    with pytest.raises(MeasureError, match="is the machine busy"):
        searched(tmp_path, Calibrated(error=BUSY), None, **more)
    assert list(tmp_path.iterdir()) == []
