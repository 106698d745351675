"""The session: measurers in turns, one clock, and every trial safe before the next."""

import signal

import pytest
from brimful.errors import MeasureError
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.policies import FailurePolicy, Policies
from brimful.records import End, Trial
from brimful.session import Session, TimeIsUpError, repeat_as_allowed, spoiled_warnings
from support import InvalidTrialError, TrialFailedError, TrialOutput, Troubled

SHARP = "sharp,capacity=1Mpps"


def session(measurers, records, policies=None, **options):
    return Session(measurers, policies or Policies(), sink=records.append, **options)


def ended(reason, text):
    return reason, text


def test_virtual_time_passes_for_all_measurers_alike():
    systems = [SimulatedMeasurer(f"{SHARP},overhead=0.25s"), SimulatedMeasurer(SHARP), SimulatedMeasurer(SHARP)]
    turns = [0, 1, 2, 2, 0]
    records = []
    one = session(systems, records)
    for turn in turns:
        one.attempt(systems[turn], 1e6, 1.0, path=str(turn))
    lengths = [1.25 if turn == 0 else 1.0 for turn in turns]
    assert [trial.elapsed_s for trial in records] == lengths
    assert [trial.start_s for trial in records] == [sum(lengths[:number]) for number in range(len(turns))]
    assert one.elapsed_s == sum(lengths)
    one.wait(3.0)
    one.attempt(systems[1], 1e6, 1.0)
    assert records[-1].start_s == sum(lengths) + 3.0
    assert systems[1].now() == one.elapsed_s


def test_every_trial_is_saved_before_the_next_begins_and_learnt_with_it():
    records, learnt = [], []

    class Counting(Troubled):
        def measure(self, load, duration_s, *, stop_above=None):
            assert len(records) == len(learnt) == self.calls
            return super().measure(load, duration_s, stop_above=stop_above)

    system = Counting({1: InvalidTrialError("late", {"id": 3})})
    one = session([system], records, learn=learnt.append)
    trial = repeat_as_allowed(lambda: one.attempt(system, 2e6, 1.0))
    trial = repeat_as_allowed(lambda: one.attempt(system, 2e6, 1.0))
    assert records == learnt == one.trials
    assert [found.seq for found in records] == [0, 1, 2]
    assert (records[1].invalid, records[1].extra) == ("invalid trial 1 at 2.000 Mpps: late", {"id": 3})
    assert (trial.lost, trial.sent, trial.intended) == (1_000_000, 2_000_000, 2_000_000)
    assert spoiled_warnings(one.trials, "trial")[0].text == "1 of 3 trials were invalid and not counted"


@pytest.mark.usefixtures("python_interrupts")
def test_no_interruption_comes_between_saving_and_learning():
    learnt = []

    def keep(record):
        signal.raise_signal(signal.SIGINT)

    system = SimulatedMeasurer(SHARP)
    one = Session([system], Policies(), sink=keep, learn=learnt.append)
    assert one.run(lambda: one.attempt(system, 1e6, 1.0), ended) == ("interrupted", "")
    assert learnt == one.trials
    assert len(learnt) == 1


@pytest.mark.parametrize(
    ("raised", "found"),
    [
        (None, ("done", "")),
        (KeyboardInterrupt(), ("interrupted", "")),
        (TimeIsUpError(), ("time-budget", "")),
        (MeasureError("the link is gone"), ("measurement-failed", "the link is gone")),
    ],
)
def test_what_ends_a_session_is_its_reason(raised, found):
    def steps():
        if raised is not None:
            raise raised

    records = []
    one = session([SimulatedMeasurer(SHARP)], records)
    end = one.run(steps, lambda reason, text: one.end(reason, text, []))
    assert (end.reason, end.text) == found
    assert records == [end]


def test_a_session_goes_on_where_another_was_interrupted():
    records, later = [], []
    first, again = SimulatedMeasurer(SHARP), SimulatedMeasurer(SHARP)
    one = session([first], records)
    for _ in range(3):
        one.attempt(first, 1e6, 1.0)
    other = session([again], later)
    other.take_over(records)
    other.attempt(again, 1e6, 1.0)
    assert (later[0].seq, later[0].start_s, other.elapsed_s) == (3, 3.0, 4.0)
    assert other.end("done", "", []) == End("done", 4, 4.0, "")


def test_the_budget_counts_what_is_past_and_the_longest_wait():
    system = SimulatedMeasurer(f"{SHARP},overhead=0.5s")
    one = session([system], [], budget_s=4.0)
    one.take_over([Trial(0, 1e6, 1.0, 1, 1, 0, start_s=0.0, elapsed_s=2.0)])
    one.check_time(1.0)
    with pytest.raises(TimeIsUpError):
        one.check_time(1.01)


def test_a_trial_that_hangs_is_ended_by_the_budget():
    class Hanging(Troubled):
        def describe(self):
            import msgspec

            return msgspec.structs.replace(super().__getattr__("describe")(), virtual_time=False)

        def measure(self, load, duration_s, *, stop_above=None):
            signal.pause()

    system = Hanging({})
    one = session([system], [], budget_s=0.2)
    assert one.run(lambda: one.attempt(system, 1e6, 1.0), ended) == ("time-budget", "")
    assert one.trials == []


def test_what_a_refused_trial_counted_is_kept():
    def perform(measurer, load, duration_s, keep):
        keep(TrialOutput(sent=7, lost=2, intended=9, extra={"port": "up"}))
        raise TrialFailedError("no delay")

    records = []
    system = SimulatedMeasurer(SHARP)
    attempt = session([system], records).attempt(system, 1e6, 1.0, perform=perform)
    (trial,) = records
    assert (trial.sent, trial.lost, trial.intended, trial.extra) == (7, 2, 9, {"port": "up"})
    assert attempt.problem == trial.invalid == "trial 0 at 1.000 Mpps: no delay"
    lossy = Policies(on_error=FailurePolicy(count_as_loss=True))
    attempt = session([system], records, lossy).attempt(system, 1e6, 1.0, perform=perform)
    assert attempt.trial.invalid is None
    assert attempt.trial.warnings == [{"code": "counted-as-loss", "text": "trial 0 at 1.000 Mpps: no delay"}]
