"""How quiet the machine was: figures from invented texts and times, a watch on an invented /proc, and who is told."""

import os
import sys

import pytest
from brimful.machine.figures import MOST_FOR_OTHERS, explain_unrest, judge, others_share, read_usage, speed_spread
from brimful.machine.watch import Watch, time_work
from brimful.measurers import tester
from brimful.measurers.base import Description, Settings
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import End, Machine, decode_line, encode, read_run
from brimful.throughput.manager import SearchRequest, run_search
from support import NDR_AND_PDR, goal

ROOT_PID = 100
KERNEL_THREAD = 0x208040


def processors(*, user=0, nice=0, system=0, idle=0, iowait=0, irq=0, softirq=0, steal=0, guest=0):
    columns = (user, nice, system, idle, iowait, irq, softirq, steal, guest, 0)
    return f"cpu  {' '.join(map(str, columns))}\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 12345 0\n"


def process(parent, user=0, system=0, *, ended=(0, 0), flags=0x400040, name="a) (b c"):
    return f"7 ({name}) S {parent} 7 7 0 -1 {flags} 1 2 3 4 {user} {system} {ended[0]} {ended[1]} 20 0 1 0 999"


def usage(processes=None, **columns):
    return read_usage(processors(**columns), {ROOT_PID: process(1), **(processes or {})}, ROOT_PID)


def test_what_others_took_is_all_but_the_runs_own():
    before = usage({2: process(0, flags=KERNEL_THREAD)}, user=1000, idle=5000)
    own = {ROOT_PID: process(1, 30, 5, ended=(20, 5)), 200: process(ROOT_PID, 100, 10), 300: process(200, 50, 0)}
    after = usage({2: process(0, flags=KERNEL_THREAD), **own}, user=1230, nice=20, system=40, idle=5710)
    assert after.own_user == 200
    assert after.own_system == 20
    assert others_share(before, after) == pytest.approx((250 - 200 + 40 - 20) / 1000)


def test_processes_of_others_do_not_count_as_the_runs_own():
    found = usage({1: process(0, 7, 7), 50: process(1, 9, 9), 200: process(ROOT_PID, 3, 4)})
    assert (found.own_user, found.own_system) == (3, 4)


def test_kernel_threads_and_interrupts_are_nobodys():
    before = usage({20: process(2, system=500, flags=KERNEL_THREAD), 21: process(2, system=90, flags=KERNEL_THREAD)})
    # Number 21 has ended, and 22 is new.
    threads = {20: process(2, system=800, flags=KERNEL_THREAD), 22: process(2, system=50, flags=KERNEL_THREAD)}
    after = usage(threads, system=350, irq=50, softirq=400, idle=200)
    assert others_share(before, after) == 0


def test_without_kernel_threads_to_be_seen_nothing_is_said_of_others_in_the_kernel():
    assert others_share(usage(), usage(system=900, user=10, idle=90)) == pytest.approx(0.01)


def test_too_much_system_time_of_the_run_takes_nothing_from_the_user_time_of_others():
    own = {ROOT_PID: process(1, 0, 400), 2: process(0, flags=KERNEL_THREAD)}
    assert others_share(usage(), usage(own, user=100, system=200, idle=700)) == pytest.approx(0.1)


def test_stolen_time_is_others():
    assert others_share(usage(), usage(steal=30, idle=970)) == pytest.approx(0.03)


def test_when_no_time_passed_nothing_is_known():
    same = usage(user=100, idle=900)
    assert others_share(same, same) is None


@pytest.mark.parametrize(
    "stat",
    [
        "",
        "cpu",
        "cpu  1 2 3 4\n",
        "cpu0 1 2 3 4 5 6 7 8 9 10\n",
        "cpu  1 2 3 4 5 6 7 x\n",
        "cpu  1 2 3 4 5 6 7 -8\n",
        "<html>",
    ],
)
def test_a_malformed_stat_says_nothing(stat):
    assert read_usage(stat, {ROOT_PID: process(1)}, ROOT_PID) is None


