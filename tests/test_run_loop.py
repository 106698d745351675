"""The run loop: what becomes of trials, failures, time and interruptions."""

import itertools
import signal

import brimful
import msgspec
import numpy as np
import pytest
from brimful.attempts import FailurePolicy
from brimful.errors import UsageError
from brimful.measurers.replay import ReplayMeasurer
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import Bound, End, GoalResult, RecordWriter, Run, Trial
from brimful.throughput.goals import named_goals
from brimful.throughput.run_loop import Plan, SearchLoop
from brimful.throughput.verify import TrialLog
from support import (
    NDR_AND_PDR,
    Description,
    InvalidTrialError,
    MeasureError,
    TrialFailedError,
    TrialOutput,
    Troubled,
    goal,
    sharp,
)


def plan(**changes):
    return Plan(**{"goals": NDR_AND_PDR, "min_load": 9001.0, "max_load": 14.88e6, **changes})


def run(measurer, **changes):
    records = []
    result = SearchLoop(plan(**changes), measurer, sink=records.append).run()
    return result, records


@pytest.mark.parametrize("strategy", brimful._core.strategies())
def test_a_search_of_a_sharp_system_is_regular_and_right(strategy):
    result, records = run(SimulatedMeasurer("sharp,capacity=1Mpps"), strategy=strategy)
    ndr, pdr = result.goal_results
    assert result.regular
    assert ndr.lower_bound <= 1e6 < ndr.upper_bound
    assert pdr.lower_bound <= 1e6 / 0.995 < pdr.upper_bound
    assert [record for record in records if isinstance(record, Trial)] == result.trials
    assert isinstance(records[-1], End)


def test_records_tell_every_move_of_the_bounds():
    result, records = run(SimulatedMeasurer("soft-knee,seed=3"))
    last = {}
    for record in records:
        if isinstance(record, Bound):
            last[record.goal, record.side] = record.load
    for found in result.goal_results:
        assert last[found.goal, "lower"] == found.lower_bound
        assert last[found.goal, "upper"] == found.upper_bound


def test_a_spoiled_trial_is_repeated_and_not_counted():
    measurer = Troubled({0: InvalidTrialError("link flapped"), 5: InvalidTrialError("late")})
    result, _ = run(measurer)
    assert result.regular
    assert [trial.invalid is None for trial in result.trials[:2]] == [False, True]
    assert "link flapped" in result.trials[0].invalid


def test_a_trial_spoiled_too_often_ends_the_run_with_what_it_has():
    measurer = Troubled({number: InvalidTrialError("off schedule") for number in range(10, 100)})
    result, records = run(measurer)
    assert result.end.reason == "measurement-failed"
    assert "off schedule (11 times in a row)" in result.end.text
    assert len(result.trials) == 21
    assert {found.reason for found in result.goal_results} <= {"measurement-failed", "regular"}
    assert sum(isinstance(record, GoalResult) for record in records) == 2


def test_the_measurers_hint_is_said_when_repeating_did_not_help():
    trouble = InvalidTrialError("off schedule", {"hint": "end other programs"})
    result, _ = run(Troubled(dict.fromkeys(range(100), trouble)))
    assert result.end.text.endswith("off schedule (11 times in a row); end other programs")
    nonsense = InvalidTrialError("off schedule", {"hint": 5})
    assert run(Troubled(dict.fromkeys(range(100), nonsense)))[0].end.text.endswith("(11 times in a row)")


class OneWayDead(Troubled):
    """A system that forwards from b to a, and from a to b only below a load; it is simulated otherwise."""

    def __init__(self, alive_below, troubles=None):
        super().__init__(troubles or {})
        self._alive_below = alive_below

    def measure(self, load, duration_s, *, stop_above=None):
        output = super().measure(load, duration_s, stop_above=stop_above)
        half = output.sent // 2
        lost = half if load >= self._alive_below else 0
        directions = [
            {"from": "a", "to": "b", "sent": half, "lost": lost},
            {"from": "b", "to": "a", "sent": half, "lost": 0},
        ]
        return TrialOutput(sent=2 * half, lost=max(lost, output.lost), directions=directions)


