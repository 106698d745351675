"""What the tests of the lab share."""

import sys
import time
from collections.abc import Callable

import pytest

PYTHON = [sys.executable, "-I", "-S"]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within 20 s: {what}")
        time.sleep(0.01)