@pytest.mark.parametrize("text", ["", "100 (x", "100 (x) S 1", "100 (x) S 1 7 7 0 -1 flags 1 2 3 4 5 6 7 8", ")" * 30])
def test_a_malformed_process_is_left_out_and_without_the_watched_one_nothing_is_said(text):
    assert usage({200: text}).own_user == 0
    assert read_usage(processors(idle=1), {ROOT_PID: text}, ROOT_PID) is None


def test_the_speed_moved_by_what_most_times_differ():
    assert speed_spread([1000] * 40) == 0
    # One time in twenty is an outlier, and does not count.
    assert speed_spread([1000] * 39 + [5000]) == 0
    assert speed_spread([1000] * 30 + [1040] * 10) == pytest.approx(0.04)
    assert speed_spread([1000]) is None
    assert speed_spread([0, 0, 0]) is None


@pytest.mark.parametrize(
    ("others", "spread", "widths", "quiet"),
    [
        (0.004, 0.003, [0.005, 0.01], True),
        (MOST_FOR_OTHERS + 0.001, 0.003, [0.005], False),
        (0.004, 0.006, [0.005, 0.01], False),
        (0.004, 0.006, [0.02], True),
        (0.004, 0.004, [None], True),
        (0.004, 0.006, [None], False),
    ],
)
def test_a_machine_is_quiet_where_results_cannot_move_by_more_than_the_width(others, spread, widths, quiet):
    goals = [goal(width=width) for width in widths]
    assert judge(others, spread, goals) == Machine(others_share=others, speed_spread=spread, quiet=quiet)


def test_half_of_the_figures_are_no_verdict():
    assert judge(None, 0.001, NDR_AND_PDR) is None
    assert judge(0.001, None, NDR_AND_PDR) is None


def test_what_was_not_quiet_is_said_and_what_was_is_not():
    busy = explain_unrest(Machine(others_share=0.31, speed_spread=0.001, quiet=False), NDR_AND_PDR)
    assert busy.startswith("others took 31 % of the processors, more than 1 %: results may move by as much")
    assert "speed" not in busy
    unsteady = explain_unrest(Machine(others_share=0.001, speed_spread=0.034, quiet=False), NDR_AND_PDR)
    assert unsteady.startswith("CPU speed varied by 3.4 %, more than the width of 0.5 %: results")
    assert unsteady.endswith("or repeat with --repeat")


class InventedProc:
    """A directory like /proc in which this process runs; ``busy`` is the time of others so far, of 1000 a step."""

    def __init__(self, path):
        self.path = path
        (path / str(os.getpid())).mkdir()
        (path / "2").mkdir()
        (path / "777").mkdir()  # ended while the directory was read
        (path / "self").mkdir()
        (path / "2" / "stat").write_text(process(0, flags=KERNEL_THREAD))
        self.step(0, 0)

    def step(self, own, others):
        (self.path / str(os.getpid()) / "stat").write_text(process(1, user=own))
        (self.path / "stat").write_text(processors(user=own + others, idle=2000 - own - others if own + others else 0))


def test_a_watch_tells_what_happened_between_its_first_look_and_the_end(tmp_path):
    proc = InventedProc(tmp_path)
    times = iter([1000, 1000, 1000])
    watch = Watch(proc=tmp_path, work=lambda: next(times))
    assert watch.result(NDR_AND_PDR) is None
    for _ in range(3):
        watch.look()
    proc.step(own=500, others=10)
    assert watch.result(NDR_AND_PDR) == Machine(others_share=0.005, speed_spread=0.0, quiet=True)
    proc.step(own=500, others=100)
    assert watch.result(NDR_AND_PDR) == Machine(others_share=0.05, speed_spread=0.0, quiet=False)


