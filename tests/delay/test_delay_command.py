"""`brimful delay` as people use it: results, loads from a search, bad input, interruptions, resuming."""

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from brimful.records import End, read_run
from support import BRIMFUL, brimful

PROGRAM = Path(__file__).with_name("delay_tester.py")
SIM = "sim:sharp,capacity=20kpps"
SHORT = ("--load", "5kpps", "--rounds", "6", "--trial", "50ms", "--quiet")


def stand_in(mean, *options):
    return "cmd:" + shlex.join([sys.executable, str(PROGRAM), mean, *options])


DEVICE, WIRE = stand_in("53e-6"), stand_in("3e-6", "seed=2")


def measured(tmp_path, *arguments, check=0):
    """Run the command and give its JSON."""
    return json.loads(brimful("delay", *arguments, "--json", cwd=tmp_path, check=check).stdout)


def delays(facts):
    return {(delay["load"], delay["direction"]): delay for delay in facts["delays"]}


def test_the_delay_of_a_device_is_stated_for_all_frames_and_each_direction(tmp_path):
    facts = measured(tmp_path, "-m", DEVICE, "--wire", WIRE, "--load", "10kpps", *SHORT)
    found = delays(facts)
    assert sorted(found) == [(load, name) for load in (5000.0, 10000.0) for name in ("all", "from", "to")]
    for delay in found.values():
        mean = delay["mean"]
        assert (delay["of"], mean["method"], mean["batches"]) == ("device", "paired", 6)
        assert mean["low_s"] < mean["value_s"] < mean["high_s"]
        # Ten times the standard error of so many gamma variates.
        assert mean["value_s"] == pytest.approx(50e-6, abs=10 * 27e-6 / 1500**0.5)
        assert delay["device"]["p50_s"] < delay["device"]["p99_s"]


def test_the_report_is_that_of_the_record(tmp_path):
    printed = brimful("delay", "-m", DEVICE, "--wire", WIRE, *SHORT, "--out", "one", cwd=tmp_path, check=0).stdout
    again = brimful("report", "one", cwd=tmp_path, check=0).stdout
    assert printed.startswith(again)
    words = " ".join(again.split())
    for said in (
        "to (port 1 to 2), device",
        "from (port 2 to 1), wire",
        "p99.9",
        "percentiles do not add up",
        "Student's interval",
    ):
        assert said in words


def test_every_trial_is_in_the_record_before_the_result(tmp_path):
    brimful("delay", "-m", DEVICE, "--wire", WIRE, *SHORT, "--warm-up", "20ms", "--out", "one", cwd=tmp_path, check=0)
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "one" / "run.jsonl").read_text().splitlines()]
    assert kinds == ["run", *["trial"] * 14, *["delay"] * 3, "end"]
    trials = read_run(tmp_path / "one").trials
    assert [trial.invalid for trial in trials[:3]] == ["warm-up", "warm-up", None]
    assert [(trial.path, trial.round) for trial in trials[2:6]] == [
        ("device", 0),
        ("wire", 0),
        ("wire", 1),
        ("device", 1),
    ]


def test_loads_are_shares_of_what_a_search_found(tmp_path):
    brimful("search", "-m", SIM, "--preset", "quick", "--quiet", "--out", "found", cwd=tmp_path, check=0)
    found = read_run(tmp_path / "found").goal_results[0].conditional_throughput
    arguments = ("--of", "found", "--at", "10%,50%", "--rounds", "1", "--trial", "50ms", "--quiet", "--out", "one")
    facts = measured(tmp_path, "-m", DEVICE, *arguments)
    assert [load for load, name in delays(facts) if name == "all"] == pytest.approx([0.1 * found, 0.5 * found])
    text = brimful("report", "one", cwd=tmp_path, check=0).stdout
    assert "(10.0 %)" in text
    assert "ndr of run" in text


@pytest.mark.parametrize(("direction", "differing"), [("bi", None), ("uni", "direction differ")])
def test_a_throughput_of_other_traffic_comes_with_a_warning(tmp_path, direction, differing):
    brimful("search", "-m", SIM, "--preset", "quick", "--quiet", "--out", "found", cwd=tmp_path, check=0)
    record = tmp_path / "found" / "run.jsonl"
    first, _, rest = record.read_text().partition("\n")
    run = json.loads(first)
    run["traffic"] = {"frame_size": 64, "direction": direction}
    record.write_text(re.sub(r',\s*"digest":\s*"[0-9a-f]{64}"', "", json.dumps(run) + "\n" + rest))
    arguments = ("--of", "found", "--at", "10%", "--rounds", "1", "--trial", "50ms", "--quiet", "--out", "one")
    measured(tmp_path, "-m", DEVICE, *arguments)
    texts = [warning.text for warning in read_run(tmp_path / "one").warnings if warning.code == "other-traffic"]
    assert texts == ([] if differing is None else [f"the throughput was found with other traffic: {differing}"])


