"""What the tests of the lab share."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from brimful.errors import MeasureError
from brimful.lab import Lab, open_lab

CROSS = str(Path(__file__).with_name("cross.py"))
FRAMES = 50
TA, TB = "02:62:66:00:00:1a", "02:62:66:00:00:1b"
_MISSING = (
    "install the Debian package",
    "no permission to attach an XDP program",
    # An Open vSwitch that was built without AF_XDP says so.
    "Address family not supported by protocol",
)
PYTHON = [sys.executable, "-I", "-S"]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within 20 s: {what}")
        time.sleep(0.01)


def cross(lab: Lab, ip: int = 4) -> dict:
    """Send frames both ways, each after the one before has arrived."""
    next_hops = lab.router_macs or (TB, TA)
    done = subprocess.run(lab.command([*PYTHON, CROSS, str(FRAMES), str(ip), *next_hops]), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def open_if_installed(device: str, **arguments) -> Lab:
    """Open a lab with a device whose programs not every machine has."""
    try:
        return open_lab(device, **arguments)
    except MeasureError as error:
        if any(reason in str(error) for reason in _MISSING):
            pytest.skip(str(error))
        raise
