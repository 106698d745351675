"""`brimful.search`: what a function that measures may answer, and what it is told."""

import itertools
import json
import math
import re
import subprocess
import sys

import brimful
import msgspec
import numpy as np
import pytest
from brimful.errors import UsageError
from brimful.measurers.base import with_intended
from brimful.records import Run, read_run
from brimful.runs import open_record, run_identity
from brimful.throughput.goals import named_goals
from support import (
    Description,
    InvalidTrialError,
    MeasureError,
    TrialOutput,
    Troubled,
    sharp,
)
from support import brimful as brimful_command


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
    spoiled = {number: InvalidTrialError("link down") for number in range(10)}
    result = brimful.search(Troubled(spoiled), **options)
    assert [trial.invalid is None for trial in result.trials[:11]] == [False] * 10 + [True]
    with pytest.raises(MeasureError, match=r"link down \(2 times in a row\)"):
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
        ({"goals": [brimful.SearchGoal(loss_ratio=0, final_trial_duration_s=0.0)]}, "duration"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, final_trial_duration_s=float("nan"))]}, "duration"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, initial_trial_duration_s=5.0)]}, "initial trial duration"),
        ({"min_load": 0.5}, "less than one unit"),
        ({"max_load": 1999.0, "goals": [brimful.SearchGoal(loss_ratio=0, width=5e-4)]}, "can tell less than one"),
        ({"min_load": -1.0}, "min load"),
        ({"strategy": "guess"}, "unknown strategy"),
        ({"strategy": 3}, 'unknown strategy "3"'),
        ({"goals": [3]}, r"goals is \[3\]; give a list of SearchGoal"),
        ({"goals": brimful.SearchGoal(loss_ratio=0)}, r"goals is SearchGoal\(.*; give a list of SearchGoal"),
        ({"preset": "csit"}, "preset 'csit' and goals both say what to find"),
        ({"goals": None, "preset": "fast"}, "preset is 'fast'; there is csit, "),
        ({"goals": [brimful.SearchGoal(loss_ratio="0.5%")]}, "loss_ratio of a goal is '0.5%'; it must be a number"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, width="1%")]}, "goal 'ndr': width is '1%'; it must be a number"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, name="")]}, "goal name ''"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, name="a\nb")]}, r"goal name 'a\\nb': a name is one or more print"),
        ({"goals": [brimful.SearchGoal(loss_ratio=0, name=5)]}, "goal name 5"),
        ({"max_load": "1 apple"}, "load '1 apple'"),
        ({"max_load": [1e6]}, r"max_load is \[1000000.0\]; it must be a number"),
        ({"max_load": 10**400}, "max_load is 1000"),
        ({"min_load": True}, "min_load is True"),
        ({"hint": "near"}, "load 'near' is not a number with a unit"),
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
    goals = [brimful.SearchGoal(loss_ratio=np.float64(0.005), duration_sum_s=np.int64(2), width=np.float32(0.25))]
    plain = [brimful.SearchGoal(loss_ratio=0.005, duration_sum_s=2, width=0.25)]
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
        goals=[brimful.SearchGoal(loss_ratio=0, duration_sum_s=21.0)],
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
        ({"max_load": 0.5e6}, "max load 1 Mpps is above the 500 kpps that measurer 'mine' can offer"),
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


def test_defaults_are_those_of_the_command(tmp_path):
    found = brimful.search("sim:soft-knee,capacity=1Mpps,seed=7")
    brimful_command("search", "-m", "sim:soft-knee,capacity=1Mpps,seed=7", "-q", "--out", "out", cwd=tmp_path, check=0)
    told = read_run(tmp_path / "out")
    assert found.goal_results == told.goal_results
    assert [trial.load for trial in found.trials] == [trial.load for trial in told.trials]
    assert found.path is None


def test_a_record_is_kept_where_asked_for_and_resumed(tmp_path):
    options = {"max_load": "10Mpps", "preset": "quick", "labels": {"dut": "x"}, "record": tmp_path / "out"}
    with pytest.raises(ZeroDivisionError) as caught:
        brimful.search(failing(ZeroDivisionError()), **options)
    assert len(caught.value.result.trials) == len(read_run(tmp_path / "out").trials) == 3
    whole = brimful.search(sharp(1e6), **options, resume=True)
    assert whole.regular
    assert whole.path == tmp_path / "out" / "run.jsonl"
    assert read_run(whole.path).run.labels == {"dut": "x"}
    assert read_run(whole.path).trials[:3] == caught.value.result.trials


