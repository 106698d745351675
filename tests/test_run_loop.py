"""The run loop: what becomes of trials, failures, time and interruptions."""

import signal

import brimful
import msgspec
import pytest
from brimful.measurers.replay import ReplayMeasurer
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.policies import FailurePolicy
from brimful.records import Bound, End, GoalResult, RecordWriter, Run, Trial, Warning, read_run
from brimful.throughput.manager import SearchRequest, run_search
from brimful.throughput.run_loop import Plan, SearchLoop
from brimful.throughput.verify import TrialLog, open_run, verify
from support import (
    NDR_AND_PDR,
    Description,
    InvalidTrialError,
    TrialFailedError,
    TrialOutput,
    Troubled,
    goal,
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
    measurer = Troubled({number: InvalidTrialError("link down") for number in range(10, 100)})
    result, records = run(measurer)
    assert result.end.reason == "measurement-failed"
    assert "link down (11 times in a row)" in result.end.text
    assert len(result.trials) == 21
    assert {found.reason for found in result.goal_results} <= {"measurement-failed", "regular"}
    assert sum(isinstance(record, GoalResult) for record in records) == 2


def test_the_measurers_hint_is_said_when_repeating_did_not_help():
    trouble = InvalidTrialError("link down", {"hint": "end other programs"})
    result, _ = run(Troubled(dict.fromkeys(range(100), trouble)))
    assert result.end.text.endswith("link down (11 times in a row); end other programs")
    nonsense = InvalidTrialError("link down", {"hint": 5})
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
    assert "nothing that a sends arrives at b, neither at 14.88 Mpps nor at 9.001 kpps" in result.end.text
    assert [trial.invalid for trial in result.trials] == [None, "dead-direction check"]
    assert result.trials[0].lost > 0


def test_a_dead_port_of_many_is_named_where_the_search_ends():
    class Meshed(OneWayDead):
        def measure(self, load, duration_s, *, stop_above=None):
            output = super().measure(load, duration_s, stop_above=stop_above)
            named = {
                "code": "starved-ports",
                "text": "1 of 8 ports had less than half of its share: b (received nothing)",
            }
            return msgspec.structs.replace(output, warnings=[named])

    result, _ = run(Meshed(alive_below=0))
    assert (
        "at 9.001 kpps (1 of 8 ports had less than half of its share: b (received nothing)): see to" in result.end.text
    )


class Silent(Troubled):
    """A device that returns nothing above a load, measured by a program that tells no directions."""

    def __init__(self, above=0.0):
        super().__init__({})
        self._above = above

    def describe(self):
        return Description(virtual_time=True, max_load=14.88e6)

    def measure(self, load, duration_s, *, stop_above=None):
        sent = round(load * duration_s)
        return TrialOutput(sent=sent, lost=sent if load > self._above else 0)


def test_a_device_that_returns_nothing_ends_the_search_at_once():
    result, _ = run(Silent())
    assert result.end.reason == "measurement-failed"
    assert result.end.text.startswith("nothing ever arrived, neither at ")
    assert len(result.trials) == 2


def test_a_device_that_returns_nothing_under_overload_is_searched():
    result, _ = run(Silent(above=1e6))
    assert result.regular
    assert result.goal_results[0].lower_bound == pytest.approx(1e6, rel=0.01)


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
    assert "invalid trial 10 at 14.88 Mpps: nothing was sent although 14880000 units were due" in result.end.text
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


class TooSlow(Troubled):
    """A tester that cannot offer more than a load, before a device of a capacity."""

    def __init__(self, most, capacity, reason="the tester began 0.2 % of the IOs more than 1 ms late"):
        super().__init__({}, spec=f"sharp,capacity={capacity}")
        self._most, self._reason = most, reason

    def describe(self):
        return msgspec.structs.replace(self._inner.describe(), max_load=14.88e6)

    def measure(self, load, duration_s, *, stop_above=None):
        if load > self._most:
            raise InvalidTrialError(self._reason)
        return super().measure(load, duration_s, stop_above=stop_above)


def test_a_tester_that_is_too_slow_gives_an_answer_below():
    result, records = run(TooSlow(most=4e6, capacity=1e6), on_invalid=FailurePolicy(2))
    assert result.regular
    assert result.goal_results[0].lower_bound == pytest.approx(1e6, rel=0.01)
    ceilings = [record.load for record in records if isinstance(record, Warning)]
    assert ceilings == [pytest.approx(14.88e6 * 0.75**step) for step in range(1, 6)]
    assert sum(trial.invalid is not None for trial in result.trials) == 3 * 5


def test_what_a_slow_tester_can_offer_is_a_least_value(tmp_path):
    system = TooSlow(most=5e5, capacity=1e6, reason="forward: 30 of 100 frames were not sent: the sender is too slow")
    request = SearchRequest(measurer="slow", goals=NDR_AND_PDR, strategy="straddle", on_invalid="retry:1")
    outcome = run_search(request, system, out=tmp_path / "run")
    for found in outcome.result.goal_results:
        assert found.reason == "max-load-is-lower-bound"
        assert 0.75 * 5e5 <= found.lower_bound <= 5e5
    file = read_run(tmp_path / "run")
    assert file.max_load == outcome.result.goal_results[0].lower_bound
    assert "the tester could not offer 14.88 Mpps" in file.warnings[0].text
    assert verify(open_run(file, None)).findings == []
    # A run that was killed goes on with the max load that it had found.
    lines = (tmp_path / "run" / "run.jsonl").read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"kind":"trial"' in line and b'"invalid"' not in line]
    cut = lines[: lines.index(kept[2])]
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "run.jsonl").write_bytes(b"".join(cut))
    again = TooSlow(most=5e5, capacity=1e6, reason="forward: frames were not sent: the sender is too slow")
    resumed = run_search(request, again, out=tmp_path / "cut", resume=True)
    assert [found.lower_bound for found in resumed.result.goal_results] == [file.max_load] * 2
    assert len(read_run(tmp_path / "cut").trials) == len(file.trials)


