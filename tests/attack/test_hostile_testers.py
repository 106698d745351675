"""Programs that answer what no tester should: one line, and a record that can be read."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attacking import ROUNDS, dice, outcome, refused
from brimful.errors import MeasureError
from brimful.measurers.base import Description, checked_description
from brimful.measurers.command import CommandMeasurer, trial_output
from brimful.records import read_run
from hostile import DESCRIPTIONS, REPLIES
from support import BRIMFUL, TrialFailedError

HOSTILE = Path(__file__).with_name("hostile.py")
GOAL = ("--goal", "loss=0,trial=0.02s,sum=0.02s,width=50%", "--max-load", "1000", "--quiet")


def hostile(case):
    return f"cmd:{sys.executable} {HOSTILE} {case}"


@pytest.mark.parametrize("case", DESCRIPTIONS)
def test_a_description_that_cannot_be_is_refused_before_anything_is_measured(tmp_path, case):
    line = refused("search", "-m", hostile(case), *GOAL, "--out", tmp_path / "run")
    assert "describe" in line
    assert not (tmp_path / "run" / "run.jsonl").exists()


@pytest.mark.parametrize("case", REPLIES)
def test_a_reply_that_cannot_be_ends_the_search_in_one_line_and_its_record_whole(tmp_path, case):
    out = tmp_path / "run"
    code, _, errors = outcome("search", "-m", hostile(case), *GOAL, "--out", out)
    assert code == 3
    assert len(errors.splitlines()) == 1
    assert len(errors) < 1000
    assert errors.isprintable() or errors.rstrip("\n").isprintable()
    file = read_run(out)
    assert file.ends[-1].reason == "measurement-failed"
    assert file.trials == [] or file.trials[0].invalid
    for command in ("report", "verify"):
        assert outcome(command, out)[0] == 0


def test_what_a_program_writes_without_end_is_not_kept(tmp_path):
    measurer = CommandMeasurer([sys.executable, str(HOSTILE), "noisy-stderr"])
    try:
        measurer.measure(100.0, 0.01)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        measurer.measure(100.0, 0.01)
    finally:
        measurer.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10
    assert sum(map(len, measurer_complaints(measurer, tmp_path))) < 10_000


def measurer_complaints(measurer, tmp_path):
    """What is quoted of a program that ends after writing a line of 64 MiB."""
    script = tmp_path / "ends.py"
    script.write_text("import os, sys\nsys.stdin.readline()\nos.write(2, b'x' * (64 << 20))\nsys.exit(3)\n")
    failing = CommandMeasurer([sys.executable, str(script)])
    with pytest.raises(TrialFailedError) as caught:
        failing.describe()
    return [str(caught.value)]


def test_long_texts_of_a_tester_are_cut_for_display(tmp_path):
    code, output, errors = outcome("search", "-m", hostile("long-invalid"), *GOAL, "--out", tmp_path / "run")
    assert code == 3
    assert len(errors) < 3000
    assert len(output) < 20_000
    assert "hhhh" in errors


def test_control_characters_of_a_tester_do_not_reach_the_terminal(tmp_path):
    out = tmp_path / "run"
    code, output, errors = outcome("search", "-m", hostile("escapes"), *GOAL, "--out", out)
    assert code == 3
    shown = [output, errors, outcome("report", out)[1], outcome("report", out, "--json")[1]]
    assert all("\x1b" not in text and "\x9b" not in text and "\x07" not in text for text in shown)
    assert "␛]0;owned␇" in errors


@pytest.mark.parametrize("field", ["name", "load_unit", "load_scope", "contract"])
def test_texts_of_a_description_can_be_shown(field):
    found = checked_description(Description(**{field: "\x1b[2J" + "u" * 100_000}), where="tester")
    text = getattr(found, field)
    assert text.startswith("␛[2Juuu")
    assert len(text) < 300


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), 0.0, -1.0, 1e308])
def test_a_factor_is_checked_whoever_says_it(factor):
    with pytest.raises(MeasureError, match="conversion_factor is"):
        checked_description(Description(conversion_factor=factor), where="tester")


def test_a_second_interrupt_leaves_no_tester_behind(tmp_path):
    command = [*BRIMFUL, "search", "-m", hostile("deaf"), *GOAL]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(tmp_path / "measuring")
    process.send_signal(signal.SIGINT)
    # The tester is asked to end for two seconds before it is made to.
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    tester = int((tmp_path / "tester.pid").read_text())
    deadline = time.monotonic() + 20
    while Path(f"/proc/{tester}/cmdline").exists() and Path(f"/proc/{tester}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for(path):
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_replies_by_chance_are_trials_or_one_line():
    chance = dice("replies")
    values = [0, 1, -1, 5, 2**64, 1e300, -0.0, 0.5, True, None, "", "5", [], {}, [[]], "\x1b", float("nan")]
    fields = ["sent", "lost", "intended", "effective_duration_s", "stopped_early", "delay_p99_s", "late", "directions",
              "warnings", "duplicated", "reordered", "other"]  # fmt: skip
    refusals = 0
    for _ in range(1000 * ROUNDS):
        reply = {"sent": 5, "lost": 1}
        for field in chance.sample(fields, chance.randrange(4)):
            reply[field] = chance.choice(values)
        try:
            output = trial_output(reply, where="here")
        except TrialFailedError:
            refusals += 1
        else:
            assert 0 <= output.lost <= output.sent
    assert 0 < refusals < 1000 * ROUNDS
