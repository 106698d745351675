"""The same program with the FD.io CSIT library and with what stands in for it: only the import differs."""

import importlib
import itertools
import time
from fractions import Fraction

import pytest
from brimful import _core, mlrsearch
from hypothesis import given
from hypothesis import strategies as st
from support import goal as goal_record
from support import needs
from test_verify import naive_verdict, trial

LIBRARIES = ("MLRsearch", "brimful.mlrsearch")
GOALS = {
    "production": [
        {"loss_ratio": 0.0, "exceed_ratio": 0.5},
        {"loss_ratio": 0.005, "exceed_ratio": 0.5},
    ],
    "strict": [{"loss_ratio": 0.0, "exceed_ratio": 0.0}, {"loss_ratio": 0.005, "exceed_ratio": 0.005}],
    "one-long-trial": [
        {"loss_ratio": 0.0, "exceed_ratio": 0.0, "final_trial_duration": 60.0, "duration_sum": 60.0},
    ],
}
# Kind: how far the answers of two searches of it may be apart, as a share. Those of a system that loses some at random
# differ from search to search.
SYSTEMS = {
    "sharp": 0.006,
    "soft-knee": 0.03,
    "noisy": 0.01,
    "stalls": 0.01,
    "livelock": 0.01,
    "tester-limit": 0.006,
    "inversion": 0.01,
}
WIDTH = 0.005


class Program:
    """A program that uses one of the libraries, as its users write it."""

    def __init__(self, library, spec, goals, **limits):
        self.system = system = _core.Simulator(spec)
        self.log = log = []

        class Measurer(library.AbstractMeasurer):
            def measure(self, intended_duration, intended_load):
                intended, sent, lost, seconds, _, _ = system.measure(intended_load, intended_duration)
                result = library.MeasurementResult(
                    intended_duration=intended_duration,
                    intended_load=intended_load,
                    offered_count=sent,
                    loss_count=lost,
                    intended_count=intended,
                    duration_with_overheads=seconds,
                )
                log.append(result)
                return result

        config = library.Config()
        config.goals = [library.SearchGoal(**goal) for goal in goals]
        config.min_load = limits.get("min_load", 9001.0)
        config.max_load = limits.get("max_load", system.link())
        config.search_duration_max = 1200.0
        config.warmup_duration = limits.get("warmup_duration")
        self.goals = list(config.goals)
        self.lines = []
        self.found = library.MultipleLossRatioSearch(config=config).search(measurer=Measurer(), debug=self.lines.append)

    def throughput(self, goal):
        return float(self.found[goal].conditional_throughput)


def played(name, *arguments, **limits):
    return Program(needs(name), *arguments, **limits)


# Whether a stall falls into the one trial of a load is luck.
@pytest.mark.parametrize(
    ("kind", "goals"), sorted({*itertools.product(SYSTEMS, GOALS)} - {("stalls", "one-long-trial")})
)
def test_both_libraries_find_the_same(kind, goals):
    spec = f"{kind},seed=3,overhead=0.5s,overhead-counts=yes"
    theirs, ours = (played(name, spec, GOALS[goals]) for name in LIBRARIES)
    for one, other in zip(theirs.goals, ours.goals, strict=True):
        assert ours.throughput(other) == pytest.approx(theirs.throughput(one), rel=SYSTEMS[kind])


@pytest.mark.parametrize("goals", GOALS)
@pytest.mark.parametrize("kind", [*SYSTEMS, "vhost"])
def test_bounds_are_what_the_trials_say(kind, goals):
    program = played("brimful.mlrsearch", f"{kind},seed=7,overhead=0.5s,overhead-counts=yes", GOALS[goals])
    for goal in program.goals:
        found = program.found[goal]
        lower, upper = found.relevant_lower_bound, found.relevant_upper_bound
        assert lower < upper
        assert float(upper) - float(lower) <= WIDTH * float(upper) * (1 + 1e-9)
        assert verdict(goal, program.log, lower) == "lower-bound"
        assert verdict(goal, program.log, upper) == "upper-bound"
        assert (1 - goal.loss_ratio) * (1 - 1e-12) <= program.throughput(goal) / float(lower) <= 1 + 1e-12


def verdict(goal, log, bound):
    record = goal_record(
        loss=goal.loss_ratio,
        exceed=goal.exceed_ratio,
        trial=goal.final_trial_duration,
        duration_sum=goal.duration_sum,
    )
    at_load = [one for one in log if one.intended_load == float(bound)]
    rows = [
        trial(
            seq,
            one.intended_load,
            one.intended_duration,
            one.loss_count + one.unsent_count,
            one.intended_count,
            effective=one.duration_with_overheads,
        )
        for seq, one in enumerate(at_load)
    ]
    return naive_verdict(record, rows)


