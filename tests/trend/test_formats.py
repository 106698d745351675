"""Files of other tools, each as its tool writes it."""

import copy
import gzip
import json
import math

import pytest
from bad_input import one_line
from brimful.errors import UsageError
from brimful.records import read_run
from brimful.report.csit_uti import render
from brimful.trend.formats import FORMATS, read
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

RATE = {"value": 5e6, "unit": "pps"}
FILES = {
    "csit-uti": {
        "test_type": "ndrpdr",
        "test_name_long": "10ge2p1x710-64b-ethip4-ndrpdr",
        "start_time": "2026-01-02T03:04:05.000000Z",
        "hosts": ["10.0.0.1"],
        "dut_type": "vpp",
        "dut_version": "24.10-rc0~18",
        "tg_version": "v3.03",
        "passed": True,
        "message": "",
        "result": {
            "type": "ndrpdr",
            "ndr": {"lower": {"rate": RATE}, "upper": {"rate": RATE}},
            "pdr": {"lower": {"rate": {"value": 6e6, "unit": "pps"}}, "upper": {"rate": RATE}},
        },
    },
    "asv": {
        "version": 2,
        "commit_hash": "0123456789abcdef",
        "date": 1767323045000,
        "env_name": "virtualenv-py3.11",
        "params": {"machine": "lab1"},
        "result_columns": ["result", "params", "version", "started_at"],
        "results": {
            "bench.time_plain": [[0.25], [], "1", 1767323045000],
            "bench.time_each": [[0.5, None], [["1", "2"]], "1", 1767323045000],
            "bench.time_broken": [None, [["1"]], "1"],
        },
    },
    "jmh": [
        {"benchmark": "org.Bench.send", "mode": "thrpt", "params": {"size": "64"}, "jdkVersion": "21.0.1",
         "primaryMetric": {"score": 5.0, "scoreError": "NaN", "scoreUnit": "ops/ms",
                           "rawData": [[4.0, 5.0], [5.5, 6.5]]}},
        {"benchmark": "org.Bench.send", "mode": "sample", "primaryMetric": {"score": 7.0, "scoreUnit": "us/op"}},
    ],
    "fio": {
        "fio version": "fio-3.33", "timestamp": 1767323045, "timestamp_ms": 1767323045000,
        "jobs": [{"jobname": "job", "error": 0,
                  "read": {"total_ios": 9, "iops": 1234.5, "clat_ns": {"mean": 5000.0}},
                  "write": {"total_ios": 0, "iops": 0.0, "clat_ns": {"mean": 0.0}}}],
    },
    "iperf3": {
        "start": {"version": "iperf 3.12", "timestamp": {"timesecs": 1767323045}, "connecting_to": {"host": "dut"},
                  "test_start": {"protocol": "TCP", "reverse": 1}},
        "end": {"sum_sent": {"bits_per_second": 9.5e9}, "sum_received": {"bits_per_second": 9.4e9}},
    },
    "hyperfine": {"results": [{"command": "sleep 0.1", "mean": 0.1, "median": 0.101, "times": [0.1, 0.101, 0.104]}]},
    "pytest-benchmark": {
        "machine_info": {"node": "lab1", "python_version": "3.11.7"},
        "commit_info": {"id": "0123456789abcdef", "branch": "main"},
        "benchmarks": [{"fullname": "test_a.py::test_a", "stats": {"median": 2e-3, "mean": 2.1e-3, "rounds": 9}}],
        "datetime": "2026-01-02T03:04:05+00:00",
        "version": "5.1.0",
    },
    "google-benchmark": {
        "context": {"date": "2026-01-02T03:04:05+00:00", "host_name": "lab1", "library_version": "v1.9.1"},
        "benchmarks": [
            {"name": "BM_a", "run_name": "BM_a", "run_type": "iteration", "real_time": 10.0, "time_unit": "us"},
            {"name": "BM_a", "run_name": "BM_a", "run_type": "iteration", "real_time": 12.0, "time_unit": "us"},
            {"name": "BM_a_median", "run_name": "BM_a", "run_type": "aggregate", "aggregate_name": "median",
             "real_time": 11.0, "time_unit": "us"},
            {"name": "BM_b_median", "run_name": "BM_b", "run_type": "aggregate", "aggregate_name": "median",
             "real_time": 7.0, "time_unit": "ms"},
            {"name": "BM_c", "run_name": "BM_c", "run_type": "iteration", "error_occurred": True},
        ],
    },
}  # fmt: skip
AT = 1767323045.0
RATES = {"ndr": 5e6, "pdr": 6e6}
VALUES = {
    "csit-uti": ("24.10-rc0~18", AT, {f"vpp 10ge2p1x710-64b-ethip4-ndrpdr {goal}": at for goal, at in RATES.items()}),
    "asv": ("0123456789abcdef", AT, {
        "bench.time_plain": 0.25, "bench.time_each(1)": 0.5, "bench.time_each(2)": None, "bench.time_broken(1)": None
    }),
    "hyperfine": ("given", None, {"sleep 0.1": 0.101}),
    "jmh": ("given", None, {"org.Bench.send thrpt size=64": 5250.0, "org.Bench.send sample": 7e-6}),
    "fio": ("given", AT, {"job latency of read": 5e-6, "job read": 1234.5}),
    "iperf3": ("given", AT, {"dut TCP reverse": 9.4e9}),
    "pytest-benchmark": ("0123456789abcdef", AT, {"test_a.py::test_a": 2e-3}),
    "google-benchmark": ("given", AT, {"BM_a": 11e-6, "BM_b": 7e-3, "BM_c": None}),
}  # fmt: skip
UNITS = {"org.Bench.send thrpt size=64": "/s", "job read": "/s", "dut TCP reverse": "bit/s"}


