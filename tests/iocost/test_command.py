"""``brimful iocost`` as people use it."""

import csv
import json
import signal
import subprocess
import time

import pytest
from iocost import results
from support import BRIMFUL, brimful

SPEC = "iocost-tune::name=test,vrate=75-100,rpct=50,wpct=0"


@pytest.fixture
def result(tmp_path):
    return results.write(tmp_path / "result.json.gz", [results.qos_job()], compress=True)


def iocost(tmp_path, *arguments, check=0):
    return brimful("iocost", *arguments, cwd=tmp_path, check=check)


def test_tune_shows_solutions_and_remarks_and_graphs_where_they_are_asked_for(tmp_path, result):
    shown = iocost(tmp_path, "tune", result).stdout
    for part in ("ACME Disk 1", "[bandwidth", "model: rbps=", "interval"):
        assert part in shown
    assert "Graphs (square" not in shown
    assert "Graphs (square" in iocost(tmp_path, "tune", result, "--graphs").stdout


def test_solve_takes_the_job_spec_of_the_benchmark(tmp_path, result):
    before = result.read_bytes()
    shown = iocost(tmp_path, "solve", result, SPEC).stdout
    assert "[test] vrate=75-100, rpct=50\n" in shown
    assert "Graphs" not in shown
    assert result.read_bytes() == before
    content = json.loads(iocost(tmp_path, "solve", "--json", SPEC, result).stdout)
    assert set(content["solutions"]) == {"test"}
    solution = content["solutions"]["test"]
    assert set(solution) == {"target", "scale_factor", "interval", "model", "qos", "info"}
    assert solution["scale_factor"] == 1.0
    assert solution["qos"] == {
        "rpct": 50.0,
        "rlat": solution["qos"]["rlat"],
        "wpct": 0,
        "wlat": 0,
        "min": 75,
        "max": 100,
    }
    assert solution["model"] == results.model()
    assert {"series", "remarks", "source", "unsolved"} <= set(content)


@pytest.mark.parametrize("text", ["x", "1234", "5.", "-1", ""])
def test_an_isolation_percentile_that_is_none_is_refused(tmp_path, result, text):
    shown = iocost(tmp_path, "tune", result, f"--isol-pct={text}", check=2)
    assert "write a percentile, as 5 or 99.9, or mean" in shown.stderr


def test_isolation_is_judged_as_options_say(tmp_path, result):
    def solved(*options):
        record = json.loads(iocost(tmp_path, "tune", result, "--json", "--resamples", "0", *options).stdout)
        return record["series"]["isol"]

    assert solved() == solved("--isol-pct", "5", "--isol-thr", "90%")
    assert solved("--isol-pct", "1") != solved()
    missing = iocost(tmp_path, "tune", result, "--isol-pct", "33", check=2).stderr
    assert "has no isolation percentile 33; it has 01, 05" in missing
    assert "--isol-thr" in iocost(tmp_path, "tune", result, "--isol-thr", "x", check=2).stderr


def test_rules_and_limits_as_options(tmp_path, result):
    options = ["--rule", "name=a,rlat-90=q1", "--metric", "isol-01", "--scale-max", "80%"]
    content = json.loads(iocost(tmp_path, "solve", result, "--json", *options).stdout)
    assert content["solutions"]["a"]["scale_factor"] == 0.8
    assert {"isol-01", "rlat-90-mean"} <= set(content["series"])


def test_a_rule_without_solution_is_exit_code_1_of_solve_alone(tmp_path):
    job = results.qos_job([100.0, 50.0])
    for run in job["result"]["runs"]:
        run["adjusted_mem_offload_factor"] = run["adjusted_mem_offload_delta"] = None
    path = results.write(tmp_path / "weak.json", [job])
    shown = iocost(tmp_path, "solve", path, check=1).stdout
    assert "NO SOLUTION" in shown
    assert "aMOF has no data" in shown
    content = json.loads(iocost(tmp_path, "tune", path, "--json").stdout)
    assert "naive" in content["solutions"]
    assert "aMOF has no data" in content["unsolved"]["bandwidth"]


