"""Measuring a disk: its plan, what follows from what was measured, and whole measurements of the lab's disk."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from brimful.cli.signals import take_for_interrupt
from brimful.errors import BrimfulError, UsageError
from brimful.iocost import controller
from brimful.iocost.controller import CostController
from brimful.iocost.measure import plan, protection, solutions
from brimful.iocost.measure.plan import Step
from brimful.iocost.measure.protection import Groups, Protection
from brimful.iocost.measure.run import METHOD, MeasurementInterrupted, measure
from brimful.iocost.measure.wanted import Wanted
from brimful.kernel import sysfs_lines
from brimful.lab.disk import obstacle
from brimful.measurers.base import InvalidTrialError
from brimful.records import Done, End, Finding, RecordWriter, Run, Series, Solution, read_run
from brimful.runs import run_identity
from support import BRIMFUL

RESULTS = {
    "rbps": {"rate": 4000.0, "depth": 8, "tried": []},
    "rseqiops": {"rate": 90e3, "depth": 64, "tried": []},
    "rrandiops": {"rate": 80e3, "depth": 128, "tried": []},
    "wbps": {"rate": 3000.0, "depth": 8, "tried": []},
    "wseqiops": {"rate": 70e3, "depth": 32, "tried": []},
    "wrandiops": {"rate": 20e3, "depth": 32, "tried": []},
    "steady-state": {"rounds": 7, "is_steady": True},
    "late-reads": {
        "p100": {"lower": 60e3, "upper": 62e3, "reads_p99_s": 0.0021, "ios": 9000},
        "p999": {"lower": 65e3, "upper": 67e3},
        "p99": {"lower": 70e3, "upper": 72e3, "reads_p99_s": 0.009, "ios": 9000},
    },
    "late-writes": {"p99": {"lower": 18e3, "upper": 19e3, "writes_p99_s": 0.005, "ios": 9000}},
    "vrate": {
        "p999": {"lower": 60.0, "upper": 63.0},
        "p99": {"lower": 80.0, "upper": 84.0},
        "load": 7000.0,
        "trials": [
            {"set": 150.0, "vrate": 150.0, "sent": 100, "late": 40, "hog_rate": 60e3},
            {"set": 60.0, "vrate": 60.0, "sent": 100, "late": 0, "hog_rate": 40e3},
        ],
    },
    "validation": {
        name: [{"set": 60.0, "vrate": 60.0, "sent": 1000, "late": late, "hog_rate": 50e3}]
        for name, late in (("off", 310), ("pinned", 0), ("dynamic", 1))
    },
}


def plan_of(**options):
    given = {"writes": True, "controller": True, "quick": False, "budget_s": None, "write_bytes": 16 << 30}
    return plan.make_plan(**{**given, **options})


def concluded(results):
    return list(solutions.conclude(results, deadline_s=0.01))


def solved(results):
    return {record.name: record for record in concluded(results) if isinstance(record, Solution)}


def test_an_ssd_is_measured_within_twenty_minutes_and_quickly_within_five():
    assert plan.total_s(plan_of()) <= 20 * 60
    quick = plan_of(quick=True, write_bytes=4 << 30)
    assert plan.total_s(quick) <= 5 * 60
    assert not {"vrate", "validation", "steady-state"} & {step.name for step in quick}


def test_a_budget_is_met_and_leaves_out_what_would_be_too_short():
    steps = plan_of(budget_s=240.0)
    assert plan.total_s(steps) == pytest.approx(240)
    assert "steady-state" not in {step.name for step in steps}
    assert "steady-state" in {step.name for step in plan_of(budget_s=1000.0)}
    with pytest.raises(UsageError, match="too short"):
        plan_of(budget_s=60.0)


def test_nothing_that_writes_is_planned_where_it_must_not():
    names = [step.name for step in plan_of(writes=False, controller=False)]
    assert names == ["describe", "rbps", "rseqiops", "rrandiops", "late-reads"]


def test_the_plan_is_printed_with_its_sum():
    done = subprocess.run(
        [*BRIMFUL, "iocost", "measure", "/dev/none", "--dry-run"], capture_output=True, text=True, check=True
    )
    assert "sum" in done.stdout
    assert "not measured: writes" in done.stdout


def test_model_and_latencies_follow_from_probes_and_searches():
    assert solutions.base_model(RESULTS) == {
        "rbps": 4000 * 131072,
        "rseqiops": 90_000,
        "rrandiops": 80_000,
        "wbps": 3000 * 131072,
        "wseqiops": 70_000,
        "wrandiops": 20_000,
    }
    # Of the 2.1 ms of a read, 7.8 us are the cost of its 4096 bytes.
    assert solutions.latencies_us(RESULTS) == {"rlat": 2092, "wlat": 4990}
    # As many times that as 10 ms are them.
    assert solutions.targets_us(RESULTS, deadline_s=0.01) == {"rlat": 4574, "wlat": 7064}
    assert solutions.protected_load(RESULTS) == 7000.0
    assert solutions.least_vrate(RESULTS) == pytest.approx(1.2 * 7000 / (8 / 9 * 80_000) * 100)


def test_solutions_scale_the_model_and_are_what_the_kernel_takes():
    found = solved(RESULTS)
    assert [(name, each.scale_factor, each.interval) for name, each in found.items()] == [
        ("isolation", 0.6, (0.6, 0.63)),
        ("bandwidth", 0.8, (0.8, 0.84)),
        ("naive", 1.0, None),
    ]
    assert found["isolation"].model["rrandiops"] == 48_000
    assert sysfs_lines("8:0", found["isolation"])[0] == (
        "8:0 enable=1 ctrl=user rpct=95.00 rlat=4574 wpct=95.00 wlat=7064 min=50.00 max=100.00"
    )


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (("vrate", "validation"), "vrate was not searched"),
        (("wbps", "wrandiops"), "wbps, wrandiops were not measured"),
    ],
)
def test_what_was_not_measured_is_the_reason_for_no_solution(left_out, reason):
    found = solved({name: result for name, result in RESULTS.items() if name not in left_out})
    assert reason in found["isolation"].unsolved


def test_a_disk_that_protects_at_no_vrate_has_no_solution_for_it():
    vrate = {**RESULTS["vrate"], "p999": {"lower": None}, "p99": {"lower": 80.0, "upper": None}}
    found = solved({**RESULTS, "vrate": vrate})
    assert "at every vrate" in found["isolation"].unsolved
    assert (found["bandwidth"].scale_factor, found["bandwidth"].interval) == (0.8, None)


def test_what_held_for_longer_is_the_solution():
    held = {"p999": {"lower": None, "upper": 50.0}, "p99": {"lower": 70.0, "upper": 77.0}, "trials": []}
    results = {**RESULTS, "confirmation": held}
    found = solved(results)
    assert (found["bandwidth"].scale_factor, found["bandwidth"].interval) == (0.7, (0.7, 0.77))
    assert "in longer trials" in found["isolation"].unsolved
    assert solutions.found_vrate(results) == 70.0


NOTHING = {"p999": {"lower": None, "upper": None}, "p99": {"lower": None, "upper": None}, "trials": []}


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ({"vrate": {**NOTHING, "load": 7000.0}, "confirmation": NOTHING}, "no trial at a vrate counts"),
        ({"confirmation": NOTHING}, "could not be tried for longer"),
    ],
)
def test_a_machine_that_spoils_every_trial_is_the_reason_for_no_solution(results, reason):
    found = solved({**RESULTS, **results, "validation": {}})
    assert all(reason in found[name].unsolved for name in ("isolation", "bandwidth"))


def test_a_vrate_that_there_was_no_time_to_repeat_is_not_said_to_fail():
    held = {"p999": {"lower": None, "upper": 63.0}, "p99": {"lower": 70.0, "upper": 77.0}, "trials": []}
    assert "could not be tried for longer" in solved({**RESULTS, "confirmation": held})["isolation"].unsolved


def test_remarks_say_what_was_found(snapshot):
    texts = [record.text for record in concluded(RESULTS) if isinstance(record, Finding)]
    assert "\n".join(texts) == snapshot
    late = next(record for record in concluded(RESULTS) if isinstance(record, Series))
    assert late.points == [(60.0, 0.0), (150.0, 0.4)]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A directory that looks like the root of a machine with io.cost; a write replaces the line of its device."""
    files = {
        "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "sys/fs/cgroup/io.cost.qos": "8:0 enable=1 ctrl=user min=1.00\n",
        "sys/fs/cgroup/io.cost.model": "8:0 ctrl=user rbps=1\n",
        "sys/fs/cgroup/cgroup.subtree_control": "memory\n",
        "sys/fs/cgroup/io.stat": "",
    }
    for name, text in files.items():
        place = tmp_path / "root" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def write_line(path, line):
        number = line.split()[0]
        others = [old for old in path.read_text().splitlines() if old.split()[0] != number]
        path.write_text("\n".join([*others, line]) + "\n")

    monkeypatch.setattr(controller, "write_line", write_line)
    # Files of real control groups go with their directory.
    monkeypatch.setattr(protection, "_remove", lambda directory: shutil.rmtree(directory, ignore_errors=True))
    return tmp_path / "root"


