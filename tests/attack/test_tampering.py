"""Records of every subject, changed line by line and digit by digit: `verify` notices, or says what it cannot."""

import re
import shutil
from pathlib import Path

import msgspec
import pytest
from attacking import ROUNDS, dice, outcome
from brimful.records import Delay, RecordWriter, Run, iterate_records
from support import ROOT

RUNS = {
    "search": ("-m", "sim:soft-knee,capacity=1Mpps,seed=4", "--preset", "quick"),
    "campaign": ("-m", "sim:sharp,capacity=1Mpps", "--repeat", "2", "--preset", "quick"),
    "burst": ("-m", "sim:buffer,capacity=1Mpps,frames=500,link=2Mpps", "--find", "burst", "--tests", "2"),
    "burst-campaign": (
        *("-m", "sim:buffer,capacity=1Mpps,frames=500,link=2Mpps", "--find", "burst", "--tests", "2"),
        *("--sizes", "64,512"),
    ),
    "recovery": ("-m", "sim:sharp,capacity=1Mpps,link=2Mpps", "--find", "recovery", "--tests", "2"),
}
SIGNED_ANEW = ("delay", "device", "discards")
"""Subjects that need a device or files: kept runs, written again with digests."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A directory with a run of each subject."""
    home = tmp_path_factory.mktemp("whole")
    for name, options in RUNS.items():
        longest = ("--longest", "5000") if "burst" in name else ()
        assert outcome("search", *options, *longest, "--quiet", "--out", home / name)[0] == 0
    for name in SIGNED_ANEW:
        (home / name).mkdir()
        with RecordWriter(home / name / "run.jsonl") as writer:
            for record in iterate_records(ROOT / "tests" / "schema_1" / name / "run.jsonl"):
                writer.write(record)
    return home


def edits(content, chance):
    """Every line dropped, doubled and swapped with the next, and digits changed: what is there then."""
    lines = content.splitlines(keepends=True)
    for number in range(len(lines)):
        yield f"line {number} dropped", b"".join([*lines[:number], *lines[number + 1 :]])
        yield f"line {number} doubled", b"".join([*lines[: number + 1], *lines[number:]])
        if number + 1 < len(lines):
            swapped = [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]
            yield f"line {number} swapped", b"".join(swapped)
    digits = [found.start() for found in re.finditer(rb"[0-9]", content)]
    for place in chance.sample(digits, min(len(digits), 20 * ROUNDS)):
        other = b"1" if content[place : place + 1] != b"1" else b"2"
        yield f"digit at {place} changed", content[:place] + other + content[place + 1 :]


def records_of(run):
    return sorted(path.relative_to(run) for path in run.rglob("run.jsonl"))


@pytest.mark.parametrize("name", [*RUNS, "delay"])
def test_every_edit_of_every_record_that_a_run_rests_on_is_noticed(tmp_path, whole, name):
    run = tmp_path / name
    shutil.copytree(whole / name, run)
    assert outcome("verify", run)[0] == 0
    for record in records_of(run):
        content = (run / record).read_bytes()
        for what, edited in edits(content, dice(name, record)):
            (run / record).write_bytes(edited)
            assert outcome("verify", run)[0] in (1, 2), f"{record}: {what}"
        (run / record).write_bytes(content)


@pytest.mark.parametrize("name", [*RUNS, "delay"])
def test_a_record_that_was_cut_says_that_it_has_no_end(tmp_path, whole, name):
    run = tmp_path / name
    shutil.copytree(whole / name, run)
    for record in records_of(run):
        content = (run / record).read_bytes()
        lines = content.splitlines(keepends=True)
        for kept in range(1, len(lines)):
            (run / record).write_bytes(b"".join(lines[:kept]))
            code, text, _ = outcome("verify", run)
            # A part of a run that ended is whole, or it was cut.
            assert code in (1, 2) or (record == Path("run.jsonl") and "no end is recorded" in text), f"{record}: {kept}"
        (run / record).write_bytes(content)


