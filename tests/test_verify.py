"""Verdicts recomputed: from our records, from logs of other tools, and against a naive twin."""

import json
import re
from fractions import Fraction

import pytest
from brimful.errors import RecordError
from brimful.records import RecordWriter, Trial, read_run
from brimful.throughput.explain import explanation
from brimful.throughput.verify import TrialLog, open_log, verify
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, brimful, goal

SEARCH_FROM_LOG = ("search", "-m", "sim:sharp", "--hint", "log")
CSV = "load,duration,sent,lost\n1000000,60,60000000,0\n1000000,1,1000000,1\n2000000,60,120000000,1000\n"
JSONL = """{"load": 1e6, "duration": 60, "sent": 60000000, "lost": 0}

{"load": 2e6, "duration": 60, "sent": 120000000, "lost": 9}
"""


def trial(seq, load, duration, lost, sent=1000, effective=None, delay=None):
    return Trial(
        seq=seq,
        load=load,
        duration_s=duration,
        intended=sent,
        sent=sent,
        lost=lost,
        effective_duration_s=effective,
        delay_p99_s=delay,
    )


def naive_verdict(goal, trials):
    """MLRsearch-15 Load Classification with fractions, word for word."""
    full_low = full_high = short_low = short_high = Fraction(0)
    for one in trials:
        weight = Fraction(str(one.effective_duration_s if one.effective_duration_s is not None else one.duration_s))
        high = Fraction(one.lost, one.sent) > Fraction(str(goal.loss_ratio))
        if goal.delay_limit_s is not None and one.delay_p99_s is not None:
            high |= Fraction(str(one.delay_p99_s)) > Fraction(str(goal.delay_limit_s))
        if one.duration_s >= goal.final_trial_duration_s:
            full_low, full_high = full_low + (not high) * weight, full_high + high * weight
        else:
            short_low, short_high = short_low + (not high) * weight, short_high + high * weight
    exceed = Fraction(str(goal.exceed_ratio))
    excess = max(Fraction(0), short_high - exceed / (1 - exceed) * short_low)
    high_sum = full_high + excess
    full_sum = full_low + high_sum
    whole = max(full_sum, Fraction(str(goal.duration_sum_s)))
    if (high_sum + whole - full_sum) / whole <= exceed:
        return "lower-bound"
    return "upper-bound" if high_sum / whole > exceed else "undecided"


durations = st.sampled_from([0.1, 0.3, 0.7, 1.0, 1.5, 60.0])
trials_at_one_load = st.lists(
    st.tuples(
        durations,
        st.sampled_from([0, 1, 5, 6, 1000]),
        st.none() | durations,
        st.sampled_from([0.0, 20e-6, 1e-3, 0.001000001]),
    ),
    min_size=1,
    max_size=30,
)


@given(
    trials_at_one_load,
    st.sampled_from([0.0, 0.005, 0.006]),
    st.sampled_from([0.0, 0.2, 0.5, 0.75]),
    st.sampled_from([0.1, 1.0, 60.0]),
    st.sampled_from([1.0, 2.1, 21.0, 120.0]),
    st.sampled_from([None, 1e-9, 20e-6, 1e-3]),
)
def test_verdicts_equal_the_naive_twin(rows, loss, exceed, final, duration_sum, limit):
    wanted = goal(loss=loss, exceed=exceed, trial=final, duration_sum=duration_sum, initial=0.1, delay=limit)
    trials = [
        trial(seq, 1e6, duration, lost, effective=effective, delay=delay)
        for seq, (duration, lost, effective, delay) in enumerate(rows)
    ]
    found = TrialLog([wanted], trials, (1e6, 1e6)).assess(1e6, 0)
    assert found.verdict == naive_verdict(wanted, trials)


