"""The list of runs, and `latest` for the newest one."""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
from brimful.records import RecordWriter
from brimful.runs import run_directories
from support import BRIMFUL, brimful

SIM = "sim:sharp,capacity=1Mpps"
QUICK = ("search", "-m", SIM, "--preset", "quick", "-q")


def test_runs_are_listed_newest_first_with_their_results(tmp_path):
    assert brimful("runs", cwd=tmp_path, check=0).stdout == "no runs in runs\n"
    brimful(*QUICK, cwd=tmp_path, check=0)
    brimful(*QUICK, "--max-load", "500kpps", cwd=tmp_path, check=1)
    listed = json.loads(brimful("runs", "--json", cwd=tmp_path, check=0).stdout)
    assert [run["result"] for run in listed] == [
        "ndr ≥ 500.0 kpps (max-load-is-lower-bound), pdr ≥ 500.0 kpps (max-load-is-lower-bound)",
        listed[1]["result"],
    ]
    assert listed[1]["result"].startswith("ndr 98")
    lines = brimful("runs", cwd=tmp_path, check=0).stdout.splitlines()
    assert len(lines) == 3
    assert all(run["path"] in line for run, line in zip(listed, lines[1:], strict=True))


def test_latest_names_the_newest_run_in_every_command_that_takes_one(tmp_path):
    brimful(*QUICK, cwd=tmp_path, check=0)
    brimful(*QUICK, "--max-load", "500kpps", cwd=tmp_path, check=1)
    newest = json.loads(brimful("runs", "--json", cwd=tmp_path).stdout)[0]["path"]
    for command in (["report"], ["verify"], ["explain"]):
        by_name = brimful(*command, "latest", cwd=tmp_path, check=0).stdout
        assert by_name == brimful(*command, newest, cwd=tmp_path, check=0).stdout
    brimful("compare", "latest", "--against", "latest", cwd=tmp_path, check=0)
    brimful(*QUICK, "--hint", "latest", cwd=tmp_path, check=0)


def test_runs_are_in_the_order_in_which_they_began(tmp_path):
    """The time of a file is that of whoever copied it last."""
    for name, option in (("zz-first", "1kpps"), ("mm-second", "2kpps"), ("aa-third", "3kpps")):
        brimful(*QUICK, "--min-load", option, "--out", f"runs/{name}", cwd=tmp_path, check=0)
    for age, name in enumerate(("aa-third", "mm-second", "zz-first")):
        os.utime(tmp_path / "runs" / name / "run.jsonl", (1e9 + age, 1e9 + age))
    listed = json.loads(brimful("runs", "--json", cwd=tmp_path, check=0).stdout)
    assert [run["path"] for run in listed] == ["runs/aa-third", "runs/mm-second", "runs/zz-first"]
    by_name = brimful("report", "latest", cwd=tmp_path, check=0).stdout
    assert by_name == brimful("report", "runs/aa-third", cwd=tmp_path, check=0).stdout


@pytest.mark.parametrize(
    "first",
    ["", "nonsense", "[]", '{"started": 5}', '{"started": "soon"}', '{"started": "2026-01-01"}', "[" * 9000, "\xff"],
)
def test_a_record_that_does_not_tell_when_it_began_is_as_old_as_its_file(tmp_path, first):
    for name, age in (("old", 1e9), ("new", 2e9)):
        record = tmp_path / name / "run.jsonl"
        record.parent.mkdir()
        record.write_text(first + "\n", encoding="latin-1")
        os.utime(record, (age, age))
    assert [path.name for path in run_directories(tmp_path)] == ["new", "old"]


def test_a_run_without_an_end_says_whether_it_still_runs(tmp_path):
    brimful(*QUICK, "--out", "runs/a", cwd=tmp_path, check=0)
    record = tmp_path / "runs" / "a" / "run.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    trials = [number for number, line in enumerate(lines) if b'"kind":"trial"' in line]
    record.write_bytes(b"".join(lines[: trials[3]]))

    def result():
        (listed,) = json.loads(brimful("runs", "--json", cwd=tmp_path, check=0).stdout)
        return listed["result"]

    assert result() == "has no end: it was killed after 3 trials"
    with RecordWriter(record):
        assert result() == "still runs: 3 trials so far"
    record.write_bytes(lines[0])
    assert result() == "has no end: it was killed after 0 trials"


