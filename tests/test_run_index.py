"""The index of runs: with it, without it, and with a wrong one, lists and searches of runs are the same."""

import json
import shutil

import pytest
from brimful import run_index
from brimful.cli import runs as command
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import End, RecordWriter, read_run
from brimful.run_index import INDEX_NAME, Index
from brimful.runs import HOME, run_directories, saved_run
from brimful.throughput.manager import SearchRequest, run_search
from support import goal

RECORD = "run.jsonl"


def request(max_load):
    return SearchRequest(measurer="sim:sharp", goals=[goal(width=0.1)], strategy="bisect", max_load=max_load)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Three runs that ended, in the order a, b, c."""
    monkeypatch.chdir(tmp_path)
    for name, max_load in (("c", "1kpps"), ("b", "2kpps"), ("a", "3kpps")):
        run_search(request(max_load), SimulatedMeasurer("sharp"), out=HOME / name)
    return HOME


def listed():
    return command._all(HOME)


def listed_by_reading(home):
    """The naive twin: no index."""
    return [command._listed(run, None) for run in run_directories(home)]


def lines(home):
    return [json.loads(line) for line in (home / INDEX_NAME).read_bytes().splitlines() if line]


def refuse_to_read(monkeypatch):
    def read(path):
        raise AssertionError(path)

    monkeypatch.setattr(command, "read_run", read)
    monkeypatch.setattr(run_index, "read_run", read)


def test_every_run_that_ended_is_added_and_then_not_read_again(home, monkeypatch):
    naive = listed_by_reading(home)
    assert [line["name"] for line in lines(home)] == ["c", "b", "a"]
    assert lines(home)[2]["digest"] == read_run(home / "a").ends[-1].digest
    listed()
    refuse_to_read(monkeypatch)
    assert listed() == naive
    assert [run.path for run in naive] == ["runs/a", "runs/b", "runs/c"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: None,
        lambda content: b"",
        lambda content: content[:-40],
        lambda content: content[40:],
        lambda content: b"\xff\n[[[[\n" + content,
        lambda content: content.replace(b'"name":"b"', b'"name":"d"'),
        lambda content: content.replace(b'"version":"', b'"version":"0.'),
        lambda content: content.replace(b'"result":"', b'"result":"\\u001b[31m'),
        lambda content: content.replace(b'"size":', b'"size":1'),
        lambda content: content * 2,
    ],
)
def test_a_damaged_index_is_made_again(home, damage):
    naive, whole = listed_by_reading(home), sorted(map(str, lines(home)))
    content = damage((home / INDEX_NAME).read_bytes())
    (home / INDEX_NAME).unlink()
    if content is not None:
        (home / INDEX_NAME).write_bytes(content)
    assert run_directories(home) == [home / name for name in "abc"]
    assert listed() == naive
    assert sorted(map(str, lines(home))) == whole


def test_nothing_is_believed_of_a_record_that_changed(home):
    listed()
    content = (home / "a" / RECORD).read_bytes().splitlines(keepends=True)
    (home / "a" / RECORD).write_bytes(b"".join(content[:3]))
    shutil.rmtree(home / "b")
    assert Index(home).entry("a") is None
    now = listed()
    assert now == listed_by_reading(home)
    assert now[0].result.startswith("has no end")
    assert [line["name"] for line in lines(home)] == ["c"]
    with RecordWriter(home / "c" / RECORD) as writer:
        writer.write(End(reason="interrupted", trials=0, search_s=0.0))
    assert listed() == listed_by_reading(home)


def test_resuming_finds_the_same_run_with_and_without_an_index(home):
    found = []
    for has_index in (True, False):
        if not has_index:
            (home / INDEX_NAME).unlink()
        for load in ("1kpps", "2kpps", "9kpps"):
            saved = saved_run(None, request(load).fingerprint(), resume=True, what="search", note=lambda text: None)
            found.append(saved and saved.path.parent.name)
    assert found == ["c", "b", None] * 2


def test_a_directory_that_cannot_be_written_is_listed_all_the_same(home):
    naive = listed_by_reading(home)
    (home / INDEX_NAME).unlink()
    (home / INDEX_NAME).mkdir()
    assert listed() == naive


def test_other_directories_are_listed_without_a_file_put_into_them(home, tmp_path):
    shutil.copytree(home / "a", tmp_path / "elsewhere" / "a")
    (run,) = command._all(tmp_path / "elsewhere")
    assert run.result == listed()[0].result
    assert not (tmp_path / "elsewhere" / INDEX_NAME).exists()


def test_runs_of_one_experiment_have_one_digest(home):
    run_search(request("1kpps"), SimulatedMeasurer("sharp"), out=HOME / "again")
    digests = {line["name"]: line["experiment"] for line in lines(home)}
    assert digests["again"] == digests["c"] == digests["a"]
