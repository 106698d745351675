"""The frame loss rate: which trials are made, what they say, and the command as people use it."""

import json
import math
import random

import msgspec
import pytest
from brimful.errors import MeasureError, RecordError
from brimful.loss.calculations import losses, steps
from brimful.loss.loop import LossLoop
from brimful.loss.manager import LossRequest, run_loss, sweep
from brimful.loss.verification import verify_loss
from brimful.measurers.base import InvalidTrialError, TrialOutput
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.policies import Policies
from brimful.records import Loss, LossPlan, Trial, read_run, stated
from brimful.report import rendering
from brimful.report.blocks import Table
from brimful.report.loss import model
from brimful.throughput.manager import SearchRequest
from hypothesis import given
from hypothesis import strategies as st
from loss.losing import PLAN, invented_run
from support import brimful
from too_slow import TooSlow

SHORT = ("--trial", "100ms", "--rest", "10ms", "--quiet")


@given(st.lists(st.booleans(), min_size=8, max_size=8))
def test_a_sweep_ends_after_two_trials_in_a_row_without_loss(outcomes):
    plan = LossPlan(loads=[float(load) for load in range(8, 0, -1)], reference=8.0, duration_s=1.0)
    made = []
    for load in steps(plan, made):
        made.append(outcomes[8 - int(load)])
    text = "".join("c" if outcome else "l" for outcome in outcomes)
    assert len(made) == (text.index("cc") + 2 if "cc" in text else 8)


def test_every_load_is_tried_where_loads_are_fixed():
    plan = LossPlan(loads=[3.0, 1.0, 2.0], reference=3.0, duration_s=1.0, until_lossless=False)
    made = []
    for load in steps(plan, made):
        made.append(True)
        assert load == plan.loads[len(made) - 1]
    assert len(made) == 3


def trial(load, lost, seq=0, sweep_=0, sent=1000):
    return Trial(seq=seq, load=load, duration_s=1.0, intended=sent, sent=sent, lost=lost, round=sweep_)


def repeated(*losts, load=2.0, sent=1000):
    """The loss at a load of which each sweep has a trial."""
    plan = LossPlan(loads=[load], reference=load, duration_s=1.0, sweeps=len(losts), until_lossless=False)
    (found,) = losses([trial(load, lost, sweep_=number, sent=sent) for number, lost in enumerate(losts)], plan)
    return found


def test_the_interval_of_few_trials_is_that_of_student_and_a_frame():
    found = repeated(100, 110, 120)
    # t(0.975, 2) = 4.3027, deviation 0.01.
    half = 4.3027 * 0.01 / math.sqrt(3)
    assert (found.ratio, found.typical) == pytest.approx((0.11, 0.11))
    ends = (found.typical_low, found.typical_high)
    assert ends == pytest.approx((0.11 - half - 0.001, 0.11 + half + 0.001), abs=1e-5)
    one = repeated(100)
    assert one.typical is one.typical_low is one.typical_high is one.limit is None


def test_few_trials_are_all_in_their_interval():
    # Student's alone would end at 0.0755.
    assert repeated(0, 0, 0, 0, 100).typical_high == pytest.approx(0.1 + 0.001)


def test_the_interval_of_more_trials_is_between_two_of_them():
    # Of 10 fair coins fewer than 2 show heads in 1.1 % of cases, fewer than 3 in 5.5 %.
    losts = [10, 20, 30, 40, 50, 60, 70, 80, 90, 900]
    random.Random(1).shuffle(losts)
    found = repeated(*losts)
    assert (found.typical, found.typical_low, found.typical_high) == pytest.approx((0.055, 0.019, 0.091))
    assert found.limit > found.ratio > found.typical_high


def test_what_no_frame_showed_may_still_be_three_in_all_of_them():
    found = repeated(0, 0)
    assert (found.typical_low, found.typical_high) == (0.0, 3 / 2000)


def test_the_limit_takes_the_trials_of_all_loads_together():
    plan = LossPlan(loads=[2.0, 1.0], reference=2.0, duration_s=1.0, sweeps=4, until_lossless=False)
    losts = {2.0: (100, 100, 100, 100), 1.0: (0, 0, 0, 0)}

    def limits():
        trials = [trial(load, losts[load][sweep_], sweep_=sweep_) for sweep_ in range(4) for load in plan.loads]
        return [one.limit for one in losses(trials, plan)]

    # What 8 trials do not show comes in fewer than 1 - 0.05^(1/8) of all.
    quiet = 1 - 0.05 ** (1 / 8)
    assert limits() == pytest.approx([0.1 + quiet, quiet])
    losts[1.0] = (0, 0, 800, 0)
    assert limits()[0] > 0.1 + quiet + 0.1


