"""A cluster of two workers on this machine: its reports are DuckDB's, and nothing of it stays behind."""

import contextlib
import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import written
from support import BRIMFUL, ROOT

PAGE = (ROOT / "docs" / "how-to" / "discards-warehouse.md").read_text()
COMMANDS = re.findall(r"^brimful discards (?:report|affected) .*--engine spark --master spark:.*$", PAGE, re.MULTILINE)
SCRIPT = ROOT / "tools" / "spark-cluster"
needs_spark = [
    # Quick twins: test_engines.py asks DuckDB the same; that a cluster cannot start is tested below.
    pytest.mark.slow,
    # A cluster on a busy machine takes ten times as long as on a quiet one.
    pytest.mark.timeout(2400),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
]


@contextlib.contextmanager
def cluster(scratch, memory="1g"):
    """Have one; give the name of its master and the process of the script."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    command = [sys.executable, SCRIPT, memory]
    environment = os.environ | {"TMPDIR": str(scratch)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("spark://127.0.0.1:"), process.stderr.read()
        yield url, process
    finally:
        process.terminate()
        process.communicate(timeout=120)


def descendants(process):
    """Everything that a process has started and that still runs."""
    children = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (directory / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(directory.name))
    found, left = [], [process]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def run(*arguments, cwd, timeout=1000):
    return subprocess.run(
        [*BRIMFUL, "discards", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def alive(processes):
    return [process for process in processes if Path(f"/proc/{process}").exists()]


class TestCluster:
    pytestmark = needs_spark

    def test_report_and_list_are_those_of_duckdb(self, tmp_path):
        written.write_store(tmp_path / "store", sites=("01", "a/b 1"), days=6, bins=500, tests=150, inbound=True)
        windows = ["--before", "2018-02-01..2018-02-03", "--after", "2018-02-04..2018-02-06"]
        (tmp_path / "cluster").mkdir()
        with cluster(tmp_path / "cluster") as (url, process):
            # As the page has them.
            report, listed = (shlex.split(line.replace("spark://127.0.0.1:7077", url))[2:] for line in COMMANDS)
            assert report[:3] == ["report", "--store", "store"]
            spark = report[3:]
            assert listed[1:] == report[1:]
            reports = []
            for options in ([], spark):
                done = run("report", "--store", "store", "--json", *windows, *options, cwd=tmp_path)
                assert done.returncode == 0, done.stderr
                reports.append(json.loads(done.stdout))
                for name in ("run_id", "started"):
                    reports[-1].pop(name)
            assert reports[1] == reports[0]
            assert len(reports[0]["findings"]) > 5
            lists = []
            for name, options in (("duckdb.csv", []), ("spark.csv", spark)):
                done = run("affected", "--store", "store", "--out", name, *options, cwd=tmp_path)
                assert done.returncode == 0, done.stderr
                with (tmp_path / name).open() as file:
                    lists.append((done.stdout, sorted(csv.reader(file))))
            assert lists[1] == lists[0]
            assert len(lists[0][1]) > 10
            started = descendants(process.pid)
            # The master and two workers.
            assert len(started) >= 3
        assert process.returncode == 0
        assert alive(started) == []
        assert list((tmp_path / "cluster").iterdir()) == []

    def test_what_it_started_ends_also_if_it_is_killed(self, tmp_path):
        with cluster(tmp_path) as (_, process):
            started = descendants(process.pid)
            process.send_signal(signal.SIGKILL)
            end_s = time.monotonic() + 120
            while alive(started) and time.monotonic() < end_s:
                time.sleep(0.2)
            assert alive(started) == []


@pytest.mark.parametrize(
    ("interpreter", "environment", "message"),
    [
        ([], {"PATH": "/nowhere", "JAVA_HOME": None}, "Java is not installed; install Java 17 or later"),
        ([], {"JAVA_HOME": "/nowhere"}, "Java is not installed; install Java 17 or later"),
        (["-I", "-S"], {"JAVA_HOME": "JAVA"}, "PySpark is not installed for "),
    ],
)
def test_what_is_not_installed_is_one_line(tmp_path, interpreter, environment, message):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    changed = os.environ | {key: str(tmp_path) if value == "JAVA" else value for key, value in environment.items()}
    done = subprocess.run(
        [sys.executable, *interpreter, SCRIPT],
        env={key: value for key, value in changed.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"spark-cluster: error: {message}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["1"], ["much"], ["1g", "2g"]])
def test_an_amount_that_is_none_is_one_line(arguments):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("usage: ")


def test_a_master_that_does_not_answer_is_one_line(tmp_path):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    written.write_store(tmp_path / "store", bins=10, tests=5)
    done = run("report", "--store", "store", "--engine", "spark", "--master", "spark://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "brimful: error: Spark cannot start on spark://127.0.0.1:9: is this "
    )
    assert "Traceback" not in done.stderr
