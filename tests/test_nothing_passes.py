"""Searches at a frame size of which nothing comes through, while frames of others do."""

from brimful.records import Warning
from brimful.throughput.run_loop import Plan, SearchLoop
from support import NDR_AND_PDR, Dropping, InvalidTrialError


def run(measurer):
    records = []
    plan = Plan(goals=NDR_AND_PDR, min_load=9001.0, max_load=14.88e6)
    return SearchLoop(plan, measurer, sink=records.append).run(), records


def test_that_frames_of_another_size_pass_makes_it_a_result_that_these_do_not():
    result, records = run(Dropping("sharp,capacity=1Mpps"))
    assert (result.end.reason, result.regular) == ("done", False)
    assert {(found.reason, found.lower_bound) for found in result.goal_results} == {("min-load-is-upper-bound", None)}
    (said,) = [record for record in records if isinstance(record, Warning)]
    assert said.code == "nothing-passes"
    assert said.text.startswith("frames of this size do not pass: nothing ever arrived, neither at 14.88 Mpps nor at")
    assert said.text.endswith("while frames of 64 bytes come through")
    assert run(Dropping("sharp,capacity=1Mpps", is_cut=True))[0].end.reason == "measurement-failed"


def test_a_check_of_a_dead_direction_that_was_spoiled_is_made_again():
    class Spoiled(Dropping):
        calls = 0

        def measure(self, load, duration_s, *, stop_above=None):
            self.calls += 1
            if self.calls in (2, 3):
                raise InvalidTrialError("late")
            return super().measure(load, duration_s)

    result, records = run(Spoiled("sharp,capacity=1Mpps"))
    assert [record.code for record in records if isinstance(record, Warning)] == ["nothing-passes"]
    assert [trial.invalid is None for trial in result.trials[:4]] == [True, False, False, False]
    assert result.trials[3].invalid == "dead-direction check"
