"""Records that were cut, changed or put together by chance: read, or refused in one line; and `verify` finds it."""

import json
import os
import re

import pytest
from attacking import ROUNDS, dice, outcome, refused
from brimful.records import RecordWriter, iterate_records, read_run
from brimful.throughput.verify import open_log, verify
from support import ROOT

SIM = ("search", "-m", "sim:soft-knee,capacity=1Mpps,seed=4", "--preset", "quick", "--quiet")
READERS = (("report",), ("report", "--json"), ("verify",), ("explain",))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "run"
    assert outcome(*SIM, "--out", out)[0] == 0
    return (out / "run.jsonl").read_bytes()


def written(tmp_path, content, name="run"):
    path = tmp_path / name / "run.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def lines_of(content, kind):
    lines = content.splitlines(keepends=True)
    return lines, [number for number, line in enumerate(lines) if f'"kind":"{kind}"'.encode() in line]


def test_a_record_cut_anywhere_is_read_or_refused(tmp_path, whole):
    chance = dice("cut")
    for kept in [0, 1, *chance.sample(range(len(whole)), 25 * ROUNDS)]:
        path = written(tmp_path, whole[:kept])
        for reader in READERS:
            code, _, errors = outcome(*reader, path)
            assert code in (0, 1, 2)
            assert len(errors.splitlines()) <= 1


def test_a_record_changed_anywhere_is_found_or_refused(tmp_path, whole):
    chance = dice("changed")
    last_end = whole.rindex(b'{"kind":"end"')
    end = whole.index(b"\n", last_end)
    for _ in range(100 * ROUNDS):
        place = chance.randrange(end)
        other = chance.choice([byte for byte in b'0123456789{}[]",:.eaxz\x00\xff' if byte != whole[place]])
        path = written(tmp_path, whole[:place] + bytes([other]) + whole[place + 1 :])
        code, output, errors = outcome("verify", path)
        assert code in (1, 2), (place, output, errors)
        assert len(errors.splitlines()) <= 1


def test_a_record_of_bytes_by_chance_is_refused(tmp_path):
    chance = dice("bytes")
    for _ in range(20 * ROUNDS):
        path = written(tmp_path, chance.randbytes(chance.randrange(300)))
        for reader in READERS:
            assert outcome(*reader, path)[0] == 2