def test_delays_are_not_compared_as_if_they_were_throughputs(tmp_path):
    brimful("delay", "-m", DEVICE, *SHORT, "--out", "one", cwd=tmp_path, check=0)
    brimful("search", "-m", SIM, "--preset", "quick", "--quiet", "--out", "found", cwd=tmp_path, check=0)
    for other, complaint in (("one", "delays are not compared"), ("found", "different kinds")):
        assert complaint in brimful("compare", "one", "--against", other, cwd=tmp_path, check=2).stderr


def test_without_a_wire_only_the_total_is_stated(tmp_path):
    arguments = ("-m", DEVICE, *SHORT, "--out", "one")
    (delay,) = [delay for delay in measured(tmp_path, *arguments)["delays"] if delay["direction"] == "to"]
    assert (delay["of"], delay["mean"]["method"], "wire" in delay) == ("total", "total", False)
    assert "the delay of the tester itself is in every value" in brimful("report", "one", cwd=tmp_path).stdout


def test_a_stored_wire_serves_later_runs(tmp_path):
    brimful("delay", "-m", WIRE, *SHORT, "--out", "wire", cwd=tmp_path, check=0)
    facts = measured(tmp_path, "-m", DEVICE, "--wire", "wire", *SHORT, "--out", "one")
    mean = delays(facts)[5000.0, "all"]["mean"]
    assert mean["method"] == "welch"
    assert mean["value_s"] == pytest.approx(50e-6, abs=10 * 27e-6 / 3000**0.5)
    assert facts["plan"]["wire_run"] == read_run(tmp_path / "wire").run.run_id
    assert "another time" in " ".join(brimful("report", "one", cwd=tmp_path).stdout.split())
    brimful("verify", "one", cwd=tmp_path, check=0)


def test_a_stored_wire_must_have_the_load(tmp_path):
    brimful("delay", "-m", WIRE, *SHORT, "--out", "wire", cwd=tmp_path, check=0)
    failed = brimful("delay", "-m", DEVICE, "--wire", "wire", "--load", "7kpps", "--out", "one", cwd=tmp_path, check=2)
    assert "not measured at 7.000 kpps, but at 5.000 kpps" in failed.stderr
    assert not (tmp_path / "one").exists()


def test_one_that_was_no_bare_wire_is_refused(tmp_path):
    brimful("delay", "-m", DEVICE, "--wire", WIRE, *SHORT, "--out", "both", cwd=tmp_path, check=0)
    failed = brimful("delay", "-m", DEVICE, "--wire", "both", *SHORT, cwd=tmp_path, check=2)
    assert "not a run of brimful delay over the bare wire alone" in failed.stderr


def test_loss_is_said_in_words(tmp_path):
    device = stand_in("53e-6", "loss=0.1")
    printed = brimful("delay", "-m", device, "--wire", WIRE, *SHORT, cwd=tmp_path, check=0).stdout
    assert "10.0 %" in printed
    assert "a delay under loss is that of full queues" in " ".join(printed.split())


def test_spoiled_trials_are_repeated_and_do_not_count(tmp_path):
    device = stand_in("53e-6", "invalid=3")
    brimful("delay", "-m", device, "--wire", WIRE, *SHORT, "--out", "one", cwd=tmp_path, check=0)
    file = read_run(tmp_path / "one")
    assert len(file.counted()) == 12
    assert len(file.trials) > 12
    assert "invalid-trials" in {warning.code for warning in file.warnings}
    assert all(delay.mean.batches == 6 for delay in file.delays)


def test_verify_recomputes_what_the_record_claims(tmp_path):
    brimful("delay", "-m", DEVICE, "--wire", WIRE, *SHORT, "--out", "one", cwd=tmp_path, check=0)
    assert "recomputed" in brimful("verify", "one", cwd=tmp_path, check=0).stdout
    path = tmp_path / "one" / "run.jsonl"
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if '"kind":"delay"' in line)
    claim = json.loads(lines[at])
    claim["mean"]["low_s"] *= 0.9
    lines[at] = json.dumps(claim)
    path.write_text("\n".join(lines) + "\n")
    finished = brimful("verify", "one", cwd=tmp_path, check=1)
    assert "does not hold: load 5.000 kpps, all: mean.low_s is recorded as" in finished.stdout