def test_a_direction_that_is_dead_at_any_load_ends_the_search_at_once():
    result, _ = run(OneWayDead(alive_below=0))
    assert result.end.reason == "measurement-failed"
    assert "nothing that a sends arrives at b, neither at 14880000/s nor at 9001/s" in result.end.text
    assert [trial.invalid for trial in result.trials] == [None, "dead-direction check"]
    assert result.trials[0].lost > 0


def test_a_direction_that_only_overload_kills_is_searched():
    result, _ = run(OneWayDead(alive_below=500e3))
    assert result.regular
    assert 495e3 < result.goal_results[0].lower_bound <= 500e3
    assert [trial.seq for trial in result.trials if trial.invalid] == [1]


def test_a_spoiled_check_of_a_direction_decides_nothing():
    result, _ = run(OneWayDead(alive_below=500e3, troubles={1: InvalidTrialError("off schedule")}))
    assert result.regular


def test_failures_end_the_run_unless_the_policy_says_otherwise():
    crash = {3: TrialFailedError("the program ended")}
    assert run(Troubled(crash))[0].end.reason == "measurement-failed"
    retried, _ = run(Troubled(crash), on_error=FailurePolicy(retries=1))
    assert retried.regular
    assert [trial.seq for trial in retried.trials if trial.invalid] == [3]


def test_a_failure_counted_as_loss_is_total_loss():
    result, _ = run(Troubled({2: TrialFailedError("no reply")}), on_error=FailurePolicy(count_as_loss=True))
    trial = result.trials[2]
    assert trial.invalid is None
    assert (trial.sent, trial.lost) == (0, 0)
    assert trial.intended == round(trial.load)
    assert trial.warnings[0]["code"] == "counted-as-loss"


def test_a_spoiled_trial_counted_as_loss_keeps_its_counts():
    trouble = InvalidTrialError("slow", {"intended": 1000, "sent": 900, "lost": 5, "id": 1})
    result, _ = run(Troubled({0: trouble}), on_invalid=FailurePolicy(count_as_loss=True))
    assert (result.trials[0].intended, result.trials[0].sent, result.trials[0].lost) == (1000, 900, 5)


def test_a_replayed_failure_that_was_counted_as_loss_is_counted_again(tmp_path):
    trouble = {2: TrialFailedError("no reply")}
    result, _ = run(Troubled(trouble), on_error=FailurePolicy(count_as_loss=True))
    facts = Run(schema=1, run_id="r", started="", tool={}, command=[], host={}, goals=NDR_AND_PDR)
    with RecordWriter(tmp_path / "run.jsonl") as writer:
        for record in (facts, *result.trials, *result.goal_results, result.end):
            writer.write(record)
    replayed, _ = run(ReplayMeasurer(tmp_path / "run.jsonl"))
    assert replayed.goal_results == result.goal_results


class Sending(Troubled):
    """A generator that is dead: it answers every trial with the same counts."""

    def __init__(self, answer, conversion_factor=1.0):
        super().__init__({})
        self._answer = answer
        self._conversion_factor = conversion_factor

    def describe(self):
        return Description(conversion_factor=self._conversion_factor)

    def measure(self, load, duration_s, *, stop_above=None):
        return self._answer


@pytest.mark.parametrize("intended", [None, 0, 1000])
def test_a_generator_that_sends_nothing_spoils_its_trials(intended):
    result, _ = run(Sending(TrialOutput(sent=0, lost=0, intended=intended)))
    assert result.end.reason == "measurement-failed"
    assert "invalid trial at 14880000/s: nothing was sent although 14880000 units were due" in result.end.text
    assert [found.lower_bound for found in result.goal_results] == [None, None]


def test_nothing_sent_is_no_trouble_where_no_whole_unit_was_due():
    result, _ = run(Sending(TrialOutput(sent=0, lost=0), conversion_factor=1e-8))
    assert result.end.reason == "done"