def control_files(root):
    return [(root / "sys/fs/cgroup" / name).read_text() for name in ("io.cost.qos", "io.cost.model")]


def test_what_was_set_before_is_restored(root):
    before = control_files(root)
    cost = CostController("8:0", root=root)
    cost.set(solutions.base_model(RESULTS), solutions.pinned(60.0, {"rlat": 5}))
    # Without a percentile the kernel would stay where it was beside a full queue.
    assert "rpct=95.00 rlat=5 wpct=0.00 wlat=0 min=60.00 max=60.00" in control_files(root)[0]
    cost.turn_off()
    assert "enable=0" in control_files(root)[0]
    cost.restore()
    assert control_files(root) == before
    assert cost.undo[0].startswith("echo '8:0 enable=1 ctrl=user min=1.00' > ")


def test_a_device_without_settings_gets_back_none(root):
    cost = CostController("9:1", root=root)
    cost.set(solutions.base_model(RESULTS), solutions.dynamic(60.0, {"rlat": 5}))
    cost.restore()
    assert "9:1 enable=0 ctrl=auto" in control_files(root)[0]


def test_a_machine_without_the_controller_is_named(root):
    (root / "sys/fs/cgroup/io.cost.qos").unlink()
    with pytest.raises(BrimfulError, match=r"no io\.cost\.qos"):
        CostController("8:0", root=root)


