"""Options and files that cannot be: one line and exit code 2, before anything is built, opened or measured."""

import gzip
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time

import msgspec
import pytest
from attacking import ROUNDS, dice, outcome, refused
from brimful.cli.iocost import inputs
from brimful.errors import RecordError, RecordWriteError, UsageError
from brimful.iocost.read import read_bytes
from brimful.measurers import tester
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import RecordWriter, read_run
from brimful.throughput.manager import SearchRequest, run_search
from support import NDR_AND_PDR, ROOT, brimful

LABEL = "--label=who=me\x1b[2J"
WRONG = [
    ("search",),
    ("search", "-m", ""),
    ("search", "-m", "sim:"),
    ("search", "-m", "sim:nothing"),
    ("search", "-m", "sim:sharp,capacity=fast"),
    ("search", "-m", "replay:nowhere"),
    ("search", "-m", "cmd:"),
    ("search", "-m", "cmd:'"),
    ("search", "-m", "cmd:/nowhere/at/all"),
    ("search", "-m", "sim:sharp", "--max-load", "many"),
    ("search", "-m", "sim:sharp", "--max-load", "-5"),
    ("search", "-m", "sim:sharp", "--max-load", "99Tpps"),
    ("search", "-m", "sim:sharp", "--min-load", "2Mpps", "--max-load", "1Mpps"),
    ("search", "-m", "sim:sharp", "--goal", "loss=2"),
    ("search", "-m", "sim:sharp", "--goal", "loss=0,trial=0s"),
    ("search", "-m", "sim:sharp", "--goal", "loss=0,width=1e-30"),
    ("search", "-m", "sim:sharp", "--budget", "0s"),
    ("search", "-m", "sim:sharp", "--on-invalid", "retry:0"),
    ("search", "-m", "sim:sharp", "--assert", "ndr >"),
    ("search", "-m", "sim:sharp", LABEL),
    ("search", "-m", "sim:sharp", "--label", "x"),
    ("search", "-m", "sim:sharp", "--shard", "1/2"),
    ("search", "-m", "sim:sharp", "--repeat", "2", "--shard", "3/2"),
    ("search", "-m", "sim:sharp", "--repeat", "2", "--shard", "1/2", "--times-of", "nowhere"),
    ("merge",),
    ("merge", "nowhere"),
    ("delay", "-m", "sim:sharp", "--load", "1kpps"),
    ("verify",),
    ("verify", "nowhere"),
    ("explain", "nowhere"),
    ("report", "nowhere"),
    ("compare", "nowhere", "--against", "nowhere"),
    ("iocost", "show", "nowhere"),
    ("iocost", "show"),
    ("lab", "run", "nothing", "--", "true"),
    ("search", "-m", "sim:sharp", "--warm-up", "1e20s"),
    ("search", "-m", "sim:sharp", "--sizes", "64,imx"),
    ("search", "-m", "sim:sharp", "--find", "loss", "--trial", "9" * 25),
    ("search", "-m", "sim:sharp", "--find", "recovery", "--reset-command", ""),
    ("delay", "-m", "tester:no1,no2", "--load", "1kpps", "--timeout", "9" * 25),
    ("rfc2544", "-m", "sim:sharp", "--reset-command", " "),
    ("rfc2889", "-m", "nonsense"),
    ("rfc2889", "-m", "tester:no1,no2,no3", "--flush-command", ""),
    ("bisect", "-m", "sim:sharp", "--good", "1", "--bad", "2", "--prepare", ""),
    ("trend", "add", "store", "run", "--unit", "pps"),
    ("trend", "add", "", "run"),
    ("trend", "check", "store", "--false-alarms", "nan"),
    ("trend", "page", "store", ""),
    ("iocost", "measure", "", "--dry-run"),
    ("iocost", "measure", "/dev/null", "--dry-run", "--destroy-data", "/dev/zero"),
    ("iocost", "measure", "lab:disk", "--dry-run", "--working-set", "0"),
    ("iocost", "measure", "lab:disk", "--dry-run", "--html", ""),
    ("iocost", "show", ""),
    ("iocost", "tune", ""),
    ("iocost", "compare", "", ""),
    ("discards", "ingest", "--store", "store", ""),
    ("discards", "tests", "--store", "store", ""),
    ("discards", "synth", ""),
    ("compare-strategies", "--first-seed", "9" * 25),
]