def test_nothing_sent_counts_as_loss_where_that_is_the_policy():
    dead = Sending(TrialOutput(sent=0, lost=0, extra={"port": "down"}))
    result, _ = run(dead, on_invalid=FailurePolicy(count_as_loss=True))
    assert result.goal_results[0].reason == "min-load-is-upper-bound"
    assert result.trials[0].intended == 14_880_000
    assert result.trials[0].extra == {"port": "down"}


def test_the_budget_ends_the_search_in_time_with_honest_bounds():
    measurer = SimulatedMeasurer("soft-knee,seed=3,overhead=0.5s")
    result, _ = run(measurer, budget_s=30.0)
    assert measurer.now() <= 30.0
    assert result.end.reason == "time-budget"
    assert not result.regular
    whole, _ = run(SimulatedMeasurer("soft-knee,seed=3,overhead=0.5s"))
    assert result.trials == whole.trials[: len(result.trials)]


def test_a_trial_that_hangs_is_ended_by_the_budget():
    import time

    result = brimful.search(
        lambda load, duration: time.sleep(60),
        goals=[brimful.SearchGoal(loss_ratio=0, final_trial_duration=0.1)],
        min_load=1000,
        max_load=1e6,
        budget_s=0.3,
    )
    assert result.end.reason == "time-budget"
    assert result.trials == []


def test_an_interruption_keeps_the_bounds():
    result, _ = run(Troubled({20: KeyboardInterrupt()}))
    assert result.end.reason == "interrupted"
    assert len(result.trials) == 20


@pytest.mark.usefixtures("python_interrupts")
def test_results_are_of_all_trials_in_the_record_whenever_the_interruption_comes():
    records = []

    def keep(record):
        records.append(record)
        if isinstance(record, Trial) and record.seq == 3:
            signal.raise_signal(signal.SIGINT)

    result = SearchLoop(plan(), SimulatedMeasurer("sharp,capacity=1Mpps"), sink=keep).run()
    assert result.end.reason == "interrupted"
    assert result.end.trials == 4
    trials = [record for record in records if isinstance(record, Trial)]
    log = TrialLog(NDR_AND_PDR, trials, (1e3, 14.88e6))
    assert [record for record in records if isinstance(record, Bound)] == log.moves


@pytest.mark.usefixtures("python_interrupts")
@pytest.mark.parametrize("measurer", [SimulatedMeasurer("sharp,capacity=1Mpps"), Troubled({5: KeyboardInterrupt()})])
def test_interruptions_wait_while_a_search_ends_and_a_second_one_is_no_news(measurer):
    records = []

    def keep(record):
        records.append(record)
        if isinstance(record, GoalResult):
            signal.raise_signal(signal.SIGINT)

    loop = SearchLoop(plan(), measurer, sink=keep)
    if isinstance(measurer, Troubled):
        assert loop.run().end.reason == "interrupted"
    else:
        with pytest.raises(KeyboardInterrupt):
            loop.run()
    assert isinstance(records[-1], End)


@pytest.mark.parametrize("strategy", brimful._core.strategies())
@pytest.mark.parametrize("cut", [0, 1, 7, 19])
def test_a_resumed_search_equals_an_uninterrupted_one(strategy, cut):
    spec = "noisy,seed=11"
    whole, records = run(SimulatedMeasurer(spec), strategy=strategy)
    moves = [record for record in records if isinstance(record, Bound)]
    added = []
    loop = SearchLoop(plan(strategy=strategy), SimulatedMeasurer(spec), sink=added.append)
    # Killed after the last trial was saved, and before what it moved was.
    told = [move for move in moves if move.seq < cut - 1]
    loop.resume(whole.trials[:cut], told)
    resumed = loop.run()
    assert told + [record for record in added if isinstance(record, Bound)] == moves
    assert resumed.trials == whole.trials
    assert resumed.goal_results == whole.goal_results


def test_warm_up_is_recorded_and_not_counted():
    result, _ = run(SimulatedMeasurer("sharp,capacity=1Mpps"), warm_up_s=2.0)
    assert result.trials[0].invalid == "warm-up"
    assert result.trials[0].load == 14.88e6
    assert result.regular


