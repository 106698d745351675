"""The lab's disk: its limit is found, and nothing is left of it."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from brimful.errors import UsageError
from brimful.lab.disk import DiskLab
from brimful.measurers.opening import open_measurer
from disk_support import run
from support import BRIMFUL

SEARCHES = 3
SHORT = ("--goal", "loss=1%,trial=1s,width=20%,name=p99", "--no-calibrate", "--on-invalid", "retry:50")


def describe(spec):
    """Give what is found out before a search begins."""
    measurer = open_measurer(spec, timeout_s=30, tester_arguments=[])
    try:
        return measurer.describe()
    finally:
        measurer.close()


def shown(page):
    """Give the text of a page, without its tags."""
    return re.sub(r"<[^>]*>", "", page.read_text())


def remains(pid):
    """Give the loop devices and control groups of a process's labs; those of others are none of this test's."""
    files = {path: path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")}
    loops = [path for path, backing in files.items() if re.search(rf"brimful-disk-{pid}\b", backing)]
    return [*loops, *Path("/sys/fs/cgroup").glob(f"**/brimful-disk-{pid}-*")]


def search_once(measurer, directory):
    """Search a lab's disk; nothing is left of it."""
    command = [*BRIMFUL, "search", "-m", measurer, *SHORT, "--quiet", "--json", "--html", "report.html"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=directory) as program:
        stdout, stderr = program.communicate()
    assert program.returncode == 0, stderr
    assert not remains(program.pid)
    return json.loads(stdout)


def test_a_lab_that_is_there_can_be_seen(lab_permitted):
    with DiskLab(size=4 << 20):
        assert len(remains(os.getpid())) == 2
    assert not remains(os.getpid())


def test_the_limit_is_found_and_nothing_is_left(lab_permitted, tmp_path):
    # The throttle lends a tenth of a second's IOs, which is 10 % of a trial of 1 s; the bounds are 20 % apart.
    least, most = 2300, 3600
    for _ in range(SEARCHES):
        found = search_once("lab:disk,limit=3000iops,bytes=33554432,deadline=50ms", tmp_path)
        (result,) = found["goal_results"]
        assert result["conditional_throughput"] < most
        # The disk is made of threads of the kernel: a busy machine makes it slower, and never faster.
        if result["conditional_throughput"] > least:
            break
    assert least < result["conditional_throughput"]
    assert found["load_unit"] == "IO/s"
    assert "frame" not in shown(tmp_path / "report.html").lower()
    text = run(*BRIMFUL, "report", Path(found["path"]), cwd=tmp_path).stdout
    assert "frame" not in text.lower()
    assert "kIO/s" in text
    run(*BRIMFUL, "verify", Path(found["path"]), cwd=tmp_path)


def test_bytes_are_limited_too(lab_permitted):
    description = describe("lab:disk,limit=20MB/s,bytes=8388608,size=16k")
    assert description.device["limit"] == "20MB/s"
    assert 1000 < description.overload / 2 < 6000


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("lab:disk,limit=fast", "like 5000iops"),
        ("lab:disk,bytes=5", "bytes is 5"),
        ("lab:disk,device=/dev/sda", "no option of a disk"),
        ("disk:/dev/null,prepare", "no option of a disk"),
        ("disk:/dev/null,size=4k,size=8k", "given twice"),
        ("disk:/dev/null,steady-rounds=3", "destroy-data=/dev/null"),
        ("disk:/nowhere", "No such file"),
        ("disk:/dev/null,pattern=randwrite", "--destroy-data /dev/null"),
    ],
)
def test_what_makes_no_sense_is_refused(spec, reason):
    with pytest.raises(UsageError, match=reason):
        describe(spec)


def test_a_limit_can_be_changed(lab_permitted):
    with DiskLab(size=4 << 20) as lab:
        lab.limit("100iops")
        assert lab.describe()["limit"] == "100iops"


def test_delays_of_a_disk_are_those_of_reads_and_writes(lab_permitted, tmp_path):
    measurer = "lab:disk,limit=100kiops,bytes=33554432,deadline=1s,pattern=randrw"
    rounds = ("--load", "1kiops", "--load", "4.096MB/s", "--load", "2kiops", "--rounds", "2", "--trial", "300ms")
    tolerant = ("--on-invalid", "retry:50", "--html", "delay.html")
    done = run(*BRIMFUL, "delay", "-m", measurer, *rounds, *tolerant, "--quiet", cwd=tmp_path)
    assert "reads, device" in done.stdout
    assert "writes, device" in done.stdout
    assert done.stdout.count("1.000 kIO/s") == 2, "4.096 MB/s are as many IOs of 4 KiB, in two tables"
    for text in (done.stdout, shown(tmp_path / "delay.html")):
        assert "frame" not in text.lower()


def test_sizes_of_ios_make_a_campaign(tmp_path):
    file = tmp_path / "disk"
    file.write_bytes(bytes(8 << 20))
    goal = ("--goal", "loss=90%,trial=200ms,width=50%", "--min-load", "500iops", "--max-load", "1kiops")
    command = ("search", "-m", f"disk:{file},deadline=100ms", "--sizes", "4k,16k", *goal, "--no-calibrate", "--quiet")
    done = run(*BRIMFUL, *command, "--on-invalid", "retry:50", "--html", "campaign.html", check=False, cwd=tmp_path)
    assert "IO size" in done.stdout, done.stderr
    assert "16k" in done.stdout
    for text in (done.stdout, shown(tmp_path / "campaign.html")):
        assert "frame" not in text.lower()
