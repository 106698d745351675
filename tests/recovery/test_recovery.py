"""Recovery from overloads and resets: intervals against known times, failures, reports and the command."""

import json
import os
import signal
import time

import msgspec
import pytest
from brimful.errors import MeasureError, UsageError
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.policies import Policies
from brimful.records import Recovery, Trial, read_run
from brimful.recovery.calculations import of_reset
from brimful.recovery.loop import RecoveryLoop
from brimful.recovery.manager import RecoveryRequest, run_recovery
from brimful.recovery.reset import Reset, resetting
from brimful.recovery.verification import verify_recovery
from brimful.report import rendering
from brimful.report.recovery import model
from brimful.session import Session
from brimful.throughput.manager import SearchRequest
from hypothesis import given
from hypothesis import strategies as st
from recovering import PLAN, Recovering
from support import Dropping, brimful, goal


@given(st.floats(0, 15), st.floats(0, 0.5))
def test_the_time_lies_within_the_interval(recovery_s, wait_s):
    found = RecoveryLoop(PLAN, Recovering(recovery_s, wait_s), Policies()).run()
    assert len(found.recoveries) == 2
    for one in found.recoveries:
        # Less than one frame of a probe may be lost at its begin.
        assert one.low_s <= recovery_s <= one.high_s + 1e-5
        assert one.high_s - one.low_s <= PLAN.probe_s + 3 * wait_s + 1e-6


def test_a_device_that_does_not_recover_has_no_upper_end():
    found = RecoveryLoop(PLAN, Recovering(1000.0), Policies()).run()
    assert [(one.low_s > 19, one.high_s) for one in found.recoveries] == [(True, None)] * 2


def reset_trial(lost, duration_s=10.0, directions=()):
    return Trial(0, 1000.0, duration_s, 10_000, 10_000, lost, path="reset", round=0, directions=list(directions))


def test_a_reset_takes_as_long_as_its_lost_frames():
    assert of_reset(reset_trial(500), conversion_factor=1.0) == Recovery(0, 0.499, 0.501)
    assert of_reset(reset_trial(0), conversion_factor=1.0) == Recovery(0, 0.0, 0.001)
    assert of_reset(reset_trial(500), conversion_factor=2.0) == Recovery(0, 0.249, 0.251)
    both = [{"sent": 5000, "lost": 100}, {"sent": 5000, "lost": 400}]
    assert of_reset(reset_trial(500, directions=both), conversion_factor=2.0) == Recovery(0, 0.399, 0.401)
    assert of_reset(reset_trial(7500), conversion_factor=1.0) == Recovery(0, 7.499, None)


@pytest.mark.parametrize("reset_command", [None, "true"])
def test_where_no_frame_passes_there_is_nothing_to_recover_to(tmp_path, reset_command):
    class Real(Dropping):
        def describe(self):
            return msgspec.structs.replace(super().describe(), virtual_time=False)

    search = SearchRequest(measurer="sim:x", goals=[goal(exceed=0)], strategy="straddle", traffic={"arguments": []})
    request = RecoveryRequest(search=search, reset_command=reset_command)
    done = run_recovery(request, Real("sharp,capacity=1Mpps"), out=tmp_path / "r")
    assert (done.outcome.end.reason, done.outcome.recoveries) == ("done", [])
    file = read_run(tmp_path / "r")
    assert "no frame of this size passes: nothing ever arrived" in file.warnings[0].text
    for said in (rendering.text(file), rendering.page(file).replace("\N{NO-BREAK SPACE}", " ")):
        assert "No frame of this size passes." in said
        assert "no result" not in said
    assert '"passes_nothing": true' in rendering.to_json(file)
    assert model.line(file) == "no frame of this size passes"
    assert verify_recovery(file).findings == []


class Resettable(SimulatedMeasurer):
    """Loses frames for a tenth of a trial during which a file appears."""

    def __init__(self, mark):
        super().__init__("sharp,capacity=1Mpps")
        self._mark = mark

    def describe(self):
        return msgspec.structs.replace(super().describe(), virtual_time=False)

    def measure(self, load, duration_s, *, stop_above=None):
        output = super().measure(load, duration_s)
        deadline = time.monotonic() + 20
        while not self._mark.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self._mark.unlink()
        return msgspec.structs.replace(output, lost=round(0.1 * output.sent))


