"""Real disks of a kind: loop devices on files of the test. Without root the tests say why they are skipped."""

import os
import shutil

import pytest
from brimful.lab.disk import obstacle
from disk_support import run


@pytest.fixture
def loop(tmp_path):
    """Make loop devices of so many bytes, gone after the test."""
    if os.geteuid() != 0 or shutil.which("losetup", path=f"{os.environ['PATH']}:/sbin:/usr/sbin") is None:
        pytest.skip("loop devices take root and losetup")
    made = []

    def make(size=32 << 20, *options):
        file = tmp_path / f"disk-{len(made)}"
        with file.open("wb") as content:
            content.truncate(size)
        found = run("losetup", "--find", "--show", *options, file, check=False)
        if found.returncode != 0:
            pytest.skip(f"no loop device: {found.stderr.strip()}")
        made.append(found.stdout.strip())
        return made[-1]

    yield make
    for device in made:
        run("losetup", "--detach", device, check=False)


@pytest.fixture
def lab_permitted():
    reason = obstacle()
    if reason is not None:
        pytest.skip(reason)