@pytest.mark.parametrize(
    "text",
    [
        CSV,
        JSONL,
        CSV.replace("duration", "duration_s"),
        "\ufeff" + CSV,
        CSV.replace("load,duration", "Load , Duration"),
    ],
)
def test_logs_of_other_tools_are_judged(tmp_path, text):
    (tmp_path / "log").write_text(text)
    finished = brimful("verify", "log", "--preset", "rfc2544", cwd=tmp_path, check=0)
    assert "2.00000 Mpps  upper" in finished.stdout


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no trial"),
        ("load,duration,sent,lost\n", "no trial"),
        ("load,sent,lost\n1,1,0\n", "log:2: 'duration' is missing"),
        ("load,duration,sent,lost\n1,1,-5,0\n", "log:2: sent is -5"),
        ("load,duration,sent,lost\n1,1,5,6\n", "log:2: lost 6 is above sent 5"),
        ("load,duration,sent,lost\n1,1,5.5,0\n", "log:2: sent is 5.5"),
        ("load,duration,sent,lost\n1,0,5,0\n", "log:2: duration_s is 0"),
        ("load,duration,sent,lost\n-1,1,5,0\n", "log:2: load is -1"),
        ("load,duration,sent,lost\nfast,1,5,0\n", "log:2: load is 'fast'"),
        ("load,duration,sent,lost\nnan,1,5,0\n", "log:2: load is 'nan'"),
        ("load,duration,sent,lost\n1,100,500,0,100000,0\n", "log:2: 6 values are under 4 columns"),
        ("load,load,duration,sent,lost\n1,2,1,5,0\n", "log:1: columns 'load' and 'load' both say load"),
        ("load,duration,sent,tx,lost\n1,2,1,5,0\n", "log:1: columns 'sent' and 'tx' both say sent"),
        ("load,duration,sent,lost,note\n\n1,1,5,0,'a\n1,1,-5,0,b\n", "log:4: sent is -5"),
        ('load,duration,sent,lost,note\n1,1,5,0,"a\nb"\n1,1,-5,0,b\n', "log:4: sent is -5"),
        ("rate,time\n1,1\n", "'load' is missing; a trial has load, duration, sent and lost, this has rate, time"),
        ('{"load": 1\n', "log:1: is no JSON object"),
        ('{"load": 1, "duration": true, "sent": 1, "lost": 0}\n', "duration_s is True"),
        ('{"kind": "run"}\n', "log:1"),
        ('{"kind":"trial","seq":0}\n', "load"),
    ],
)
def test_bad_logs_are_one_line_with_the_place(tmp_path, text, complaint):
    (tmp_path / "log").write_text(text)
    finished = brimful("verify", "log", "--preset", "csit", cwd=tmp_path, check=2)
    assert complaint in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_an_empty_value_after_the_last_column_leaves_nothing_open(tmp_path):
    (tmp_path / "log").write_text(CSV.replace(",0\n", ",0,\n"))
    brimful("verify", "log", "--preset", "rfc2544", cwd=tmp_path, check=0)


def test_a_log_without_goals_asks_for_them(tmp_path):
    (tmp_path / "log").write_text(CSV)
    assert "--preset" in brimful("verify", "log", cwd=tmp_path, check=2).stderr


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("absent", "absent: cannot read: No such file or directory"),
        ("binary", "binary: cannot read: it is not UTF-8 text"),
        ("empty", "empty: there is no trial in it"),
    ],
)
@pytest.mark.parametrize("goals", [(), ("--preset", "csit")])
def test_a_missing_binary_or_empty_log_is_named_with_and_without_goals(tmp_path, name, complaint, goals):
    (tmp_path / "binary").write_bytes(b"\x80\x81\xff\x00")
    (tmp_path / "empty").touch()
    for command in ("verify", "explain"):
        finished = brimful(command, name, *goals, cwd=tmp_path, check=2)
        assert finished.stderr == f"brimful: error: {complaint}\n"


def test_a_false_claim_is_found(tmp_path):
    brimful("search", "-m", "sim:sharp,capacity=1Mpps", "--out", "run", "--quiet", cwd=tmp_path, check=0)
    path = tmp_path / "run" / "run.jsonl"
    path.write_text(path.read_text().replace('"reason":"regular"', '"reason":"time-budget"', 1))
    finished = brimful("verify", "run", cwd=tmp_path, check=1)
    assert "does not hold: goal 'ndr': reason is recorded as 'time-budget'" in finished.stdout


@pytest.mark.parametrize("budget", ["20s", "1h"])
def test_a_run_killed_between_any_two_lines_claims_nothing_false(tmp_path, budget):
    options = ("search", "-m", "sim:noisy,seed=2", "--budget", budget, "--out", "run", "--quiet")
    brimful(*options, cwd=tmp_path, check=1 if budget == "20s" else 0)
    path = tmp_path / "run" / "run.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:end]))
        assert verify(open_log(path, None)).findings == []