def test_the_vrate_that_the_kernel_shows_is_read(root):
    (root / "sys/fs/cgroup/io.stat").write_text("8:0 cost.vrate=51.25 cost.usage=7\n9:0 rbytes=1\n")
    assert CostController("8:0", root=root).vrate() == 51.25
    assert CostController("9:0", root=root).vrate() is None


def test_groups_have_their_weights_and_leave_nothing(root):
    place = root / "sys/fs/cgroup"
    (place / "brimful-iocost-999999999-hog").mkdir()
    groups = Groups(place)
    found = {path.name.rpartition("-")[2]: path for path in place.glob("brimful-iocost-*")}
    assert {name: (path / "io.weight").read_text() for name, path in found.items()} == {
        "protected": "default 800\n",
        "hog": "default 100\n",
    }
    assert (place / "cgroup.subtree_control").read_text() == "+io\n"
    done = subprocess.run(groups.command("hog", ["echo", "inside"]), capture_output=True, text=True, check=True)
    assert done.stdout == "inside\n"
    assert (found["hog"] / "cgroup.procs").read_text().strip().isdecimal()
    groups.close()
    assert not list(place.glob("brimful-iocost-*"))
    assert (place / "cgroup.subtree_control").read_text() == "-io\n"


@pytest.fixture
def wanted():
    reason = obstacle()
    if reason is not None:
        pytest.skip(reason)
    return Wanted(
        device="lab:disk,limit=3000iops,bytes=67108864",
        destroy_data=None,
        ignore_signature=False,
        deadline_s=0.1,
        working_set="32M",
        quick=False,
        budget_s=None,
    )