def test_a_trial_that_the_plan_does_not_have_is_refused():
    with pytest.raises(RecordError, match="is not the next load"):
        losses([trial(2e6, 0), trial(1.6e6, 0, 1), trial(1.2e6, 0, 2)], PLAN)


def test_a_curve_is_that_of_the_system(tmp_path):
    file = invented_run(tmp_path, "sharp,capacity=1Mpps")
    assert [(one.load, one.trials) for one in stated.losses(file)] == [(load, 3) for load in PLAN.loads[:5]]
    for one in stated.losses(file):
        true = max(0.0, 1 - 1e6 / one.load)
        assert one.typical_low <= true <= one.typical_high
        assert one.typical_high - one.typical_low < 1e-5
    assert verify_loss(file).findings == []


def test_what_was_changed_is_found(tmp_path):
    file = invented_run(tmp_path)
    first, *rest = file.others
    changed = msgspec.structs.replace(file, others=[msgspec.structs.replace(first, ratio=0.1), *rest])
    assert "is recorded as" in verify_loss(changed).findings[-1]
    fewer = msgspec.structs.replace(file, trials=file.trials[:-1])
    assert any("has no trial at" in text for text in verify_loss(fewer).findings)


def test_records_from_before_repeats_were_stated_hold(tmp_path):
    file = invented_run(tmp_path)
    new = {"typical": None, "typical_low": None, "typical_high": None, "limit": None}
    before = [msgspec.structs.replace(one, **new) if isinstance(one, Loss) else one for one in file.others]
    assert verify_loss(msgspec.structs.replace(file, others=before)).findings == []
    before[0] = msgspec.structs.replace(before[0], lost=before[0].lost + 1)
    assert "is recorded as" in verify_loss(msgspec.structs.replace(file, others=before)).findings[-1]


class Stopped:
    """A simulated system that is interrupted at a call, or whose tester fails there."""

    def __init__(self, spec, at, error):
        self._inner, self._left, self._error = SimulatedMeasurer(spec), at, error

    def measure(self, load, duration_s, *, stop_above=None):
        self._left -= 1
        if self._left < 0:
            raise self._error
        return self._inner.measure(load, duration_s, stop_above=stop_above)

    def __getattr__(self, name):
        return getattr(self._inner, name)


REQUEST = LossRequest(
    search=SearchRequest(measurer="sim:noisy", goals=[], strategy="straddle", max_load="2Mpps", traffic={}),
    sweeps=2,
    duration_s=0.1,
    load_step=0.2,
)
SPEC = "noisy,capacity=1Mpps,seed=3"


@pytest.mark.parametrize("at", [0, 1, 4, 7])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), MeasureError("the cable is out")])
def test_a_run_that_was_stopped_and_goes_on_ends_like_any_other(tmp_path, at, error):
    whole = run_loss(REQUEST, SimulatedMeasurer(SPEC), out=tmp_path / "whole")
    stopped = run_loss(REQUEST, Stopped(SPEC, at, error), out=tmp_path / "cut")
    assert stopped.outcome.end.reason in ("interrupted", "measurement-failed")
    assert verify_loss(read_run(tmp_path / "cut")).findings == []
    done = run_loss(REQUEST, SimulatedMeasurer(SPEC), out=tmp_path / "cut", resume=True)
    shape = [(one.load, one.trials, one.sent) for one in whole.outcome.losses]
    assert [(one.load, one.trials, one.sent) for one in done.outcome.losses] == shape
    assert verify_loss(read_run(tmp_path / "cut")).findings == []
    shown = run_loss(REQUEST, SimulatedMeasurer(SPEC), out=tmp_path / "cut", resume=True)
    assert shown.outcome.losses == done.outcome.losses


def test_an_interrupted_loop_keeps_every_trial():
    records = []
    LossLoop(PLAN, Stopped(SPEC, 3, KeyboardInterrupt()), Policies(), sink=records.append).run()
    assert sum(isinstance(record, Trial) for record in records) == 3
    assert records[-1].reason == "interrupted"


def test_steps_end_above_nothing():
    assert sweep(1e6, 0.3) == pytest.approx([1e6, 0.7e6, 0.4e6, 0.1e6])
    assert len(sweep(1e6, 0.1)) == 10


