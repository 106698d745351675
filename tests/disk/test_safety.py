"""What is refused, and that reads never write: on real devices."""

import hashlib
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from disk_support import DISK, DiskTester, run

WRITE = ("--pattern", "randwrite", "--working-set", "8M")


def refused(*arguments, prefix=()):
    """Give the one line with which the program refuses."""
    done = subprocess.run([*prefix, DISK, *map(str, arguments)], capture_output=True, text=True, input="", check=False)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("brimful-disk: ").strip()


def taken(*arguments, prefix=()):
    done = subprocess.run([*prefix, DISK, *map(str, arguments)], capture_output=True, text=True, input="", check=False)
    assert done.returncode == 0, done.stderr


def destroy(device, *more, prefix=()):
    return refused("--device", device, *WRITE, "--destroy-data", device, *more, prefix=prefix)


def mounted(device, *words):
    """A command in a mount namespace of its own, with the device mounted there."""
    script = f'mount {device} /mnt && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh", *words]


def formatted(device):
    if shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/sbin:/usr/sbin") is None:
        pytest.skip("mkfs.ext4 is not installed")
    run("mkfs.ext4", "-q", device)
    return device


def divide(device):
    """Write a partition table with two partitions of 16 MiB each."""
    entries = [struct.pack("<B3xB3xII", 0, 0x83, start << 11, 16 << 11) for start in (1, 20)]
    sector = b"".join(entries).rjust(446 + 32, b"\x00").ljust(510, b"\x00") + b"\x55\xaa"
    with Path(device).open("r+b") as content:
        content.write(sector)


def test_writes_have_to_be_spelled_out(loop):
    device = loop()
    assert f"--destroy-data {device}" in refused("--device", device, *WRITE)
    assert "repeat its name" in refused("--device", device, *WRITE, "--destroy-data", f"{device}x")
    taken("--device", device, *WRITE, "--destroy-data", device)


def test_a_device_with_a_known_signature_is_not_overwritten_unless_told_twice(loop):
    device = formatted(loop())
    assert "holds ext4" in destroy(device)
    taken("--device", device, *WRITE, "--destroy-data", device, "--ignore-signature")
    swap = loop()
    run("mkswap", swap)
    assert "holds swap" in destroy(swap)


def test_members_of_encryption_and_partition_tables_are_signatures(loop):
    device = loop()
    with Path(device).open("r+b") as content:
        content.write(b"LUKS\xba\xbe\x00\x01".ljust(512, b"\x00"))
    assert "holds crypto_LUKS" in destroy(device)
    table = loop()
    divide(table)
    assert "partition table (dos)" in destroy(table)


def test_without_blkid_any_data_counts(loop):
    device = formatted(loop())
    hidden = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        "for place in /sbin/blkid /usr/sbin/blkid; do"
        ' [ -e $place ] && mount --bind /dev/null $(readlink -f $place); done; exec "$@"',
        "sh",
    ]
    assert "holds data" in destroy(device, prefix=hidden)


def test_a_mounted_device_is_neither_written_nor_read_without_leave(loop):
    device = formatted(loop())
    inside = mounted(device)
    assert "mounted at /mnt" in destroy(device, "--ignore-signature", prefix=inside)
    assert "--in-use" in refused("--device", device, "--working-set", "8M", prefix=inside)
    taken("--device", device, "--working-set", "8M", "--in-use", prefix=inside)


def test_a_mount_that_cannot_be_seen_is_noticed(loop):
    device = formatted(loop())
    holder = subprocess.Popen(
        mounted(device, "sh", "-c", "echo ready; read line"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "ready\n"
        assert "in use" in destroy(device, "--ignore-signature")
    finally:
        holder.communicate("done\n")


def test_swap_is_neither_written_nor_read(loop):
    device = loop()
    run("mkswap", device)
    if run("swapon", device, check=False).returncode != 0:
        pytest.skip("swap is not permitted here")
    try:
        assert "swap" in destroy(device, "--ignore-signature")
        assert "swap" in refused("--device", device, "--working-set", "8M")
    finally:
        run("swapoff", device)


def test_a_disk_with_partitions_and_a_neighbour_of_a_mounted_one_are_not_written(loop):
    device = loop(64 << 20)
    divide(device)
    run("partx", "--update", device, check=False)
    first, second = (f"{device}p{number}" for number in (1, 2))
    try:
        if not Path(second).exists():
            pytest.skip("the kernel does not show partitions of loop devices")
        assert "has partitions" in destroy(device, "--ignore-signature")
        formatted(first)
        assert "a partition of" in destroy(second, prefix=mounted(first))
        taken("--device", second, *WRITE, "--destroy-data", second)
    finally:
        run("partx", "--delete", device, check=False)


def test_a_device_of_a_mapper_is_held(loop):
    device = loop()
    table = f"0 {(32 << 20) // 512} linear {device} 0"
    name = f"brimful-test-{os.getpid()}"
    if shutil.which("dmsetup") is None or run("dmsetup", "create", name, "--table", table, check=False).returncode:
        pytest.skip("no device mapper here")
    try:
        assert "held by dm-" in destroy(device)
    finally:
        run("dmsetup", "remove", name)


def test_a_read_only_device_is_not_written(loop):
    assert "read-only" in destroy(loop(32 << 20, "--read-only"))


def test_only_files_of_its_own_are_written(tmp_path):
    foreign = tmp_path / "letters"
    foreign.write_bytes(b"dear".ljust(16 << 20, b"."))
    assert "did not make" in destroy(foreign)
    own = tmp_path / "own"
    taken("--create", own, "--file-size", "16M")
    assert "File exists" in refused("--create", own, "--file-size", "16M")
    taken("--device", own, *WRITE, "--destroy-data", own)
    assert foreign.read_bytes().startswith(b"dear.")


def test_what_is_no_disk_is_named(tmp_path):
    assert "No such file" in refused("--device", tmp_path / "nothing")
    assert "neither a block device nor a file" in refused("--device", tmp_path)
    empty = tmp_path / "empty"
    empty.touch()
    assert "has no bytes" in refused("--device", empty)


def test_what_makes_no_sense_is_refused_before_anything_is_opened(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(8 << 20))
    for arguments, reason in [
        (["--pattern", "up"], "`up` is no pattern"),
        (["--size", "4q"], "4q"),
        (["--size", "1000"], "multiples of 512"),
        (["--size", "16M"], "do not fit"),
        (["--read-share", "0.5"], "read-share"),
        (["--steady-rounds", "3"], "--prepare"),
        (["--workload", tmp_path / "none.toml"], "No such file"),
        (["--replay", file], "0 IOs"),
    ]:
        assert reason in refused("--device", file, *arguments), arguments


def test_reads_never_write(loop):
    device = loop(16 << 20)
    Path(device).write_bytes(os.urandom(16 << 20))
    before = hashlib.sha256(Path(device).read_bytes()).hexdigest()
    with DiskTester("--device", device) as tester:
        tester.ask(op="describe")
        tester.ask(op="calibrate")
        assert tester.measure(2000, 0.3)["id"] == 7
    assert hashlib.sha256(Path(device).read_bytes()).hexdigest() == before