def test_latest_without_runs_is_a_usage_error(tmp_path):
    assert "no run in runs/ yet" in brimful("report", "latest", cwd=tmp_path, check=2).stderr
    missing = brimful("report", "elsewhere", cwd=tmp_path, check=2)
    assert "no run 'elsewhere'; `brimful runs` lists" in missing.stderr


def test_a_run_that_cannot_be_read_is_listed_with_the_reason(tmp_path):
    (tmp_path / "runs" / "broken").mkdir(parents=True)
    (tmp_path / "runs" / "broken" / "run.jsonl").write_text("nonsense\n")
    assert "run.jsonl:1:" in brimful("runs", cwd=tmp_path, check=0).stdout


def test_the_page_of_runs_links_to_reports(tmp_path):
    brimful(*QUICK, "--out", "runs/a", "--html", "runs/a/report.html", cwd=tmp_path, check=0)
    brimful(*QUICK, "--out", "runs/b", cwd=tmp_path, check=0)
    brimful("runs", "--html", "index.html", cwd=tmp_path, check=0)
    page = (tmp_path / "index.html").read_text()
    assert '<a href="runs/a/report.html">' in page
    assert "runs/b/report.html" not in page
    assert "2 runs, newest first" in page.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("brimful search -m lab:br", "lab:bridge"),
        ("brimful search -m si", "sim:"),
        ("brimful search -m sim:soft", "sim:soft-knee"),
        ("brimful search --preset rf", "rfc2544"),
        ("brimful report la", "latest"),
    ],
)
def test_shells_complete_measurers_presets_and_runs(tmp_path, typed, offered):
    brimful(*QUICK, cwd=tmp_path, check=0)
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_BRIMFUL_COMPLETE": "bash_complete"}
    done = brimful(cwd=tmp_path, environment=asked)
    assert offered in [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_the_page_has_each_measurer_s_values_over_time(tmp_path):
    for capacity, labels in (("1Mpps", 3), ("1.3Mpps", 1)):
        for number in range(labels):
            options = ("--preset", "quick", "-q", "--label", f"night={number}", "--out", f"runs/{capacity}{number}")
            brimful("search", "-m", f"sim:sharp,capacity={capacity}", *options, cwd=tmp_path, check=0)
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.jsonl").write_text("nonsense\n")
    brimful("runs", "--html", "index.html", cwd=tmp_path, check=0)
    text = (tmp_path / "index.html").read_text()
    measured = {part.partition("<")[0]: part for part in text.split('<h2 class="spec">')[1:]}
    assert sorted(measured) == ["cannot be read", "sim:sharp,capacity=1.3Mpps", "sim:sharp,capacity=1Mpps"]
    of_three = measured["sim:sharp,capacity=1Mpps"]
    assert of_three.count("<polyline") == 2
    assert of_three.count("<circle") == 6
    assert "ndr 0\N{NO-BREAK SPACE}%: 3 runs, the newest 98" in of_three.replace(" %", "\N{NO-BREAK SPACE}%")
    assert "<polyline" not in measured["cannot be read"]


def in_a_terminal(arguments, cwd, columns):
    """What a command prints in a terminal of this width, without its colours."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen([*BRIMFUL, *arguments], cwd=cwd, stdout=terminal, env=environment) as process:
        os.close(terminal)
        said = b""
        # The end of a terminal is an error.
        with contextlib.suppress(OSError):
            while part := os.read(main, 65536):
                said += part
    os.close(main)
    assert process.returncode in (0, 4), said
    return re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).splitlines()


@pytest.mark.parametrize(
    "arguments",
    [("runs",), ("compare", "runs/a", "--against", "runs/b"), ("report", "runs/live"), ("report", "runs/a")],
    ids=" ".join,
)
def test_nothing_is_wider_than_a_narrow_terminal(made, arguments):
    lines = in_a_terminal(arguments, made, 80)
    assert [line for line in lines if len(line) > 80] == []
    assert len(lines) > 3


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("narrow")
    for name in ("a", "b"):
        brimful(*QUICK, "--out", f"runs/{name}", cwd=directory, check=0)
    devices = ("-m", SIM, "-m", "sim:sharp,capacity=1.05Mpps", "--control")
    brimful("compare", *devices, "-q", "--budget", "20s", "--out", "runs/live", cwd=directory)
    return directory