def request(**changes):
    search = SearchRequest(measurer="test", goals=[goal(exceed=0)], strategy="straddle")
    return RecoveryRequest(search=search, **{"throughput": "1Mpps", "rounds": 1, "duration_s": 0.2, **changes})


def test_the_device_is_reset_during_the_trial(tmp_path):
    mark = tmp_path / "mark"
    done = run_recovery(request(reset_command=f"touch {mark}"), Resettable(mark), out=tmp_path / "run")
    assert done.outcome.end.reason == "done"
    (one,) = done.outcome.recoveries
    assert (one.low_s, one.high_s) == pytest.approx((0.02, 0.02), abs=2e-6)
    assert verify_recovery(read_run(done.path)).findings == []


class Spoiling(SimulatedMeasurer):
    """Spoils its first trials when its scripts say so, the last of them for longer than the reset waits."""

    def __init__(self, resets, spoiled, *, spoils_after):
        super().__init__("sharp,capacity=1Mpps")
        self._resets, self._spoiled, self._spoils_after = resets, spoiled, spoils_after

    def describe(self):
        return msgspec.structs.replace(super().describe(), virtual_time=False)

    def _await_resets(self, count):
        deadline = time.monotonic() + 20
        while count > (len(self._resets.read_text()) if self._resets.exists() else 0):
            assert time.monotonic() < deadline, "the device was not reset"
            time.sleep(0.01)

    def measure(self, load, duration_s, *, stop_above=None):
        before = len(self._resets.read_text()) if self._resets.exists() else 0
        if self._spoiled:
            self._spoiled -= 1
            self._await_resets(before + self._spoils_after)
            raise InvalidTrialError("the link flapped")
        self._await_resets(before + 1)
        # As long as a reset that a spoiled trial left behind would need to come.
        time.sleep(2 * duration_s)
        return super().measure(load, duration_s)


@pytest.mark.parametrize(("spoils_after", "resets"), [(0, 1), (1, 3)])
def test_a_spoiled_trial_takes_its_reset_with_it(tmp_path, monkeypatch, spoils_after, resets):
    waits = []
    monkeypatch.setattr(Session, "wait", lambda self, seconds: waits.append(seconds))
    marks = tmp_path / "resets"
    measurer = Spoiling(marks, 2, spoils_after=spoils_after)
    done = run_recovery(request(reset_command=f"printf x >>{marks}", duration_s=0.4), measurer, out=tmp_path / "run")
    assert done.outcome.end.reason == "done", done.outcome.end
    # One in the trial that counts; and one in each of those that were spoiled after it, which are waited for.
    assert marks.read_text() == "x" * resets
    assert len(waits) == resets - 1
    trials = read_run(done.path).trials
    assert [trial.invalid is None for trial in trials] == [False, False, True]


def test_a_trial_that_ends_before_its_reset_says_nothing(tmp_path):
    marks = tmp_path / "resets"
    wanted = request(reset_command=f"printf x >>{marks}", duration_s=3600.0)
    wanted = msgspec.structs.replace(wanted, search=msgspec.structs.replace(wanted.search, on_invalid="retry:1"))
    at_once = SimulatedMeasurer("sharp,capacity=1Mpps")
    real = msgspec.structs.replace(at_once.describe(), virtual_time=False)
    at_once.describe = lambda: real
    done = run_recovery(wanted, at_once, out=tmp_path / "run")
    assert "the trial ended before the device was reset" in done.outcome.end.text
    assert done.outcome.recoveries == []
    assert not marks.exists()


def test_a_reset_command_that_hangs_is_ended(tmp_path):
    started = tmp_path / "pid"
    reset = Reset(["sh", "-c", f"echo $$ >{started}; exec sleep 600"], 0.0, patience_s=0.3)
    deadline = time.monotonic() + 20
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(MeasureError, match=r"still ran 300 ms after its trial and was ended"):
        reset.finish()
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    reset.cancel()