def test_a_directory_goes_on_after_bad_files(tmp_path, result):
    folder = tmp_path / "many"
    folder.mkdir()
    results.write(folder / "good.json", [results.qos_job()])
    (folder / "bad.json").write_text("[1, 2")
    (folder / "cut.json.gz").write_bytes(result.read_bytes()[:100])
    (folder / "notes.txt").write_text("not a result")
    done = iocost(tmp_path, "tune", folder, "--summary", check=2)
    assert "good" in done.stdout
    errors = done.stderr.splitlines()
    assert errors[0].startswith(f"brimful: error: {folder}/bad.json: ")
    assert errors[1].startswith(f"brimful: error: {folder}/cut.json.gz: the compressed data are damaged or cut off")
    assert errors[2] == "brimful: 2 of 3 files could not be used"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tune", "none.json"], "none.json: cannot read: No such file or directory"),
        (["tune", "{result}", "--metric", "rlta-99"], "did you mean rlat-99?"),
        (["solve", "{result}", "iocost-tune::name=x,vrate=75-100,mof=max"], "has 2 targets"),
        (["tune", "{result}", "--html", "{result}"], "is a result that is read here"),
        (["tune", "{result}", "--series", "series.txt"], "must end in .csv or .parquet"),
        (["solve", SPEC], "no result file was given"),
        (["tune", "."], None),
        (["export", "{result}", "--solution", "isolaton"], "did you mean isolation?"),
        (["export", "{result}", "--format", "hwdb", "--solution", "naive"], "does not go with a hwdb file"),
        (["compare", "{result}"], "nothing to compare with"),
        (["compare", "{result}", "--tolerance", "x"], "--tolerance: ratio 'x'"),
    ],
)
def test_what_is_refused(tmp_path, result, arguments, says):
    place = tmp_path
    if says is None:
        place, says = tmp_path / "empty", "no file in it ends in"
        place.mkdir()
    done = iocost(place, *(text.format(result=result) for text in arguments), check=2)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_files_beside_the_terminal(tmp_path, result):
    iocost(tmp_path, "tune", result, "--record", "r.jsonl", "--series", "s.csv", "--html", "r.html", "--pdf", "r.pdf")
    assert "MOF" in brimful("report", "r.jsonl", cwd=tmp_path, check=0).stdout
    assert brimful("report", "r.jsonl", "--html", "again.html", cwd=tmp_path, check=0)
    assert (tmp_path / "again.html").read_text() == (tmp_path / "r.html").read_text()
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert {row["series"] for row in rows} >= {"MOF", "rlat-99-mean"}
    same = brimful("compare", "r.jsonl", "--against", "r.jsonl", cwd=tmp_path, check=0)
    assert "isolated-bandwidth" in same.stdout
    assert "subject" in brimful("verify", "r.jsonl", cwd=tmp_path, check=2).stderr


def test_a_table_as_parquet(tmp_path, result):
    duckdb = pytest.importorskip("duckdb")
    iocost(tmp_path, "tune", result, "--series", "s.parquet")
    with duckdb.connect() as database:
        count = database.execute(f"SELECT count(*) FROM '{tmp_path / 's.parquet'}' WHERE series = 'MOF'").fetchone()
    assert count == (len(results.VRATES),)


def test_a_full_disk_leaves_what_was_there(tmp_path, result):
    done = iocost(tmp_path, "tune", result, "--record", "/dev/full", check=3)
    assert "/dev/full: cannot write: No space left on device" in done.stderr


def test_exports(tmp_path, result):
    lines = iocost(tmp_path, "export", result, "--solution", "naive").stdout.splitlines()
    assert lines[1] == (
        f"echo '259:0 enable=1 ctrl=user rpct=99.00 rlat={lines[1].split('rlat=')[1].split()[0]} wpct=99.00 "
        f"wlat={lines[1].split('wlat=')[1].split()[0]} min=75.00 max=100.00' > /sys/fs/cgroup/io.cost.qos"
    )
    assert lines[2].endswith("wrandiops=70000' > /sys/fs/cgroup/io.cost.model")
    assert "block:*:name:ACME_Disk_1:fwrev:*:" in iocost(tmp_path, "export", result, "--format", "hwdb").stdout
    exported = json.loads(iocost(tmp_path, "export", result, "--format", "json").stdout)
    solved = json.loads(iocost(tmp_path, "solve", result, "--json", "--resamples", "0").stdout)
    assert exported["solutions"] == solved["solutions"]


def test_rule_sets_and_fits_side_by_side(tmp_path, result):
    specs = ["iocost-tune::name=a,vrate=75-100", "iocost-tune::name=a,rlat-99=q2"]
    shown = iocost(tmp_path, "compare", result, *specs, check=0).stdout
    assert "vrate" in shown
    iocost(tmp_path, "compare", result, "--against-fit", "exact")


def test_show_names_runs_and_holes(tmp_path, result):
    shown = iocost(tmp_path, "show", result).stdout
    assert "12 with data, 0 skipped" in shown
    assert "hole: no aMOF at vrate 120.0, 110.0, 100.0: no size could be protected" in shown
    assert len(json.loads(iocost(tmp_path, "show", "--json", result).stdout)["runs"]) == 12


def test_interrupting_leaves_no_half_file(tmp_path, result):
    command = [*BRIMFUL, "iocost", "tune", str(result), "--resamples", "100000", "--record", "r.jsonl"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as running:
        time.sleep(1.5)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert b"Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.json.gz"]