@pytest.mark.parametrize("goals", GOALS)
def test_the_capacity_of_a_sharp_system_lies_between_the_bounds(goals):
    for seed in range(5):
        program = played("brimful.mlrsearch", f"sharp,seed={seed}", GOALS[goals])
        ndr = program.found[program.goals[0]]
        assert float(ndr.relevant_lower_bound) <= program.system.capacity() < float(ndr.relevant_upper_bound)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_system_without_loss_has_no_upper_bound(name):
    program = played(name, "sharp,capacity=1Mpps", GOALS["production"], max_load=0.5e6)
    for goal in program.goals:
        assert program.found[goal].relevant_upper_bound is None
        assert program.throughput(goal) == pytest.approx(0.5e6)


@pytest.mark.parametrize("name", LIBRARIES)
def test_without_a_lower_bound_a_search_raises_unless_it_may_not(name):
    spec = "sharp,capacity=5kpps"
    with pytest.raises(RuntimeError) as raised:
        played(name, spec, [{}])
    patient = played(name, spec, [{"fail_fast": False}])
    (found,) = patient.found.values()
    assert (found.relevant_lower_bound, found.conditional_throughput) == (None, None)
    assert float(found.relevant_upper_bound) == 9001.0
    if name == LIBRARIES[1]:
        assert "lower min_load" in str(raised.value)
        assert list(raised.value.result.values()) != []


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_search_that_takes_too_long_raises(name, monkeypatch):
    library = needs(name)
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    class Slow(library.AbstractMeasurer):
        def measure(self, intended_duration, intended_load):
            clock[0] += 50
            return library.MeasurementResult(intended_duration, intended_load, offered_count=100, loss_count=1)

    config = library.Config(search_duration_max=120.0, warmup_duration=None)
    with pytest.raises(RuntimeError) as raised:
        library.MultipleLossRatioSearch(config).search(Slow())
    assert 100 <= clock[0] <= 200
    if name == LIBRARIES[1]:
        assert "search_duration_max" in str(raised.value)


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_warm_up_is_at_max_load_and_does_not_count(name):
    program = played(name, "sharp,capacity=1Mpps", GOALS["production"], warmup_duration=7.0)
    first = program.log[0]
    assert (first.intended_duration, first.intended_load) == (7.0, program.system.link())
    assert len(program.lines) > len(program.log)


@pytest.mark.parametrize("name", LIBRARIES)
def test_loads_may_be_in_any_unit(name):
    library = needs(name)

    class Megabits(library.AbstractMeasurer):
        def measure(self, intended_duration, intended_load):
            sent = round(1e6 * intended_load * intended_duration)
            return library.MeasurementResult(
                intended_duration, intended_load, sent, forwarding_count=min(sent, round(3e5 * intended_duration))
            )

    config = library.Config(min_load=0.01, max_load=10.0)
    (found,) = library.MultipleLossRatioSearch(config).search(Megabits()).values()
    assert 0.3 * (1 - WIDTH) <= float(found.conditional_throughput) <= 0.30001


counts = st.integers(0, 1000)


@given(counts, st.integers(-20, 1000), st.integers(0, 1200), st.sampled_from([None, 0.5, 1.5]))
def test_what_follows_from_counts_is_the_same(offered, lost, intended, seconds):
    theirs, ours = (
        [
            library.MeasurementResult(
                1, 1000, **given, intended_count=intended, offered_duration=seconds, duration_with_overheads=None
            )
            for given in (
                {"offered_count": offered, "loss_count": lost},
                {"offered_count": offered, "forwarding_count": offered - lost},
                {"loss_count": lost, "forwarding_count": offered - lost},
            )
        ]
        for library in map(needs, LIBRARIES)
    )
    for one, other in zip(theirs, ours, strict=True):
        for name in (*vars(one), "unsent_count", "loss_ratio", "relative_forwarding_rate"):
            assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss_ratio": 1.0},
        {"loss_ratio": -0.1},
        {"exceed_ratio": 1},
        {"relative_width": 0},
        {"initial_trial_duration": 0},
        {"initial_trial_duration": 2.0},
        {"duration_sum": 0.5},
        {"expansion_coefficient": 1},
        {"preceding_targets": 0},
        {"preceding_targets": -1, "duration_sum": 1},
    ],
)
def test_goals_that_cannot_be_are_refused(wrong):
    for library in map(needs, LIBRARIES):
        with pytest.raises(ValueError):  # noqa: PT011 - each library has words of its own
            library.SearchGoal(**wrong)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_load", 0),
        ("min_load", 2e9),
        ("max_load", 9000),
        ("search_duration_max", 0),
        ("warmup_duration", -1),
        ("goals", []),
        ("goals", [mlrsearch.SearchGoal()] * 2),
    ],
)
def test_configurations_that_cannot_be_are_refused_at_the_latest_by_the_search(name, value):
    config = mlrsearch.Config()
    with pytest.raises(ValueError, match=r"must be|there"):
        search_with(config, name, value)


def search_with(config, name, value):
    setattr(config, name, value)
    mlrsearch.MultipleLossRatioSearch(config).search(None)