TAMPERED = {
    "bounds moved": (r'("kind":"bound",.*?"load":)([0-9.e+]+)', r"\g<1>1\g<2>", "bound is recorded to move to 1"),
    "a bound removed": (r'(?m)^\{"kind":"bound".*\n', "", "is recorded not to move, but the trials have it to move to"),
    "a bound added": (
        r'(?m)^(\{"kind":"goal_result")',
        r'{"kind":"bound","goal":"ndr","side":"upper","load":null,"seq":2}\n\1',
        "goal 'ndr': with trial 2 the upper bound is recorded to go away, but the trials have it not to move",
    ),
    "sums changed": (r'"full_low_s":[0-9.]+', '"full_low_s":99.0', "lower_bound_sums is recorded as full_low_s 99.0"),
    "sums gone": (
        r',"lower_bound_sums":\{.*?\}',
        "",
        "lower_bound_sums is recorded as nothing, but the trials give full",
    ),
    "trials not counted": (r'("kind":"end".*"trials":)[0-9]+', r"\g<1>3", "an end is recorded after 3 trials, but "),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_reports_draw_is_held_against_the_trials(tmp_path, name):
    pattern, replacement, complaint = TAMPERED[name]
    text = (ROOT / "schemas" / "examples" / "regular.jsonl").read_text()
    changed = re.sub(pattern, replacement, text)
    assert changed != text
    (tmp_path / "run.jsonl").write_text(changed)
    found = verify(open_log(tmp_path, None)).findings
    assert any(complaint in finding.text for finding in found), found
    assert len(found) <= 4


@pytest.mark.parametrize(
    ("line", "changes", "complaint"),
    [
        (1, {"lost": -1}, "run.jsonl:2: lost is -1; a count is"),
        (1, {"lost": 10**30}, "run.jsonl:2: lost is 1e+30; a count is"),
        (1, {"sent": 5, "lost": 6}, "run.jsonl:2: lost 6 is above sent 5"),
        (1, {"load": -5}, "run.jsonl:2: load is -5; it must be above 0"),
        (1, {"duration_s": 0}, "run.jsonl:2: duration_s is 0; it must be above 0"),
        (1, {"duration_s": 1e300}, "run.jsonl:2: duration_s is 1e+300; it must be from 0 to 1e+09 s"),
        (1, {"delay_p99_s": -1.0}, "run.jsonl:2: delay_p99_s is -1"),
        (0, {"goals": []}, "run.jsonl:1: no search goal is given"),
        (0, {"min_load": 1e12}, "run.jsonl:1: min load"),
    ],
)
def test_bad_records_are_refused_with_line_and_value(tmp_path, line, changes, complaint):
    lines = (ROOT / "schemas" / "examples" / "regular.jsonl").read_text().splitlines()
    lines[line] = json.dumps(json.loads(lines[line]) | changes)
    (tmp_path / "run.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordError, match=re.escape(complaint)):
        open_log(tmp_path, None)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 5000, '{"kind":"run","host":' + '{"a":' * 5000])
@pytest.mark.parametrize("arguments", [("verify", "log"), ("explain", "log"), ("report", "log"), SEARCH_FROM_LOG])
def test_deep_nesting_is_one_line(tmp_path, text, arguments):
    (tmp_path / "log").write_text(text + "\n")
    assert len(brimful(*arguments, cwd=tmp_path, check=2).stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["regular", "irregular", "resumed", "invalid"])
def test_the_example_records_hold(name):
    assert verify(open_log(ROOT / "schemas" / "examples" / f"{name}.jsonl", None)).findings == []


def test_a_run_that_was_killed_at_any_line_holds(tmp_path):
    lines = (ROOT / "schemas" / "examples" / "resumed.jsonl").read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines)):
        if b'"goal_result"' not in lines[kept - 1]:
            (tmp_path / "run.jsonl").write_bytes(b"".join(lines[:kept]))
            assert verify(open_log(tmp_path, None)).findings == []


def test_a_load_outside_the_limits_is_found(tmp_path):
    brimful("search", "-m", "sim:sharp,capacity=1Mpps", "--out", "run", "--quiet", cwd=tmp_path, check=0)
    file = read_run(tmp_path / "run")
    with RecordWriter(file.path) as writer:
        writer.write(trial(99, file.run.max_load * 2, 1.0, 900))
    assert "is outside" in brimful("verify", "run", cwd=tmp_path, check=1).stdout


def test_doubled_trials_are_found(tmp_path):
    brimful("search", "-m", "sim:sharp,capacity=1Mpps", "--out", "run", "--quiet", cwd=tmp_path, check=0)
    path = tmp_path / "run" / "run.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    second = next(number for number, line in enumerate(lines) if '"seq":1,' in line)
    path.write_text("".join([*lines[:second], lines[second], *lines[second:]]))
    finished = brimful("verify", "run", cwd=tmp_path, check=1)
    assert "does not hold: trial 1 stands where trial 2 belongs (and " in finished.stdout


def test_a_log_without_limits_is_judged_at_any_load_and_has_no_max_load(tmp_path):
    (tmp_path / "log").write_text("load,duration,sent,lost\n0.995,600,597,0\n1,600,600,0\n")
    finished = brimful("verify", "log", "--preset", "rfc2544", cwd=tmp_path, check=0)
    assert "throughput: lower bound 1.00000 pps, upper bound none; width-not-reached" in finished.stdout
    (tmp_path / "log").write_text("load,duration,sent,lost\n1,600,600,0\n")
    finished = brimful("verify", "log", "--preset", "rfc2544", cwd=tmp_path, check=0)
    assert "1 trial at 1 load: every verdict recomputed" in finished.stdout


