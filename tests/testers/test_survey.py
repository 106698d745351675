"""Situations that users of other packet testers reported in public trackers."""

import json
import os
import stat
import sys
import time

import brimful
import pytest
from brimful.errors import MeasureError
from brimful.measurers import iperf3
from brimful.measurers.base import Description, Settings, TrialOutput
from brimful.measurers.command import CommandMeasurer
from brimful.records import read_run
from brimful.report.throughput import comparison
from brimful.throughput.manager import SearchRequest, run_search
from support import InvalidTrialError, TrialFailedError, goal, sharp
from support import brimful as command

CAPACITY = 1e6
BOTH = [brimful.SearchGoal(loss_ratio=0), brimful.SearchGoal(loss_ratio=0.005)]
RANGE = {"min_load": 1e4, "max_load": 1e7}
REPORT = {
    "end": {
        "sum_sent": {"packets": 1000, "seconds": 0.2, "bytes": 18_000},
        "sum_received": {"packets": 1000, "seconds": 0.2, "bytes": 18_000, "lost_packets": 0},
    }
}


def search(measure, **options):
    return brimful.search(measure, **{"goals": BOTH, **RANGE, **options})


def printed(tmp_path, monkeypatch, text):
    """An iperf3 that prints this."""
    (tmp_path / "text").write_text(text)
    program = tmp_path / "iperf3"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/text\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return iperf3.open_iperf3(
        "10.0.0.2", Settings(tester_arguments=["--frame-size=64", "--direction=uni"], ip=4, timeout_s=5.0)
    )


@pytest.mark.parametrize(
    "form",
    [
        "{0}",
        "warning: the data is too long\n{0}",
        "{0}\niperf3: error - unable to send a control message: Broken pipe\n",
        "{0}\n{0}\n",
        "\n\n{0}{0}",
    ],
)
def test_what_is_printed_around_a_report_is_no_part_of_it(tmp_path, monkeypatch, form):
    measurer = printed(tmp_path, monkeypatch, form.replace("{0}", json.dumps(REPORT, indent=1)))
    output = measurer.measure(5000.0, 0.2)
    assert (output.sent, output.lost) == (1000, 0)


@pytest.mark.parametrize("word", ["nan", "-nan", "inf", "-inf"])
def test_a_number_that_is_none_matters_only_where_it_is_needed(tmp_path, monkeypatch, word):
    text = json.dumps(REPORT)
    share = text.replace('"lost_packets": 0', f'"lost_percent": {word}, "note": "a nan, in a text"')
    assert printed(tmp_path, monkeypatch, share).measure(5000.0, 0.2).sent == 1000
    needed = text.replace('"sum_received": {"packets": 1000', f'"sum_received": {{"packets": {word}')
    with pytest.raises(TrialFailedError, match="no counts that can be"):
        printed(tmp_path, monkeypatch, needed).measure(5000.0, 0.2)


@pytest.mark.parametrize(("seen", "lost"), [(367_040, 364_936), (1000, -1919), (1002, 2)])
def test_what_a_receiver_makes_of_reordered_datagrams_is_no_loss(tmp_path, monkeypatch, seen, lost):
    report = json.loads(json.dumps(REPORT))
    report["end"]["sum_received"].update(packets=seen, lost_packets=lost)
    output = printed(tmp_path, monkeypatch, json.dumps(report)).measure(5000.0, 0.2)
    assert (output.sent, output.lost) == (1000, 0)


def test_a_busy_server_is_given_time(tmp_path, monkeypatch):
    monkeypatch.setattr(iperf3, "_BUSY_S", 0.3)
    measurer = printed(tmp_path, monkeypatch, '{"error": "the server is busy running a test. try again later"}')
    began_s = time.monotonic()
    with pytest.raises(InvalidTrialError, match="busy"):
        measurer.measure(5000.0, 0.2)
    assert time.monotonic() - began_s >= 0.3