def test_all_public_names_and_defaults_of_the_library_are_there():
    library = needs("MLRsearch")
    public = {name for name in vars(library) if name[0].isupper()}
    assert public <= set(mlrsearch.__all__)
    theirs, ours = library.SearchGoal(), mlrsearch.SearchGoal()
    assert vars(theirs) == vars(ours)
    for name in ("min_load", "max_load", "search_duration_max", "warmup_duration"):
        assert getattr(library.Config(), name) == getattr(mlrsearch.Config(), name)
    for module in ("config", "goal_result", "pep3140", "search_goal", "search_goal_tuple", "trial_measurement"):
        importlib.import_module(f"brimful.mlrsearch.{module}")


def test_a_result_is_printed_in_short():
    program = played("brimful.mlrsearch", "sharp,capacity=1Mpps", GOALS["production"])
    assert str(program.found).count("): fl=") == 2
    lower = program.found[program.goals[0]].relevant_lower_bound
    ((goal, stat),) = lower.target_to_stat.items()
    assert goal == program.goals[0]
    assert Fraction(stat.good_long) > 0
    assert lower == float(lower)
    assert lower > float(lower) / 2
    assert {lower: 1}[lower / 1.0] == 1
    assert "TrimmedStat" in repr(lower)


@pytest.mark.parametrize("effective_s", [0.0, 1e-9])
def test_trials_that_weigh_nothing_end_the_search(effective_s):
    class Weightless(mlrsearch.AbstractMeasurer):
        def measure(self, intended_duration, intended_load):
            return mlrsearch.MeasurementResult(
                intended_duration, intended_load, 100, 0, duration_with_overheads=effective_s
            )

    config = mlrsearch.Config(goals=[mlrsearch.SearchGoal(fail_fast=False)])
    with pytest.raises(RuntimeError, match="duration_with_overheads is close to 0"):
        mlrsearch.MultipleLossRatioSearch(config).search(Weightless())


def test_results_of_the_library_itself_are_understood():
    library = needs("MLRsearch")

    class Mixed(mlrsearch.AbstractMeasurer):
        def measure(self, intended_duration, intended_load):
            sent = int(intended_duration * intended_load)
            return library.MeasurementResult(
                intended_duration, intended_load, sent, forwarding_count=min(sent, int(1e6 * intended_duration))
            )

    (found,) = mlrsearch.MultipleLossRatioSearch(mlrsearch.Config()).search(Mixed()).values()
    assert float(found.conditional_throughput) == pytest.approx(1e6, rel=0.006)


def test_a_trial_at_another_load_is_refused():
    class Other(mlrsearch.AbstractMeasurer):
        def measure(self, intended_duration, intended_load):
            return mlrsearch.MeasurementResult(intended_duration, 5.0, 10, 0)

    with pytest.raises(ValueError, match="intended_load is 5"):
        mlrsearch.MultipleLossRatioSearch(mlrsearch.Config()).search(Other())

    class Less(mlrsearch.AbstractMeasurer):
        def measure(self, intended_duration, intended_load):
            return mlrsearch.MeasurementResult(intended_duration, intended_load, -5, 0)

    with pytest.raises(ValueError, match="offered_count of -5"):
        mlrsearch.MultipleLossRatioSearch(mlrsearch.Config()).search(Less())
    with pytest.raises(ValueError, match="two of"):
        mlrsearch.MeasurementResult(1, 5.0, 10)


def sent_and_received(duration, load):
    return duration * load, min(duration * load, duration * 1e6)


ODD = {
    "floats": lambda sent, received: {"offered_count": sent, "forwarding_count": received},
    "texts": lambda sent, received: {"offered_count": str(int(sent)), "forwarding_count": str(int(received))},
    "negative loss": lambda sent, received: {"offered_count": sent, "forwarding_count": received + 3},
    "more loss than sent": lambda sent, received: {"offered_count": sent, "loss_count": 2 * (sent - received)},
    "no number": lambda sent, received: {"offered_count": float("nan"), "forwarding_count": received},
    "nothing sent": lambda sent, received: {"offered_count": 0, "forwarding_count": 0},
    "nothing": lambda sent, received: None,
    "an error": lambda sent, received: {}[sent],
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_measurers_come_to_the_same_end(odd):
    """A result within a width of that of the library, or an error of the same kind."""

    def end_with(name):
        library = needs(name)

        class Measurer(library.AbstractMeasurer):
            def measure(self, intended_duration, intended_load):
                counts = ODD[odd](*sent_and_received(intended_duration, intended_load))
                trial = {"intended_duration": intended_duration, "intended_load": intended_load}
                return None if counts is None else library.MeasurementResult(**trial, **counts)

        config = library.Config(goals=[library.SearchGoal()], max_load=1e8)
        try:
            (found,) = library.MultipleLossRatioSearch(config).search(Measurer(), debug=lambda text: None).values()
        except Exception as error:
            return next(
                kind for kind in (RuntimeError, ValueError, AttributeError, KeyError) if isinstance(error, kind)
            )
        return float(found.conditional_throughput)

    theirs, ours = map(end_with, LIBRARIES)
    assert ours == theirs if isinstance(theirs, type) else ours == pytest.approx(theirs, rel=WIDTH)