def test_a_result_is_asked_by_goal_and_shown_in_notebooks():
    seen = []
    result = brimful.search(sharp(1e6), max_load=1e7, progress=seen.append)
    assert result["pdr"] is result.goal_results[1]
    with pytest.raises(UsageError, match="there is no goal 'mdr'; there is ndr, pdr"):
        result["mdr"]
    assert len(seen) == len(result.trials)
    assert repr(result).startswith("<SearchResult ndr: 99")
    assert "<td>ndr</td>" in result._repr_html_()
    facts = json.loads(json.dumps(result.to_dict()))
    assert facts["regular"] is True
    assert facts["trials"][0]["load"] == result.trials[0].load
    frame = result.to_frame()
    assert list(frame["lost"]) == [trial.lost for trial in result.trials]


def test_every_type_that_the_signature_names_is_exported():
    named = set(re.findall(r"\b[A-Z]\w+", " ".join(map(str, brimful.search.__annotations__.values()))))
    fields = [field.type for kind in (brimful.SearchResult,) for field in msgspec.structs.fields(kind)]
    named |= set(re.findall(r"brimful\.\S*?\.(\w+)\b(?![.\w])", " ".join(map(str, fields))))
    known = {"Sequence", "Mapping", "Callable", "Path", "None"}
    assert named - known <= set(brimful.__all__)


def test_looking_into_the_package_shows_everything_that_is_public():
    # In a process of its own, in which nothing has been imported yet.
    code = "import brimful; print(set(brimful.__all__) - set(dir(brimful)), {n for n in dir(brimful) if n[0] != '_'})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    missing, shown = done.stdout.split(" ", 1)
    assert missing == "set()"
    assert "'search'" in shown
    assert all(hasattr(brimful, name) for name in brimful.__all__)


def test_a_sharp_function_is_found():
    goals = [brimful.SearchGoal(loss_ratio=0), brimful.SearchGoal(loss_ratio=0.005)]
    result = brimful.search(sharp(1e6), goals=goals, min_load=1e4, max_load=14.88e6)
    assert [found.goal for found in result.goal_results] == ["ndr", "pdr"]
    assert result.goal_results[0].conditional_throughput == pytest.approx(1e6, rel=0.006)


def test_what_a_function_does_not_send_is_loss_and_said():
    most = 14.88e6
    result = brimful.search(
        lambda load, duration: (min(round(load * duration), round(9e6 * duration)), 0),
        goals=[brimful.SearchGoal(loss_ratio=0)],
        min_load=1e5,
        max_load=most,
    )
    (found,) = result.goal_results
    assert found.regular
    assert 8.9e6 < found.lower_bound <= 9e6 < found.upper_bound
    at_max = next(trial for trial in result.trials if trial.load == most)
    assert at_max.intended == round(most * at_max.duration_s)
    assert [note["code"] for note in at_max.warnings] == ["unsent"]
    clean = next(trial for trial in result.trials if trial.load == found.lower_bound)
    assert clean.warnings == []


@pytest.mark.parametrize("rounded", [math.floor, round, math.ceil])
def test_how_a_function_rounds_its_frames_is_no_loss(rounded):
    def measure(load, duration):
        sent = rounded(load * duration)
        return sent, max(0, sent - round(1e6 * duration))

    result = brimful.search(measure, goals=[brimful.SearchGoal(loss_ratio=0)], min_load=1e3, max_load=1e7)
    assert 0.99e6 < result.goal_results[0].lower_bound <= 1.000001e6


def test_an_intended_count_that_was_told_is_kept():
    told = TrialOutput(sent=500, lost=0, intended=500)
    assert with_intended(told, 1000.0, 1.0) == told


def test_each_interface_may_round_a_frame_away():
    sent = TrialOutput(sent=2000, lost=0)
    assert with_intended(sent, 1000.9, 1.0, conversion_factor=2.0).intended == 2000
    assert with_intended(sent, 1001.5, 1.0, conversion_factor=2.0).intended == 2003