class Told:
    """A device of a capacity behind a tester whose loads are so many frames a second each."""

    def __init__(self, load_unit, frames, *, capacity=CAPACITY, tells_intended=False, overload_kills=False):
        self._unit, self._frames, self._capacity = load_unit, frames, capacity
        self._tells, self._kills = tells_intended, overload_kills

    def describe(self):
        return Description(load_unit=self._unit, virtual_time=True)

    def measure(self, load, duration_s, *, stop_above=None):
        rate = load * self._frames
        sent = round(rate * duration_s)
        lost = sent if self._kills and rate > self._capacity else max(0, sent - round(self._capacity * duration_s))
        directions = [{"from": "a", "to": "b", "sent": sent, "lost": lost}]
        return TrialOutput(sent=sent, lost=lost, intended=sent if self._tells else None, directions=directions)

    def now(self):
        return 0.0


@pytest.mark.parametrize("tells_intended", [False, True])
@pytest.mark.parametrize(
    ("unit", "frames", "least", "most"),
    [("%", 1e5, 1, 100), ("bit/s", 1 / 12_000, 1e7, 1e11), ("Mbit/s", 1e6 / 12_000, 10, 1e5), ("pps", 1, 1e4, 1e7)],
)
def test_loads_that_are_no_rates_of_frames_are_searched_all_the_same(unit, frames, least, most, tells_intended):
    told = Told(unit, frames, tells_intended=tells_intended)
    for found in search(told, min_load=least, max_load=most).goal_results:
        assert found.regular
        assert found.lower_bound * frames == pytest.approx(CAPACITY, rel=0.01)


def test_a_direction_that_is_dead_under_load_is_checked_at_the_least_load_in_any_unit():
    result = search(Told("%", 1e5, overload_kills=True, tells_intended=True), min_load=1, max_load=100)
    assert result.goal_results[0].lower_bound == pytest.approx(10, rel=0.01)
    assert [trial.load for trial in result.trials if trial.invalid] == [1]


def test_results_in_percent_are_compared_as_closely_as_those_in_frames(tmp_path):
    def runs(capacity, unit, frames):
        for number in range(3):
            out = tmp_path / f"{capacity}{unit[0]}{number}"
            goals = [goal(trial=1.0, duration_sum=1.0)]
            request = SearchRequest(
                measurer="x", goals=goals, strategy="bisect", min_load=1e5 / frames, max_load=1e7 / frames
            )
            told = Told(unit, frames, capacity=capacity, tells_intended=True)
            yield read_run(run_search(request, told, out=out).path)

    verdicts = []
    for unit, frames in (("frames/s", 1.0), ("%", 1e5)):
        found = comparison.build(list(runs(0.95e6, unit, frames)), list(runs(1e6, unit, frames)))
        verdicts.append([each.comparison.verdict for each in found.goals])
    assert verdicts[0] == verdicts[1] == ["regression"]


def test_a_negative_count_names_itself_and_gives_no_load():
    with pytest.raises(MeasureError, match="lost is -5; a count is a whole number, 0 or more"):
        search(lambda load, duration: (round(load * duration), -5))


def test_a_counter_of_what_was_sent_that_stands_still_is_no_zero_loss():
    trials = iter(range(100))

    def measure(load, duration):
        return sharp(CAPACITY)(load, duration) if next(trials) == 0 else (0, 0)

    with pytest.raises(MeasureError, match="nothing was sent although"):
        search(measure, on_invalid="retry:2")


def test_a_delay_that_stands_for_none_is_no_delay():
    goals = [brimful.SearchGoal(loss_ratio=0, delay_limit_s=1e-3)]

    class Probing(Told):
        def describe(self):
            return Description(virtual_time=True, tells_delay=True)

        def measure(self, load, duration_s, *, stop_above=None):
            output = super().measure(load, duration_s)
            return TrialOutput(sent=output.sent, lost=output.lost, delay_p99_s=-1)

    with pytest.raises(MeasureError, match="delay_p99_s is -1"):
        search(Probing("frames/s", 1), goals=goals)