def test_what_a_reset_leaves_in_the_background_is_not_waited_for(tmp_path):
    kept = tmp_path / "pid"
    with resetting(["sh", "-c", f"sleep 60 & echo $! >{kept}"], 0.0):
        deadline = time.monotonic() + 20
        while not (kept.exists() and kept.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
    os.kill(int(kept.read_text()), signal.SIGKILL)


def test_a_reset_command_that_is_no_program(tmp_path):
    reset = Reset([str(tmp_path / "missing")], 0.0)
    deadline = time.monotonic() + 20
    while reset.began_s is None and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(MeasureError, match="cannot be started: No such file"):
        reset.finish()
    reset.cancel()


def test_a_reset_is_timed_only_where_loads_are_rates_of_frames(tmp_path):
    class InPercent(Resettable):
        def describe(self):
            return msgspec.structs.replace(super().describe(), load_unit="%")

    with pytest.raises(UsageError, match="frames lost are no time where loads are in %"):
        run_recovery(request(reset_command="true"), InPercent(tmp_path / "mark"), out=tmp_path / "run")
    with pytest.raises(UsageError, match="--reset-command: is empty"):
        run_recovery(request(reset_command=" "), Resettable(tmp_path / "mark"), out=tmp_path / "run")


def test_a_reset_command_that_fails_ends_the_run(tmp_path):
    mark = tmp_path / "mark"
    command = f"touch {mark}; echo no such device >&2; exit 3 # it's one quote, which a shell may have"
    done = run_recovery(request(reset_command=command), Resettable(mark), out=tmp_path / "run")
    assert done.outcome.end.text == "the reset command ended with 3: no such device"
    assert done.outcome.recoveries == []


def test_nothing_is_reset_in_virtual_time(tmp_path):
    with pytest.raises(UsageError, match="virtual time"):
        run_recovery(request(reset_command="true"), SimulatedMeasurer("sharp"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_throughput_is_searched_for_first(tmp_path):
    simulated = SimulatedMeasurer("sharp,capacity=1Mpps,link=2Mpps")
    done = run_recovery(request(throughput=None), simulated, out=tmp_path / "run")
    plan = read_run(done.path).run.recovery
    assert plan.throughput_run == read_run(tmp_path / "run" / "throughput").run.run_id
    assert plan.load == pytest.approx(1.1 * plan.throughput)
    assert plan.load_after == pytest.approx(0.5 * plan.load)


def test_what_was_changed_is_found(tmp_path):
    done = run_recovery(request(), SimulatedMeasurer("sharp,capacity=1Mpps"), out=tmp_path)
    file = read_run(done.path)
    assert verify_recovery(file).findings == []
    wrong = msgspec.structs.replace(file, others=[Recovery(0, 1.0, 2.0), Recovery(5, 1.0, 2.0)])
    assert [finding[:8] for finding in verify_recovery(wrong).findings] == ["round 0:", "round 5:"]
    trials = [msgspec.structs.replace(file.trials[0], path="probe"), *file.trials[1:]]
    assert "a round is one trial" in verify_recovery(msgspec.structs.replace(file, trials=trials)).findings[0]


def test_the_report_has_all_that_is_in_the_record(tmp_path):
    options = ("--find", "recovery", "--throughput", "1Mpps", "--tests", "2", "--quiet")
    system = "sim:sharp,capacity=1Mpps"
    written = ("--out", "one", "--html", "one.html")
    printed = brimful("search", "-m", system, *options, *written, cwd=tmp_path, check=0).stdout
    assert printed.startswith(brimful("report", "one", cwd=tmp_path, check=0).stdout)
    assert "Average: 0 ns to 0 ns" in printed
    assert len(json.loads(brimful("report", "one", "--json", cwd=tmp_path, check=0).stdout)["recoveries"]) == 2
    assert "2 rounds: every time recomputed" in brimful("verify", "one", cwd=tmp_path, check=0).stdout
    assert (
        "is no option of --find recovery"
        in brimful("search", "-m", system, *options, "--step", "3", cwd=tmp_path, check=2).stderr
    )
    file = read_run(tmp_path / "one")
    assert model.line(file) == "recovery from overload 0 ns to 0 ns"
    page = rendering.page(file)
    assert "the load after the overload is not continuous" in page


@pytest.mark.parametrize("at", range(1, 12))
def test_a_run_that_was_interrupted_goes_on_with_the_round_it_was_in(tmp_path, at):
    class Interrupted(Recovering):
        def measure(self, load, duration_s, *, stop_above=None):
            nonlocal at
            at -= 1
            if at == 0:
                raise KeyboardInterrupt
            return super().measure(load, duration_s, stop_above=stop_above)

    asked = request(rounds=2, duration_s=1.0)
    cut = run_recovery(asked, Interrupted(0.4), out=tmp_path / "run")
    assert cut.outcome.end.reason == "interrupted"
    assert verify_recovery(read_run(cut.path)).findings == []
    before = list(cut.outcome.recoveries)
    done = run_recovery(asked, Recovering(0.4), out=tmp_path / "run", resume=True)
    assert done.outcome.end.reason == "done"
    assert [one.round for one in done.outcome.recoveries] == [0, 1]
    assert done.outcome.recoveries[: len(before)] == before
    assert all(one.low_s <= 0.4 <= one.high_s for one in done.outcome.recoveries)
    assert verify_recovery(read_run(cut.path)).findings == []
    assert (
        run_recovery(asked, Recovering(0.4), out=tmp_path / "run", resume=True).outcome.recoveries
        == done.outcome.recoveries
    )


class SlowlyRecovering(Recovering):
    """The same behind a tester that cannot offer more than a load, from a trial on."""

    def __init__(self, recovery_s, most, after=0):
        super().__init__(recovery_s)
        self._most, self._left = most, after

    def measure(self, load, duration_s, *, stop_above=None):
        self._left -= 1
        if load > self._most and self._left < 0:
            raise InvalidTrialError("the tester was late by 3 ms")
        return super().measure(load, duration_s)


@pytest.mark.parametrize("after", [0, 5])
def test_an_overload_is_smaller_where_the_tester_is_too_slow(tmp_path, after):
    asked = msgspec.structs.replace(request(rounds=2, duration_s=1.0), throughput="1Mpps")
    done = run_recovery(asked, SlowlyRecovering(0.4, 1.06e6, after), out=tmp_path / "run")
    assert done.outcome.end.reason == "done"
    file = read_run(done.path)
    assert file.ceilings == [pytest.approx(1.05e6)]
    assert len(done.outcome.recoveries) == 2
    for one in done.outcome.recoveries:
        assert one.low_s <= 0.4 <= one.high_s
    assert {trial.load for trial in file.counted()[-3:]} == {file.ceilings[0] / 2.2 * 1.1}
    assert verify_recovery(file).findings == []
    assert "1.05000 Mpps (the tester could not offer 1.10000 Mpps) for 1 s" in rendering.text(file)


def test_what_does_not_overload_says_nothing_of_recovery(tmp_path):
    done = run_recovery(request(rounds=2), SlowlyRecovering(0.4, 1e6), out=tmp_path / "run")
    assert done.outcome.end.reason == "measurement-failed"
    assert "a smaller load would not overload the device" in done.outcome.end.text
    assert done.outcome.recoveries == []


def test_a_device_may_be_reset_at_a_smaller_load(tmp_path):
    class Slow(Resettable):
        def measure(self, load, duration_s, *, stop_above=None):
            if load > 0.8e6:
                raise InvalidTrialError("the tester was late by 3 ms")
            return super().measure(load, duration_s)

    mark = tmp_path / "mark"
    # The spoiled trial ends long before its reset is due, also on a busy machine: no mark of it is left.
    asked = request(reset_command=f"touch {mark}", duration_s=1.0)
    asked = msgspec.structs.replace(asked, search=msgspec.structs.replace(asked.search, on_invalid="fail"))
    done = run_recovery(asked, Slow(mark), out=tmp_path / "run")
    assert done.outcome.end.reason == "done"
    file = read_run(done.path)
    assert file.max_load == 0.75e6
    assert done.outcome.recoveries[0].low_s == pytest.approx(0.1, abs=3e-6)
    assert verify_recovery(file).findings == []