def test_the_text_is_as_it_was(tmp_path, snapshot):
    assert rendering.text(invented_run(tmp_path)) == snapshot


def test_loads_that_end_before_two_lose_nothing_are_said(tmp_path):
    said = "The loads ended before two in a row lost nothing"
    slow = "sharp,capacity=0.3Mpps"
    assert said in rendering.text(invented_run(tmp_path, slow))
    assert said not in rendering.text(invented_run(tmp_path, "sharp,capacity=1Mpps"))
    fixed = msgspec.structs.replace(PLAN, until_lossless=False)
    assert said not in rendering.text(invented_run(tmp_path, slow, fixed))


def test_the_page_has_all_that_the_text_has(tmp_path):
    file = invented_run(tmp_path)
    page = rendering.page(file).replace("\N{NO-BREAK SPACE}", " ")
    for row in rendering.document_of(file).blocks[1].rows:
        assert all(cell in page for cell in row)
    assert page.count("<svg") == 2
    bare = msgspec.structs.replace(file, others=[], trials=[], ends=[])
    assert "There is no result" in rendering.page(bare)


def test_the_command_prints_the_report_of_its_record(tmp_path):
    system = "sim:sharp,capacity=1Mpps"
    options = ("--find", "loss", "--max-load", "2Mpps", *SHORT, "--tests", "2", "--out", "one", "--html", "one.html")
    printed = brimful("search", "-m", system, *options, cwd=tmp_path, check=0).stdout
    assert printed.startswith(brimful("report", "one", cwd=tmp_path, check=0).stdout)
    found = json.loads(brimful("report", "one", "--json", cwd=tmp_path, check=0).stdout)["losses"]
    assert [round(one["load"]) for one in found] == [2000000, 1800000, 1600000, 1400000, 1200000, 1000000, 800000]
    assert "14 trials at 7 loads: every loss ratio recomputed" in brimful("verify", "one", cwd=tmp_path, check=0).stdout
    assert "50.0 % lost at 2.000 Mpps, no loss up to 1.000 Mpps" in brimful("runs", ".", cwd=tmp_path, check=0).stdout
    assert "trials last 100 ms; RFC 2544 section 24 asks for 60 s" in printed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--loads", "120%"), "--loads: '120%' is not above 0 and up to 100 %, which is 14.88 Mpps"),
        (("--loads", "0"), "--loads: "),
        (("--loads", "many"), "--loads: load 'many'"),
        (("--loads", ""), "--loads: load ''"),
        (("--load-step", "0"), "--load-step 0 %: it must be from 0.01 % to 100 %"),
        (("--on-invalid", "loss"), "policy 'loss': a trial that was not made says nothing of the device"),
        (("--throughput", "1Mpps"), "--throughput: is no option of --find loss"),
        (("--goal", "loss=0"), "--goal: is no option of --find loss"),
        (("--find", "throughput", "--loads", "10%"), "--loads: is no option of --find throughput"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path, options, said):
    refused = brimful("search", "-m", "sim:sharp", "--find", "loss", *SHORT[:-1], *options, cwd=tmp_path, check=2)
    assert said in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


class Unsteady(SimulatedMeasurer):
    """A system whose capacity differs from trial to trial."""

    def __init__(self, seed):
        super().__init__("sharp,capacity=1Mpps")
        self._random = random.Random(seed)

    def measure(self, load, duration_s, *, stop_above=None):
        sent = round(load * duration_s)
        super().measure(load, duration_s)
        kept = min(sent, round(1e6 * duration_s * self._random.gauss(1, 0.02)))
        return TrialOutput(intended=sent, sent=sent, lost=sent - kept)


def test_the_intervals_hold_the_loss_of_systems_with_noise():
    inside = []
    plan = msgspec.structs.replace(PLAN, until_lossless=False, loads=PLAN.loads[:3], sweeps=4)
    for seed in range(100):
        outcome = LossLoop(plan, Unsteady(seed), Policies()).run()
        inside += [one.typical_low <= 1 - 1e6 / one.load <= one.typical_high for one in outcome.losses]
    assert 0.9 <= sum(inside) / len(inside) <= 0.99


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_the_limit_holds_the_mean_of_systems_that_rarely_lose_all(share):
    draws, right = random.Random(7), 0
    plan = LossPlan(loads=[3.0, 2.0, 1.0], reference=3.0, duration_s=1.0, sweeps=6, until_lossless=False)
    for _ in range(100):
        trials = [
            trial(load, 1000 if draws.random() < share else 0, sweep_=sweep_)
            for sweep_ in range(plan.sweeps)
            for load in plan.loads
        ]
        right += all(one.limit >= share for one in losses(trials, plan))
    assert right >= 95


