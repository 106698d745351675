"""Results are read whatever is missing or wrong in them: an answer, or one line that says what and where."""

import copy
import gzip
import json
import random

import pytest
from brimful.errors import BrimfulError, RecordError
from brimful.iocost import read, record
from brimful.iocost.analysis import analyse
from brimful.iocost.rules import Task
from brimful.iocost.selectors import MOF, parse
from brimful.report.iocost import export, text
from hypothesis import given, settings
from hypothesis import strategies as st
from iocost import results
from support import ROOT

BAD_VALUES = [None, "x", [], {}, True, -1.0, -7, 0, 1e308, 1e-320, 10**30, float("nan"), float("inf"), 0.5]


METHODS = ("compatible", "exact")


def answer(path, methods=METHODS):
    """Read, analyse and render as `tune` does."""
    for result in read.read_results(path):
        for method in methods:
            analysis = analyse(result, Task(), method=method)
            run = record.to_run(analysis, command=[], started="", resamples=5)
            assert text.render(run)
            assert export.to_json([run])


def leaves(value, place=()):
    """Give the places of all values in a nest of objects and lists."""
    yield place
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from leaves(child, (*place, key))


SMALL = [results.qos_job(results.VRATES[::3])]
PLACES = [place for place in leaves(SMALL) if place and "iolat" not in place]
TABLE_PLACES = [place for place in leaves(SMALL) if "iolat" in place]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@given(
    st.sampled_from(PLACES) | st.sampled_from(TABLE_PLACES),
    st.sampled_from(BAD_VALUES),
    st.booleans(),
    st.sampled_from(METHODS),
)
@settings(max_examples=400)
def test_any_value_anywhere_gives_an_answer_or_one_line(folder, place, bad, remove, method):
    jobs = copy.deepcopy(SMALL)
    parent = jobs
    for key in place[:-1]:
        parent = parent[key]
    if remove:
        del parent[place[-1]]
    else:
        parent[place[-1]] = bad
    check(results.write(folder / "result.json", jobs), (method,))


@given(st.sets(st.integers(0, len(results.VRATES))))
def test_any_runs_may_be_missing(folder, missing):
    job = results.qos_job()
    for part in ("record", "result"):
        runs = job[part]["runs"]
        job[part]["runs"] = [None if number in missing else run for number, run in enumerate(runs)]
    path = results.write(folder / "result.json", [job])
    (result,) = read.read_results(path)
    assert len(result.runs) == sum(number not in missing for number in range(1, len(results.VRATES) + 1))
    answer(path)


@given(st.integers(0, 2**32), st.integers(0, 40))
def test_damaged_bytes_give_an_answer_or_one_line(folder, seed, count):
    generator = random.Random(seed)
    content = bytearray(json.dumps(SMALL).encode())
    for _ in range(count):
        content[generator.randrange(len(content))] = generator.randrange(256)
    path = folder / "damaged.json"
    path.write_bytes(content)
    check(path)


@given(st.floats(0, 1))
@settings(max_examples=30)
def test_a_cut_off_file_is_told(folder, share):
    whole = gzip.compress(json.dumps(SMALL).encode())
    path = folder / "cut.json.gz"
    path.write_bytes(whole[: int(share * (len(whole) - 1))])
    with pytest.raises(RecordError, match=r"cut\.json\.gz: "):
        read.read_results(path)


def check(path, methods=METHODS):
    problem = ""
    try:
        answer(path, methods)
    except BrimfulError as error:
        problem = str(error)
    assert not problem or problem.startswith(str(path))
    assert "\n" not in problem


def test_compression_is_told_by_content(tmp_path):
    plain = results.write(tmp_path / "plain.json.gz", SMALL)
    packed = results.write(tmp_path / "packed.json", SMALL, compress=True)
    before = packed.read_bytes()
    assert read.read_results(plain)[0].points(MOF) == read.read_results(packed)[0].points(MOF)
    assert packed.read_bytes() == before


def test_any_percentile_of_the_tables_is_a_series(tmp_path):
    (result,) = read.read_results(results.write(tmp_path / "r.json", SMALL))
    for name in ("rlat-90-mean", "wlat-99.999-99.9", "rlat-00-cum", "isol-01", "isol-mean", "missing"):
        assert len(result.points(parse(name))) == len(results.VRATES[::3]), name
    assert result.points(parse("missing"))[0] == (30.0, 0.01)


def test_a_benchmark_that_is_still_going_on(tmp_path):
    job = results.qos_job()
    job["record"]["inc_runs"], job["record"]["runs"] = job["record"]["runs"][:6], []
    job["result"] = None
    (result,) = read.read_results(results.write(tmp_path / "r.json", [job]))
    assert result.unfinished
    assert [vrate for vrate, _ in result.points(MOF)] == [80.0, 90.0, 100.0, 110.0, 120.0]
    assert result.points(MOF)[0][1] == pytest.approx(1.6)
    answer(tmp_path / "r.json")


@pytest.mark.skipif(not results.EXPECTED, reason="the published results are not here; set BRIMFUL_SHARED")
def test_what_is_derived_while_it_goes_on_is_what_it_comes_to():
    """A finished result read as an unfinished one has the same memory offloading."""
    expected = results.read_expected(results.EXPECTED[-1])
    (whole,) = read.read_results(results.raw_path(expected))
    going_on = [read.Run(run.vrate, run.record, None) for run in whole.runs]
    for run, other in zip(whole.runs, going_on, strict=True):
        for name in ("MOF", "aMOF", "aMOF-delta"):
            ours = read._value(other, parse(name), "05")
            assert ours == pytest.approx(read._value(run, parse(name), "05"), rel=1e-6)


@pytest.mark.parametrize(
    ("jobs", "says"),
    [
        ({}, "Expected `array`, got `object`"),
        ([], "holds nothing"),
        ([{"spec": {"kind": "storage"}}], "holds storage, but no job of kind iocost-qos or iocost-tune"),
        ([results.qos_job(bench_version="2.0.3 x")], "job 0 (iocost-qos) was made by version 2.0.3"),
        ([{"spec": {"kind": "iocost-tune"}}], "the job iocost-tune has no result"),
    ],
)
def test_what_is_no_result_is_told_in_one_line(tmp_path, jobs, says):
    path = results.write(tmp_path / "r.json", jobs)
    with pytest.raises(RecordError) as caught:
        read.read_results(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_wrong_type_names_job_and_field(tmp_path):
    job = results.qos_job()
    job["record"]["runs"][2]["ovr"]["min"] = "fast"
    with pytest.raises(RecordError, match=r"job 0 \(iocost-qos\), record: .*got `str` - at `\$\.runs\[2\]\.ovr\.min`"):
        read.read_results(results.write(tmp_path / "r.json", [job]))


@pytest.mark.parametrize("path", sorted((ROOT / "fuzz/corpus/result").iterdir()), ids=lambda path: path.name)
def test_the_corpus_of_the_fuzzer(path):
    check(path)
