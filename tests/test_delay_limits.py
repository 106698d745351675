"""Goals with a delay limit: from the command line over the record to what reports say of them."""

import json
import math
import sys

import brimful as package
import pytest
from brimful import _core
from brimful.errors import UsageError
from brimful.measurers.command import trial_output
from brimful.records import Trial, read_run
from brimful.report.throughput.trials import exceeds
from brimful.throughput.explain import explanation
from brimful.throughput.goals import parse_goal, problem_json
from brimful.throughput.verify import TrialLog
from hypothesis import given
from hypothesis import strategies as st
from support import Description, MeasureError, TrialFailedError, TrialOutput, Troubled, brimful, goal

SIM = "sim:sharp,capacity=1Mpps,delay=20us"
GOALS = [
    "--goal",
    "name=ndr,loss=0",
    "--goal",
    "name=fast,loss=0,delay=1ms",
    "--goal",
    "name=faster,loss=0,delay=100us",
]
ANSWERS = {"ndr": 1e6, "fast": 0.98e6, "faster": 0.8e6}
"""Where the simulated system begins to lose frames, and where its delay is 1 ms and 100 us."""


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    directory = tmp_path_factory.mktemp("delay")
    brimful("search", "-m", SIM, *GOALS, "--out", "run", cwd=directory, check=0)
    return directory


@pytest.mark.parametrize("strategy", ["straddle", "classic", "bisect"])
def test_every_strategy_finds_the_load_that_is_fast_enough(tmp_path, strategy):
    brimful("search", "-m", SIM, *GOALS, "--strategy", strategy, "--out", "run", "--quiet", cwd=tmp_path, check=0)
    file = read_run(tmp_path / "run")
    for result in file.goal_results:
        assert result.regular
        assert result.lower_bound <= ANSWERS[result.goal] * 1.000001
        assert result.upper_bound >= ANSWERS[result.goal] * 0.999999
    brimful("verify", "run", cwd=tmp_path, check=0)


def test_the_record_keeps_limits_and_delays(searched):
    file = read_run(searched / "run")
    assert [one.delay_limit_s for one in file.run.goals] == [None, 1e-3, 1e-4]
    assert all(trial.delay_p99_s >= 20e-6 for trial in file.trials)
    first = (searched / "run" / "run.jsonl").read_text().splitlines()[0]
    assert first.count("delay_limit_s") == 2, "a goal without a limit is written as it always was"