def test_the_page_of_a_run_has_its_figures(tmp_path):
    arguments = ("--load", "50kpps", "--html", "page.html", "--label", "name=<script>")
    brimful("delay", "-m", DEVICE, "--wire", WIRE, *SHORT, *arguments, cwd=tmp_path, check=0)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 4
    for figure in ("delay-means-wide", "delay-percentiles-narrow"):
        assert f'data-figure="{figure}"' in page
    assert "<script>" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-m", DEVICE), "give the loads to measure at"),
        (("-m", DEVICE, "--load", "fast"), "is not a number with a unit"),
        (("-m", DEVICE, "--at", "10%"), "--of RUN and --at SHARES go together"),
        (("-m", DEVICE, "--load", "1kpps", "--goal", "ndr"), "--goal names a goal of the run given by --of"),
        (("-m", SIM, "--load", "1kpps"), "reports no delay"),
        (("-m", stand_in("1e-6", "silent=1"), "--load", "1kpps"), "reports no delay"),
        (("-m", DEVICE, "--load", "1kpps", "--wire", SIM), "reports no delay"),
        (("-m", DEVICE, "--load", "1kpps", "--trial", "soon"), "duration 'soon'"),
        (("-m", DEVICE, "--load", "1kpps", "--on-invalid", "loss"), "a trial without frames has no delay"),
        (("-m", DEVICE, "--of", "sim", "--at", "110%"), "not between 0 and 1"),
        (("-m", DEVICE, "--of", "sim", "--at", "0%"), "nothing is sent at no load"),
        (("-m", DEVICE, "--of", "sim", "--at", "10%", "--goal", "none"), "has no throughput of goal 'none'"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_sent(tmp_path, arguments, said):
    if "sim" in arguments:
        brimful("search", "-m", SIM, "--preset", "quick", "--quiet", "--out", "sim", cwd=tmp_path, check=0)
    failed = brimful("delay", *arguments, "--out", "one", cwd=tmp_path, check=2)
    assert said in failed.stderr
    assert len(failed.stderr.splitlines()) == 1
    assert not (tmp_path / "one").exists()


def test_a_device_that_forwards_nothing_fails_with_the_reason(tmp_path):
    failed = brimful("delay", "-m", stand_in("1e-6", "loss=1"), *SHORT, cwd=tmp_path, check=3)
    assert "no direction has a delay; 500 of 500 frames were lost" in failed.stderr


def test_a_run_that_failed_goes_on_where_it_was(tmp_path):
    program = tmp_path / "tester.sh"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {PROGRAM} 53e-6 $(cat options)\n")
    program.chmod(0o755)
    (tmp_path / "options").write_text("die=4")
    arguments = ("delay", "-m", f"cmd:{program}", "--wire", WIRE, *SHORT, "--out", "one")
    failed = brimful(*arguments, cwd=tmp_path, check=3)
    assert "the stand-in was told to stop" in failed.stderr
    before = read_run(tmp_path / "one").trials
    assert len(before) == 7
    (tmp_path / "options").write_text("")
    brimful(*arguments, "--resume", cwd=tmp_path, check=0)
    file = read_run(tmp_path / "one")
    assert file.trials[:7] == before
    assert len(file.counted()) == 12
    assert [end.reason for end in file.ends] == ["measurement-failed", "done"]
    assert len(file.delays) == 3
    brimful("verify", "one", cwd=tmp_path, check=0)
    shown = brimful(*arguments, "--resume", cwd=tmp_path, check=0)
    assert "Delay: stand-in" in shown.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_states_what_its_trials_support(tmp_path, number):
    device = stand_in("53e-6", "hang=4")
    command = [*BRIMFUL, "delay", "-m", device, "--wire", WIRE, *SHORT[:-1], "-v", "--out", "one"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "trial 8 of 12" in line:
            break
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=50)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    file = read_run(tmp_path / "one")
    assert isinstance(file.ends[0], End)
    assert file.ends[0].reason == "interrupted"
    assert [delay.mean.batches for delay in file.delays] == [96, 96, 96]
    assert "was interrupted" in stdout


def test_a_lab_has_a_wire_of_its_own_and_faults_are_the_devices():
    from brimful.delay.wire import wire_arguments, wire_of

    fault = ["--flows=3", "--fault", "send:delay=1ms"]
    assert wire_of("lab:wire", None, []) is None
    assert wire_of("lab:wire", None, fault) == "lab:wire"
    assert wire_arguments(fault) == ["--flows=3"]