@pytest.mark.parametrize("name", ["burst", "recovery"])
def test_a_run_without_the_search_that_it_rests_on_says_so(tmp_path, whole, name):
    shutil.copytree(whole / name, tmp_path / name)
    shutil.rmtree(tmp_path / name / "throughput")
    code, text, _ = outcome("verify", tmp_path / name)
    assert code == 0
    assert "is not beside this record: it was not looked at" in text


def test_a_search_of_another_run_is_not_what_a_run_rests_on(tmp_path, whole):
    shutil.copytree(whole / "burst", tmp_path / "burst")
    shutil.rmtree(tmp_path / "burst" / "throughput")
    shutil.copytree(whole / "recovery" / "throughput", tmp_path / "burst" / "throughput")
    code, text, _ = outcome("verify", tmp_path / "burst")
    assert code == 1
    assert "does not hold: throughput: run " in text


@pytest.mark.parametrize("name", ["device", "discards"])
def test_an_analysis_is_not_said_to_hold(whole, name):
    code, _, error = outcome("verify", whole / name)
    assert (code, "it has no trials to judge" in error) == (2, True)


def test_every_edit_of_a_measured_disk_is_noticed(tmp_path):
    """Its trials are those of a delay run here: nothing of them is recomputed."""
    (tmp_path / "disk").mkdir()
    record = tmp_path / "disk" / "run.jsonl"
    with RecordWriter(record) as writer:
        for each in iterate_records(ROOT / "tests" / "schema_1" / "delay" / "run.jsonl"):
            disk = msgspec.structs.replace(each, subject="block-device", delay=None) if isinstance(each, Run) else each
            if not isinstance(disk, Delay):
                writer.write(disk)
    code, text, _ = outcome("verify", record)
    assert (code, "10 trials: lines and digests checked" in text) == (0, True)
    content = record.read_bytes()
    end = content.splitlines(keepends=True)[-1]
    for what, edited in edits(content, dice("disk")):
        record.write_bytes(edited)
        code, text, _ = outcome("verify", record)
        # Without its end it looks like one that was killed.
        assert code in (1, 2) or (end not in edited and "no end is recorded" in text), what


def test_a_record_without_digests_says_what_cannot_be_noticed(tmp_path):
    code, text, _ = outcome("verify", ROOT / "tests" / "schema_1" / "delay")
    assert code == 0
    assert "it has no digests" in text


def changed(whole, tmp_path, name):
    """A copy of a run with one digit changed that nothing is computed of."""
    shutil.copytree(whole / name, tmp_path / name)
    record = tmp_path / name / "run.jsonl"
    content = record.read_bytes()
    (place,) = [found.end() for found in re.finditer(rb'"started":"2', content)][:1]
    record.write_bytes(content[:place] + b"1" + content[place + 1 :])
    return tmp_path / name


SEARCH = ("search", "-m", "sim:sharp,capacity=1Mpps,link=2Mpps", "--preset", "rfc2544", "--quiet")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("search", ("compare", "{}", "--against", "{}")),
        ("search", (*SEARCH, "--hint", "{}")),
        ("search", (*SEARCH, "--find", "burst", "--throughput", "{}", "--tests", "2")),
        ("search", (*SEARCH, "--find", "recovery", "--throughput", "{}", "--tests", "2")),
        ("search", ("search", "-m", "replay:{}", "--quiet")),
        ("search", ("search", *RUNS["search"], "--quiet", "--resume", "--out", "{}")),
        ("campaign", ("search", *RUNS["campaign"], "--quiet", "--resume", "--out", "{}")),
        ("device", ("iocost", "tune", "{}/run.jsonl")),
        ("device", ("iocost", "export", "{}/run.jsonl")),
    ],
)
def test_nothing_is_built_on_a_record_that_was_changed(tmp_path, whole, monkeypatch, name, command):
    monkeypatch.chdir(tmp_path)
    run = changed(whole, tmp_path, name)
    code, _, error = outcome(*(str(word).replace("{}", str(run)) for word in command))
    assert code in (2, 3), error
    assert "line 1 was changed after it was written" in error


def test_a_report_of_a_changed_record_says_so(tmp_path, whole):
    code, text, error = outcome("report", changed(whole, tmp_path, "search"))
    assert (code, text != "") == (0, True)
    assert "warning" in error
    assert "line 1 was changed" in error
