"""Runs on back-to-back frames: what is found on buffers of known size, failures, resuming, verification."""

import msgspec
import pytest
from brimful.burst.loop import BurstLoop
from brimful.burst.manager import BurstRequest, run_burst
from brimful.burst.verification import verify_burst
from brimful.errors import MeasureError, UsageError
from brimful.measurers.base import TrialOutput
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.policies import Policies
from brimful.records import BurstPlan, BurstTest, read_run
from brimful.report import rendering
from brimful.report.burst.model import headline
from brimful.throughput.manager import SearchRequest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Troubled, goal
from too_slow import TooSlow

SYSTEM = "buffer,capacity=1Mpps,frames=1000,link=2Mpps"
LONGEST = 1999


def request(spec=SYSTEM, **changes):
    search = {name: changes.pop(name) for name in list(changes) if name in SearchRequest.__struct_fields__}
    asked = SearchRequest(measurer=f"sim:{spec}", goals=[goal("throughput", exceed=0)], strategy="straddle")
    search = msgspec.structs.replace(asked, **{key: value for key, value in search.items() if key != "throughput"})
    return BurstRequest(search=search, **{"tests": 2, "throughput": "1Mpps", "longest": "1s", **changes})


def longest_burst(buffer, load, capacity):
    """Frames until one of them, counted from 0, finds i - floor(i capacity / load) = buffer frames before it."""
    return (buffer - 1) * load // (load - capacity) + 1


@settings(max_examples=40)
@given(st.integers(1, 20_000), st.integers(1_000, 15_000_000), st.floats(0.05, 0.98))
def test_the_burst_found_is_that_of_the_buffer_exactly(buffer, load, share):
    capacity = max(1, int(load * share))
    measurer = SimulatedMeasurer(f"buffer,capacity={capacity}pps,frames={buffer}")
    plan = BurstPlan(load=load, tests=2, longest=30 * 15_000_000, throughput=capacity)
    found = BurstLoop(plan, measurer, Policies()).run()
    exact = longest_burst(buffer, load, capacity)
    assert [(test.frames, test.lossy) for test in found.tests] == [(exact, exact + 1)] * 2
    # What stays of a burst is what the buffer holds, to the frame that is on its way out.
    assert found.result.corrected_buffer_s * load == pytest.approx(buffer, abs=2)


def test_the_throughput_is_searched_for_first(tmp_path):
    done = run_burst(request(throughput=None), SimulatedMeasurer(SYSTEM), out=tmp_path / "run")
    file, found = read_run(done.path), read_run(tmp_path / "run" / "throughput")
    assert file.run.burst.load == 2e6
    assert file.run.burst.throughput == found.goal_results[0].conditional_throughput
    assert file.run.burst.throughput_run == found.run.run_id
    assert done.outcome.result.mean == LONGEST
    assert done.outcome.result.corrected_buffer_s == pytest.approx(500e-6, rel=0.01)
    assert verify_burst(file).findings == []


def test_a_run_of_a_search_gives_the_throughput(tmp_path):
    run_burst(request(throughput=None), SimulatedMeasurer(SYSTEM), out=tmp_path / "one")
    found = str(tmp_path / "one" / "throughput")
    done = run_burst(request(throughput=found), SimulatedMeasurer(SYSTEM), out=tmp_path / "two")
    assert read_run(done.path).run.burst.throughput_goal == "throughput"
    assert not (tmp_path / "two" / "throughput").exists()


def test_bursts_are_apart_in_time(tmp_path):
    done = run_burst(request(rest_s=0.5, longest="2s"), SimulatedMeasurer(SYSTEM), out=tmp_path)
    file = read_run(done.path)
    ends = [trial.start_s + trial.elapsed_s for trial in file.trials]
    gaps = [after.start_s - end for after, end in zip(file.trials[1:], ends, strict=False)]
    assert gaps == pytest.approx([max(0.5, trial.duration_s) for trial in file.trials[:-1]])
    assert "RFC 9004 section 6.2" in file.run.deviations[0]