def test_a_false_delay_is_found(searched, tmp_path):
    text = (searched / "run" / "run.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        if line["kind"] == "trial":
            line["delay_p99_s"] = 1e-5
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "does not hold: goal 'fast'" in brimful("verify", "run.jsonl", cwd=tmp_path, check=1).stdout


def test_reports_say_what_was_asked_and_that_it_is_no_part_of_the_specification(searched):
    text = " ".join(brimful("report", "run", cwd=searched, check=0).stdout.split())
    assert "without loss and with a p99 delay of at most 1 ms" in text
    assert (
        "(fast 1 ms, faster 100 us); neither RFC 2544 nor MLRsearch (draft-ietf-bmwg-mlrsearch-15, RFC 9971 to be)"
        in text
    )
    brimful("report", "run", "--html", "report.html", cwd=searched, check=0)
    html = (searched / "report.html").read_text()
    assert html.count('<th class="number">p99 delay</th>') == 2


def test_reports_without_a_limit_have_no_column_for_it(tmp_path):
    brimful("search", "-m", SIM, "--goal", "loss=0", "--out", "run", "--quiet", cwd=tmp_path, check=0)
    assert "p99" not in brimful("report", "run", cwd=tmp_path, check=0).stdout
    brimful("report", "run", "--html", "report.html", cwd=tmp_path, check=0)
    assert "p99" not in (tmp_path / "report.html").read_text()


def test_a_cut_and_resumed_search_ends_as_the_whole_one(searched, tmp_path):
    lines = (searched / "run" / "run.jsonl").read_text().splitlines(keepends=True)
    whole = read_run(searched / "run")
    trials = [index for index, line in enumerate(lines) if '"kind":"trial"' in line]
    for cut in (1, trials[len(trials) // 2] + 1):
        directory = tmp_path / f"cut-{cut}"
        directory.mkdir()
        (directory / "run.jsonl").write_text("".join(lines[:cut]))
        brimful("search", "-m", SIM, *GOALS, "--out", directory, "--resume", "--quiet", cwd=tmp_path, check=0)
        resumed = read_run(directory)
        assert resumed.trials == whole.trials
        assert resumed.goal_results == whole.goal_results


def test_a_replayed_run_gives_the_same_result(searched, tmp_path):
    spec = f"replay:{searched / 'run'}"
    run = read_run(searched / "run").run
    limits = ["--min-load", f"{run.min_load!r}", "--max-load", f"{run.max_load!r}"]
    brimful("search", "-m", spec, *GOALS, *limits, "--out", "again", "--quiet", cwd=tmp_path, check=0)
    found = read_run(tmp_path / "again").goal_results
    assert found == read_run(searched / "run").goal_results


def test_a_measurer_that_tells_no_delay_is_refused_before_the_search(tmp_path):
    finished = brimful("search", "-m", "sim:sharp", "--goal", "loss=0,delay=1ms", "--out", "run", cwd=tmp_path, check=2)
    assert "has a delay limit, but the measurer 'sim:sharp' reports no delay" in finished.stderr
    assert len(finished.stderr.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_simulated_searches_need_a_system_with_a_delay_too():
    problem = problem_json([goal(delay=1e-3)], 1e4, 14.88e6)
    with pytest.raises(ValueError, match=r"goal \"ndr\" has a delay limit, but sim:sharp tells no delay; add delay="):
        _core.simulate(problem, "straddle", "sharp", [1])
    (search,) = json.loads(_core.simulate(problem, "straddle", "sharp,delay=20us", [1]))
    assert search["goals"][0]["conditional_throughput"] == pytest.approx(0.98 * search["capacity"], rel=0.006)


TESTER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "describe":
        reply = {"tells_delay": True, "max_load": 1e6}
    else:
        reply = {"id": request["id"], "intended": 1000, "sent": 1000, "lost": 0, **REPLY}
    print(json.dumps(reply), flush=True)
"""


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("{}", "delay_p99_s is missing, and a goal has a delay limit"),
        ("{'delay_p99_s': None}", "delay_p99_s is missing, and a goal has a delay limit"),
        ("{'delay_p99_s': float('nan')}", "delay_p99_s is nan"),
        ("{'delay_p99_s': float('inf')}", "delay_p99_s is inf"),
        ("{'delay_p99_s': -1e-6}", "delay_p99_s is -1e-06"),
        ("{'delay_p99_s': 1e300}", "delay_p99_s is 1e+300"),
        ("{'delay_p99_s': 'fast'}", "delay_p99_s"),
        ("{'delay_p99_s': [1]}", "delay_p99_s"),
        ("{'delay_p99_s': True}", "delay_p99_s"),
    ],
)
def test_a_delay_that_cannot_be_ends_the_search_with_one_line(tmp_path, reply, complaint):
    (tmp_path / "tester.py").write_text(TESTER.replace("REPLY", reply))
    finished = brimful(
        "search", "-m", f"cmd:{sys.executable} tester.py", "--goal", "loss=0,delay=1ms", "--out", "run", "--quiet",
        cwd=tmp_path, check=3,
    )  # fmt: skip
    assert complaint in finished.stderr
    assert read_run(tmp_path / "run").ends[-1].reason == "measurement-failed"


def test_a_delay_that_does_not_matter_may_be_left_out(tmp_path):
    (tmp_path / "tester.py").write_text(TESTER.replace("REPLY", "{}"))
    measurer = f"cmd:{sys.executable} tester.py"
    brimful("search", "-m", measurer, "--goal", "loss=0", "--out", "run", "--quiet", cwd=tmp_path, check=1)
    assert read_run(tmp_path / "run").goal_results[0].reason == "max-load-is-lower-bound"


@given(
    st.floats() | st.integers() | st.none() | st.booleans() | st.text(max_size=3) | st.lists(st.floats(), max_size=2)
)
def test_any_delay_of_a_foreign_program_is_taken_or_refused(value):
    try:
        output = trial_output({"sent": 5, "lost": 0, "delay_p99_s": value}, where="here")
    except TrialFailedError as error:
        assert "delay_p99_s" in str(error)  # noqa: PT017 - it may be raised or not
        return
    delay = output.delay_p99_s
    assert delay is None or (math.isfinite(delay) and delay >= 0)
    TrialLog([goal(delay=1e-3)], [_trial(delay_p99_s=0.0 if delay is None else delay)], (1e6, 1e6))


def _trial(seq=0, lost=0, **fields):
    return Trial(seq=seq, load=1e6, duration_s=1.0, intended=1000, sent=1000, lost=lost, **fields)


@given(
    st.integers(0, 1000),
    st.none() | st.floats(0, 0.002) | st.sampled_from([1e-3, 0.001000001, 0.0009999999]),
    st.sampled_from([None, 1e-3, 1e-9]),
    st.sampled_from([0.0, 0.005]),
    st.booleans(),
)
def test_reports_call_the_same_trials_high_loss_as_the_engine(lost, delay, limit, loss, stopped):
    if delay is None and lost < 1000 and not stopped:
        delay = 0.5
    wanted, one = goal(loss=loss, delay=limit), _trial(lost=lost, delay_p99_s=delay, stopped_early=stopped)
    sums = TrialLog([wanted], [one], (1e6, 1e6)).assess(1e6, 0).sums
    assert exceeds(one, wanted) == (sums.full_high_s == 1.0)


def test_trials_without_a_delay_cannot_be_judged_by_it(tmp_path):
    (tmp_path / "log").write_text("load,duration,sent,lost\n1000000,1,1000,1000\n1000000,1,1000,0\n")
    brimful("search", "-m", "sim:sharp", "--preset", "quick", "--out", "run", "--quiet", cwd=tmp_path, check=0)
    for log, file in (("log", "log"), ("run", "run/run.jsonl")):
        finished = brimful("verify", log, "--goal", "loss=0,delay=1ms", cwd=tmp_path, check=2)
        complaint = "no delay_p99_s is recorded, but goal 'ndr' has a delay limit"
        assert finished.stderr.strip().endswith(complaint), finished.stderr
        assert f"{file}: trial " in finished.stderr
    (tmp_path / "log").write_text("load,duration,sent,lost\n1000000,1,1000,1000\n")
    assert "upper" in brimful("verify", "log", "--goal", "loss=0,delay=1ms", cwd=tmp_path).stdout


def test_a_spoiled_trial_that_counts_as_loss_needs_no_delay(tmp_path):
    (tmp_path / "tester.py").write_text(TESTER.replace("REPLY", "{'invalid': 'off schedule', 'intended': 1000}"))
    brimful(
        "search", "-m", f"cmd:{sys.executable} tester.py", "--goal", "loss=0,delay=1ms", "--on-invalid", "loss",
        "--out", "run", "--quiet", cwd=tmp_path, check=1,
    )  # fmt: skip
    file = read_run(tmp_path / "run")
    assert file.goal_results[0].reason == "min-load-is-upper-bound"
    assert all(trial.delay_p99_s is None for trial in file.trials)
    brimful("verify", "run", cwd=tmp_path, check=0)
    brimful("report", "run", cwd=tmp_path, check=0)


@pytest.mark.parametrize(
    ("delay", "verdict"), [("0.001", "lower"), ("0.0010001", "upper"), ("-1", None), ("nan", None), ("fast", None)]
)
def test_delays_in_logs_of_other_tools_count(tmp_path, delay, verdict):
    (tmp_path / "log").write_text(f"load,duration,sent,lost,delay_p99_s\n1000000,1,1000000,0,{delay}\n")
    finished = brimful(
        "verify", "log", "--goal", "loss=0,delay=1ms", cwd=tmp_path, check=2 if verdict is None else None
    )
    assert (f"1.00000 Mpps  {verdict}" in finished.stdout) if verdict else ("log:2: delay_p99_s is" in finished.stderr)


def test_an_explanation_names_the_delay_and_the_limit():
    trials = [_trial(seq, delay_p99_s=0.0012 if seq else 0.0003) for seq in range(12)]
    log = TrialLog([goal(delay=1e-3)], trials, (1e6, 1e6))
    sentence = explanation(log.goals[0], 1e6, log.assess(1e6, 0), log.delays_s(1e6))
    assert "is an upper bound for ndr" in sentence
    assert "high-loss means a loss ratio above 0 % or a p99 delay above 1 ms" in sentence
    assert "p99 delay 1.2 ms at most, above the limit 1 ms in 11 trials" in sentence


def test_a_function_may_tell_the_delay():
    def queue(load, duration):
        sent = round(load * duration)
        idle = max(1e-3, 1 - load / 1e6)
        return TrialOutput(sent=sent, lost=max(0, sent - round(1e6 * duration)), delay_p99_s=20e-6 / idle)

    goals = [package.SearchGoal(loss_ratio=0), package.SearchGoal(loss_ratio=0, delay_limit_s=100e-6)]
    result = package.search(queue, goals=goals, min_load=1e4, max_load=1e7)
    throughputs = [found.conditional_throughput for found in result.goal_results]
    assert throughputs == pytest.approx([1e6, 0.8e6], rel=0.006)


def test_a_function_without_a_delay_is_refused_at_its_first_trial():
    goals = [package.SearchGoal(loss_ratio=0, delay_limit_s=1e-3)]
    with pytest.raises(MeasureError, match="delay_p99_s is missing"):
        package.search(lambda load, duration: (round(load * duration), 0), goals=goals, min_load=1e4, max_load=1e7)


def test_a_function_with_an_impossible_delay_is_refused():
    goals = [package.SearchGoal(loss_ratio=0, delay_limit_s=1e-3)]
    for delay in (math.nan, -1.0, math.inf):
        answer = TrialOutput(sent=10, lost=0, delay_p99_s=delay)
        with pytest.raises(MeasureError, match="delay_p99_s is"):
            package.search(lambda load, duration, answer=answer: answer, goals=goals, min_load=1e4, max_load=1e7)


def test_a_measurer_in_this_process_is_asked_whether_it_tells_the_delay():
    measurer = Troubled({})
    assert measurer.describe() == Description(**{**_fields(measurer.describe()), "tells_delay": False})
    with pytest.raises(UsageError, match="reports no delay"):
        package.search(
            measurer, goals=[package.SearchGoal(loss_ratio=0, delay_limit_s=1e-3)], min_load=1e4, max_load=1e7
        )
    assert measurer.calls == 0


def _fields(description):
    return {name: getattr(description, name) for name in description.__struct_fields__}


@pytest.mark.parametrize(
    ("limit", "complaint"), [(0.0, "delay limit must be above 0"), (-1.0, "delay limit"), (math.nan, "finite")]
)
def test_a_limit_that_cannot_be_kept_is_refused(limit, complaint):
    with pytest.raises(UsageError, match=complaint):
        package.search(
            lambda load, duration: None,
            goals=[package.SearchGoal(loss_ratio=0, delay_limit_s=limit)],
            min_load=1e4,
            max_load=1e7,
        )


@pytest.mark.parametrize(
    "text", ["loss=0,delay=0ms", "loss=0,delay=fast", "loss=0,delay=1%", "loss=0,delay=1ms,delay=2ms"]
)
def test_a_limit_that_cannot_be_read_is_refused(text):
    with pytest.raises(UsageError, match=r"delay|duration"):
        parse_goal(text)


def test_limits_are_read_in_any_unit_of_time():
    texts = ["1ms", "1000us", "0.001s", "1000000ns"]
    assert [parse_goal(f"loss=0,delay={text}").delay_limit_s for text in texts] == [1e-3] * 4