def perform(wanted, steps, root, out, **options):
    disk = wanted.open_disk()
    try:
        cost = CostController(disk.device_number, root=root)
        arguments = {"resume": False, "note": lambda text: None, "lacking": [], **options}
        return measure(wanted, disk, steps, controller=cost, out=out, **arguments)
    finally:
        disk.close()


PROBES = [Step(name, name, 0.4) for name in ("rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops")]
SHORT = [*PROBES, Step("late-reads", "", 2.5), Step("vrate", "", 12.0)]
SHORT += [Step("confirmation", "", 6.0), Step("validation", "", 6.0)]


# Its steps have tests of their own below and in test_confirmation.py.
@pytest.mark.slow
def test_vrate_is_searched_and_validated_beside_a_hog(wanted, root, tmp_path):
    """The controller is a file here and protects nobody: what is tested is that all is done, kept and set back."""
    before = control_files(root)
    run = perform(wanted, SHORT, root, tmp_path / "run")
    done = {record.name: record.result for record in run.others if isinstance(record, Done)}
    assert list(done) == [step.name for step in SHORT]
    # The throttle lends a tenth of a second's IOs, which is a third of such a short probe; without it there are more.
    assert 1000 < done["rrandiops"]["rate"] < 9000
    at_vrates = [trial for trial in run.trials if trial.step == "vrate"]
    assert at_vrates
    assert len(done["vrate"]["trials"]) == sum(trial.invalid is None for trial in at_vrates)
    assert {"p999", "p99", "trials"} == done["confirmation"].keys()
    # What a busy machine spoils is left out.
    assert all(len(trials) <= 2 for trials in done["validation"].values())
    assert done["validation"].keys() in (set(), {"off", "pinned", "dynamic"})
    assert {trial.step for trial in run.trials} == {"late-reads", "vrate"}
    assert [trial.seq for trial in run.trials] == list(range(len(run.trials)))
    assert (run.is_done(), run.disorder()) == (True, None)
    assert control_files(root)[0].startswith(before[0]), "the other disk's settings are as they were"
    assert "enable=0 ctrl=auto" in control_files(root)[0]
    assert not list((root / "sys/fs/cgroup").glob("brimful-iocost-*"))


def test_a_validation_that_the_machine_spoils_is_left_out(wanted, root, tmp_path, monkeypatch):
    def spoiled(self, seconds, *, stop_above=None):
        raise InvalidTrialError("the tester was late")

    monkeypatch.setattr(Protection, "beside_hog", spoiled)
    monkeypatch.setattr(solutions, "found_vrate", lambda results: 50.0)
    run = perform(wanted, [*PROBES, Step("late-reads", "", 1.0), Step("validation", "", 1.0)], root, tmp_path / "run")
    done = {record.name: record.result for record in run.others if isinstance(record, Done)}
    assert done["validation"] == {"off": [], "pinned": [], "dynamic": []}
    assert (run.is_done(), run.ends[-1].reason) == (True, "done")


def test_settings_of_the_queue_are_set_back(wanted):
    disk = wanted.open_disk()
    try:
        nomerges = Path("/sys/class/block", Path(disk.path).name, "queue", "nomerges")
        before = nomerges.read_text()
        with disk.unmerged():
            assert nomerges.read_text() == "2\n"
        assert nomerges.read_text() == before
    finally:
        disk.close()