def test_early_termination_saves_time_and_changes_no_verdict():
    goals = [goal(exceed=0.0, trial=60.0, duration_sum=60.0, initial=1.0)]
    plain, _ = run(SimulatedMeasurer("sharp,capacity=1Mpps"), goals=goals, strategy="bisect")
    early, _ = run(SimulatedMeasurer("sharp,capacity=1Mpps"), goals=goals, strategy="bisect", early_termination=True)
    assert early.goal_results[0].lower_bound == plain.goal_results[0].lower_bound
    assert any(trial.stopped_early for trial in early.trials)
    assert early.end.search_s < plain.end.search_s


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ((10, 11), "lost 11 is above sent 10"),
        ((10.5, 0), "sent is 10.5"),
        ((-1, 0), "sent is -1"),
        ((float("nan"), 0), "sent is nan"),
        ((10,), "return"),
        (None, "return"),
        ("10", "return"),
        ((10, 0, 0), "effective_duration_s is 0"),
        ((10, 0, "x"), "effective_duration_s is 'x'"),
        (("ten", 0), "sent is 'ten'"),
        ((True, False), "sent is True"),
        ((10**400, 0), "sent is 1000"),
        (TrialOutput(sent=-5, lost=0), "sent is -5"),
        (TrialOutput(sent=5, lost=0, intended=-5), "intended is -5"),
        (TrialOutput(sent=5, lost=6), "lost 6 is above sent 5"),
        (TrialOutput(sent=5, lost=0, directions=None), "directions"),
    ],
)
def test_a_function_that_returns_nonsense_is_told_so(answer, complaint):
    with pytest.raises(MeasureError, match=complaint):
        brimful.search(
            lambda load, duration: answer, goals=[brimful.SearchGoal(loss_ratio=0)], min_load=1, max_load=1000
        )


def failing(exception, after=3):
    """A function that measures for so many trials, and then raises."""
    measured = sharp(1e6)
    calls = itertools.count()

    def measure(load, duration):
        if next(calls) >= after:
            raise exception
        return measured(load, duration)

    return measure


@pytest.mark.parametrize(
    ("exception", "reason"),
    [
        (ZeroDivisionError("no port"), "measurement-failed"),
        (MeasureError("no port"), "measurement-failed"),
        (KeyboardInterrupt(), "interrupted"),
        (SystemExit(), "measurement-failed"),
    ],
)
def test_what_ends_a_search_carries_what_was_measured(exception, reason):
    goals = [brimful.SearchGoal(loss_ratio=0)]
    with pytest.raises(type(exception)) as caught:
        brimful.search(failing(exception), goals=goals, min_load=1e4, max_load=1e7, strategy="bisect")
    assert str(caught.value) == str(exception)
    result = caught.value.result
    assert len(result.trials) == 3
    assert result.end.reason == result.goal_results[0].reason == reason
    assert result.goal_results[0].upper_bound is not None


def test_an_exception_with_a_result_of_its_own_comes_through_as_it_is():
    class GoneError(Exception):
        @property
        def result(self):
            return "gone"

    measure, goals = failing(GoneError()), [brimful.SearchGoal(loss_ratio=0)]
    with pytest.raises(GoneError):
        brimful.search(measure, goals=goals, min_load=1e4, max_load=1e7, strategy="bisect")


def test_the_policy_of_a_function_is_that_of_the_command_unless_told_otherwise():
    options = {"goals": [brimful.SearchGoal(loss_ratio=0)], "min_load": 1e4, "max_load": 1e6}
    spoiled = {number: InvalidTrialError("late") for number in range(10)}
    result = brimful.search(Troubled(spoiled), **options)
    assert [trial.invalid is None for trial in result.trials[:11]] == [False] * 10 + [True]
    with pytest.raises(MeasureError, match=r"late \(2 times in a row\)"):
        brimful.search(Troubled(spoiled), **options, on_invalid="retry:1")
    lost = brimful.search(lambda load, duration: (1, 2), **options, on_error="loss")
    assert lost.goal_results[0].reason == "min-load-is-upper-bound"
    with pytest.raises(UsageError, match="policy 'shrug'"):
        brimful.search(Troubled({}), **options, on_error="shrug")