def name_of(point):
    return " ".join(point.key[part] for part in ("name", "device", "size", "goal") if part in point.key)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_files_are_read(tmp_path, name, packed):
    content = json.dumps(FILES[name]).encode()
    (tmp_path / "file").write_bytes(gzip.compress(content) if packed else content)
    version, at, values = VALUES[name]
    found = read(tmp_path / "file", name, "given" if version == "given" else None)
    assert (found.version, found.at) == (version, at)
    for said, value in values.items():
        (point,) = [point for point in found.points if name_of(point).startswith(said)]
        assert point.value == (None if value is None else pytest.approx(value))
        assert (point.problem is None) == (value is not None)
        unit = "pps" if name == "csit-uti" else UNITS.get(said, "s")
        assert (point.worse, point.unit) == ("higher" if unit == "s" else "lower", unit)
    assert len(found.points) == len(values)
    assert found.source == read(tmp_path / "file", name, version).source


def test_parameters_of_a_scan_are_series_of_their_own(tmp_path):
    results = [{"command": "copy", "parameters": {"size": size}, "times": [0.1]} for size in ("1", "2")]
    (tmp_path / "file").write_text(json.dumps({"results": results}))
    assert [name_of(point) for point in read(tmp_path / "file", "hyperfine", "1").points] == [
        "copy size=1",
        "copy size=2",
    ]


def test_a_machine_may_be_named(tmp_path):
    (tmp_path / "file").write_text(json.dumps(FILES["pytest-benchmark"]))
    found = read(tmp_path / "file", "pytest-benchmark", None, machine="ci")
    assert [point.key["machine"] for point in found.points] == ["ci"]
    assert found.source != read(tmp_path / "file", "pytest-benchmark", None).source


def test_notes_before_a_document_are_left_out(tmp_path):
    (tmp_path / "file").write_text("note: both iodepth >= 1\n" + json.dumps(FILES["fio"]))
    assert len(read(tmp_path / "file", "fio", "1").points) == 2


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("iperf3", {"start": {"connecting_to": {"host": "dut"}}, "error": "unable to\nconnect"}, "unable to connect"),
        (
            "fio",
            {"jobs": [{"jobname": "j", "error": 5, "read": {"total_ios": 1, "iops": 9}}]},
            "fio ended with error 5",
        ),
    ],
)
def test_a_tool_that_failed_gives_no_value(tmp_path, name, content, problem):
    (tmp_path / "file").write_text(json.dumps(content))
    assert [(point.value, point.problem) for point in read(tmp_path / "file", name, "1").points] == [(None, problem)]


