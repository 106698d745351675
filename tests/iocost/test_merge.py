"""What belongs together is merged; what does not count is named with its reason."""

import json

import pytest
from brimful.errors import RecordError
from brimful.iocost import merge, read
from brimful.iocost.selectors import MOF
from iocost import results
from support import brimful


def source(tmp_path, name, vrates=results.VRATES, *, base=None, **system):
    job = results.qos_job(vrates, **system)
    if base is not None:
        job["record"]["base_model"] = base
        job["sysinfo"]["iocost"]["model"] = base
    return results.write(tmp_path / name, [job])


def groups(paths, **rules):
    return merge.group_results([result for path in paths for result in read.read_results(path)], merge.Rules(**rules))


def test_points_are_put_together_in_order(tmp_path):
    paths = [source(tmp_path, "a.json", [20.0, 60.0, 100.0]), source(tmp_path, "b.json", [40.0, 60.0, 80.0])]
    (group,) = groups(paths)
    points = merge.merged(group).points(MOF)
    assert [vrate for vrate, _ in points] == [20.0, 40.0, 60.0, 60.0, 80.0, 100.0]


def test_firmware_memory_and_version_keep_results_apart(tmp_path):
    report = results.system()["sysreqs_report"]
    paths = [
        source(tmp_path, "a.json"),
        source(tmp_path, "b.json", sysreqs_report=report | {"scr_dev_fwrev": "F2"}),
        source(tmp_path, "c.json", mem={"profile": 32}),
        source(tmp_path, "d.json", bench_version="2.1.0"),
        source(tmp_path, "e.json"),
    ]
    assert sorted(len(group.sources) for group in groups(paths, multiple=True)) == [1, 1, 1, 2]
    (kept,) = groups(paths)
    assert [each.result.path for each in kept.sources] == [str(paths[0]), str(paths[4])]
    assert len(kept.dropped) == 3
    assert sorted(len(group.sources) for group in groups(paths, multiple=True, ignore_versions=True)) == [1, 1, 3]


def test_missed_requirements_are_rejected_unless_ignored(tmp_path):
    paths = [source(tmp_path, "a.json"), source(tmp_path, "b.json", sysreqs_missed={"Swap": ["too small"]})]
    (group,) = groups(paths)
    assert [each.rejected for each in group.sources] == [
        None,
        "the benchmark missed requirements: Swap",
    ]
    (group,) = groups(paths, ignore_requirements=True)
    assert len(group.accepted) == 2
    with pytest.raises(
        RecordError, match=r"nothing is left to merge of ACME Disk 1 F1: .*b\.json: the benchmark missed"
    ):
        groups(paths[1:])


def test_a_model_far_above_the_others_is_an_outlier_and_one_far_below_is_not(tmp_path):
    speeds = [1000, 1001, 1002, 1003, 1004, 9000]
    paths = [source(tmp_path, f"{speed}.json", base=results.model(rbps=speed)) for speed in speeds]
    (group,) = groups(paths)
    assert [each.rejected is None for each in group.sources] == [True] * 5 + [False]
    assert group.sources[5].rejected == "the model is an outlier: rbps is 9000, the mean 2335"
    assert group.median_model.rbps == 1002
    speeds[5] = 1
    paths[5] = source(tmp_path, "low.json", base=results.model(rbps=1))
    (group,) = groups(paths)
    assert len(group.accepted) == 6


def test_a_merged_file_reads_back_as_it_was_made(tmp_path):
    paths = [source(tmp_path, "a.json", [20.0, 60.0, 100.0]), source(tmp_path, "b.json", base=results.model(rbps=7))]
    before = [path.read_bytes() for path in paths]
    done = brimful("iocost", "merge", *paths, "-o", "m.json.gz", "--json", cwd=tmp_path, check=0)
    # Whatever Python compresses it.
    assert (tmp_path / "m.json.gz").read_bytes()[:10] == bytes.fromhex("1f8b0800000000000203")
    merged = json.loads(done.stdout)
    again = json.loads(brimful("iocost", "tune", "m.json.gz", "--json", cwd=tmp_path, check=0).stdout)
    assert {name: one["model"] for name, one in merged["solutions"].items()} == {
        name: one["model"] for name, one in again["solutions"].items()
    }
    assert merged["series"] == again["series"]
    assert merged["source"]["scale_basis"] == "first"
    assert merged["source"]["base_model"]["rbps"] == results.model()["rbps"]
    assert [path.read_bytes() for path in paths] == before
    median = json.loads(
        brimful("iocost", "merge", *paths, "--scale-basis", "median", "--json", cwd=tmp_path, check=0).stdout
    )
    assert median["source"]["scale_basis"] == "median"


def test_what_was_merged_is_written_for_people(tmp_path):
    done = brimful("iocost", "merge", source(tmp_path, "a.json"), cwd=tmp_path, check=0)
    (line,) = (line for line in done.stdout.splitlines() if "scaled: " in line)
    assert line.startswith(
        f"  scaled: the first base model of the sources: rbps={results.model()['rbps']:.0f} rseqiops="
    )
    assert "[" not in line
