"""Trials of `brimful-disk` on real files and devices: what is loss, what is invalid, what is an error."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from brimful.lab.disk import DiskLab
from disk_support import DISK, DiskTester, run


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "disk"
    path.write_bytes(os.urandom(16 << 20))
    return path


@pytest.mark.parametrize("pause", ["spin", "sleep"])
def test_a_trial_counts_every_io_and_tells_how_long_they_took(file, pause):
    with DiskTester("--device", file, "--deadline", "1s", "--pause", pause) as tester:
        description = tester.ask(op="describe")
        assert description["load_unit"] == "IO/s"
        assert description["overload"] > 0
        assert description["traffic"]["io_size"] == 4096
        trial = tester.measure_on_schedule(1000, 0.5, detail=True)
    assert (trial["id"], trial["intended"], trial["sent"], trial["lost"]) == (7, 500, 500, 0)
    reads, writes = trial["directions"]
    assert writes["sent"] == 0
    assert (reads["what"], reads["sent"], reads["bytes"]) == ("reads", 500, 500 * 4096)
    delay = reads["delay"]
    assert delay["frames"] == 500
    assert delay["min_s"] <= delay["p50_s"] <= delay["p99_s"] <= delay["max_s"] * 1.001
    assert sum(number for number, _ in delay["batches"]) == 500
    assert trial["delay_p99_s"] == delay["p99_s"]


def test_mixes_and_poisson_arrivals_are_told_apart(tmp_path):
    path = tmp_path / "own"
    run(DISK, "--create", path, "--file-size", "16M")
    destroy = ("--device", path, "--destroy-data", path)
    prepared = json.loads(run(DISK, *destroy, "--prepare").stdout)
    assert prepared["written"] == 15 << 20
    mix = ("--pattern", "randrw", "--read-share", "70%", "--arrivals", "poisson", "--size", "4k:1+8k:1")
    with DiskTester(*destroy, *mix, "--deadline", "1s") as tester:
        assert "not looked for" in str(tester.ask(op="describe")["traffic"]["deviations"])
        trial = tester.measure_on_schedule(1000, 1)
    sides = {side["what"]: side for side in trial["directions"]}
    assert sides["reads"]["sent"] + sides["writes"]["sent"] == 1000
    assert 620 < sides["reads"]["sent"] < 780


def test_a_warm_up_is_no_part_of_the_trial(file):
    with DiskTester("--device", file, "--deadline", "1s", "--warm-up", "300ms") as tester:
        assert tester.ask(op="describe")["traffic"]["warm_up_s"] == 0.3
        began_s = time.monotonic()
        trial = tester.measure_on_schedule(1000, 0.2)
    assert trial["intended"] == 200
    assert time.monotonic() - began_s > 0.5


def test_a_trace_is_replayed(file, tmp_path):
    trace = tmp_path / "trace.txt"
    trace.write_text("".join(f"8,0 1 {n} {n / 100} 1 Q R {1000 + 8 * n} + 8 [x]\n" for n in range(50)))
    with DiskTester("--device", file, "--replay", trace, "--deadline", "1s") as tester:
        traffic = tester.ask(op="describe")["traffic"]
        assert (traffic["replayed_ios"], traffic["arrivals"]) == (50, "as recorded, scaled to the load")
        trial = tester.measure_on_schedule(1000, 0.5)
    assert (trial["intended"], trial["lost"]) == (500, 0)


def test_a_stopped_tester_makes_the_trial_invalid(file):
    with DiskTester("--device", file, "--deadline", "50ms") as tester:
        tester.ask(op="describe")

        def stop_for_a_while():
            time.sleep(0.9)
            os.kill(tester.pid, signal.SIGSTOP)
            time.sleep(0.2)
            os.kill(tester.pid, signal.SIGCONT)

        stopper = threading.Thread(target=stop_for_a_while)
        stopper.start()
        reply = tester.measure(2000, 1.5)
        stopper.join()
    assert "invalid" in reply, reply
    assert reply["hint"]


def test_a_stalled_device_is_loss_and_never_invalid_for_it(lab_permitted):
    with (
        DiskLab(limit="20kiops", size=16 << 20) as lab,
        DiskTester("--device", lab.path, "--deadline", "100ms", command=lab.command) as tester,
    ):
        good = tester.measure_on_schedule(1000, 0.5)
        lab.limit("50iops")
        bad = tester.measure_on_schedule(1000, 1.0)
        lab.limit("20kiops")
    assert good["lost"] == 0
    assert bad["lost"] > 500


def test_a_file_that_shrinks_is_an_error(file):
    with DiskTester("--device", file) as tester:
        tester.ask(op="describe")
        os.truncate(file, 1 << 20)
        reply = tester.measure_on_schedule(1000, 0.3)
    assert "has become smaller" in reply["error"]


def test_a_full_device_is_an_error(loop):
    """A loop device on a file with holes, in memory that is full: as a thin pool that is.

    Its direct IO hands on what the memory says; through the page cache some kernels make an EIO of it, which is loss.
    """
    script = """
        mount -t tmpfs -o size=2M none /mnt && truncate -s 16M /mnt/thin || exit 9
        device=$(losetup --find --show --direct-io=on /mnt/thin) || exit 9
        exec 9<$device
        losetup --detach $device
        "$0" --device $device --pattern randwrite --destroy-data $device
    """
    with DiskTester(command=lambda words: ["unshare", "--mount", "sh", "-c", script, words[0]]) as tester:
        reply = tester.measure_on_schedule(2000, 1)
    assert reply == {"id": 7, "error": "a write of 4096 bytes failed: No space left on device (os error 28)"}


def test_a_closed_loop_keeps_its_depth(file):
    found = json.loads(run(DISK, "--device", file, "--depth", "4", "--duration", "0.3s").stdout)
    assert found["depth"] == 4
    assert found["rate"] > 100
    assert found["directions"][0]["delay"]["p50_s"] > 0


def test_the_working_set_is_written_once(tmp_path):
    path = tmp_path / "own"
    run(DISK, "--create", path, "--file-size", "8M")
    destroy = ("--device", path, "--destroy-data", path, "--prepare")
    run(DISK, *destroy, "--seed", "1")
    content = Path(path).read_bytes()
    assert content.count(bytes(512)) < 2100, "all but the mark's megabyte has been written"
    run(DISK, *destroy, "--seed", "2")
    assert Path(path).read_bytes() == content


def told(path, *arguments):
    with DiskTester("--device", path, *arguments) as tester:
        return tester.ask(op="describe")["traffic"]


def test_reads_of_what_was_never_written_are_warned_of(tmp_path, file):
    assert told(file)["warnings"] == []
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as holes:
        holes.truncate(16 << 20)
        holes.seek(4 << 20)
        holes.write(os.urandom(4 << 20))
    (text,) = told(sparse)["warnings"]
    assert f"{12 << 20} of the {16 << 20} bytes that are read were never written" in text
    # Only what is read counts.
    assert f"{1 << 20} of the {1 << 20} bytes" in told(sparse, "--working-set", "1M")["warnings"][0]
    reserved = tmp_path / "reserved"
    run(DISK, "--create", reserved, "--file-size", "16M")
    assert "were never written" in told(reserved)["warnings"][0]
    run(DISK, "--device", reserved, "--destroy-data", reserved, "--prepare")
    assert told(reserved)["warnings"] == []


TWO_DEVICES = (
    "253,0 0 1 0.001 1 Q R 4096 + 8 [db]\n  8,0 0 2 0.0011 1 Q R 6144 + 8 [db]\n"
    "253,0 0 3 0.002 1 Q R 4104 + 8 [db]\n  8,0 0 4 0.0021 1 Q R 6152 + 8 [db]\n 8,16 0 5 0.003 1 Q R 2048 + 8 [db]\n"
)


def test_a_trace_of_several_devices_needs_a_choice(file, tmp_path):
    trace = tmp_path / "trace"
    trace.write_text(TWO_DEVICES)
    arguments = ("--device", file, "--replay", trace)
    refused = run(DISK, *arguments, check=False)
    assert refused.returncode == 2
    assert "several devices: 8,0 (2 IOs), 8,16 (1 IO), 253,0 (2 IOs); choose one with replay-device" in refused.stderr
    assert told(file, "--replay", trace, "--replay-device", "253:0")["replayed_ios"] == 2
    wrong = run(DISK, *arguments, "--replay-device", "9:9", check=False)
    assert (wrong.returncode, "no IO was queued to 9,9" in wrong.stderr) == (2, True)
    alone = run(DISK, "--device", file, "--replay-device", "8:0", check=False)
    assert (alone.returncode, "there is no replay" in alone.stderr) == (2, True)
    trace.write_bytes((0x65617407).to_bytes(4, "little") + bytes(44))
    binary = run(DISK, *arguments, check=False)
    assert (binary.returncode, "run `blkparse -i FILE" in binary.stderr) == (2, True)


def test_a_path_may_have_commas_in_it(tmp_path, file):
    from brimful.measurers.disk import _path_and_words

    odd = tmp_path / "a,b=c,d"
    odd.write_bytes(b"x")
    assert _path_and_words(f"{odd},size=4k,in-use") == (str(odd), "size=4k,in-use")
    assert _path_and_words(str(odd)) == (str(odd), "")
    assert _path_and_words(f"{file},size=4k") == (str(file), "size=4k")
    assert _path_and_words(f"{tmp_path}/missing,size=4k") == (f"{tmp_path}/missing", "size=4k")