def test_a_tester_that_is_too_slow_for_any_load_ends_the_search():
    result, _ = run(TooSlow(most=0, capacity=1e6), on_invalid=FailurePolicy(1), min_load=5e6)
    assert result.end.reason == "measurement-failed"
    assert "(2 times in a row)" in result.end.text


@pytest.mark.parametrize(
    "reason",
    ["off schedule", "late", "late by 3 ms", "1 % off schedule", "too slow", "stalled", "behind", "cannot keep up"],
)
def test_a_program_says_in_the_words_of_the_protocol_that_the_load_was_too_much(reason):
    result, _ = run(TooSlow(most=4e6, capacity=1e6, reason=reason), on_invalid=FailurePolicy(1))
    assert result.regular
    assert result.goal_results[0].lower_bound == pytest.approx(1e6, rel=0.01)


@pytest.mark.parametrize(
    "reason", ["the link of a is down", "link down", "latency probe missing", "later than allowed"]
)
def test_a_link_that_is_down_is_no_matter_of_load(reason):
    result, _ = run(TooSlow(most=0, capacity=1e6, reason=reason), on_invalid=FailurePolicy(1))
    assert result.end.reason == "measurement-failed"
    assert len(result.trials) == 2


class Generous(Troubled):
    """Sends this share of what is asked for, and says of its trials what it is told to."""

    def __init__(self, share, *, tells_intended=False, unit="frames/s", lasts=None):
        super().__init__({})
        self._share, self._tells_intended, self._unit, self._lasts = share, tells_intended, unit, lasts

    def describe(self):
        return Description(virtual_time=True, max_load=14.88e6, load_unit=self._unit)

    def measure(self, load, duration_s, *, stop_above=None):
        sent = round(self._share * load * duration_s)
        lost = max(0, sent - round(1e6 * duration_s))
        intended = sent if self._tells_intended else None
        lasted_s = None if self._lasts is None else self._lasts * duration_s
        return TrialOutput(sent=sent, lost=lost, intended=intended, effective_duration_s=lasted_s)


@pytest.mark.parametrize("tells_intended", [False, True])
def test_a_generator_that_sends_too_much_spoils_its_trials(tells_intended):
    result, _ = run(Generous(1.2, tells_intended=tells_intended), on_invalid=FailurePolicy(1))
    assert result.end.reason == "measurement-failed"
    assert "were due: the tester sends too much" in result.end.text
    # What it counted is in the record all the same.
    assert all(trial.invalid and trial.sent > trial.load * trial.duration_s for trial in result.trials)


@pytest.mark.parametrize(
    "measurer",
    [
        Generous(1.009),
        # It went on for a fifth longer, at the load that was asked for.
        Generous(1.2, lasts=1.2),
        # A load that is no rate of what is counted says nothing of a count: the intended one does.
        Generous(8.0, tells_intended=True, unit="%"),
        Generous(8.0, tells_intended=True, unit="Mbit/s"),
    ],
)
def test_what_is_sent_is_compared_with_what_was_due(measurer):
    result, _ = run(measurer)
    assert result.end.reason == "done"
    assert not any(trial.invalid for trial in result.trials)


class Slow(Troubled):
    """Cannot send more than half of what the device forwards, or as much more as it is told."""

    def __init__(self, *, tells_intended, most=5e5):
        super().__init__({})
        self._tells_intended, self._most = tells_intended, most

    def describe(self):
        return Description(virtual_time=True, max_load=14.88e6)

    def measure(self, load, duration_s, *, stop_above=None):
        due = round(load * duration_s)
        sent = min(due, round(self._most * duration_s))
        intended = due if self._tells_intended else None
        return TrialOutput(sent=sent, lost=max(0, sent - round(1e6 * duration_s)), intended=intended)


@pytest.mark.parametrize("tells_intended", [False, True])
def test_bounds_that_rest_on_what_was_not_sent_are_named(tells_intended):
    result, records = run(Slow(tells_intended=tells_intended))
    assert result.regular
    (warning,) = [record for record in records if isinstance(record, Warning)]
    assert (warning.code, warning.text[:27]) == ("unsent", "2 of 2 upper bounds (ndr, p")
    at_most = next(trial for trial in result.trials if trial.load == 14.88e6)
    assert [note["code"] for note in at_most.warnings] == ["unsent"]
    clean = next(trial for trial in result.trials if trial.load == result.goal_results[0].lower_bound)
    assert clean.warnings == []


def test_bounds_that_rest_on_loss_are_not_named_though_units_were_not_sent():
    result, records = run(Slow(tells_intended=True, most=2e6))
    assert result.goal_results[0].lower_bound == pytest.approx(1e6, rel=0.01)
    assert any(trial.warnings for trial in result.trials)
    assert not any(isinstance(record, Warning) for record in records)


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
        goals=[brimful.SearchGoal(loss_ratio=0, final_trial_duration_s=0.1)],
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