SENTENCES = {
    "upper": (
        [trial(seq, 1e6, 1.0, 10) for seq in range(11)],
        "1.00000 Mpps is an upper bound for ndr: 11 s of 21 s were high-loss; even if all missing time turned out clean"
        " that is 52.38 %, above 50 % (high-loss means a loss ratio above 0 %; full-length trials: 0 s low-loss, 11 s"
        " high-loss; 11 trials).",
    ),
    "lower": (
        [trial(seq, 1e6, 1.0, 0) for seq in range(11)],
        "1.00000 Mpps is a lower bound for ndr: 0 s of 21 s were high-loss; even if all missing time turned out lossy"
        " that is 47.62 %, at most 50 % (high-loss means a loss ratio above 0 %; full-length trials: 11 s low-loss, 0 s"
        " high-loss; 11 trials).",
    ),
    "undecided": (
        [trial(0, 1e6, 1.0, 0), trial(1, 1e6, 0.5, 7)],
        "1.00000 Mpps is undecided for ndr: 0.5 s of 21 s were high-loss and 19.5 s are missing; that may end anywhere"
        " from 2.38 % to 95.24 %, and 50 % is allowed (high-loss means a loss ratio above 0 %; full-length trials: 1 s"
        " low-loss, 0 s high-loss; short ones: 0 s low-loss, 0.5 s high-loss; 2 trials).",
    ),
    "never": ([], "1.00000 Mpps is undecided for ndr: it was never measured."),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_explanations_give_the_sums(name):
    trials, sentence = SENTENCES[name]
    log = TrialLog([goal(initial=0.5)], trials, (1e6, 1e6))
    assert explanation(log.goals[0], 1e6, log.assess(1e6, 0)) == sentence


def test_explain_finds_the_nearest_load(tmp_path):
    (tmp_path / "log").write_text(CSV)
    finished = brimful("explain", "log", "1.1Mpps", "--preset", "rfc2544", cwd=tmp_path, check=0)
    first, second = finished.stdout.splitlines()
    assert first == "1.10000 Mpps was not measured, so it is undecided; the nearest is 1.00000 Mpps."
    assert second.startswith("1.00000 Mpps is an upper bound for throughput")
    exact = brimful("explain", "log", "1Mpps", "--preset", "rfc2544", cwd=tmp_path, check=0)
    assert exact.stdout == second + "\n"


def test_requirements_are_listed(tmp_path):
    finished = brimful("verify", "--requirements", cwd=tmp_path, check=0)
    assert "MUST" in finished.stdout
    rows = json.loads(brimful("verify", "--requirements", "--json", cwd=tmp_path, check=0).stdout)
    assert all({"level", "text", "satisfied_by"} <= row.keys() for row in rows)


def test_no_line_of_a_verification_ends_in_blanks(tmp_path):
    run = ROOT / "schemas" / "examples" / "regular.jsonl"
    lines = brimful("verify", run, cwd=tmp_path, check=0).stdout.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


def test_goals_are_of_a_preset_or_ones_own(tmp_path):
    (tmp_path / "log").write_text(CSV)
    for command in ("verify", "explain"):
        finished = brimful(command, "log", "--preset", "csit", "--goal", "loss=0", cwd=tmp_path, check=2)
        assert "--preset csit and --goal both name goals; give one of them" in finished.stderr


def test_what_a_log_says_was_not_sent_is_loss_unless_it_tells_what_was_intended(tmp_path):
    (tmp_path / "log").write_text("load,duration,sent,lost\n14880000,60,540000000,0\n")
    finished = brimful("verify", "log", "--preset", "rfc2544", cwd=tmp_path, check=0)
    assert "throughput: lower bound none, upper bound 14.8800 Mpps" in finished.stdout
    assert "1 trial sent less than intended: what was not sent counts as loss" in finished.stdout
    assert "1 upper bound (throughput): only because units were not sent, none for loss" in finished.stdout
    (tmp_path / "log").write_text("load,duration,intended,sent,lost\n14880000,60,540000000,540000000,0\n")
    finished = brimful("verify", "log", "--preset", "rfc2544", cwd=tmp_path, check=0)
    assert "throughput: lower bound 14.8800 Mpps" in finished.stdout
    assert "not sent" not in finished.stdout
    # Told or not, what was intended and not sent is loss; some of it may be real.
    (tmp_path / "log").write_text("load,duration,intended,sent,lost\n14880000,60,540000000,530000000,7\n")
    finished = brimful("verify", "log", "--preset", "rfc2544", cwd=tmp_path, check=0)
    assert "1 trial sent less than intended" in finished.stdout
    assert "only because" not in finished.stdout
    told = brimful("explain", "log", "--preset", "rfc2544", cwd=tmp_path, check=0).stdout
    assert "; 7 lost and 10,000,000 unsent of 540,000,000 units" in told
