"""Runs that are killed anywhere: what was measured is there, and a resumed run is the uninterrupted one."""

import shutil
import signal
import subprocess
import time

import pytest
from attacking import ROUNDS, dice, outcome
from brimful.records import read_run
from brimful.throughput.goals import PRESETS
from brimful.throughput.verify import open_log, verify
from support import BRIMFUL

SYSTEMS = {
    "soft-knee": "sim:soft-knee,capacity=1Mpps,seed=7",
    "noisy": "sim:noisy,capacity=1Mpps,seed=3",
    "stalls": "sim:stalls,capacity=1Mpps,seed=5",
    "overhead": "sim:soft-knee,capacity=1Mpps,seed=2,overhead=1.234567891s,rest=0.333333333s",
}
ODD = {
    "sevenths": ("--goal", "loss=0,trial=0.142857143s,sum=2.9s,exceed=50%,initial=0.0123456789s"),
    "primes": (
        "--goal",
        "loss=0,trial=1.000000007s,sum=21s,exceed=50%",
        "--goal",
        "loss=0.5%,trial=1.000000007s,sum=21s",
    ),
    "warm-up": ("--preset", "ndrpdr-2018", "--warm-up", "2.718281828s", "--early-termination"),
}
"""Goals whose trials last no whole microseconds."""
SEARCHES = {name: ("--preset", name) for name in PRESETS} | ODD


def found(path):
    file = read_run(path)
    return file.trials, file.bounds, file.goal_results, file.ends[-1].search_s


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("goals", SEARCHES)
def test_a_resumed_search_equals_the_uninterrupted_one(tmp_path, goals, system):
    search = ("search", "-m", SYSTEMS[system], *SEARCHES[goals], "--quiet")
    outcome(*search, "--out", tmp_path / "whole")
    whole = found(tmp_path / "whole")
    content = (tmp_path / "whole" / "run.jsonl").read_bytes()
    chance = dice("kill", goals, system)
    for number in range(3 * ROUNDS):
        cut = tmp_path / f"cut-{number}"
        cut.mkdir()
        # Within the first line nothing was measured yet, and it is the run's own time of day.
        kept = chance.randrange(content.index(b"\n") + 1, len(content))
        (cut / "run.jsonl").write_bytes(content[:kept])
        outcome(*search, "--out", cut, "--resume")
        assert found(cut) == whole, kept
        assert verify(open_log(cut, None)).findings == []


@pytest.mark.parametrize("kept", [10, 11, 12, 14])
def test_trials_of_a_third_of_a_second_are_resumed_to_the_nanosecond(tmp_path, kept):
    search = ("search", "-m", SYSTEMS["soft-knee"], "--preset", "ndrpdr-2018", "--quiet")
    outcome(*search, "--out", tmp_path / "whole")
    whole = found(tmp_path / "whole")
    lines = (tmp_path / "whole" / "run.jsonl").read_bytes().splitlines(keepends=True)
    last = [number for number, line in enumerate(lines) if b'"kind":"trial"' in line][kept - 1]
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / "run.jsonl").write_bytes(b"".join(lines[: last + 1]))
    outcome(*search, "--out", cut, "--resume")
    assert found(cut) == whole


SLOW = """echo '{"max_load": 1000}' | head -1
exec python3 -c '
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    time.sleep(request["duration_s"])
    sent = round(request["load"] * request["duration_s"])
    print(json.dumps({"id": request["id"], "sent": sent, "lost": max(0, sent - 5)}), flush=True)
'
"""


def test_a_process_killed_at_any_time_leaves_a_record_that_goes_on(tmp_path):
    (tmp_path / "slow.sh").write_text("read describe\n" + SLOW)
    search = ["search", "-m", "cmd:sh slow.sh", "--goal", "loss=0,trial=0.0123456789s,sum=0.06s,width=50%", "--quiet"]
    chance = dice("process")
    for number in range(2 * ROUNDS):
        out = tmp_path / f"run-{number}"
        process = subprocess.Popen([*BRIMFUL, *search, "--out", out], cwd=tmp_path, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while process.poll() is None and not (out / "run.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(chance.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        shutil.copytree(out, tmp_path / f"copy-{number}")
        resumed = subprocess.run(
            [*BRIMFUL, *search, "--out", out, "--resume"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert resumed.returncode in (0, 1), resumed.stderr
        before, after = read_run_or_none(tmp_path / f"copy-{number}"), read_run(out)
        if before is not None:
            assert after.trials[: len(before.trials)] == before.trials
        assert verify(open_log(out, None)).findings == []


def read_run_or_none(path):
    if (path / "run.jsonl").read_bytes().count(b"\n") == 0:
        return None
    return read_run(path)
