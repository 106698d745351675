"""Situations that users of the io.cost benchmark reported in public trackers."""

import copy
import json

import pytest
from iocost import results
from support import brimful


def tuned(tmp_path, job, *arguments, check=0):
    path = results.write(tmp_path / "result.json", [job])
    return brimful("iocost", *arguments, path, cwd=tmp_path, check=check)


@pytest.fixture
def job():
    return results.qos_job()


def solutions(tmp_path, job):
    return json.loads(tuned(tmp_path, job, "tune", "--json").stdout)["solutions"]


def test_solutions_are_what_the_kernel_takes(tmp_path, job):
    found = solutions(tmp_path, job)
    assert len(found) == 8
    for solution in found.values():
        qos = solution["qos"]
        assert 1 <= qos["min"] <= qos["max"] <= 10_000
        assert all(0 <= qos[name] <= 100 for name in ("rpct", "wpct"))
        assert all(isinstance(number, int) and number > 0 for number in solution["model"].values())


def test_a_result_of_a_benchmark_that_did_not_write_its_version_is_read(tmp_path, job):
    old = copy.deepcopy(job)
    del old["sysinfo"]["bench_version"]
    assert solutions(tmp_path, old) == solutions(tmp_path, job)


def test_a_run_that_failed_leaves_the_others(tmp_path, job):
    job["record"]["runs"][3] = job["result"]["runs"][3] = None
    found = solutions(tmp_path, job)
    assert len(found) == 8
    assert found["bandwidth"]["scale_factor"] == pytest.approx(0.82, abs=0.01)


def test_what_was_saved_of_a_benchmark_that_did_not_end_is_used(tmp_path, job):
    record = job["record"]
    record["inc_runs"], record["runs"], job["result"] = record["runs"][1:6], [], None
    found = tuned(tmp_path, job, "export").stdout
    assert "bandwidth" in found
    assert "naive" not in found, "no latency was derived yet: it would throttle by 0"


@pytest.mark.parametrize(
    ("format_", "said"),
    [
        ("sysfs", "# nvme0n1 ACME Disk 1: no solution can be set; brimful iocost tune says why\n"),
        ("hwdb", "# ACME Disk 1: no solution\n"),
    ],
)
def test_where_every_run_failed_nothing_can_be_set_and_that_is_said(tmp_path, job, format_, said):
    job["result"]["runs"] = [None] * len(job["result"]["runs"])
    done = tuned(tmp_path, job, "export", "--format", format_, check=1)
    assert done.stderr == "brimful: error: no result has a solution for a device; what was written says why\n"
    exported = done.stdout
    assert exported.endswith(said)
    assert "IOCOST" not in exported
    assert "echo" not in exported
    assert "do not set it" in " ".join(tuned(tmp_path, job, "tune").stdout.split())
