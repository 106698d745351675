"""The command as people use it: results, exit codes, bad input, interruptions, resuming."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from brimful.errors import RecordError
from brimful.records import End, RecordWriter, read_run
from support import BRIMFUL, ROOT, brimful

SIM = "sim:soft-knee,capacity=1Mpps,seed=7"
SLOW = """
while read -r request; do
    case $request in *describe*) echo '{"max_load": 1e6}'; continue ;; esac
    sleep 0.05
    id=$(printf '%s' "$request" | sed 's/.*"id": \\([0-9]*\\).*/\\1/')
    echo "{\\"id\\": $id, \\"intended\\": 1000, \\"sent\\": 1000, \\"lost\\": 0}"
done
"""


def records(tmp_path):
    (found,) = (tmp_path / "runs").glob("*/run.jsonl")
    return found


def test_a_search_prints_its_result_and_keeps_its_record(tmp_path):
    finished = brimful("search", "-m", SIM, "-v", cwd=tmp_path, check=0)
    file = read_run(records(tmp_path))
    assert "regular" in finished.stdout
    assert str(records(tmp_path).relative_to(tmp_path)) in finished.stdout
    assert len(finished.stderr.splitlines()) == len(file.trials)
    assert "\x1b" not in finished.stdout + finished.stderr
    assert file.run.command[1:] == ["search", "-m", SIM, "-v"]


def test_without_a_terminal_progress_is_a_line_every_ten_seconds_at_most(tmp_path):
    began_s = time.monotonic()
    finished = brimful("search", "-m", SIM, cwd=tmp_path, check=0)
    assert 1 <= len(finished.stderr.splitlines()) <= 1 + (time.monotonic() - began_s) / 10


def test_json_is_the_result_and_nothing_else(tmp_path):
    facts = json.loads(brimful("search", "-m", SIM, "--json", cwd=tmp_path, check=0).stdout)
    assert [result["goal"] for result in facts["goal_results"]] == ["ndr", "pdr"]
    assert facts["regular"] is True
    assert facts["goal_results"][0]["lower_bound"] < facts["goal_results"][0]["upper_bound"]


@pytest.mark.parametrize("preset", ["csit", "rfc2544", "tst009", "rfc9411", "ndrpdr-2018", "quick"])
def test_every_preset_searches_and_verifies(tmp_path, preset):
    brimful("search", "-m", SIM, "--preset", preset, "--early-termination", "--quiet", cwd=tmp_path, check=0)
    finished = brimful("verify", records(tmp_path), cwd=tmp_path, check=0)
    assert "every verdict recomputed" in finished.stdout


def test_options_of_a_strategy_decide_the_search_and_stay_in_its_record(tmp_path):
    trials = {}
    for strategy in ("classic,phases=0,timeout=600", "classic,phases=3"):
        arguments = ("--preset", "ndrpdr-2018", "--strategy", strategy, "--out", strategy, "--quiet")
        brimful("search", "-m", SIM, *arguments, cwd=tmp_path, check=0)
        brimful("verify", strategy, cwd=tmp_path, check=0)
        record = read_run(tmp_path / strategy)
        assert record.run.strategy == strategy
        trials[strategy] = len(record.trials)
    assert len(set(trials.values())) == 2, trials


def test_an_irregular_result_exits_with_1(tmp_path):
    finished = brimful("search", "-m", SIM, "--max-load", "500kpps", cwd=tmp_path, check=1)
    assert "max-load-is-lower-bound" in finished.stdout


def test_bounds_closer_than_trials_can_tell_come_with_a_warning(tmp_path):
    limits = ("--min-load", "1pps", "--max-load", "20kpps")
    goal = ("--goal", "loss=0,width=1e-4")
    finished = brimful("search", "-m", "sim:sharp,capacity=100pps", *limits, *goal, cwd=tmp_path, check=0)
    (warning,) = read_run(records(tmp_path)).warnings
    assert warning.code == "below-resolution"
    assert "frames of a trial apart" in " ".join(finished.stdout.split())


@pytest.mark.parametrize(("condition", "code"), [("ndr >= 0.9Mpps", 0), ("ndr >= 1.2Mpps", 1), ("pdr.upper<1.1M", 0)])
def test_asserted_thresholds_decide_the_exit_code(tmp_path, condition, code):
    finished = brimful("search", "-m", SIM, "--assert", condition, "--quiet", cwd=tmp_path, check=code)
    assert ("Missed: ndr >= 1.2Mpps" in finished.stdout) == (code == 1)


def test_a_budget_ends_in_time_with_an_irregular_result(tmp_path):
    finished = brimful("search", "-m", SIM, "--budget", "10s", cwd=tmp_path, check=1)
    file = read_run(records(tmp_path))
    assert file.ends[-1].reason == "time-budget"
    assert file.ends[-1].search_s <= 10
    assert "time-budget" in finished.stdout


def test_a_hint_affects_the_selection_only(tmp_path):
    for hint in ("955kpps", "100kpps", "14Mpps"):
        out = tmp_path / hint
        brimful("search", "-m", SIM, "--hint", hint, "--out", out, "--quiet", cwd=tmp_path, check=0)
        ndr = read_run(out).goal_results[0]
        assert 0.93e6 < ndr.lower_bound < 0.98e6


def test_a_hint_can_be_an_earlier_run(tmp_path):
    brimful("search", "-m", SIM, "--out", "first", "--quiet", cwd=tmp_path, check=0)
    brimful("search", "-m", SIM, "--out", "second", "--hint", "first", "--quiet", cwd=tmp_path, check=0)
    assert read_run(tmp_path / "second").run.hint == read_run(tmp_path / "first").goal_results[0].lower_bound


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--measurer"),
        (["-m", "nothing"], "'nothing' is not one of sim:KIND"),
        (["-m", "warp:9"], "'warp' is unknown"),
        (["-m", "sim:round"], "round"),
        (["-m", "sim:sharp,capacity=lots"], "capacity"),
        (["-m", SIM, "--max-load", "5 furlongs"], "furlongs"),
        (
            ["-m", SIM, "--max-load", "100Mpps"],
            "max load 100 Mpps is above the 14.88 Mpps that measurer 'sim:soft-knee",
        ),
        (["-m", SIM, "--max-load", "150%"], "max load 22.32 Mpps is above the 14.88 Mpps"),
        (["-m", SIM, "--max-load", "1Gbps"], "frame size is not fixed"),
        (["-m", SIM, "--min-load", "2Mpps", "--max-load", "1Mpps"], "min load 2000000 is above max load 1000000"),
        (["-m", SIM, "--goal", "loss=2"], "loss"),
        (["-m", SIM, "--goal", "name=x"], "loss ratio is missing"),
        (["-m", SIM, "--goal", "loss=0,loss=1%"], "loss is given twice"),
        (["-m", SIM, "--goal", "name=a,loss=0", "--goal", "name=a,loss=1%"], "given twice"),
        (["-m", SIM, "--goal", "loss=0,trial=1us", "--min-load", "9001"], "less than one unit"),
        (["-m", SIM, "--goal", "loss=0,trial=1us"], "is 0.074 frames in a trial of 1 us"),
        (["-m", SIM, "--max-load", "20kpps", "--goal", "loss=0,width=1e-6"], "whose trial or width is 50 times larger"),
        (["-m", SIM, "--goal", "loss=0,name="], "goal name '': a name is one or more printable characters"),
        (["-m", SIM, "--goal", "loss=0,name=a\nb"], r"goal name 'a\nb'"),
        (["-m", SIM, "--budget", "soon"], "--budget: duration 'soon'"),
        (["-m", SIM, "--budget", "1000000000000s"], "--budget: duration '1000000000000s' is above 1e+09 s"),
        (["-m", SIM, "--timeout", "soon"], "--timeout: duration 'soon'"),
        (["-m", SIM, "--warm-up", "soon"], "--warm-up: duration 'soon'"),
        (["-m", SIM, "--on-invalid", "shrug"], "--on-invalid: policy 'shrug'"),
        (["-m", SIM, "--on-error", "shrug"], "--on-error: policy 'shrug'"),
        (["-m", SIM, "--max-load", "0"], "--max-load: load '0' is not above 0"),
        (["-m", SIM, "--hint", "nofile"], "--hint 'nofile' is no load like 1.2Mpps or 50%, and there is no RUN"),
        (["-m", SIM, "--hint", ""], "--hint '' is no load"),
        (["-m", SIM, "--out", ""], "--out '': names no directory"),
        (["-m", SIM, "--sizes", ""], "'' is no frame size"),
        (["-m", SIM, "--preset", "csit", "--goal", "loss=0"], "--preset csit and --goal both name goals"),
        (["-m", SIM, "--frame-size", "1518"], "--frame-size: measurer 'sim:"),
        (["-m", "replay:run", "--ip", "6"], "--ip: measurer 'replay:run' would not be told what to send"),
        (["-m", "cmd:true", "-m", SIM, "--vlan", "7"], "--vlan: measurer 'cmd:true' would not be told what to send"),
        (["-m", SIM, "--assert", "ndr is great"], "is no condition"),
        (["-m", SIM, "--assert", "xdr >= 1Mpps"], "no goal 'xdr'"),
        (["-m", SIM, "--label", "novalue"], "KEY=VALUE"),
        (["-m", "cmd:/nonexistent/tester"], "cannot be started"),
        (["-m", "cmd:true"], "the program"),
        (["-m", "cmd:'unclosed"], "quot"),
        (["-m", "replay:nothing"], "nothing"),
        (["-m", "lab:toaster"], "toaster"),
        (["-m", "tester:eth0"], "two ports"),
        (["-m", SIM, "--strategy", "guess"], 'unknown strategy "guess"; there are straddle, classic and bisect'),
        (
            ["-m", SIM, "--strategy", "classic,phases=many"],
            '"phases=many" has a value that is not allowed; classic takes',
        ),
        (["-m", SIM, "--strategy", "classic,phases=99"], '"phases=99" has a value that is not allowed; classic takes'),
        (["-m", SIM, "--strategy", "classic,timeout=-1"], '"timeout=-1" has a value that is not allowed'),
        (["-m", SIM, "--strategy", "classic,timeout=0"], '"timeout=0" has a value that is not allowed'),
        (["-m", SIM, "--strategy", "classic,speed=1"], '"speed=1" is no option; classic takes phases=0..9'),
        (["-m", SIM, "--strategy", "straddle,x=1"], 'strategy straddle: "x=1" is no option; it takes none'),
        (["-m", SIM, "--goal", "loss=0,width=100%"], "width is 1; it must be at least 1e-6 and below 1"),
        (["-m", SIM, "--goal", "loss=0,trial=1ns,initial=1ns"], "a trial of 1 ns at max load 14.88 Mpps has less"),
        (["-m", SIM, "--goal", "loss=-1%"], "ratio '-1%' is below 0"),
        (["-m", SIM, "--max-load", "1e300pps"], "--max-load: load '1e300pps' is above 1e+15/s"),
        (["-m", SIM, "--strategy", "bisect,phases=1"], 'strategy bisect: "phases=1" is no option'),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(tmp_path, arguments, complaint):
    finished = brimful("search", *arguments, cwd=tmp_path)
    assert finished.returncode in ((2, 3) if arguments == ["-m", "cmd:true"] else (2,))
    assert complaint in finished.stderr
    assert finished.stdout == ""
    assert not (tmp_path / "runs").exists()


def test_an_interface_that_is_not_there_is_wrong_usage(tmp_path):
    finished = brimful("search", "-m", "tester:absent1,absent2", cwd=tmp_path, check=2)
    assert finished.stderr.count("brimful-tester: ") == 1
    assert "it said: there is no interface `absent1`" in finished.stderr


def test_wrong_options_are_one_line_that_says_where_to_look(tmp_path, snapshot):
    wrong = [
        ("serch",),
        ("search",),
        ("search", "-m", SIM, "--preset", "foo"),
        ("search", "-m", SIM, "--preset"),
        ("search", "-m", SIM, "--repeat", "0"),
        ("search", "-m", SIM, "--bogus"),
        ("search", "-m", SIM, "more"),
        ("report", "nonexist"),
        ("iocost", "tune"),
    ]
    lines = {" ".join(arguments): brimful(*arguments, cwd=tmp_path, check=2).stderr for arguments in wrong}
    assert all(len(line.splitlines()) == 1 for line in lines.values())
    assert lines == snapshot


def test_a_run_is_never_written_over(tmp_path):
    brimful("search", "-m", SIM, "--out", "run", "--quiet", cwd=tmp_path, check=0)
    before = (tmp_path / "run" / "run.jsonl").read_bytes()
    finished = brimful("search", "-m", SIM, "--out", "run", "--quiet", cwd=tmp_path, check=2)
    assert "--resume" in finished.stderr
    assert (tmp_path / "run" / "run.jsonl").read_bytes() == before


def test_a_measurer_that_dies_exits_with_3_and_keeps_the_record(tmp_path):
    (tmp_path / "dies.sh").write_text(
        """read d; echo '{"max_load": 1e6}'; read m; echo '{"id": 1, "sent": 5, "lost": 0}'; read m; exit 9"""
    )
    finished = brimful("search", "-m", "cmd:sh dies.sh", cwd=tmp_path, check=3)
    assert "exit code 9" in finished.stderr
    file = read_run(records(tmp_path))
    assert file.trials[0].sent == 5
    assert file.ends[-1].reason == "measurement-failed"


def started(tmp_path, *arguments, duration_sum="1s"):
    (tmp_path / "slow.sh").write_text(SLOW)
    goal = f"loss=0,trial=0.05s,sum={duration_sum}"
    command = [*BRIMFUL, "search", "-m", "cmd:sh slow.sh", "--goal", goal, *arguments]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        files = list((tmp_path / "runs").glob("*/run.jsonl"))
        if files and files[0].read_bytes().count(b'"kind":"trial"') >= 3:
            return process, files[0]
        time.sleep(0.01)
    process.kill()
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_search_prints_its_honest_bounds(tmp_path, number):
    # Long, so that it is still going on when the signal comes, however busy the machine is.
    process, path = started(tmp_path, duration_sum="60s")
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in errors
    assert "interrupted" in output
    assert read_run(path).ends[-1].reason == "interrupted"
    assert f"go on with the same options and --resume --out {path.parent.relative_to(tmp_path)}" in errors


def test_a_search_that_may_outlive_its_terminal_is_not_interrupted_by_its_end(tmp_path):
    (tmp_path / "hangs-up.sh").write_text("kill -HUP $PPID\n" + SLOW)
    search = ["search", "-m", "cmd:sh hangs-up.sh", "--goal", "loss=0,trial=0.05s,sum=0.05s", "--quiet"]
    deaf = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"]
    subprocess.run([*deaf, *BRIMFUL, *search], cwd=tmp_path, capture_output=True, check=False)
    assert read_run(records(tmp_path)).ends[-1].reason == "done"


def test_a_killed_search_goes_on_where_it_was(tmp_path):
    process, path = started(tmp_path)
    process.kill()
    process.communicate()
    with path.open("ab") as file:
        file.write(b'{"kind":"trial","seq":99,"load"')
    saved = [trial.seq for trial in read_run(path).trials]
    finished = brimful(
        "search", "-m", "cmd:sh slow.sh", "--goal", "loss=0,trial=0.05s,sum=1s", "--resume", cwd=tmp_path, check=1
    )
    trials = read_run(path).trials
    assert f"going on after {len(saved)} saved trials" in finished.stderr
    assert [trial.seq for trial in trials] == list(range(len(trials)))
    assert sum(trial.duration_s for trial in trials) == pytest.approx(0.5)
    assert len(list((tmp_path / "runs").glob("*/run.jsonl"))) == 1


def test_a_live_run_has_one_writer_and_any_number_of_readers(tmp_path):
    process, path = started(tmp_path, duration_sum="60s")
    again = ("search", "-m", "cmd:sh slow.sh", "--goal", "loss=0,trial=0.05s,sum=60s", "--resume")
    for arguments in (again, (*again, "--out", path.parent)):
        refused = brimful(*arguments, cwd=tmp_path, check=2)
        assert "run.jsonl: is being written by another process" in refused.stderr
    brimful("verify", path, cwd=tmp_path, check=0)
    brimful("report", path, cwd=tmp_path, check=0)
    process.kill()
    process.communicate()
    trials = read_run(path).trials
    assert [trial.seq for trial in trials] == list(range(len(trials)))
    with RecordWriter(path):
        """The lock went with the process."""


def test_resuming_equals_not_having_been_interrupted(tmp_path):
    brimful("search", "-m", SIM, "--out", "whole", "--quiet", cwd=tmp_path, check=0)
    lines = (tmp_path / "whole" / "run.jsonl").read_bytes().splitlines(keepends=True)
    first_bound = next(number for number, line in enumerate(lines) if b'"kind":"bound"' in line)
    for kept in (1, 2, first_bound, len(lines) // 2, len(lines) - 4):
        cut = tmp_path / f"cut-{kept}"
        cut.mkdir()
        (cut / "run.jsonl").write_bytes(b"".join(lines[:kept]))
        brimful("search", "-m", SIM, "--out", cut, "--resume", "--quiet", cwd=tmp_path, check=0)
        whole, resumed = read_run(tmp_path / "whole"), read_run(cut)
        assert resumed.trials == whole.trials
        assert resumed.bounds == whole.bounds
        assert resumed.goal_results == whole.goal_results


def test_resuming_a_complete_run_shows_it_again(tmp_path):
    first = brimful("search", "-m", SIM, "--out", "run", "--quiet", cwd=tmp_path, check=0)
    before = (tmp_path / "run" / "run.jsonl").read_bytes()
    again = brimful("search", "-m", SIM, "--out", "run", "--resume", "--quiet", cwd=tmp_path, check=0)
    assert again.stdout == first.stdout
    assert (tmp_path / "run" / "run.jsonl").read_bytes() == before


def test_resuming_another_search_is_refused(tmp_path):
    brimful("search", "-m", SIM, "--out", "run", "--quiet", cwd=tmp_path, check=0)
    finished = brimful("search", "-m", "sim:sharp", "--out", "run", "--resume", cwd=tmp_path, check=2)
    assert "another search" in finished.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full to stand for a full disk")
@pytest.mark.parametrize("command", [("search", "-m", SIM, "--quiet", "--json"), ("--version",)])
def test_a_full_disk_is_one_line(tmp_path, command):
    with pytest.raises(RecordError, match="No space left on device"), RecordWriter(Path("/dev/full")) as writer:
        writer.write(End(reason="done", trials=0, search_s=0.0))
    with Path("/dev/full").open("w") as full:
        finished = subprocess.run([*BRIMFUL, *command], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert finished.returncode == 3
    assert "cannot write the output: No space left" in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_a_replayed_run_gives_the_same_result(tmp_path):
    brimful("search", "-m", SIM, "--out", "first", "--quiet", cwd=tmp_path, check=0)
    minimum = repr(read_run(tmp_path / "first").run.min_load)
    brimful("search", "-m", "replay:first", "--min-load", minimum, "--out", "again", "--quiet", cwd=tmp_path, check=0)
    assert read_run(tmp_path / "again").goal_results == read_run(tmp_path / "first").goal_results


def test_a_shell_measurer_is_searched(tmp_path):
    measurer = f"cmd:{ROOT / 'examples' / 'measurer.sh'}"
    finished = brimful("search", "-m", measurer, "--max-load", "2Mpps", "--preset", "quick", cwd=tmp_path, check=0)
    assert "regular" in finished.stdout


@pytest.mark.parametrize(
    "command", ["", "search", "report", "compare", "verify", "explain", "lab", "presets", "compare-strategies"]
)
def test_every_command_has_help(tmp_path, command):
    finished = brimful(*([command] if command else []), "--help", cwd=tmp_path, check=0)
    assert finished.stdout.startswith("Usage: ")


def test_a_search_that_found_nothing_says_why_and_no_more(tmp_path):
    (tmp_path / "failing.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    reply = {'id': request.get('id'), 'error': 'the port is gone'}\n"
        "    print(json.dumps({'max_load': 1e6} if request['op'] == 'describe' else reply), flush=True)\n"
    )
    finished = brimful("search", "-m", f"cmd:{BRIMFUL[0]} failing.py", "--out", "run", cwd=tmp_path, check=3)
    assert "the port is gone" in finished.stdout
    assert "IRREGULAR" not in finished.stdout
    assert len(finished.stdout.splitlines()) < 10
    # The report has everything all the same.
    assert "IRREGULAR" in brimful("report", "run", cwd=tmp_path, check=0).stdout


def test_help_imports_nothing_heavy(tmp_path):
    finished = subprocess.run(
        [BRIMFUL[0], "-X", "importtime", "-m", "brimful", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    for module in ("msgspec", "numpy", "rich", "matplotlib", "brimful._core", "brimful.records"):
        assert f" {module}\n" not in finished.stderr


def test_examples_run(tmp_path):
    finished = subprocess.run(
        [BRIMFUL[0], ROOT / "examples" / "simulated.py"], capture_output=True, text=True, check=True
    )
    assert finished.stdout.splitlines()[0].startswith("ndr: ")


@pytest.mark.parametrize(
    ("place", "words"),
    [("", "is a directory"), (".", "is a directory"), ("gone/r.html", "there is no directory")],
)
def test_a_place_where_no_report_can_be_is_refused_before_the_first_trial(tmp_path, place, words):
    refused = brimful("search", "-m", "sim:sharp", "--html", place, cwd=tmp_path, check=2)
    assert words in refused.stderr
    assert not (tmp_path / "runs").exists()
    run = ROOT / "schemas" / "examples" / "regular.jsonl"
    for reader in (("report", run), ("compare", run, "--against", run)):
        refused = brimful(*reader, "--html", place, cwd=tmp_path, check=2)
        assert words in refused.stderr
        assert not refused.stdout


@pytest.mark.parametrize(
    ("out", "place", "words"),
    [
        ("run", "run/run.jsonl", "is the record"),
        ("run", "run/../run/run.jsonl", "is the record"),
        ("run", "run", "is where the directory --out run is made"),
        ("run/1", "run", "is where the directory --out run/1 is made"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ("search", "-m", "sim:sharp"),
        ("search", "-m", "sim:sharp", "--repeat", 2),
        ("delay", "-m", "sim:sharp", "--load", "1kpps"),
    ],
)
def test_a_report_in_the_place_of_its_record_is_refused_before_the_first_trial(tmp_path, command, out, place, words):
    refused = brimful(*command, "--out", out, "--html", place, cwd=tmp_path, check=2)
    assert words in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_report_may_stand_in_the_directory_that_the_search_makes(tmp_path):
    search = ("search", "-m", "sim:sharp,capacity=1Mpps", "--preset", "quick", "--out", "run", "--html", "run/r.html")
    brimful(*search, cwd=tmp_path, check=0)
    assert (tmp_path / "run" / "r.html").exists()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 3),
        (("--assert", "ndr >= 2Mpps"), 1),
        (("--repeat", "2"), 3),
        (("--repeat", "2", "--assert", "ndr >= 2Mpps"), 1),
    ],
)
def test_a_report_that_cannot_be_written_hides_no_verdict(tmp_path, options, code):
    search = (
        "search",
        "-m",
        "sim:sharp,capacity=1Mpps",
        "--preset",
        "quick",
        "--quiet",
        "--html",
        "/dev/full",
        *options,
    )
    finished = brimful(*search, cwd=tmp_path, check=code)
    assert finished.stderr == "brimful: error: /dev/full: cannot write: No space left on device; nothing was changed\n"
    assert "Record: " in finished.stdout
    assert "Missed: " in finished.stdout or code == 3


def test_a_report_is_never_written_over_its_record(tmp_path):
    search = ("search", "-m", "sim:sharp", "--preset", "quick", "--quiet", "--out", "run")
    brimful(*search, cwd=tmp_path, check=0)
    record = (tmp_path / "run" / "run.jsonl").read_bytes()
    again = ("--html", "run/run.jsonl")
    assert "is the record" in brimful("report", "run", *again, cwd=tmp_path, check=2).stderr
    refused = brimful("compare", "run", "--against", "run", *again, cwd=tmp_path, check=2)
    assert "is the record" in refused.stderr
    assert refused.stdout == ""
    assert "is the record" in brimful(*search, "--resume", *again, cwd=tmp_path, check=2).stderr
    assert (tmp_path / "run" / "run.jsonl").read_bytes() == record


def test_half_of_everything_is_no_partial_drop_rate(tmp_path):
    arguments = ("search", "-m", SIM, "--quiet", "--json", "--goal", "loss=50%")
    finished = brimful(*arguments, cwd=tmp_path, check=0)
    assert [result["goal"] for result in json.loads(finished.stdout)["goal_results"]] == ["lossy"]
    assert finished.stderr == ""