@pytest.mark.parametrize("content", [None, "nonsense"])
def test_where_the_kernel_does_not_tell_nothing_is_said(tmp_path, content):
    if content is not None:
        (tmp_path / "stat").write_text(content)
    watch = Watch(proc=tmp_path / "missing" if content is None else tmp_path, work=lambda: 1000)
    watch.look()
    watch.look()
    assert watch.result(NDR_AND_PDR) is None


def test_the_work_takes_time():
    assert time_work() > 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads the /proc of Linux")
def test_the_own_process_is_found_in_the_real_proc():
    assert Watch()._usage().own_user >= 0


class OnThisMachine:
    """A simulated system that says that this machine sends the frames."""

    def __init__(self):
        self._inner = SimulatedMeasurer("sharp,capacity=1Mpps")
        self.trials = 0

    def describe(self):
        return Description(name="ours", max_load=2e6, on_this_machine=True)

    def measure(self, load, duration_s, *, stop_above=None):
        self.trials += 1
        return self._inner.measure(load, duration_s, stop_above=stop_above)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def searched(monkeypatch, path, measurer, spread):
    """Search with a watch that knows its answer; give the outcome and how often the watch looked."""
    looks = []

    class Known(Watch):
        def look(self):
            looks.append(measurer.trials)

        def result(self, goals):
            return judge(0.002, spread, goals)

    monkeypatch.setattr("brimful.throughput.manager.Watch", Known)
    return run_search(SearchRequest(measurer="ours", goals=NDR_AND_PDR, strategy="straddle"), measurer, out=path), looks


def test_a_search_that_was_not_quiet_warns_and_keeps_the_figures(tmp_path, monkeypatch):
    measurer = OnThisMachine()
    outcome, looks = searched(monkeypatch, tmp_path / "run", measurer, 0.034)
    assert [warning.code for warning in outcome.warnings] == ["machine-not-quiet"]
    file = read_run(tmp_path / "run")
    assert file.ends[-1].machine == Machine(others_share=0.002, speed_spread=0.034, quiet=False)
    assert [warning.code for warning in file.warnings] == ["machine-not-quiet"]
    assert looks == list(range(measurer.trials))


def test_a_quiet_search_keeps_the_figures_and_warns_of_nothing(tmp_path, monkeypatch):
    outcome, _ = searched(monkeypatch, tmp_path / "run", OnThisMachine(), 0.003)
    assert outcome.warnings == []
    assert read_run(tmp_path / "run").ends[-1].machine.quiet


def test_a_search_elsewhere_watches_nothing(tmp_path):
    measurer = SimulatedMeasurer("sharp,capacity=1Mpps")
    outcome = run_search(SearchRequest(measurer="sim", goals=NDR_AND_PDR, strategy="straddle"), measurer, out=tmp_path)
    assert outcome.result.end.machine is None
    assert b'"machine"' not in encode(outcome.result.end)


def test_the_figures_come_back_from_a_record_and_older_records_have_none():
    end = End(reason="done", trials=1, search_s=1.0, machine=Machine(others_share=0.1, speed_spread=0.2, quiet=False))
    assert decode_line(encode(end), where="here") == end
    old = b'{"kind":"end","reason":"done","trials":1,"search_s":1.0}'
    assert decode_line(old, where="here").machine is None


def test_a_program_says_itself_whether_it_sends_from_this_machine(tmp_path, monkeypatch):
    script = "import sys; sys.stdin.readline(); print('{%s}')"

    def described(facts, **options):
        measurer = CommandMeasurer([sys.executable, "-c", script % facts], **options)
        try:
            return measurer.describe().on_this_machine
        finally:
            measurer.close()

    assert not described("")
    assert described('"on_this_machine": true')
    assert described("", on_this_machine=True)
    program = tmp_path / "brimful-tester"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{script % ""}"\n')
    program.chmod(0o755)
    monkeypatch.setattr(tester, "tester_program", lambda: str(program))
    measurer = tester.tester_on_ports("eth1,eth2", Settings(timeout_s=10.0))
    assert measurer.describe().on_this_machine
    measurer.close()