@pytest.mark.parametrize("arguments", WRONG, ids=lambda words: " ".join(words).encode("unicode_escape").decode())
def test_what_cannot_be_is_refused_in_one_line(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    line = refused(*arguments)
    assert line.rstrip("\n").isprintable()
    assert "Traceback" not in line
    assert list(tmp_path.iterdir()) == []


def test_names_of_several_lines_are_said_in_one(tmp_path):
    for options in (("search", "-m", "sim:sharp", "--profile", "no\n\x1b[2Jfile"), ("report", "no\n\x1b[2Jrun")):
        (line,) = brimful(*options, cwd=tmp_path, check=2).stderr.splitlines()
        assert line.isprintable()


def test_options_by_chance_are_refused_or_obeyed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = dice("options")
    values = ["", "0", "-1", "1e309", "nan", "5%", "1s", "1Mpps", "x=y", "\x1b[2J", "ü", "--", "a" * 5000, ",", "="]
    options = ["--goal", "--preset", "--strategy", "--min-load", "--max-load", "--hint", "--budget", "--warm-up",
               "--on-invalid", "--on-error", "--label", "--assert", "--sizes", "--repeat", "--frame-size",
               "--shard"]  # fmt: skip
    for number in range(60 * ROUNDS):
        words = [word for option in chance.sample(options, 2) for word in (option, chance.choice(values))]
        code, _, errors = outcome(
            "search", "-m", "sim:sharp,capacity=1Mpps", "--quiet", "--out", f"run-{number}", *words
        )
        assert code in (0, 1, 2), words
        if code == 2:
            assert len(errors.splitlines()) == 1, words


def test_a_lab_is_not_built_for_a_delay_at_no_load(monkeypatch):
    monkeypatch.setattr(tester, "open_lab", lambda *_, **__: pytest.fail("a lab was built"))
    assert "give the loads to measure at" in refused("delay", "-m", "lab:bridge")


class Limited(SimulatedMeasurer):
    """A simulated system whose tester can be calibrated and does not promise a load."""

    def describe(self):
        return msgspec.structs.replace(super().describe(), max_load=None, can_calibrate=True)

    def calibrate(self):
        return 500e3

    def measure(self, load, duration_s, *, stop_above=None):
        pytest.fail("a trial was made")


def test_a_load_far_above_what_the_tester_reaches_is_not_tried(tmp_path):
    request = SearchRequest(measurer="sim:sharp", goals=NDR_AND_PDR, strategy="straddle", max_load="99Tpps")
    with pytest.raises(UsageError, match=r"far above what the tester alone reaches, 500\.0 kpps"):
        run_search(request, Limited("sharp"), out=tmp_path / "run")


def test_a_full_disk_is_no_wrong_usage(tmp_path):
    source = read_run(ROOT / "schemas" / "examples" / "regular.jsonl")
    with RecordWriter(tmp_path / "run.jsonl") as writer:
        writer._file.close()
        writer._file = Full()
        with pytest.raises(RecordWriteError, match="make room") as caught:
            writer.write(source.run)
    assert caught.value.exit_code == 3


class Full(io.BytesIO):
    """A file on a disk without room."""

    def write(self, _):
        raise OSError(28, "No space left on device")


def test_an_interrupt_while_python_imports_is_no_traceback(tmp_path):
    # An interrupt within the import of click, which every command needs.
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    finished = subprocess.run(
        [sys.executable, "-m", "brimful", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert finished.returncode == 130
    assert finished.stderr == "brimful: interrupted\n"


def bomb(path, size):
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(size >> 20):
            file.write(b" " * (1 << 20))


def test_a_file_that_unpacks_to_fill_the_memory_is_refused_early(tmp_path):
    bomb(tmp_path / "result.json.gz", 600 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RecordError, match="MiB uncompressed; is it a benchmark result"):
        read_bytes(tmp_path / "result.json.gz")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10


def test_results_of_several_pieces_and_members_are_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("brimful.iocost.read._PIECE_BYTES", 1000)
    text = json.dumps(list(range(5000))).encode()
    path = tmp_path / "result.json.gz"
    path.write_bytes(gzip.compress(text[:9000]) + gzip.compress(text[9000:]))
    assert read_bytes(path) == text
    path.write_bytes(gzip.compress(text)[:-20])
    with pytest.raises(RecordError, match="damaged or cut off"):
        read_bytes(path)


def test_a_whole_system_is_no_directory_of_results(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "_MOST_FILES", 50)
    looked_at = []
    walk = os.walk
    monkeypatch.setattr(os, "walk", lambda top: (looked_at.append(place) or place for place in walk(top)))
    assert "name the directory of the results" in refused("iocost", "show", "/usr")
    assert len(looked_at) <= 51


def test_a_search_that_waits_is_ended_by_one_interrupt(tmp_path):
    (tmp_path / "waits.sh").write_text("echo $$ > pid; exec sleep 1000")
    process = subprocess.Popen(
        [sys.executable, "-m", "brimful", "search", "-m", "cmd:sh waits.sh", "--quiet"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "brimful: interrupted\n")