def test_an_end_by_a_signal_sets_all_back_and_the_rest_is_done_later(wanted, root, tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    take_for_interrupt()
    begun = threading.Event()

    def end_in_the_middle():
        begun.wait(30)
        time.sleep(2.5)
        os.kill(os.getpid(), signal.SIGTERM)

    killer = threading.Thread(target=end_in_the_middle)
    killer.start()

    def note(text):
        if "vrate" in text:
            begun.set()

    first = [*PROBES, Step("late-reads", "", 2.0)]
    try:
        with pytest.raises(MeasurementInterrupted) as stopped:
            perform(wanted, [*first, Step("vrate", "vrate", 20.0)], root, tmp_path / "run", note=note)
        assert (stopped.value.steps, stopped.value.path) == (len(first), tmp_path / "run" / "run.jsonl")
    finally:
        killer.join()
        for number, handler in zip((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), before, strict=True):
            signal.signal(number, handler)
    assert "enable=0 ctrl=auto" in control_files(root)[0]
    assert not list((root / "sys/fs/cgroup").glob("brimful-iocost-*"))
    interrupted = read_run(tmp_path / "run")
    assert interrupted.ends[-1].reason == "interrupted"
    notes = []
    run = perform(wanted, [*first, Step("vrate", "vrate", 4.0)], root, tmp_path / "run", resume=True, note=notes.append)
    assert run.is_done()
    assert len([text for text in notes if text.startswith("step ")]) == 1, "only what was missing is done"
    assert [trial.seq for trial in run.trials] == list(range(len(run.trials)))


def write_record(directory):
    directory.mkdir()
    with RecordWriter(directory / "run.jsonl") as writer:
        device = {"name": "nvme0n1", "device_number": "259:0", "model": "Tincan 9000"}
        writer.write(Run(**run_identity(), subject="block-device", device=device, source={"method": METHOD}))
        for record in concluded(RESULTS):
            writer.write(record)
        writer.write(End("done", 0, 1.0))
    return directory / "run.jsonl"


@pytest.mark.parametrize(
    "command", [("apply", "absent", "naive", "--from"), ("export",), ("export", "--format", "hwdb"), ("tune",)]
)
def test_nothing_is_set_or_made_of_a_record_that_was_changed(tmp_path, command):
    record = write_record(tmp_path / "run")

    def complaint():
        words = [*BRIMFUL, "iocost", *command, str(record)]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    whole = complaint()
    assert "was changed" not in whole.stderr
    assert ("no disk 'absent'" in whole.stderr) if command[0] == "apply" else (whole.returncode == 0), whole.stderr
    content = record.read_bytes()
    record.write_bytes(content.replace(b'"model":"Tincan 9000"', b'"model":"Tincan 9001"'))
    changed = complaint()
    assert changed.returncode in (1, 2, 3)
    assert re.search(r"line 1 was changed .*; nothing is built on it", changed.stderr), changed.stderr
    assert "IOCOST" not in changed.stdout
    assert "259:0" not in changed.stdout


def test_a_record_is_taken_like_a_published_result(tmp_path):
    for name in ("run", "again"):
        write_record(tmp_path / name)

    def brimful(*words):
        done = subprocess.run([*BRIMFUL, *words], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    record = "run/run.jsonl"
    assert brimful("iocost", "export", record).count("enable=1 ctrl=user") == 3
    assert "IOCOST_SOLUTIONS=isolation bandwidth naive" in brimful("iocost", "export", "--format", "hwdb", record)
    files = ("--html", "page.html", "--pdf", "page.pdf", "--series", "series.csv")
    shown = brimful("iocost", "tune", record, *files)
    page = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", (tmp_path / "page.html").read_text(), flags=re.DOTALL)
    assert (tmp_path / "page.pdf").stat().st_size > 1000
    assert "late" in (tmp_path / "series.csv").read_text()
    for text in (shown, page, brimful("report", "run")):
        assert "searches of the disk" in text
        assert "bounds of the search" in text
        assert "95 %" not in text
        assert "frame" not in text.lower()
    assert "same" in brimful("compare", "run", "--against", "again")
    found = json.loads(brimful("iocost", "tune", record, "--json"))
    assert found


def test_a_disk_that_must_not_be_overwritten_is_not(tmp_path):
    file = tmp_path / "letters"
    file.write_bytes(b"dear".ljust(8 << 20, b"."))
    command = [
        *BRIMFUL,
        "iocost",
        "measure",
        str(file),
        "--destroy-data",
        str(file),
        "--working-set=4M",
        "--budget",
        "60s",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr.count("error")) == (2, 1), done.stderr
    assert "did not make" in done.stderr
    assert file.read_bytes().startswith(b"dear.")
    other = [*BRIMFUL, "iocost", "measure", str(file), "--destroy-data", "/dev/other", "--budget", "60s"]
    done = subprocess.run(other, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert not Path("/dev/other").exists()
