"""A measurement under a kernel with io.cost, where QEMU is installed: in short, without bars."""

import shutil
import subprocess

import pytest
from support import ROOT


@pytest.mark.slow
def test_a_disk_is_measured_where_the_kernel_has_io_cost():
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("qemu-system-x86_64 is not installed; bench/disk_guest/run shows the whole")
    command = [ROOT / "bench" / "disk_guest" / "run", "50"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    for line in ("ok: a solution", "ok: vrate was tried", "ok: as before", "ok: nothing is left"):
        assert line in done.stdout