CHANGES = {
    "strategy": (r'"strategy":"straddle"', '"strategy":"bisect"'),
    "fingerprint": (r'"fingerprint":"[0-9a-f]{4}', '"fingerprint":"0000'),
    "conversion factor": (r'"conversion_factor":1.0', '"conversion_factor":2.0'),
    "reason": (r'("kind":"end","reason":)"done"', r'\1"interrupted"'),
    "time": (r'("kind":"end".*"search_s":)[0-9.]+', r"\g<1>1.5"),
    "label": (r'"preset":"quick"', '"preset":"csit"'),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_first_or_last_line_is_found(tmp_path, whole, name):
    pattern, replacement = CHANGES[name]
    text = whole.decode()
    changed = re.sub(pattern, replacement, text, count=1)
    assert changed != text
    path = written(tmp_path, changed.encode())
    code, output, _ = outcome("verify", path)
    assert code == 1
    assert "does not hold: line " in output


def test_a_changed_first_line_of_a_run_without_an_end_is_found_too(tmp_path, whole):
    lines, trials = lines_of(whole, "trial")
    content = b"".join(lines[: trials[3] + 1]).replace(b'"strategy":"straddle"', b'"strategy":"bisect"')
    path = written(tmp_path, content)
    assert outcome("verify", path)[0] == 1
    assert "line 1 was changed" in refused(*SIM, "--out", path.parent, "--resume")


def test_an_end_that_was_removed_is_missed(tmp_path, whole):
    lines, ends = lines_of(whole, "end")
    path = written(tmp_path, b"".join(line for number, line in enumerate(lines) if number not in ends))
    code, output, _ = outcome("verify", path)
    assert code == 1
    assert "does not hold: results are recorded, but no end" in output


def test_a_run_that_was_killed_holds_and_says_so(tmp_path, whole):
    lines, trials = lines_of(whole, "trial")
    path = written(tmp_path, b"".join(lines[: trials[5] + 1]))
    code, output, _ = outcome("verify", path)
    assert code == 0
    assert "no end is recorded" in output


@pytest.mark.parametrize("reader", [("report",), ("verify",), ("explain",), (*SIM, "--resume", "--out")])
def test_two_records_in_one_file_are_refused(tmp_path, whole, reader):
    path = written(tmp_path, whole + whole)
    assert 'more than one line of kind "run"' in refused(*reader, path.parent)


def spoiled_trials(content):
    lines, trials = lines_of(content, "trial")
    half = lines[: trials[len(trials) // 2] + 1]
    clean = next(number for number in trials if b'"lost":0' in lines[number])
    yield "doubled", [*half[: trials[4] + 1], half[trials[4]], *half[trials[4] + 1 :]]
    yield "removed", [*half[: trials[4]], *half[trials[4] + 1 :]]
    yield "copied", [*half, *([lines[clean]] * 11)]
    yield "swapped", [*half[: trials[2]], half[trials[3]], half[trials[2]], *half[trials[3] + 1 :]]
    renumbered = [
        re.sub(rb'"seq":\d+', b'"seq":%d' % (len(trials) // 2 + 1 + extra), lines[clean], count=1)
        for extra in range(11)
    ]
    yield "copied and numbered", [*half, *renumbered]


@pytest.mark.parametrize("name", ["doubled", "removed", "copied", "copied and numbered", "swapped"])
def test_resuming_on_trials_that_were_not_made_is_refused(tmp_path, whole, name):
    path = written(tmp_path, b"".join(dict(spoiled_trials(whole))[name]))
    line = refused(*SIM, "--out", path.parent, "--resume")
    assert "cannot go on from it" in line
    assert outcome("verify", path)[0] == 1


def test_resuming_on_trials_of_another_run_is_refused(tmp_path, whole):
    other = tmp_path / "other"
    outcome("search", "-m", "sim:soft-knee,capacity=3Mpps,seed=9", "--preset", "quick", "--quiet", "--out", other)
    theirs, trials = lines_of((other / "run.jsonl").read_bytes(), "trial")
    lines, ours = lines_of(whole, "trial")
    content = b"".join([*lines[: ours[9] + 1], *theirs[trials[10] : trials[-1] + 1]])
    path = written(tmp_path, content)
    assert outcome("verify", path)[0] == 1
    assert "cannot go on from it" in refused(*SIM, "--out", path.parent, "--resume")


def test_resuming_a_delay_run_with_a_doubled_trial_is_refused(tmp_path):
    source = ROOT / "tests" / "schema_1" / "delay" / "run.jsonl"
    lines, trials = lines_of(source.read_bytes(), "trial")
    path = written(tmp_path, b"".join([*lines[: trials[3] + 1], lines[trials[3]]]))
    assert read_run(path).disorder() is not None
    from brimful.errors import RecordError
    from brimful.managed import check_intact

    with pytest.raises(RecordError, match="cannot go on from it"):
        check_intact(read_run(path), "measurement")


@pytest.mark.parametrize("value", ["null", "0", "-1", "1e308"])
def test_a_factor_that_cannot_be_is_named(tmp_path, whole, value):
    changed = re.sub(rb'"conversion_factor":1.0', b'"conversion_factor":' + value.encode(), whole, count=1)
    path = written(tmp_path, changed)
    for reader in READERS:
        assert "run.jsonl:1: " in refused(*reader, path)


def test_control_characters_of_a_record_do_not_reach_the_terminal(tmp_path, whole):
    first, rest = whole.split(b"\n", 1)
    run = json.loads(first)
    del run["digest"]
    run["labels"] = {"who\x1b[31m": "me\x07\x9b2J"}
    run["measurer"]["name"] = "a\x1b]0;b\x07 \\u001b"
    for ensure_ascii in (True, False):
        line = json.dumps(run, ensure_ascii=ensure_ascii, separators=(",", ":")).encode()
        path = written(tmp_path, line + b"\n" + rest)
        text = outcome("report", path, "--text")[1]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        assert outcome("report", path, "--html", tmp_path / "page.html")[0] == 0
        assert "who␛[31m" in (tmp_path / "page.html").read_text()
        assert read_run(path).run.measurer.name == "a␛]0;b␇ \\u001b"


def test_a_unit_without_end_is_cut_for_display(tmp_path, whole):
    first, rest = whole.split(b"\n", 1)
    run = json.loads(first)
    del run["digest"]
    run["load_unit"] = "u" * 100_000
    path = written(tmp_path, json.dumps(run, separators=(",", ":")).encode() + b"\n" + rest)
    code, _, errors = outcome("report", path, "--html", tmp_path / "page.html")
    assert code == 0, errors
    assert (tmp_path / "page.html").stat().st_size < 1 << 20


@pytest.mark.parametrize("command", [("verify",), ("explain",), ("report",), ("iocost", "show"), ("iocost", "tune")])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, command):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        code, _, errors = outcome(*command, path)
        assert code == 2
        assert "is no regular file" in errors


def test_a_search_that_gave_a_goal_up_holds(tmp_path):
    path = tmp_path / "light.py"
    path.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    reply = {'max_load': 1000} if request['op'] == 'describe' else {'id': request['id'], 'sent': 10,"
        " 'lost': 0, 'effective_duration_s': 1e-6}\n"
        "    print(json.dumps(reply), flush=True)\n"
    )
    out = tmp_path / "run"
    goal = ("--goal", "loss=0,trial=0.01s,sum=0.05s,width=50%")
    outcome("search", "-m", f"cmd:python3 {path}", *goal, "--quiet", "--out", out)
    file = read_run(out)
    assert {result.reason for result in file.goal_results} == {"no-progress"}
    assert verify(open_log(out, None)).findings == []
    assert outcome("verify", out)[0] == 0


def test_a_digest_is_of_every_line_before_it(tmp_path, whole):
    path = written(tmp_path, whole)
    assert read_run(path).broken_digests == []
    assert [record.digest != "" for record in iterate_records(path) if hasattr(record, "digest")] == [True, True]
    lines = whole.splitlines(keepends=True)
    end = next(number for number, line in enumerate(lines) if b'"kind":"end"' in line)
    for number in range(1, end):
        written(tmp_path, b"".join([*lines[:number], *lines[number + 1 :]]))
        assert read_run(path).broken_digests == [end]


def test_a_record_without_digests_is_read_as_before(tmp_path, whole):
    path = written(tmp_path, re.sub(rb',"digest":"[0-9a-f]{64}"', b"", whole))
    assert outcome("verify", path)[0] == 0
    with RecordWriter(path):
        """It can be gone on with too."""