UNSENT = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    due = round(request.get("load", 0) * request.get("duration_s", 0))
    reply = {"id": request.get("id"), "sent": due - 300, "intended": due, "lost": 0}
    print(json.dumps({} if request["op"] == "describe" else reply), flush=True)
"""


def test_units_that_are_not_sent_at_any_load_are_named(tmp_path):
    (tmp_path / "tester.py").write_text(UNSENT)
    shown = command(
        "search", "-m", f"cmd:{sys.executable} tester.py", "--min-load", "10k", "--max-load", "1Mpps",
        "--goal", "loss=0,trial=1s,sum=1s", "--quiet", cwd=tmp_path, check=1,
    ).stdout  # fmt: skip
    assert "1 of 1 upper bounds (ndr) rest on units that the tester did not send" in " ".join(shown.split())


def test_stray_loss_leaves_a_goal_that_allows_some():
    def measure(load, duration):
        sent, lost = sharp(CAPACITY)(load, duration)
        return sent, min(sent, lost + max(1, round(sent * 1e-5)))

    ndr, pdr = search(measure).goal_results
    assert (ndr.lower_bound, ndr.reason) == (None, "min-load-is-upper-bound")
    assert pdr.regular
    assert pdr.lower_bound == pytest.approx(CAPACITY / 0.995, rel=0.01)


class Learning:
    """A device that loses everything until a trial has taught it what to do."""

    def __init__(self):
        self.trials = 0

    def measure(self, load, duration_s, *, stop_above=None):
        sent, lost = sharp(CAPACITY)(load, duration_s)
        self.trials += 1
        return TrialOutput(sent=sent, lost=sent if self.trials == 1 else lost)


@pytest.mark.parametrize("strategy", ["straddle", "classic", "bisect"])
def test_what_a_device_loses_while_it_learns_moves_no_bound(strategy):
    measurer = Learning()
    result = search(measurer, strategy=strategy)
    for found in result.goal_results:
        assert found.regular
        assert found.lower_bound == pytest.approx(CAPACITY, rel=0.012)
    assert measurer.trials == len(result.trials)


def test_what_each_trial_loses_at_its_beginning_is_most_at_the_least_load():
    # A hundred frames are 1 % of the trial at min load, and 0.01 % at the capacity.
    def measure(load, duration):
        sent, lost = sharp(CAPACITY)(load, duration)
        return sent, min(sent, lost + 100)

    _, pdr = search(measure).goal_results
    assert pdr.reason == "min-load-is-upper-bound"
    _, above = search(measure, min_load=1e5).goal_results
    assert above.regular
    assert above.lower_bound == pytest.approx(CAPACITY, rel=0.012)


@pytest.mark.parametrize(
    ("loss", "code", "said"),
    [
        ("0.1", 2, "goal 'loss=0.1': ratio '0.1' is 10 %: did you mean 0.1%? Write 10% if you mean it"),
        ("0.1%", 0, ""),
        ("50", 2, "is not between 0 and 1 (0 % and 100 %); did you mean 50%?"),
    ],
)
def test_a_loss_ratio_meant_in_percent_is_asked_about(tmp_path, loss, code, said):
    done = command("search", "-m", "sim:sharp", "--goal", f"loss={loss}", "--quiet", cwd=tmp_path, check=code)
    assert said in done.stderr
    assert bool(said) == bool(done.stderr)
    assert not list(tmp_path.rglob("run.jsonl")) or code == 0


def test_a_reply_of_another_trial_is_refused(tmp_path):
    body = "import json, sys\nfor line in sys.stdin: print(json.dumps({'id': 1, 'sent': 5, 'lost': 0}), flush=True)\n"
    (tmp_path / "tester.py").write_text(body)
    measurer = CommandMeasurer([sys.executable, str(tmp_path / "tester.py")], timeout_s=5.0)
    try:
        measurer.measure(50.0, 0.1)
        with pytest.raises(TrialFailedError, match="the reply has id 1, not 2"):
            measurer.measure(50.0, 0.1)
    finally:
        measurer.close()