@pytest.mark.parametrize("container", [list, np.array, lambda answer: tuple(map(np.float64, answer))])
def test_counts_may_come_in_any_container(container):
    goals = [brimful.SearchGoal(loss_ratio=0)]
    options = {"goals": goals, "min_load": 1e4, "max_load": 14.88e6}
    found = brimful.search(lambda load, duration: container(sharp(1e6)(load, duration)), **options)
    assert found.goal_results == brimful.search(sharp(1e6), **options).goal_results
    assert msgspec.json.decode(msgspec.json.encode(found.trials[0]))["sent"] == found.trials[0].sent


def test_a_measurer_object_that_returns_no_trial_output_is_told_so():
    class Mine(Troubled):
        def measure(self, load, duration_s, *, stop_above=None):
            return load, 0

    with pytest.raises(MeasureError, match=r"the measurer returned \(1000000.0, 0\), which is no TrialOutput"):
        brimful.search(Mine({}), goals=[brimful.SearchGoal(loss_ratio=0)], min_load=1e4, max_load=1e6)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"min_load": 2e6, "max_load": 1e6}, "min load 2000000 is above max load 1000000"),
        ({"goals": []}, "no search goal"),
        ({"goals": [brimful.SearchGoal(loss_ratio=1.0)]}, "loss ratio must be below 1"),
        ({"goals": [brimful.SearchGoal(loss_ratio=-0.1)]}, "loss ratio"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, exceed_ratio=1.0)]}, "exceed ratio must be below 1"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, width=0.0)]}, "width"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, final_trial_duration=0.0)]}, "duration"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, final_trial_duration=float("nan"))]}, "duration"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, initial_trial_duration=5.0)]}, "initial trial duration"),
        ({"min_load": 0.5}, "less than one frame"),
        ({"max_load": 1999.0, "goals": [brimful.SearchGoal(loss_ratio=0, width=5e-4)]}, "can tell less than one"),
        ({"min_load": -1.0}, "min load"),
        ({"strategy": "guess"}, "unknown strategy"),
        ({"strategy": 3}, 'unknown strategy "3"'),
        ({"goals": [3]}, r"goals is \[3\]; give a list of SearchGoal"),
        ({"goals": brimful.SearchGoal(loss_ratio=0)}, r"goals is SearchGoal\(.*; give a list of SearchGoal"),
        ({"goals": None}, "goals is None; give a list"),
        ({"goals": [brimful.SearchGoal(loss_ratio="0.5%")]}, "loss_ratio of a goal is '0.5%'; it must be a number"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, width="1%")]}, "goal 'ndr': width is '1%'; it must be a number"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, name="")]}, "goal name ''"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, name="a\nb")]}, r"goal name 'a\\nb': a name is one or more print"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, name=5)]}, "goal name 5"),
        ({"max_load": "1Mpps"}, "max_load is '1Mpps'; it must be a number"),
        ({"max_load": 10**400}, "max_load is 1000"),
        ({"min_load": True}, "min_load is True"),
        ({"hint": "near"}, "hint is 'near'"),
        ({"budget_s": "5m"}, "budget_s is '5m'"),
        ({"budget_s": -1}, "time budget of -1 s: it must be above 0 s"),
        ({"budget_s": float("nan")}, "time budget of nan s"),
        ({"budget_s": float("inf")}, "time budget of inf s"),
    ],
)
def test_what_cannot_be_searched_for_is_refused_before_the_first_trial(changes, complaint):
    def measure(load, duration):
        raise AssertionError

    options = {"goals": [brimful.SearchGoal(loss_ratio=0)], "min_load": 1000.0, "max_load": 1e6, **changes}
    with pytest.raises(UsageError, match=complaint):
        brimful.search(measure, **options)


