"""Situations that users of other disk testers reported in public trackers."""

import pytest
from disk_support import DISK, DiskTester, run

MIB = 1 << 20


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "disk"
    path.write_bytes(bytes(range(256)) * (16 * MIB // 256))
    return path


def trial_of(path, *arguments, load=1000, duration_s=0.5):
    # Whether an IO was in time is nothing to these tests.
    with DiskTester("--device", path, "--deadline", "100ms", "--warm-up", "0ms", *arguments) as tester:
        return tester.measure_on_schedule(load, duration_s)


def described(path, *arguments):
    with DiskTester("--device", path, *arguments) as tester:
        return tester.ask(op="describe")["traffic"]


@pytest.mark.parametrize("sizes", ["512:1+64k:1", "24k:1+250k:1", "4k"])
@pytest.mark.parametrize("arrivals", ["even", "poisson"])
def test_neither_sizes_nor_chance_change_the_rate(file, sizes, arrivals):
    trial = trial_of(file, "--size", sizes, "--arrivals", arrivals)
    assert (trial["intended"], trial["sent"]) == (500, 500)


@pytest.mark.parametrize("arrivals", ["even", "poisson"])
def test_reads_and_writes_share_the_load_and_do_not_get_it_each(tmp_path, arrivals):
    path = tmp_path / "own"
    run(DISK, "--create", path, "--file-size", "16M")
    mix = ("--destroy-data", path, "--pattern", "randrw", "--read-share", "90%", "--arrivals", arrivals)
    trial = trial_of(path, *mix)
    reads, writes = (side["sent"] for side in trial["directions"])
    assert reads + writes == 500
    assert 420 < reads < 480


def test_nothing_is_written_beyond_a_working_set_that_is_no_whole_number_of_ios(tmp_path):
    path = tmp_path / "own"
    run(DISK, "--create", path, "--file-size", "16M")
    path.write_bytes(path.read_bytes()[:MIB] + bytes(15 * MIB))
    for pattern in ("randwrite", "write"):
        options = ("--destroy-data", path, "--pattern", pattern, "--working-set", "9120")
        trial_of(path, *options)
    content = path.read_bytes()
    assert any(content[MIB : MIB + 8192])
    assert not any(content[MIB + 8192 :])


def test_a_file_that_is_no_whole_number_of_blocks_is_read_to_its_last_whole_one(file):
    with file.open("ab") as more:
        more.write(b"odd")
    assert described(file)["area_bytes"] == 16 * MIB
    # More than there is is what there is.
    assert described(file, "--working-set", "3G")["area_bytes"] == 16 * MIB


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--size", "1000"), "IOs of 1000 bytes: the device takes multiples of 512 bytes"),
        (("--size", "512:1+1000:1"), "IOs of 1000 bytes: the device takes multiples of 512 bytes"),
        (("--size", "32M"), "IOs of 33554432 bytes do not fit into 16777216 bytes"),
        (("--size", "0"), "0 bytes are not from 1 to"),
    ],
)
def test_ios_that_no_device_takes_are_refused_before_the_first(file, arguments, said):
    done = run(DISK, "--device", file, *arguments, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("path", ["/dev/", "/dev/null", "/dev/zero"])
def test_what_is_no_disk_is_refused_also_for_writing(path):
    done = run(DISK, "--device", path, "--pattern", "randwrite", "--destroy-data", path, check=False)
    assert done.returncode == 2
    assert "neither a block device nor a file" in done.stderr


def lines(times, sector=1000):
    return "".join(f"8,0 1 {n} {at:.9f} 1 Q R {sector + 8 * n} + 8 [x]\n" for n, at in enumerate(times, 1))


@pytest.mark.parametrize(
    "times",
    [
        [n / 100 for n in range(50)],
        # Of a trace whose times were told in another unit.
        [n * 10 for n in range(50)],
        # Of several processors, one after the other.
        [*(n / 50 for n in range(25)), *(n / 50 + 0.01 for n in range(25))],
        # Begun long after the tracer.
        [1e6 + n / 100 for n in range(50)],
    ],
)
def test_a_replay_takes_the_distances_of_a_trace_and_the_rate_of_the_load(file, tmp_path, times):
    trace = tmp_path / "trace"
    trace.write_text(lines(times))
    trial = trial_of(file, "--replay", trace)
    assert (trial["intended"], trial["sent"]) == (500, 500)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lines([0, 0.1]) + "8,0 1 3 0.2 1 Q R 99000000 + 8 [x]\n", "the trace spans"),
        ("fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 0 4096\n", "a replay needs 2"),
        ("8,0 1 1 0.0 1 C R 1000 + 8 [0]\n8,0 1 2 0.1 1 D R 1000 + 8 [0]\n", "a replay needs 2"),
        ("", "a replay needs 2"),
    ],
)
def test_a_trace_that_cannot_be_replayed_here_is_refused(file, tmp_path, text, said):
    trace = tmp_path / "trace"
    trace.write_text(text)
    done = run(DISK, "--device", file, "--replay", trace, check=False)
    assert done.returncode == 2
    assert said in done.stderr