def test_no_loss_up_to_the_longest_is_a_least_value(tmp_path):
    done = run_burst(request(longest="1500"), SimulatedMeasurer(SYSTEM), out=tmp_path)
    assert [(test.frames, test.lossy) for test in done.outcome.tests] == [(1500, None)] * 2
    assert done.outcome.result.at_limit == 2
    assert "up to a burst of 1,500 frames" in done.outcome.warnings[0].text


def test_no_burst_is_sent_where_none_overflows(tmp_path):
    spec = "buffer,capacity=2Mpps,frames=1000,link=2Mpps"
    done = run_burst(request(spec, throughput=None), SimulatedMeasurer(spec), out=tmp_path)
    assert (done.outcome.result, done.outcome.end.trials) == (None, 0)
    assert done.outcome.warnings[-1].code == "throughput-is-max-load"
    assert headline(read_run(done.path)) == "no burst overflows a buffer"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"longest": "0"}, "--longest 0: is 0 frames"),
        ({"longest": "10", "step": 11}, r"from --step \(11\)"),
        ({"longest": "soon"}, "duration 'soon'"),
        ({"throughput": "x"}, "--throughput: load 'x'"),
        ({"on_invalid": "loss"}, "policy 'loss'"),
        ({"goals": [goal(loss=0.1)], "throughput": None}, "give a goal with loss=0"),
    ],
)
def test_what_cannot_be_is_refused_before_a_record_is_made(tmp_path, changes, said):
    with pytest.raises(UsageError, match=said):
        run_burst(request(**changes), SimulatedMeasurer(SYSTEM), out=tmp_path / "run")
    assert not (tmp_path / "run" / "run.jsonl").exists()


def test_spoiled_bursts_are_repeated_and_not_counted(tmp_path):
    class Short(Troubled):
        def measure(self, load, duration_s, *, stop_above=None):
            output = super().measure(load, duration_s, stop_above=stop_above)
            return msgspec.structs.replace(output, sent=output.sent - 1, lost=0) if self.calls == 2 else output

    done = run_burst(request(), Short({}, SYSTEM), out=tmp_path)
    file = read_run(done.path)
    assert done.outcome.result.mean == LONGEST
    (spoiled,) = [trial for trial in file.trials if trial.invalid]
    assert "frames of the burst were not sent" in spoiled.invalid
    assert verify_burst(file).findings == []


def test_a_burst_that_was_drawn_out_says_nothing(tmp_path):
    class Late(Troubled):
        def measure(self, load, duration_s, *, stop_above=None):
            output = super().measure(load, duration_s, stop_above=stop_above)
            late_s = 0.2 * duration_s + 1e-3 if self.calls == 1 else 0.05 * duration_s
            return msgspec.structs.replace(output, directions=[{"pacing": {"max_lateness_s": late_s}}])

    file = read_run(run_burst(request(), Late({}, SYSTEM), out=tmp_path).path)
    assert [trial.invalid is None for trial in file.trials[:3]] == [False, True, True]
    assert "frames were not back to back" in file.trials[0].invalid


def test_a_run_that_was_interrupted_goes_on_as_if_nothing_had_been(tmp_path):
    whole = run_burst(request(), SimulatedMeasurer(SYSTEM), out=tmp_path / "whole")
    for call in (1, 20, 21, 22):
        out = tmp_path / str(call)
        cut = run_burst(request(), Troubled({call: KeyboardInterrupt()}, SYSTEM), out=out)
        assert (cut.outcome.end.reason, cut.outcome.end.trials) == ("interrupted", call)
        done = run_burst(request(), SimulatedMeasurer(SYSTEM), out=out, resume=True)
        assert done.outcome.tests == whole.outcome.tests
        file = read_run(out)
        assert [trial.burst for trial in file.trials] == [trial.burst for trial in read_run(whole.path).trials]
        assert verify_burst(file).findings == []
        again = run_burst(request(), SimulatedMeasurer(SYSTEM), out=out, resume=True)
        assert again.outcome.end.trials == done.outcome.end.trials


def test_a_measurer_that_fails_leaves_what_was_found(tmp_path):
    done = run_burst(request(), Troubled({30: MeasureError("the link is gone")}, SYSTEM), out=tmp_path)
    assert (done.outcome.end.reason, done.outcome.end.text) == ("measurement-failed", "the link is gone")
    assert [test.frames for test in done.outcome.tests] == [LONGEST]
    assert done.outcome.result.tests == 1