class WithoutClock:
    def describe(self):
        return Description()

    def measure(self, load, duration_s, *, stop_above=None):
        raise AssertionError


class WithoutDescription(Troubled):
    def describe(self):
        return "a tester"


@pytest.mark.parametrize(
    ("measure", "complaint"),
    [
        (5, r"measure is 5; give a function measure\(load, duration\) or a Measurer"),
        (WithoutClock, "measure is <class .*; give a function"),
        (WithoutClock(), r"has no now\(\)"),
        (WithoutDescription({}), "returned 'a tester'; return a Description"),
    ],
)
def test_what_cannot_measure_is_refused(measure, complaint):
    with pytest.raises(UsageError, match=complaint):
        brimful.search(measure, goals=[brimful.SearchGoal(loss_ratio=0)], min_load=1000.0, max_load=1e6)


def test_numbers_of_numpy_are_numbers():
    goals = [brimful.SearchGoal(loss_ratio=np.float64(0.005), duration_sum=np.int64(2), width=np.float32(0.25))]
    plain = [brimful.SearchGoal(loss_ratio=0.005, duration_sum=2, width=0.25)]
    limits = {"min_load": np.int32(10_000), "max_load": np.int64(14_880_000), "hint": np.float32(2e6)}
    found = brimful.search(sharp(1e6), goals=goals, **limits)
    expected = brimful.search(sharp(1e6), goals=plain, min_load=1e4, max_load=14.88e6, hint=2e6)
    assert found.goal_results == expected.goal_results


def test_automatic_names_leave_alone_what_is_taken():
    ratios_and_names = [(0, None), (0.001, "ndr"), (0, None), (0.005, None), (0.01, "pdr-2"), (0.02, None)]
    goals = [brimful.SearchGoal(loss_ratio=ratio, name=name) for ratio, name in ratios_and_names]
    assert [goal.name for goal in named_goals(goals)] == ["ndr-2", "ndr", "ndr-3", "pdr", "pdr-2", "pdr-3"]


def test_effective_durations_of_a_function_are_used():
    def measure(load, duration):
        sent = round(load * duration)
        return sent, max(0, sent - 1_000_000), duration * 3

    result = brimful.search(
        measure,
        goals=[brimful.SearchGoal(loss_ratio=0, duration_sum=21.0)],
        min_load=1e4,
        max_load=1e7,
    )
    assert result.regular
    assert result.goal_results[0].lower_bound_sums.full_low_s == pytest.approx(12.0)


def test_a_measurer_object_needs_no_more_than_measure():
    class Mine:
        def measure(self, load, duration):
            return TrialOutput(sent=round(load), lost=0)

    result = brimful.search(Mine(), goals=[brimful.SearchGoal(loss_ratio=0)], min_load=1e4, max_load=1e6)
    assert result.goal_results[0].reason == "max-load-is-lower-bound"
    assert result.goal_results[0].lower_bound == 1e6


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ({"max_load": 0.5e6}, "max load 1000000/s is above the 500000/s that measurer 'mine' can offer"),
        ({"min_duration_s": 2.0}, "makes no trial shorter than 2 s, but the initial trial duration is 1 s"),
    ],
)
def test_the_limits_of_a_measurer_object_are_kept(limits, complaint):
    class Mine(Troubled):
        def describe(self):
            return Description(name="mine", **limits)

    measurer = Mine({})
    with pytest.raises(UsageError, match=complaint):
        brimful.search(measurer, goals=[brimful.SearchGoal(loss_ratio=0)], min_load=1e4, max_load=1e6)
    assert measurer.calls == 0


def test_a_sharp_function_is_found():
    goals = [brimful.SearchGoal(loss_ratio=0), brimful.SearchGoal(loss_ratio=0.005)]
    result = brimful.search(sharp(1e6), goals=goals, min_load=1e4, max_load=14.88e6)
    assert [found.goal for found in result.goal_results] == ["ndr", "pdr"]
    assert result.goal_results[0].conditional_throughput == pytest.approx(1e6, rel=0.006)