def test_datagrams_that_were_lost_do_not_count(tmp_path):
    end = {"sum": {"bits_per_second": 1e9, "lost_percent": 25.0}}
    (tmp_path / "file").write_text(json.dumps({**FILES["iperf3"], "end": end}))
    assert [point.value for point in read(tmp_path / "file", "iperf3", "1").points] == [pytest.approx(0.75e9)]


def test_repeats_in_a_file_are_a_value_with_an_error(tmp_path):
    (tmp_path / "file").write_text(json.dumps(FILES["hyperfine"]))
    (point,) = read(tmp_path / "file", "hyperfine", "1").points
    assert 0.01 < point.error < 0.02


@pytest.mark.parametrize(
    ("result", "values"),
    [
        ({"type": "mrr", "receive_rate": {"rate": {"avg": 2e6, "unit": "pps", "values": [1e6, 2e6, 3e6]}}}, [2e6]),
        ({"type": "mrr", "receive_rate": {"rate": {"avg": 2e6, "unit": "pps"}}}, [2e6]),
        ({"type": "soak", "critical_rate": {"lower": {"rate": RATE}, "upper": {"rate": RATE}}}, [5e6]),
        ({"type": "unknown"}, [None, None]),
    ],
)
def test_other_results_of_csit_are_read(tmp_path, result, values):
    (tmp_path / "file").write_text(json.dumps({**FILES["csit-uti"], "result": result}))
    assert [point.value for point in read(tmp_path / "file", "csit-uti", None).points] == values


def test_a_test_of_csit_that_failed_has_no_value(tmp_path):
    (tmp_path / "file").write_text(json.dumps({**FILES["csit-uti"], "passed": False, "message": "no\nlink"}))
    found = read(tmp_path / "file", "csit-uti", None)
    assert [(point.value, point.problem) for point in found.points] == [(None, "no link")] * 2


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "null", '{"results": 1}', '{"benchmarks": [{}], "context": 1}', "\x1f\x8b"]
)
def test_what_is_of_another_form_is_refused_in_a_line(tmp_path, name, content):
    (tmp_path / "file").write_bytes(content.encode("latin-1"))
    with pytest.raises(UsageError, match=rf"file: (is no file of {name}|has no results|does not say)") as caught:
        read(tmp_path / "file", name, "1")
    assert len(str(caught.value).splitlines()) == 1


def test_what_brimful_writes_for_csit_is_read(tmp_path):
    run = read_run(ROOT / "tests" / "schema_1" / "search")
    (tmp_path / "file").write_bytes(render(run))
    found = read(tmp_path / "file", "csit-uti", "1")
    assert [(point.key["goal"], point.value) for point in found.points] == [
        (result.goal, result.lower_bound) for result in run.goal_results
    ]


def test_a_file_without_a_version_needs_one(tmp_path):
    (tmp_path / "file").write_text(json.dumps(FILES["hyperfine"]))
    with pytest.raises(UsageError, match="does not say the version that was measured; give it with --version"):
        read(tmp_path / "file", "hyperfine", None)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_whatever_stands_in_a_file_is_read_or_refused(tmp_path_factory, name, data):
    """One part of a good file, at any depth, is replaced by anything."""
    content = copy.deepcopy(FILES[name])
    place = content
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[key] = data.draw(JSON)
    path = tmp_path_factory.mktemp("file") / "file"
    path.write_text(json.dumps(content))
    try:
        found = read(path, name, "1")
    except UsageError as error:
        one_line(error)
        return
    for point in found.points:
        assert point.value is None or 0 < point.value < math.inf
        assert 0 <= point.error < math.inf