STEADY = "sharp,capacity=1Mpps"
SLOW_REQUEST = msgspec.structs.replace(
    REQUEST, search=msgspec.structs.replace(REQUEST.search, on_invalid="retry:1"), load_step=0.1
)


def test_a_load_that_the_tester_cannot_offer_is_marked_and_lower_ones_are_measured(tmp_path):
    found = run_loss(SLOW_REQUEST, TooSlow(STEADY, most=1.65e6), out=tmp_path / "run")
    assert found.outcome.end.reason == "done"
    assert [one.load for one in found.outcome.losses] == pytest.approx([1.6e6, 1.4e6, 1.2e6, 1e6, 0.8e6])
    file = read_run(tmp_path / "run")
    assert file.ceilings == pytest.approx([1.8e6, 1.6e6])
    assert verify_loss(file).findings == []
    text = rendering.text(file)
    assert text.count("not offered: the tester reaches 1.600 Mpps") == 2
    assert "the tester could not offer 2.000 Mpps on schedule" in text
    # Each load is tried twice, once: the second sweep leaves it out.
    assert [trial.load for trial in file.trials if trial.invalid] == pytest.approx([2e6, 2e6, 1.8e6, 1.8e6])


def test_a_load_below_one_that_was_reached_may_be_missed(tmp_path):
    """On a busy machine testers are late at any load: rows stand by load, and none says that less is reached."""

    class LateOnce(SimulatedMeasurer):
        def measure(self, load, duration_s, *, stop_above=None):
            if load == 1.4e6:
                raise InvalidTrialError("the tester was late by 3 ms")
            return super().measure(load, duration_s)

    asked = msgspec.structs.replace(SLOW_REQUEST, loads=["2Mpps", "1.4Mpps", "1Mpps"], sweeps=1)
    run_loss(asked, LateOnce(STEADY), out=tmp_path / "run")
    file = read_run(tmp_path / "run")
    (table,) = [block for block in model.build(file).blocks if isinstance(block, Table)]
    assert [row[0] for row in table.rows] == ["2.000 Mpps", "1.400 Mpps", "1.000 Mpps"]
    assert table.rows[1][2] == "not offered: the tester was late at it"


@pytest.mark.parametrize("at", range(1, 16, 3))
def test_a_run_below_a_ceiling_goes_on_as_if_nothing_had_been(tmp_path, at):
    whole = run_loss(SLOW_REQUEST, TooSlow(STEADY, most=1.65e6), out=tmp_path / "whole")
    lines = (tmp_path / "whole" / "run.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "run.jsonl").write_bytes(b"".join(lines[: 1 + at]))
    done = run_loss(SLOW_REQUEST, TooSlow(STEADY, most=1.65e6), out=tmp_path / "cut", resume=True)
    shape = [(one.load, one.trials) for one in whole.outcome.losses]
    assert [(one.load, one.trials) for one in done.outcome.losses] == shape
    assert verify_loss(read_run(tmp_path / "cut")).findings == []


def test_a_tester_that_can_offer_no_load_ends_the_run(tmp_path):
    found = run_loss(SLOW_REQUEST, TooSlow(STEADY, most=0), out=tmp_path / "run")
    assert found.outcome.end.reason == "measurement-failed"
    assert found.outcome.losses == []
    broken = run_loss(SLOW_REQUEST, TooSlow(STEADY, most=0, reason="the link is down"), out=tmp_path / "other")
    assert broken.outcome.end.trials == 2


def test_loads_that_rise_end_at_the_ceiling():
    plan = LossPlan(loads=[0.5e6, 1.5e6, 2e6, 1e6], reference=2e6, duration_s=0.1, sweeps=2, until_lossless=False)
    records = []
    found = LossLoop(plan, TooSlow(STEADY, most=1.2e6), Policies(), sink=records.append).run()
    assert found.end.reason == "done"
    assert [(one.load, one.trials) for one in found.losses] == [(1e6, 2), (0.5e6, 2)]


def test_a_load_that_was_offered_once_keeps_its_trial():
    plan = LossPlan(loads=[2e6, 1e6], reference=2e6, duration_s=0.1, sweeps=2, until_lossless=False)
    found = LossLoop(plan, TooSlow(STEADY, most=1.2e6, after=2), Policies()).run()
    assert [(one.load, one.trials) for one in found.losses] == [(2e6, 1), (1e6, 2)]