def test_both_directions_are_counted_together(tmp_path):
    class Both(SimulatedMeasurer):
        def describe(self):
            return msgspec.structs.replace(super().describe(), conversion_factor=2.0)

        def measure(self, load, duration_s, *, stop_above=None):
            output = super().measure(load, duration_s)
            return TrialOutput(sent=2 * output.sent, lost=output.lost)

    done = run_burst(request(), Both(SYSTEM), out=tmp_path)
    assert done.outcome.result.mean == LONGEST
    assert [trial.intended for trial in read_run(done.path).trials[:1]] == [2 * 1_000_000]


def test_what_was_changed_is_found(tmp_path):
    path = run_burst(request(), SimulatedMeasurer(SYSTEM), out=tmp_path).path
    file = read_run(path)
    found = verify_burst(
        msgspec.structs.replace(
            file,
            others=[BurstTest(0, 5, 6) if isinstance(one, BurstTest) and one.test == 0 else one for one in file.others],
        )
    )
    assert found.findings == [
        "test 0: is recorded as 5 frames held, 6 lossy, but the trials give 1999 frames held, 2000 lossy"
    ]
    lost = [msgspec.structs.replace(trial, lost=0) if trial.seq == 3 else trial for trial in file.trials]
    assert "due is test 0" in verify_burst(msgspec.structs.replace(file, trials=lost)).findings[0]
    without = msgspec.structs.replace(file, others=[one for one in file.others if isinstance(one, BurstTest)])
    assert "the result is recorded as None" in verify_burst(without).findings[0]


SLOW = {"throughput": "1Mpps", "on_invalid": "retry:1"}


@pytest.mark.parametrize("after", [0, 3, 25])
def test_bursts_are_at_a_smaller_load_where_the_tester_is_too_slow(tmp_path, after):
    done = run_burst(request(**SLOW), TooSlow(SYSTEM, most=1.6e6, after=after), out=tmp_path / "run")
    assert done.outcome.end.reason == "done"
    exact = longest_burst(1000, 1_500_000, 1_000_000)
    assert [(test.frames, test.load) for test in done.outcome.tests] == [(exact, 1.5e6)] * 2
    assert done.outcome.result.corrected_buffer_s * 1.5e6 == pytest.approx(1000, abs=2)
    file = read_run(done.path)
    assert file.ceilings == [1.5e6]
    assert verify_burst(file).findings == []
    text = rendering.text(file)
    assert "1.50000 Mpps (the tester could not offer 2.00000 Mpps)" in text
    assert "bursts are at 1.500 Mpps from here on" in " ".join(text.split())
    lines = (tmp_path / "run" / "run.jsonl").read_bytes().splitlines(keepends=True)
    for number in range(2, len(lines), 7):
        cut = tmp_path / f"cut{number}"
        cut.mkdir()
        (cut / "run.jsonl").write_bytes(b"".join(lines[:number]))
        again = run_burst(request(**SLOW), TooSlow(SYSTEM, most=1.6e6), out=cut, resume=True)
        assert again.outcome.result == done.outcome.result
        assert verify_burst(read_run(cut)).findings == []


def test_a_ceiling_that_cannot_be_is_no_load(tmp_path):
    file = read_run(run_burst(request(**SLOW), TooSlow(SYSTEM, most=1.6e6), out=tmp_path / "run").path)
    for load in (0.0, -1.0, None, 1e-300):
        changed = msgspec.structs.replace(file, warnings=[msgspec.structs.replace(file.warnings[0], load=load)])
        rendering.text(changed)
        rendering.page(changed)
        assert verify_burst(changed).findings


def test_bursts_at_the_throughput_overflow_nothing(tmp_path):
    done = run_burst(request(**SLOW), TooSlow(SYSTEM, most=1e6), out=tmp_path / "run")
    assert done.outcome.end.reason == "measurement-failed"
    assert "bursts at a smaller load would not overflow the device" in done.outcome.end.text
    assert done.outcome.result is None