def test_a_trial_that_was_stopped_keeps_the_count_of_the_whole_without_a_warning():
    stopped = with_intended(TrialOutput(sent=500, lost=100, stopped_early=True), 1000.0, 1.0)
    assert (stopped.intended, stopped.warnings) == (1000, [])


@pytest.mark.parametrize(
    ("labels", "kept"),
    [({"mtu": 9000}, {"mtu": "9000"}), ({"a": 1.5, "b": ""}, {"a": "1.5", "b": ""}), ({"up": True}, {"up": "True"})],
)
def test_labels_that_are_numbers_are_kept_as_they_are_written(tmp_path, labels, kept):
    brimful.search(sharp(1e6), max_load=1e7, labels=labels, record=tmp_path / "run")
    assert read_run(tmp_path / "run").run.labels == kept


@pytest.mark.parametrize("labels", [{5: "x"}, {"a": None}, {"a": b"x"}, {"a": "x\ud800"}, {"": "x"}, [("a", "b")]])
@pytest.mark.parametrize("is_kept", [False, True])
def test_labels_that_no_record_holds_are_refused_before_measuring(tmp_path, labels, is_kept):
    def measure(load, duration):
        raise AssertionError

    with pytest.raises(UsageError, match="labels"):
        brimful.search(measure, max_load=1e7, labels=labels, record=tmp_path / "run" if is_kept else None)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("traffic", [[9000], [b"x"], ["x\ud800"], "--flows=2"])
def test_options_that_are_none_are_refused_before_measuring(tmp_path, traffic):
    with pytest.raises(UsageError, match="is no list of options"):
        brimful.search("sim:sharp", traffic=traffic, record=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_no_record_holds_is_refused_before_a_directory_is_made(tmp_path):
    for labels in ({"mtu": 9000}, {"mtu": "\ud800"}, {"mtu": object()}):
        run = Run(**run_identity(), labels=labels)
        with (
            pytest.raises(UsageError, match="what is to be recorded of this run"),
            open_record(tmp_path / "run", None, [run]),
        ):
            pass
    assert not (tmp_path / "run").exists()


class Telling:
    """A measurer of a user's own that says more than counts."""

    def __init__(self, **told):
        self._told = told

    def describe(self):
        return brimful.Description(virtual_time=True, traffic=self._told.get("traffic", {}))

    def measure(self, load, duration, *, stop_above=None):
        told = {name: value for name, value in self._told.items() if name != "traffic"}
        return TrialOutput(sent=round(load * duration), lost=max(0, round((load - 1e6) * duration)), **told)

    def now(self):
        return 0.0


def test_values_of_libraries_are_kept_as_plain_ones(tmp_path):
    numpy = pytest.importorskip("numpy")
    told = {"extra": {"queue": numpy.int64(7), "seen": numpy.array([1.5, 2.5]), "file": tmp_path}}
    brimful.search(Telling(**told, traffic={"size": numpy.float64(64)}), max_load=1e7, record=tmp_path / "run")
    file = read_run(tmp_path / "run")
    assert file.run.traffic == {"size": 64.0}
    assert {**file.trials[0].extra, "file": None} == {"queue": 7, "seen": [1.5, 2.5], "file": None}


@pytest.mark.parametrize("told", [{"extra": {"x": object()}}, {"directions": [{"x": "\ud800"}]}])
def test_a_trial_that_no_record_holds_ends_the_search_with_what_it_has(tmp_path, told):
    with pytest.raises(MeasureError, match="cannot be kept in a record") as caught:
        brimful.search(Telling(**told), max_load=1e7, record=tmp_path / "run")
    assert caught.value.result.end.reason == "measurement-failed"
    assert len(read_run(tmp_path / "run").trials) == 1


def test_a_description_that_no_record_holds_is_refused_before_measuring(tmp_path):
    with pytest.raises(MeasureError, match="traffic: cannot be kept in a record"):
        brimful.search(Telling(traffic={"x": object()}), max_load=1e7, record=tmp_path / "run")
    assert not (tmp_path / "run").exists()
