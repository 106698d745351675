"""``brimful discards tests`` as people use it."""

import contextlib
import json
import os
import pty
import subprocess
import threading

import pytest
from brimful.cli import group
from brimful.errors import UsageError
from discards.test_speed_tests import iperf3, ndt5, tar
from discards.test_speed_tests_mappings import OOKLA
from discards.test_speed_tests_tables import web100, write_csv
from support import BRIMFUL, brimful


def command(tmp_path, *arguments, check=0):
    return brimful("discards", "tests", "--store", "store", *arguments, cwd=tmp_path, check=check)


def called(tmp_path, *arguments):
    """Run the command within this process; give its exit code."""
    with contextlib.chdir(tmp_path):
        return group(["discards", "tests", "--store", "store", *arguments], standalone_mode=False)


def archive(tmp_path, name="x-ndt5-mlab1-bcn01-ndt.tgz", bad=1, good=3):
    files = {f"{n}.json": json.dumps(ndt5(uuid=f"u{n}")).encode() for n in range(good)}
    files |= {f"bad{n}.json": b"{" for n in range(bad)}
    idle = json.dumps(ndt5() | {"S2C": None}).encode()
    return tar(tmp_path / name, files | {"empty.json": b"", "idle.json": idle, "trace.gz": b""})


def test_the_summary_for_people(tmp_path, snapshot):
    archive(tmp_path)
    write_csv(tmp_path / "flat.csv", [web100(n, data_direction=n % 3) for n in range(1200)])
    first = command(tmp_path, "x-ndt5-mlab1-bcn01-ndt.tgz", check=1).stdout
    second = command(tmp_path, "x-ndt5-mlab1-bcn01-ndt.tgz", "flat.csv", check=1).stdout
    assert f"{first}\n{second}" == snapshot


def test_the_summary_for_programs(tmp_path, snapshot):
    archive(tmp_path)
    told = json.loads(command(tmp_path, "x-ndt5-mlab1-bcn01-ndt.tgz", "--json", check=1).stdout)
    assert told == snapshot
    bad = sum(one["results"] for one in told["bad"])
    # Each of these results has one test or none.
    assert told["results"] == told["tests"] + told["empty"] + told["without_transfer"] + told["traces"]["read"] + bad
    assert told["tests"] == told["added"] + told["repeated"] + told["conflicts"]


def test_how_many_bad_results_are_too_many(tmp_path):
    archive(tmp_path, "a-mlab1-bcn01.tgz", bad=2, good=6)  # and an empty and an idle one: 20 %
    assert called(tmp_path, "a-mlab1-bcn01.tgz", "--max-bad", "20%") == 0
    archive(tmp_path, "b-mlab1-bcn01.tgz", bad=3, good=6)
    assert called(tmp_path, "b-mlab1-bcn01.tgz", "--max-bad", "20%") == 1
    # What is in already is not read again, but no better for that.
    assert called(tmp_path, "b-mlab1-bcn01.tgz", "--max-bad", "20%") == 1
    (tmp_path / "c-mlab1-bcn01.json").write_text("{")
    assert [called(tmp_path, "c-mlab1-bcn01.json") for _ in range(2)] == [1, 1]


def test_all_options_together(tmp_path):
    (tmp_path / "ookla.toml").write_text(OOKLA)
    (tmp_path / "ookla.csv").write_text(
        "DATE,DOWNLOAD,DOWNLOAD_BYTES,UPLOAD,UPLOAD_BYTES,EXTERNAL_IP\n02/15/2018 20:05,9,10,11,12,198.51.100.23\n"
    )
    (tmp_path / "iperf3.json").write_text(json.dumps(iperf3()))
    options = ["--columns", "ookla.toml", "--server", "probe-dallas", "--pseudonymise", "key"]
    told = json.loads(command(tmp_path, "ookla.csv", "iperf3.json", *options, "--json").stdout)
    assert (told["tests"], told["sites"]) == (3, ["dallas"])
    assert b"198.51" not in b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*.*"))


def test_what_is_given_wrong_is_said_in_a_line(tmp_path):
    (tmp_path / "a.json").write_text("")
    (tmp_path / "short").write_text("00")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("")
    for arguments, message in (
        (["absent.json"], "absent.json: is not there"),
        (["a.json", "--server", "nowhere"], "is not MACHINE-SITE"),
        (["a.json", "--columns", "absent.toml"], "cannot read"),
        (["a.json", "--pseudonymise", "short"], "holds no key"),
        (["a.json", "--max-bad", "many"], "many"),
        (["a.json", "--store", "used"], "is neither empty nor a store"),
    ):
        with pytest.raises(UsageError) as told:
            called(tmp_path, *arguments)
        assert message in str(told.value)
        assert "\n" not in str(told.value)


def test_terminals_see_how_far_it_is(tmp_path):
    for n in range(3):
        archive(tmp_path, f"{n}-mlab1-bcn01.tgz", bad=0)
    near, far = pty.openpty()
    shown = []

    def read():
        try:
            while part := os.read(near, 4096):
                shown.append(part)
        except OSError:
            return

    reader = threading.Thread(target=read)
    reader.start()
    sources = [f"{n}-mlab1-bcn01.tgz" for n in range(3)]
    arguments = [*BRIMFUL, "discards", "tests", "--store", "store", *sources]
    finished = subprocess.run(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=far, env=os.environ | {"TERM": "xterm"}, check=False
    )
    os.close(far)
    reader.join()
    os.close(near)
    assert finished.returncode == 0
    assert b"9 tests" in b"".join(shown)
    assert b"sources" in finished.stdout
